"""What a hook changed, as the inspector shows it: the keys that differ, before and after. Pure."""

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

import msgspec

from server.hooks.interception.shapes import shape_calls, shape_message, shape_tool
from server.hooks.interception.stages import (
    Abort,
    Decision,
    Deny,
    Ignored,
    LlmAnswer,
    LlmCall,
    Respond,
    StageValue,
    Verdict,
)

MAX_VALUE_CHARS: Final = 2000
MAX_ITEMS: Final = 20
"""Of changed messages, or tools, that are shown for one hook."""

Changes = dict[str, Any]
"""Key → {before, after}; for messages a list of {index, before, after}, for tools {added, removed, changed}."""


def action_of(result: StageValue | Decision | Ignored | None) -> str:
    match result:
        case None:
            return "continue"
        case Ignored():
            return "ignored"
        case Respond():
            return "respond"
        case Deny():
            return "deny_tool"
        case Abort():
            return "hard_abort" if result.is_hard else "abort_turn"
        case Verdict():
            return "approve" if result.approved else "deny"
        case _:
            return "modify"


def changes(before: StageValue, result: StageValue | Decision | Ignored | None) -> Changes:
    """In full; secrets have to be taken out before it is `trimmed`, for half a secret is not known as one."""
    match result:
        case None | Ignored():
            return {}
        case Deny() | Abort() | Verdict():
            return {"reason": {"after": result.reason}} if result.reason else {}
        case Respond():
            return {"result": {"after": result.answer.for_llm}}
        case LlmCall() if isinstance(before, LlmCall):
            return _call_changes(before, result)
        case LlmAnswer() if isinstance(before, LlmAnswer):
            was, now = _plain(before), _plain(result)
            was["tool_calls"], now["tool_calls"] = shape_calls(before.tool_calls), shape_calls(result.tool_calls)
            return _differing(was, now)
        case _:
            return _differing(_plain(before), _plain(result))


def trimmed(found: Changes) -> Changes:
    """Each value, and each list of them, cut to what a person looks at."""
    return {key: _trimmed(value) for key, value in found.items()}


def _trimmed(value: Any) -> Any:
    if isinstance(value, list):
        return [_trimmed(item) for item in value[:MAX_ITEMS]]
    if not isinstance(value, dict):
        return cut(value)
    return {key: _trimmed(item) if isinstance(item, list) else cut(item) for key, item in value.items()}


def cut(value: Any) -> Any:
    """The value itself where it is small; else its beginning, as text."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return value if len(text) <= MAX_VALUE_CHARS else f"{text[:MAX_VALUE_CHARS]}… ({len(text)} characters)"


def _call_changes(before: LlmCall, after: LlmCall) -> Changes:
    found = _differing(
        {"model": before.model, "options": dict(before.options)}, {"model": after.model, "options": dict(after.options)}
    )
    if messages := _message_changes(before, after):
        found["messages"] = messages
    was, now = ({tool.name: tool for tool in call.tools} for call in (before, after))
    if was != now:
        found["tools"] = {
            "added": [shape_tool(now[name]) for name in now if name not in was],
            "removed": [name for name in was if name not in now],
            "changed": [shape_tool(now[name]) for name in now if name in was and now[name] != was[name]],
        }
    return found


def _message_changes(before: LlmCall, after: LlmCall) -> list[dict[str, Any]]:
    """By place in the new list; one that is gone by its place in the old."""
    kept = {id(message) for message in after.messages}
    known = {id(message) for message in before.messages}
    found: dict[int, dict[str, Any]] = {}
    for index, message in enumerate(after.messages):
        if id(message) not in known:
            found[index] = {"index": index, "after": shape_message(message)}
    for index, message in enumerate(before.messages):
        if id(message) not in kept:
            found.setdefault(index, {"index": index})["before"] = shape_message(message)
    return list(found.values())


def _plain(value: Any) -> dict[str, Any]:
    """As JSON."""
    found: dict[str, Any] = msgspec.to_builtins({field.name: getattr(value, field.name) for field in fields(value)})
    return found


def _differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> Changes:
    return {key: {"before": before[key], "after": now} for key, now in after.items() if now != before.get(key)}
