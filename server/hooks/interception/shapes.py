"""What process hooks are sent, spelt as the reference host spells it. Pure.

Requests are snake_case, `meta` has Go's field names. Fields that the reference
leaves out when empty are always there, and `channel` and `chat_id` stand both at
the top and in `context`: scripts of every era find what they look for.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from server.hooks.channel import Stage
from server.hooks.interception.stages import LlmAnswer, LlmCall, Moment, StageValue, ToolRan
from server.llm.types import Message, ToolCall, ToolSpec
from server.tool_calls import ToolAnswer, ToolInvocation, TurnFacts

AGENT_ID: Final = "parley"
CHANNEL: Final = "parley"
SOURCE: Final = "runTurn"
TRACE_PATHS: Final[Mapping[Stage, str]] = {
    "before_llm": "turn.llm.request",
    "after_llm": "turn.llm.response",
    "before_tool": "turn.tool.before",
    "approve_tool": "turn.tool.approve",
    "after_tool": "turn.tool.after",
}


def params(stage: Stage, value: StageValue, at: Moment) -> dict[str, Any]:
    """The `params` of one request."""
    chat_id = chat_id_of(at.facts)
    body: dict[str, Any] = {"meta": meta(at, TRACE_PATHS[stage])}
    match value:
        case LlmCall():
            body |= {
                "model": value.model,
                "messages": [shape_message(message) for message in value.messages],
                "tools": [shape_tool(tool) for tool in value.tools],
                "options": dict(value.options),
                "graceful_terminal": False,
            }
        case LlmAnswer():
            body |= {"model": value.model, "response": shape_answer(value)}
        case ToolInvocation():
            body |= {"tool": value.name, "arguments": value.arguments}
            if value.answer is not None and stage == "before_tool":
                body["hook_result"] = shape_result(value.answer)
        case ToolRan():
            body |= {
                "tool": value.name,
                "arguments": value.arguments,
                "result": shape_result(value.answer),
                "duration": int(value.duration_ms * 1_000_000),
            }
    return body | {"channel": CHANNEL, "chat_id": chat_id, "context": context(at.facts)}


def chat_id_of(facts: TurnFacts) -> str:
    return facts.conversation or facts.session_id


def meta(at: Moment, trace_path: str) -> dict[str, Any]:
    return {
        "AgentID": AGENT_ID,
        "TurnID": at.facts.turn_id,
        "ParentTurnID": "",
        "SessionKey": at.facts.session_id,
        "Iteration": at.iteration,
        "TracePath": trace_path,
        "Source": SOURCE,
    }


def context(facts: TurnFacts) -> dict[str, Any]:
    return {
        "inbound": {
            "channel": CHANNEL,
            "chat_id": chat_id_of(facts),
            "chat_type": "direct",
            "sender_id": facts.user_id,
            "message_id": facts.turn_id,
        },
        "route": {
            "AgentID": AGENT_ID,
            "Channel": CHANNEL,
            "AccountID": "",
            "SessionPolicy": {"Dimensions": [], "IdentityLinks": {}},
            "MatchedBy": "default",
        },
        "scope": {
            "version": 1,
            "agent_id": AGENT_ID,
            "channel": CHANNEL,
            "account": "",
            "dimensions": [],
            "values": {},
        },
    }


def shape_message(message: Message) -> dict[str, Any]:
    """`content` is text; pictures stand in `media`."""
    content = message.get("content")
    shaped: dict[str, Any] = {"role": message["role"], "content": content if isinstance(content, str) else ""}
    if isinstance(content, list):
        shaped["content"] = "\n".join(part["text"] for part in content if part.get("type") == "text")
        shaped["media"] = [part["image_url"]["url"] for part in content if part.get("type") == "image_url"]
    if message.get("tool_calls"):
        shaped["tool_calls"] = [
            {"id": call["id"], "type": "function", "function": dict(call["function"])} for call in message["tool_calls"]
        ]
    for key in ("tool_call_id", "name"):
        if key in message:
            shaped[key] = message[key]
    return shaped


def shape_tool(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def shape_calls(calls: Sequence[ToolCall]) -> list[dict[str, Any]]:
    return [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in calls
    ]


def shape_answer(answer: LlmAnswer) -> dict[str, Any]:
    shaped: dict[str, Any] = {
        "role": "assistant",
        "content": answer.content,
        "reasoning_content": answer.reasoning,
        "tool_calls": shape_calls(answer.tool_calls),
        "finish_reason": answer.finish_reason,
        "reasoning": answer.reasoning,
        "reasoning_details": None,
    }
    if answer.usage is not None:
        prompt, completion = answer.usage.input_tokens, answer.usage.output_tokens
        shaped["usage"] = {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        }
    return shaped


def shape_result(answer: ToolAnswer) -> dict[str, Any]:
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
