"""What real endpoints and chat templates refuse, in their own words."""

import itertools
import json
from collections.abc import Collection, Sequence

from tests.support.openai_faults import CONTEXT_OVERFLOWS, ROLE_REFUSALS
from tests.support.openai_script import HttpError, Json


def refusal(messages: Sequence[Json], strict: Collection[str], context_tokens: int | None) -> HttpError | None:
    roles = [message.get("role") for message in messages]
    if "no_system" in strict and "system" in roles:
        return ROLE_REFUSALS["gemma on vllm"]
    if "system_first" in strict and "system" in roles[1:]:
        return ROLE_REFUSALS["qwen on vllm"]
    if "alternation" in strict and any(a == b and a in ("user", "assistant") for a, b in itertools.pairwise(roles)):
        return ROLE_REFUSALS["mistral on vllm"]
    if "tool_pairs" in strict and (complaint := unpaired(messages)) is not None:
        return _invalid(complaint)
    if context_tokens is not None and estimated_tokens(messages) > context_tokens:
        return _too_long(messages, context_tokens)
    return None


def estimated_tokens(messages: Sequence[Json]) -> int:
    return sum(len(json.dumps(message)) for message in messages) // 4


def unpaired(messages: Sequence[Json]) -> str | None:
    """OpenAI's complaint about calls and results that do not pair; None: all is well."""
    open_ids: list[str] = []
    for message in messages:
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in open_ids:
                return (
                    "Invalid parameter: messages with role 'tool' must be a response to a "
                    "preceeding message with 'tool_calls'."
                )
            open_ids.remove(message["tool_call_id"])
            continue
        if open_ids:
            break
        open_ids = [call["id"] for call in message.get("tool_calls") or []]
    if not open_ids:
        return None
    return (
        "An assistant message with 'tool_calls' must be followed by tool messages responding to "
        "each 'tool_call_id'. The following tool_call_ids did not have response messages: " + ", ".join(open_ids)
    )


def _invalid(message: str) -> HttpError:
    body = {
        "error": {
            "message": message,
            "type": "invalid_request_error",
            "param": "messages",
            "code": None,
        }
    }
    return HttpError(status=400, body=body)


def _too_long(messages: Sequence[Json], limit_tokens: int) -> HttpError:
    wanted = estimated_tokens(messages)
    shape, told = CONTEXT_OVERFLOWS["vllm"]
    assert isinstance(shape.body, dict)
    message = str(shape.body["message"]).replace("5000", str(wanted))
    return HttpError(status=400, body={**shape.body, "message": message.replace(str(told), str(limit_tokens))})
