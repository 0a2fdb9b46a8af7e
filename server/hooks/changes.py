"""What a hook changed, as the inspector shows it: the keys that differ, before and after, cut to size. Pure."""

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from server.hooks.shapes import shape_calls, shape_message, shape_tool
from server.hooks.stages import Abort, Decision, Deny, LlmAnswer, LlmCall, Respond, StageValue, Verdict

MAX_VALUE_CHARS: Final = 2000
MAX_MESSAGES: Final = 20
"""Of changed messages that are shown for one hook."""

Changes = dict[str, Any]
"""Key → {before, after}; for messages a list of {index, before, after}, for tools {added, removed, changed}."""


def action_of(result: StageValue | Decision | None) -> str:
    match result:
        case None:
            return "continue"
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


def changes(before: StageValue, result: StageValue | Decision | None) -> Changes:
    match result:
        case None:
            return {}
        case Deny() | Abort() | Verdict():
            return {"reason": {"after": cut(result.reason)}} if result.reason else {}
        case Respond():
            return {"result": {"after": cut(result.answer.for_llm)}}
        case LlmCall() if isinstance(before, LlmCall):
            return _call_changes(before, result)
        case LlmAnswer() if isinstance(before, LlmAnswer):
            was, now = _plain(before), _plain(result)
            was["tool_calls"], now["tool_calls"] = shape_calls(before.tool_calls), shape_calls(result.tool_calls)
            return _differing(was, now)
        case _:
            return _differing(_plain(before), _plain(result))


def cut(value: Any) -> Any:
    """The value itself where it is small; else its beginning, as text."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=_plain)
    if len(text) <= MAX_VALUE_CHARS:
        return value if isinstance(value, str) else json.loads(text)
    return f"{text[:MAX_VALUE_CHARS]}… ({len(text)} characters)"


def _call_changes(before: LlmCall, after: LlmCall) -> Changes:
    found = _differing(
        {"model": before.model, "options": dict(before.options)}, {"model": after.model, "options": dict(after.options)}
    )
    if messages := _message_changes(before, after):
        found["messages"] = messages
    was, now = ({tool.name: tool for tool in call.tools} for call in (before, after))
    if was != now:
        found["tools"] = {
            "added": [cut(shape_tool(now[name])) for name in now if name not in was],
            "removed": [name for name in was if name not in now],
            "changed": [cut(shape_tool(now[name])) for name in now if name in was and now[name] != was[name]],
        }
    return found


def _message_changes(before: LlmCall, after: LlmCall) -> list[dict[str, Any]]:
    """By place in the new list; one that is gone by its place in the old."""
    kept = {id(message) for message in after.messages}
    known = {id(message) for message in before.messages}
    gone = [(i, m) for i, m in enumerate(before.messages) if id(m) not in kept]
    new = [(i, m) for i, m in enumerate(after.messages) if id(m) not in known]
    found: dict[int, dict[str, Any]] = {}
    for index, message in new:
        found[index] = {"index": index, "after": cut(shape_message(message))}
    for index, message in gone:
        found.setdefault(index, {"index": index})["before"] = cut(shape_message(message))
    return list(found.values())[:MAX_MESSAGES]


def _plain(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> Changes:
    return {
        key: {"before": cut(before[key]), "after": cut(now)} for key, now in after.items() if now != before.get(key)
    }
