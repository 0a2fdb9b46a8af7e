"""Builds the `params` that process hooks are sent, with the spelling of the reference host. Pure.

Requests are snake_case, `meta` has Go's field names. Fields that the reference
leaves out when empty are always there, and `channel` and `chat_id` stand both at
the top and in `context`: scripts of every era find what they look for.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal

from server.hooks.stages import (
    ALIAS_OF,
    NUMBER_OF,
    HookEvent,
    LlmAnswer,
    LlmCall,
    Stage,
    StageContext,
    StageValue,
    ToolRan,
)
from server.llm.language_model import Message
from server.tools.tool_calls import ToolAnswer, ToolInvocation, TurnFacts

EventMethod = Literal["hook.runtime_event", "hook.event"]
EventKinds = Literal["name", "number"]

TRACE_PATHS: Final[Mapping[Stage, str]] = {
    "before_llm": "turn.llm.request",
    "after_llm": "turn.llm.response",
    "before_tool": "turn.tool.before",
    "approve_tool": "turn.tool.approve",
    "after_tool": "turn.tool.after",
}
_AGENT_ID: Final = "parley"
_CHANNEL: Final = "parley"
_SOURCE: Final = "runTurn"


def stage_params(stage: Stage, value: StageValue, at: StageContext) -> dict[str, Any]:
    body: dict[str, Any] = {"meta": _meta(at, TRACE_PATHS[stage])}
    context = _context(at.facts)
    match value:
        case LlmCall():
            body |= {
                "model": value.model,
                "messages": [message_json(message) for message in value.messages],
                "tools": [tool.as_json() for tool in value.tools],
                "options": dict(value.options),
                "graceful_terminal": False,
            }
            context |= {
                "user_text": value.question,
                "origins": [dict(value.origin_of(message)) for message in value.messages],
            }
        case LlmAnswer():
            body |= {"model": value.model, "response": _answer_json(value)}
        case ToolInvocation():
            body |= {"tool": value.name, "arguments": value.arguments}
            if value.answer is not None and stage == "before_tool":
                body["hook_result"] = _result_json(value.answer)
        case ToolRan():
            body |= {
                "tool": value.name,
                "arguments": value.arguments,
                "result": _result_json(value.answer),
                "duration": int(value.duration_ms * 1_000_000),
            }
    return body | {"channel": _CHANNEL, "chat_id": _chat_id(at.facts), "context": context}


def event_params(event: HookEvent, method: EventMethod, kinds: EventKinds = "name") -> dict[str, Any]:
    """Build the `params` of the notification that carries an event; `kinds` is for hook.event only."""
    time = _rfc3339(event.time_ns)
    facts = event.at.facts
    if method == "hook.event":  # for scripts written before `hook.runtime_event`
        names: Mapping[str, str | int] = NUMBER_OF if kinds == "number" else ALIAS_OF
        return {
            "Kind": names.get(event.kind, event.kind),
            "Time": time,
            "Meta": _meta(event.at, event.trace_path),
            "Context": _context(facts),
            "Payload": event.payload,
        }
    attrs: dict[str, Any] = {"agent_source": _SOURCE}
    if event.at.iteration:
        attrs["iteration"] = event.at.iteration
    return {
        "id": f"evt-{event.number}",
        "kind": event.kind,
        "time": time,
        "source": {"component": "agent", "name": _AGENT_ID},
        "scope": {
            "agent_id": _AGENT_ID,
            "session_key": facts.session_id,
            "turn_id": facts.turn_id,
            **_inbound(facts),
        },
        "correlation": {"trace_id": event.trace_path},
        "severity": event.severity,
        "payload": event.payload,
        "attrs": attrs,
    }


def _rfc3339(time_ns: int) -> str:
    seconds, rest = divmod(time_ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"


def _chat_id(facts: TurnFacts) -> str:
    return facts.conversation or facts.session_id


def _meta(at: StageContext, trace_path: str) -> dict[str, Any]:
    return {
        "AgentID": _AGENT_ID,
        "TurnID": at.facts.turn_id,
        "ParentTurnID": "",
        "SessionKey": at.facts.session_id,
        "Iteration": at.iteration,
        "TracePath": trace_path,
        "Source": _SOURCE,
    }


def _inbound(facts: TurnFacts) -> dict[str, Any]:
    return {
        "channel": _CHANNEL,
        "chat_id": _chat_id(facts),
        "chat_type": "direct",
        "sender_id": facts.user_id,
        "message_id": facts.turn_id,
    }


def _context(facts: TurnFacts) -> dict[str, Any]:
    return {
        "inbound": _inbound(facts),
        "route": {
            "AgentID": _AGENT_ID,
            "Channel": _CHANNEL,
            "AccountID": "",
            "SessionPolicy": {"Dimensions": [], "IdentityLinks": {}},
            "MatchedBy": "default",
        },
        "scope": {
            "version": 1,
            "agent_id": _AGENT_ID,
            "channel": _CHANNEL,
            "account": "",
            "dimensions": [],
            "values": {},
        },
    }


def message_json(message: Message) -> dict[str, Any]:
    """Build a message whose `content` is text; pictures stand in `media`."""
    content = message.get("content")
    built: dict[str, Any] = {"role": message["role"], "content": content if isinstance(content, str) else ""}
    if isinstance(content, list):
        built["content"] = "\n".join(part["text"] for part in content if part.get("type") == "text")
        built["media"] = [part["image_url"]["url"] for part in content if part.get("type") == "image_url"]
    if message.get("tool_calls"):
        built["tool_calls"] = [
            {"id": call["id"], "type": "function", "function": dict(call["function"])} for call in message["tool_calls"]
        ]
    return built | {key: message[key] for key in ("tool_call_id", "name") if key in message}


def _answer_json(answer: LlmAnswer) -> dict[str, Any]:
    built: dict[str, Any] = {
        "role": "assistant",
        "content": answer.content,
        "reasoning_content": answer.reasoning,
        "tool_calls": [call.as_json() for call in answer.tool_calls],
        "finish_reason": answer.finish_reason,
        "reasoning": answer.reasoning,
        "reasoning_details": None,
    }
    if answer.usage is not None:
        prompt, completion = answer.usage.input_tokens, answer.usage.output_tokens
        built["usage"] = {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        }
    return built


def _result_json(answer: ToolAnswer) -> dict[str, Any]:
    return {
        "for_llm": answer.for_llm,
        "for_user": answer.for_user,
        "silent": answer.is_silent,
        "is_error": answer.is_error,
        "async": answer.is_async,
        "media": list(answer.media),
        "artifact_tags": list(answer.artifact_tags),
        "response_handled": answer.is_handled,
    }
