"""Errors of an endpoint: status, headers and body of its answer → the ProviderError to raise. No I/O.

The patterns are the words of OpenAI, vLLM, llama.cpp, LM Studio, Mistral,
Anthropic's and Google's compatible endpoints. An answer that none of them fits is
a ProviderProtocol that quotes the endpoint, without its secrets.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from server.errors import (
    ContextTooLong,
    ImageRefused,
    ModelMissing,
    ProviderAuth,
    ProviderError,
    ProviderProtocol,
    ProviderRateLimited,
    ProviderTimeout,
    ProviderUnreachable,
    RoleRefused,
    ToolChoiceRefused,
)
from server.llm.endpoint import ModelEndpoint
from server.openai_client import Refused, error_details, error_message

MAX_QUOTED_CHARS = 300

_NOT_FOR_THE_CONTENT = (401, 402, 403, 408, 429, 504)
_ROLES = re.compile(
    r"system message must be at the beginning|system role not supported|roles? must alternate|must alternate"
    r"|only .{0,40}\broles are supported|unexpected (?:message )?role|invalid role|expected last role"
    r"|unknown role|jinja|chat template|prompt template|apply_chat_template",
    re.IGNORECASE,
)
_CONTEXT = re.compile(
    r"context[_ ]length|context (?:size|window)|maximum model length|prompt is too long|input is too long"
    r"|input tokens exceed|exceeds? the maximum number of (?:input )?tokens|too many (?:input )?tokens"
    r"|exceed_context_size|reduce the length of the (?:messages|prompt)",
    re.IGNORECASE,
)
_LIMIT = re.compile(
    r"(?:maximum context length (?:is|of)|maximum model length of|configured limit of"
    r"|number of (?:input )?tokens allowed|context (?:size|window|length)(?: (?:is|of)(?: only)?)?)\s+\(?(\d+)"
    r"|> (\d+) maximum",
    re.IGNORECASE,
)
_IMAGES = re.compile(
    r"image(?:_url|s| inputs?)? (?:is|are) (?:not supported|only supported by)"
    r"|(?:not|n't) support (?:image|vision|multi-?modal)|support image input|not a multi-?modal model"
    r"|at most 0 images?|unknown variant `image_url`|content must be a string|required for image input"
    r"|not compiled for multimodal",
    re.IGNORECASE,
)
_TOOL_CHOICE = re.compile(r"tool[_ ]choice", re.IGNORECASE)
_MODEL = re.compile(
    r"model_not_found|model\b.{0,120}\b(?:not exist|not found|not available)", re.IGNORECASE | re.DOTALL
)
_QUOTA = re.compile(r"insufficient_quota|exceeded your current quota|insufficient balance", re.IGNORECASE)
_KEY = re.compile(r"\b(?:sk|pk|key|gsk|xai|hf)[-_][A-Za-z0-9*_\-]{3,}|Bearer +\S+")


def error_from_answer(endpoint: ModelEndpoint, model: str | None, answer: Refused) -> ProviderError:
    """Return the error for an answer that is not a success."""
    host, model, status = endpoint.host, model or endpoint.model or "", answer.status
    wait_ms = None if answer.retry_after_s is None else int(answer.retry_after_s * 1000)
    details = error_details(answer.body)
    quoted = quote(endpoint, error_message(answer.body))
    text = f"{json.dumps(details, ensure_ascii=False)[:4000]} {quoted}"
    if status not in _NOT_FOR_THE_CONTENT and _IMAGES.search(text):
        return ImageRefused(f"{model or 'the model'} at {host} accepts no images: {quoted}")
    match status:
        case 401 | 403:
            key = f"the key from {endpoint.key_source}" if endpoint.key_source else "a call without a key"
            return ProviderAuth(f"{host} refused {key} (HTTP {status}): check llm.api_key or OPENAI_API_KEY")
        case 402:
            return ProviderAuth(f"{host} asks for payment: {quoted}")
        case 404 | 405 if not _MODEL.search(text):
            return ProviderProtocol(
                f"{host} has no chat completions at this address (HTTP {status}): check llm.base_url; it usually ends in /v1"
            )
        case 429:
            return _rate_limited(host, text, quoted, wait_ms)
        case 408 | 504:
            return ProviderTimeout(f"{host} timed out (HTTP {status}): {quoted}", retry_after_ms=wait_ms)
    if status == 413 or _CONTEXT.search(text):
        return ContextTooLong(
            f"the prompt is too long for {model or 'the model'} at {host}: {quoted}",
            limit_tokens=limit_tokens(details, text),
        )
    if status < 500 and _TOOL_CHOICE.search(text):
        return ToolChoiceRefused(f"{host} refused the request (HTTP {status}): {quoted}")
    if _ROLES.search(text):
        return RoleRefused(f"{host} refused the roles of the messages: {quoted} (see llm.late_system)")
    if _MODEL.search(text):
        return ModelMissing(f"{host} has no model {model!r}: set llm.model or OPENAI_MODEL ({quoted})")
    if status >= 500:
        return ProviderUnreachable(f"{host} failed (HTTP {status}): {quoted}", retry_after_ms=wait_ms)
    return ProviderProtocol(f"{host} refused the request (HTTP {status}): {quoted}")


def error_from_event(endpoint: ModelEndpoint, model: str | None, error: Any) -> ProviderError:
    """Return the error for an `error` in the stream, after HTTP 200. Its `code`, if it is a status, counts as one."""
    details = error if isinstance(error, dict) else {"message": str(error)}
    status = details.get("code") if isinstance(details.get("code"), int) else details.get("status")
    body = json.dumps({"error": details}).encode()
    status = status if isinstance(status, int) and status >= 400 else 500
    return error_from_answer(endpoint, model, Refused(status, {}, body))


def quote(endpoint: ModelEndpoint, message: str) -> str:
    """Return the endpoint's message in one line that is short and shows no key."""
    if endpoint.api_key and len(endpoint.api_key) >= 4:
        message = message.replace(endpoint.api_key, "…")
    line = " ".join(_KEY.sub("…", message).split()).encode(errors="replace").decode()  # JSON may hold half characters
    return line if len(line) <= MAX_QUOTED_CHARS else line[: MAX_QUOTED_CHARS - 1] + "…"


def limit_tokens(details: Mapping[str, Any], text: str) -> int | None:
    if isinstance(size := details.get("n_ctx"), int) and size > 0:  # llama.cpp
        return size
    limit = _LIMIT.search(text)
    return int(limit[1] or limit[2]) if limit else None


def _rate_limited(host: str, text: str, quoted: str, wait_ms: int | None) -> ProviderError:
    if _QUOTA.search(text):
        used_up = ProviderRateLimited(f"the quota at {host} is used up: {quoted}")
        used_up.is_retryable = False  # waiting does not fill it
        return used_up
    when = f"; try again in {wait_ms / 1000:g} s" if wait_ms else ""
    return ProviderRateLimited(f"{host} is rate-limiting: {quoted}{when}", retry_after_ms=wait_ms)
