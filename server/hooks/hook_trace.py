"""Reports of what hooks did, for the inspector: keys that differ, before and after; failures and their effects."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Literal

import msgspec

from server.hooks.hook_params import message_json
from server.hooks.stages import (
    Abort,
    ApproverVerdict,
    Decision,
    Deny,
    Ignored,
    LlmAnswer,
    LlmCall,
    Respond,
    StageValue,
    ToolRan,
)

MAX_VALUE_CHARS: Final = 2000
MAX_ITEMS: Final = 20
"""Limit of changed messages, or tools, that are shown for one hook."""

Changes = dict[str, Any]
"""Key → {before, after}; for messages a list of {index, before, after}, for tools {added, removed, changed}."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HookReport:
    event: Literal["hook_changed", "hook_failed"]
    data: dict[str, Any]


async def report_change(
    value: StageValue,
    result: StageValue | Decision | Ignored,
    discarded: Mapping[str, str],
    conceal: Callable[[Any], Awaitable[Any]],
) -> HookReport | None:
    """Report what a hook's answer changes, or would have; a plain approval is not worth a line."""
    if isinstance(result, ApproverVerdict) and result.approved and result.arguments is None:
        return None
    data = {"action": _action(result), "changes": trimmed(await conceal(changes(value, result)))}
    if discarded:
        data["discarded"] = trimmed(await conceal(dict(discarded)))
    return HookReport(event="hook_changed", data=data)


def report_failure(kind: str, message: str, fallback: StageValue | Decision | None) -> HookReport:
    effect = "skipped" if fallback is None else "withheld" if isinstance(fallback, ToolRan) else _action(fallback)
    return HookReport(event="hook_failed", data={"kind": kind, "message": cut(message), "effect": effect})


def _action(result: StageValue | Decision | Ignored) -> str:
    match result:
        case Ignored():
            return "ignored"
        case Respond():
            return "respond"
        case Deny():
            return "deny_tool"
        case Abort():
            return "hard_abort" if result.is_hard else "abort_turn"
        case ApproverVerdict():
            return "approve" if result.approved else "deny"
    return "modify"


def changes(before: StageValue, result: StageValue | Decision | Ignored | None) -> Changes:
    """Return all changes in full; take secrets out before `trimmed`, as half a secret is not recognised."""
    match result:
        case None | Ignored():
            return {}
        case Deny() | Abort() | ApproverVerdict():
            return {"reason": {"after": result.reason}} if result.reason else {}
        case Respond():
            return {"result": {"after": result.answer.for_llm}}
        case LlmCall() if isinstance(before, LlmCall):
            return _call_changes(before, result)
        case LlmAnswer() if isinstance(before, LlmAnswer):
            was, now = _as_json(before), _as_json(result)
            was["tool_calls"] = [call.as_json() for call in before.tool_calls]
            now["tool_calls"] = [call.as_json() for call in result.tool_calls]
            return _differing(was, now)
    return _differing(_as_json(before), _as_json(result))


def trimmed(found: Changes) -> Changes:
    """Cut each value, and each list of them, to what a person looks at."""
    return {key: _trimmed(value) for key, value in found.items()}


def _trimmed(value: Any) -> Any:
    if isinstance(value, list):
        return [_trimmed(item) for item in value[:MAX_ITEMS]]
    if not isinstance(value, dict):
        return cut(value)
    return {key: _trimmed(item) if isinstance(item, list) else cut(item) for key, item in value.items()}


def cut(value: Any) -> Any:
    """Return the value itself where it is small; else its beginning, as text."""
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
            "added": [now[name].as_json() for name in now if name not in was],
            "removed": [name for name in was if name not in now],
            "changed": [now[name].as_json() for name in now if name in was and now[name] != was[name]],
        }
    return found


def _message_changes(before: LlmCall, after: LlmCall) -> list[dict[str, Any]]:
    """Return changed messages by place in the new list; one that is gone by its place in the old."""
    kept = {id(message) for message in after.messages}
    known = {id(message) for message in before.messages}
    found: dict[int, dict[str, Any]] = {}
    for index, message in enumerate(after.messages):
        if id(message) not in known:
            found[index] = {"index": index, "after": message_json(message)}
    for index, message in enumerate(before.messages):
        if id(message) not in kept:
            found.setdefault(index, {"index": index})["before"] = message_json(message)
    return list(found.values())


def _as_json(value: Any) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins({field.name: getattr(value, field.name) for field in fields(value)})
    return found


def _differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> Changes:
    return {key: {"before": before[key], "after": now} for key, now in after.items() if now != before.get(key)}
