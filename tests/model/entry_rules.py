"""L1-40 and L1-42 in plain words: which entries of hooks.json are hooks, and which are dropped."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tests.model.pattern_rules import expression_of, folded

Json = dict[str, Any]

MAX_LEAVES = 64
MAX_DEPTH = 8
MAX_LIST = 32
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
TIMINGS = ("after_user_input", "before_planning", "before_first_agent", "before_each_agent", "after_tool_call")
REQUIRED_KEYS = ("name", "file", "timing", "role", "persistent")
OPTIONAL_KEYS = (
    *("tool_filter", "enabled", "when", "once", "cooldown", "sticky", "priority", "group", "requires_tools", "vars"),
)
LIKE_CONDITIONS = (
    *("if", "unless", "only", "match", "matcher", "every", "budget"),
    *("condition", "conditions", "keywords", "keys", "trigger", "probability", "delay"),
)
"""L1-40, L1-55."""
VARIABLES = (
    *("date", "time", "weekday", "timezone", "user", "language", "channel", "model", "skill"),
    *("tool", "tool_status", "round", "turn"),
)


@dataclass(frozen=True)
class Hook:
    skill: str
    entry: Json
    content: str

    @property
    def name(self) -> str:
        return str(self.entry["name"])

    @property
    def key(self) -> tuple[str, str]:
        return self.skill, self.name

    @property
    def priority(self) -> int:
        return int(self.entry.get("priority", 0))

    @property
    def remembers(self) -> bool:
        """L1-45: what travels in the state."""
        return self.entry.get("once") == "conversation" or "cooldown" in self.entry or "sticky" in self.entry


class Wrong(Exception):
    """The entry is dropped."""


def read(skill: str, entries: Sequence[Any], texts: Mapping[str, str]) -> list[Hook]:
    """Return the hooks of one file, in its order, without the entries that are wrong."""
    hooks: dict[str, Hook] = {}
    for entry in entries:
        try:
            hook = _read_entry(skill, entry, texts)
        except Wrong:
            continue
        hooks.setdefault(hook.name, hook)  # L1-06
    return list(hooks.values())


def _read_entry(skill: str, entry: Any, texts: Mapping[str, str]) -> Hook:
    _demand(isinstance(entry, dict))
    for key, value in entry.items():
        if key.startswith(("_", "$", "x-")) or key in REQUIRED_KEYS or key in OPTIONAL_KEYS:  # L1-55: a comment
            continue
        _demand(key not in LIKE_CONDITIONS)
        _demand(not any(_is_one_letter_off(key, known) for known in OPTIONAL_KEYS))
        _demand(not isinstance(value, dict | list))
    _demand(_is_text(entry.get("name")))
    _demand(entry.get("timing") in TIMINGS)
    _demand(entry.get("role") in ("system", "user"))
    _demand(isinstance(entry.get("persistent"), bool))
    _demand(entry.get("file") in texts)
    if entry["timing"] == "after_tool_call" and entry.get("tool_filter") is not None:
        _demand(isinstance(entry["tool_filter"], list) and all(_is_text(name) for name in entry["tool_filter"]))
    _demand(isinstance(entry.get("enabled", True), bool))
    _demand(isinstance(entry.get("vars", False), bool))
    _demand(entry.get("once", "turn") in ("turn", "conversation"))
    _demand(_is_integer(entry.get("cooldown", 1), 1, 1000))
    _demand(_is_integer(entry.get("sticky", 1), 1, 1000))
    _demand(_is_integer(entry.get("priority", 0), -100, 100))
    _demand(_is_text(entry.get("group", "g")))
    if "requires_tools" in entry:
        _texts(entry["requires_tools"])
    if "when" in entry:
        _demand(_leaves(entry["when"], 1) <= MAX_LEAVES)
    content = texts[entry["file"]].strip()
    if entry.get("vars"):
        for name in re.findall(r"\{\{\{\{|\{\{([^{}\s]+)\}\}", content):
            _demand(name in ("", *VARIABLES))
    return Hook(skill, entry, content)


def _leaves(when: Any, depth: int) -> int:
    """L1-42: how many leaves a condition has, if it is right."""
    _demand(isinstance(when, dict))
    _demand(depth <= MAX_DEPTH)
    _demand("scan_turns" not in when or "user_text" in when)
    count = 0
    for key, value in when.items():
        match key:
            case "all" | "any":
                _demand(isinstance(value, list))
                count += sum(_leaves(inner, depth + 1) for inner in value)
            case "not":
                count += _leaves(value, depth + 1)
            case "scan_turns":
                _demand(_is_integer(value, 1, 20))
            case _:
                count += 1
                _demand(key in _LEAF_IS_RIGHT)
                _LEAF_IS_RIGHT[key](value)
    return count


def _texts(value: Any) -> None:
    _demand(isinstance(value, list))
    _demand(1 <= len(value) <= MAX_LIST)
    _demand(all(_is_text(one) for one in value))


def _patterns(value: Any) -> None:
    _texts(value)
    for pattern in value:
        expression = expression_of(pattern)
        _demand(expression is not None or folded(pattern) != "")
        if expression is not None:
            _demand(not re.search(r"\(\?[=!]|\(\?<[=!]|\\[1-9]", expression[0]))
            try:
                re.compile(expression[0])
            except re.error as error:
                raise Wrong from error


def _among(*choices: str) -> Callable[[Any], None]:
    def check(value: Any) -> None:
        _texts(value)
        _demand(all(one in choices for one in value))

    return check


def _channel(value: Any) -> None:
    _demand(value in ("voice", "text"))


def _span(value: Any) -> None:
    if _is_integer(value, 1, math.inf):
        return
    _demand(isinstance(value, dict) and bool(value) and set(value) <= {"min", "max"})
    _demand(all(_is_integer(end, 1, math.inf) for end in value.values()))
    _demand(value.get("min", 1) <= value.get("max", math.inf))


def _arguments(value: Any) -> None:
    _demand(isinstance(value, dict) and bool(value))
    for path, patterns in value.items():
        _demand(_is_text(path))
        _patterns(patterns)


def _time(value: Any) -> None:
    _demand(isinstance(value, dict) and bool(value) and set(value) <= {"from", "to", "days", "timezone"})
    for end in ("from", "to"):
        _demand(isinstance(value.get(end, "00:00"), str))
        _demand(re.fullmatch(r"([01][0-9]|2[0-3]):[0-5][0-9]", value.get(end, "00:00")) is not None)
    if "days" in value:
        _among(*DAYS)(value["days"])
    if "timezone" in value:
        _demand(_is_text(value["timezone"]))
        try:
            ZoneInfo(value["timezone"])
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise Wrong from error


_LEAF_IS_RIGHT: dict[str, Callable[[Any], None]] = {
    "user_text": _patterns,
    "tool": _texts,
    "tool_status": _among("ok", "error", "refused"),
    "tool_args": _arguments,
    "tool_result": _patterns,
    "round": _span,
    "turn": _span,
    "channel": _channel,
    "language": _texts,
    "model": _texts,
    "user": _texts,
    "skills": _texts,
    "time": _time,
}


def _demand(condition: bool) -> None:
    if not condition:
        raise Wrong


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_integer(value: Any, least: float, most: float) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _is_one_letter_off(key: str, known: str) -> bool:
    """L1-40: a letter too many, too few, or another one, or two neighbours that changed places."""
    if key in {known[:at] + known[at + 1] + known[at] + known[at + 2 :] for at in range(len(known) - 1)}:
        return True
    without = {known[:at] + known[at + 1 :] for at in range(len(known))}
    if key in without or known in {key[:at] + key[at + 1 :] for at in range(len(key))}:
        return True
    return len(key) == len(known) and sum(a != b for a, b in zip(key, known, strict=True)) == 1
