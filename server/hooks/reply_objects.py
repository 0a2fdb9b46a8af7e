"""Reads the objects in hooks' replies, merged over what the hooks were sent. Pure.

Known keys count in any case; all that is not understood is noted. A field that
the hook leaves out keeps its value. A message or tool that comes back as it was
sent is the very object it was, so that a turn can tell its own messages from
those of a hook.
"""

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Final

from server.hooks.hook_params import message_json
from server.hooks.stages import Decision, LlmAnswer, Stage, StageValue
from server.llm.language_model import Message, ToolCall, ToolSpec
from server.tools.tool_calls import ToolAnswer

# What people write because other hosts, or pages about them, say so.
_VERDICTS: Final = ("decision", "permissiondecision", "hookspecificoutput", "continue", "allow", "allowed", "approved")
_REASONS: Final = ("message", "stopreason")
_CHANGES: Final = {
    "args": 'changed arguments belong in "call": {"call": {"arguments": {…}}}',
    "hook_result": 'the result belongs at the top level: {"action": "respond", "result": {…}}',
}
_JSON_NAMES: Final[Mapping[type, str]] = {
    str: "a string",
    bool: "true or false",
    dict: "an object",
    list: "an array",
    int: "a number",
    float: "a number",
    type(None): "null",
}
_MESSAGE: Final = {
    "role": str,
    "content": object,
    "media": list,
    "tool_calls": list,
    "tool_call_id": str,
    "name": str,
}
_CALL: Final = {"id": str, "function": dict}
_FUNCTION: Final = {"name": str, "arguments": object}
_TOOL: Final = {"type": str, "function": dict}
_TOOL_FUNCTION: Final = {"name": str, "description": str, "parameters": dict}
_ANSWER: Final = {
    "role": str,
    "content": str,
    "tool_calls": list,
    "reasoning_content": str,
    "reasoning": str,
    "reasoning_details": object,
    "finish_reason": str,
    "usage": dict,
}
RESULT: Final = {
    "for_llm": str,
    "for_user": str,
    "silent": bool,
    "is_error": bool,
    "async": bool,
    "media": list,
    "artifact_tags": list,
    "response_handled": bool,
}
_RESULT_FIELDS: Final = {"silent": "is_silent", "async": "is_async", "response_handled": "is_handled"}
"""Names of ToolAnswer that differ from those of the wire."""
_TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


class ReplyUnusable(Exception):
    """Error of a reply with a known field of the wrong type: the whole reply counts as failed."""


class ParsedReply:
    """The meaning of one reply, with notes for the hook's author."""

    def __init__(self, stage: Stage, *, has_action: bool = False) -> None:
        """With `has_action`, what other hosts' verdicts beside the action say is not in doubt."""
        self.stage = stage
        self._has_action = has_action
        self.result: StageValue | Decision | None = None
        """The changed value or the decision, if the reply has either."""
        self.warnings: list[str] = []
        self.is_doubtful = False
        """Whether it may have meant something else, say a denial in another host's words: then a guard denies."""

    def warn(self, text: str) -> None:
        self.warnings.append(f"{self.stage}: {text}")

    def doubt(self, text: str) -> None:
        self.is_doubtful = True
        self.warn(text)

    def unknown(self, key: str, where: str, known: Mapping[str, Any]) -> None:
        """Note a key that means nothing here; in doubt where it may be another host's, or one of ours misspelt."""
        if hint := self._hint(key.lower()):
            note = self.warn if self._has_action and not where and key.lower() not in _CHANGES else self.doubt
            note(f'"{key}" is not known{where}: {hint}')
        elif similar := get_close_matches(key.lower(), list(known), 1):
            self.doubt(f'"{_short(key)}" is not known{where}; did you mean "{similar[0]}"?')
        else:
            self.warn(f'"{_short(key)}" is not known{where}')

    def _hint(self, key: str) -> str:
        """Return what to write instead of another host's key; empty if it is none."""
        if key in _REASONS:
            return 'an explanation is called "reason"'
        if key not in _VERDICTS:
            return _CHANGES.get(key, "")
        if self.stage == "approve_tool":
            return 'the answer belongs at the top level: {"approved": true} or {"approved": false}'
        action = "deny_tool" if self.stage == "before_tool" else "abort_turn"
        return f'the action belongs at the top level; to refuse: {{"action": "{action}"}}'


def read_fields(
    value: Mapping[str, Any], known: Mapping[str, type], notes: ParsedReply, where: str = "", *, is_strict: bool = True
) -> dict[str, Any]:
    """Return the known fields by their own names; null counts as absent; of a key given twice the last counts.

    Raises ReplyUnusable for a wrong type. With `is_strict` unknown keys are noted;
    an object of which nothing is known is in doubt.
    """
    found: dict[str, Any] = {}
    if is_strict and value and not any(key in known or key.lower() in known for key in value):
        notes.is_doubtful = True
    for key, item in value.items():
        name = key if key in known else key.lower()
        if name not in known:
            if is_strict:
                notes.unknown(key, f' in "{where}"' if where else "", known)
            continue
        if item is None:
            continue
        if type(item) is not known[name] and known[name] is not object:
            at = f"{where}.{name}" if where else name
            raise ReplyUnusable(
                f'"{at}" must be {_JSON_NAMES[known[name]]}, got {_JSON_NAMES.get(type(item), "something else")}'
            )
        found[name] = item
    return found


def strings(items: list[Any], where: str) -> tuple[str, ...]:
    if not all(isinstance(item, str) for item in items):
        raise ReplyUnusable(f'"{where}" must contain strings')
    return tuple(items)


def objects(items: list[Any], where: str) -> list[dict[str, Any]]:
    if not all(isinstance(item, dict) for item in items):
        raise ReplyUnusable(f'"{where}" must contain objects')
    return items


def _short(key: str) -> str:
    return key if len(key) <= 40 else f"{key[:39]}…"


# --- messages, tools, calls, results


def read_messages(items: list[Any], before: Sequence[Message], notes: ParsedReply) -> list[Message]:
    """Return the list as the hook wants it; not yet known to be legal."""
    own = _OwnMessages(before)
    return [own.take(item) or _message(item, own, notes) for item in objects(items, "request.messages")]


class _OwnMessages:
    """The turn's messages, recognised when they come back unchanged; each is returned once."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages
        self._sent = [message_json(message) for message in messages]
        self._next = 0  # the one that comes if nothing was put in or left out
        self._places: defaultdict[tuple[Any, Any], list[int]] | None = None  # of all, built once something was

    @cached_property
    def calls(self) -> dict[str, ToolCall]:
        calls = (call for message in self._messages for call in message.get("tool_calls") or ())
        return {c["id"]: ToolCall(c["id"], c["function"]["name"], c["function"]["arguments"]) for c in calls}

    def take(self, item: dict[str, Any]) -> Message | None:
        is_next = item and self._next < len(self._sent) and self._sent[self._next] == item
        place = self._next if is_next else self._find(item)
        if place is None:
            return None
        self._next = place + 1
        self._sent[place] = {}
        return self._messages[place]

    def _find(self, item: dict[str, Any]) -> int | None:
        if self._places is None:
            self._places = defaultdict(list)
            for place, sent in reversed(list(enumerate(self._sent))):
                self._places[_key(sent)].append(place)
        waiting = self._places.get(_key(item), [])
        while waiting and not self._sent[waiting[-1]]:
            waiting.pop()
        return waiting.pop() if waiting and self._sent[waiting[-1]] == item else None


def _key(message: dict[str, Any]) -> tuple[Any, Any]:
    role, content = message.get("role"), message.get("content")
    return (role, content) if isinstance(role, str) and isinstance(content, str) else ("", "")


def _message(item: dict[str, Any], own: _OwnMessages, notes: ParsedReply) -> Message:
    found = read_fields(item, _MESSAGE, notes, "request.messages", is_strict=False)
    message: Message = {"role": found.get("role", ""), "content": _content(found)}
    if found.get("tool_calls") and (calls := read_calls(found["tool_calls"], own.calls, notes)):
        message["tool_calls"] = [replace(call, arguments=call.arguments or "{}").as_json() for call in calls]
    return message | {key: found[key] for key in ("tool_call_id", "name") if key in found}


def _content(found: dict[str, Any]) -> Any:
    content = found.get("content", "")
    if not isinstance(content, str) and not (isinstance(content, list) and all(map(_is_part, content))):
        raise ReplyUnusable('"request.messages.content" must be a string, or parts of text and of data: images')
    pictures = [
        url for url in strings(found.get("media", []), "request.messages.media") if url.startswith("data:image/")
    ]
    if not pictures:
        return content
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    return [*parts, *({"type": "image_url", "image_url": {"url": url}} for url in pictures)]


def _is_part(part: Any) -> bool:
    match part:
        case {"type": "text", "text": str()}:
            return True
        case {"type": "image_url", "image_url": {"url": str(url)}}:
            return url.startswith("data:image/")
    return False


def read_calls(items: list[Any], known: Mapping[str, ToolCall], notes: ParsedReply) -> tuple[ToolCall, ...]:
    """Return the calls; what is left out of one that was there before, by its id, stays. One without a name is noted."""
    calls = []
    for item in objects(items, "tool_calls"):
        found = read_fields(item, _CALL, notes, "tool_calls", is_strict=False)
        function = read_fields(found.get("function", {}), _FUNCTION, notes, "tool_calls.function", is_strict=False)
        was = known.get(found.get("id", ""), ToolCall(found.get("id", ""), "", ""))
        name = function.get("name") or was.name
        if name and (name == was.name or _TOOL_NAME.fullmatch(name)):
            arguments = function.get("arguments", was.arguments)
            text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
            calls.append(ToolCall(was.id, name, text))
        else:
            notes.doubt(
                f'a call in "tool_calls" has no "function.name" that models accept: {name[:80]!r}; it is left out'
            )
    return tuple(calls)


def read_tools(items: list[Any], before: Sequence[ToolSpec], notes: ParsedReply) -> list[ToolSpec]:
    """Return the tools; the first of one name stands, one whose name no model takes is left out and noted."""
    known = {tool.name: tool for tool in before}
    tools: dict[str, ToolSpec] = {}
    for item in objects(items, "request.tools"):
        outer = read_fields(item, _TOOL, notes, "request.tools", is_strict=False)
        function = outer.get("function", item)  # some write a tool without its envelope
        found = read_fields(function, _TOOL_FUNCTION, notes, "request.tools.function", is_strict=False)
        name = found.get("name", "")
        if not _TOOL_NAME.fullmatch(name):
            notes.warn(
                f"a tool has no name that models accept: {name[:80]!r}; use letters, digits, _ and -, at most 64"
            )
        elif name not in tools:
            was = known.get(name)
            tools[name] = was if was is not None and was.as_json() == item else _tool(name, found, was)
    return list(tools.values())


def _tool(name: str, found: dict[str, Any], was: ToolSpec | None) -> ToolSpec:
    parameters = found.get("parameters") or (was.parameters if was else {"type": "object", "properties": {}})
    return ToolSpec(
        name=name, description=found.get("description", was.description if was else ""), parameters=parameters
    )


def read_answer(value: dict[str, Any], before: LlmAnswer, notes: ParsedReply) -> LlmAnswer:
    found = read_fields(value, _ANSWER, notes, "response.response")
    calls = found.get("tool_calls")
    known = {call.id: call for call in before.tool_calls}
    return replace(
        before,
        content=found.get("content", before.content),
        tool_calls=before.tool_calls if calls is None else read_calls(calls, known, notes),
        finish_reason=found.get("finish_reason", before.finish_reason),
    )


def read_result(value: dict[str, Any], before: ToolAnswer, notes: ParsedReply) -> ToolAnswer:
    found = read_fields(value, RESULT, notes, "result")
    lists = {key: strings(item, f"result.{key}") for key, item in found.items() if RESULT[key] is list}
    return replace(before, **{_RESULT_FIELDS.get(key, key): item for key, item in (found | lists).items()})
