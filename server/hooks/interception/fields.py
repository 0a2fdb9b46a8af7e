"""Reads the objects that hooks send back: known keys in any case, and a word about all that is not understood. Pure."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Final

# What people write because other hosts, or pages about them, say so.
_FOREIGN: Final = {
    "allow": 'nothing is allowed or forbidden by "allow": approve_tool wants {"approved": true}, '
    'before_tool {"action": "deny_tool"}',
    "allowed": 'write {"approved": true} to approve_tool, {"action": "deny_tool"} to before_tool',
    "decision": 'the action stands at the top: {"action": "…"}',
    "args": 'changed arguments stand in "call": {"call": {"arguments": {…}}}',
    "message": 'an explanation is called "reason"',
    "hook_result": 'the result stands at the top: {"action": "respond", "result": {…}}',
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


class ReplyUnusable(Exception):
    """A known field of the wrong type: the whole reply counts as failed."""


class Notes:
    """What the hook's author should know about one reply."""

    def __init__(self, stage: str) -> None:
        self.stage = stage
        self.warnings: list[str] = []
        self.is_doubtful = False
        """Whether the reply may have meant something else than what was read."""

    def warn(self, text: str) -> None:
        self.warnings.append(f"{self.stage}: {text}")

    def doubt(self, text: str) -> None:
        self.is_doubtful = True
        self.warn(text)

    def unknown(self, key: str, where: str, known: Mapping[str, Any]) -> None:
        """A key that means nothing here; in doubt where it may be another host's, or one of ours misspelt."""
        if hint := _FOREIGN.get(key.lower()):
            self.doubt(f'"{key}" is not known{where}: {hint}')
        elif similar := get_close_matches(key.lower(), list(known), 1):
            self.doubt(f'"{_short(key)}" is not known{where}; did you mean "{similar[0]}"?')
        else:
            self.warn(f'"{_short(key)}" is not known{where}')


def read_fields(
    value: Mapping[str, Any], known: Mapping[str, type], notes: Notes, where: str = "", *, is_strict: bool = True
) -> dict[str, Any]:
    """The known fields by their own names; null counts as absent, and of a key given twice the last counts.

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
                f'"{at}" has to be {_JSON_NAMES[known[name]]}, got {_JSON_NAMES.get(type(item), "something else")}'
            )
        found[name] = item
    return found


def strings(items: list[Any], where: str) -> tuple[str, ...]:
    if not all(isinstance(item, str) for item in items):
        raise ReplyUnusable(f'"{where}" has to hold strings')
    return tuple(items)


def objects(items: list[Any], where: str) -> list[dict[str, Any]]:
    if not all(isinstance(item, dict) for item in items):
        raise ReplyUnusable(f'"{where}" has to hold objects')
    return items


def _short(key: str) -> str:
    return key if len(key) <= 40 else f"{key[:39]}…"
