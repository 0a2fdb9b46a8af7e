"""L1-40 and L1-42 in plain words: which entries of hooks.json are hooks, and which are dropped."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tests.model.pattern_rules import expression_of, folded
from tests.model.variable_rules import declared, is_of_kind

Json = dict[str, Any]

MAX_LEAVES = 64
MAX_DEPTH = 8
MAX_LIST = 32
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
TIMINGS = ("after_user_input", "before_planning", "before_first_agent", "before_each_agent", "after_tool_call")
REQUIRED_KEYS = ("name", "file", "timing", "role", "persistent")
OPTIONAL_KEYS = (
    *(
        "tool_filter",
        "enabled",
        "when",
        "once",
        "cooldown",
        "sticky",
        "priority",
        "group",
        "requires_tools",
        "vars",
        "set",
    ),
)
OF_NAMED = ("once", "cooldown", "sticky", "set", "group")
VARIABLE = "[a-z][a-z0-9_]{0,31}"
CONTEXT_KEY = "[A-Za-z_][A-Za-z0-9_]{0,63}"
PLACING = ("timing", "role", "persistent")
"""L1-58: keys that say where a text stands."""
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
    variables: Json = field(default_factory=dict)
    """The variables of its skill."""

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
    def is_update(self) -> bool:
        """L1-51."""
        return _is_update(self.entry)

    @property
    def remembers(self) -> bool:
        """L1-45: what travels in the state."""
        return self.entry.get("once") == "conversation" or "cooldown" in self.entry or "sticky" in self.entry


TRIGGER_LEAVES = ("user", "time", "language", "model", "channel", "skills", "context", "chance", "turn", "user_text")
"""L1-49, L1-52: the conditions that count in triggers."""


def read_triggers(skill: str, entries: Sequence[Any], texts: Mapping[str, str], variables: Any = None) -> list[Hook]:
    """L1-49: return the hooks with which turns begin that no words of the user begin, without those that are wrong."""
    hooks: dict[str, Hook] = {}
    for entry in entries:
        try:
            _demand(_is_text(entry.get("name")) and entry.get("on") in ("connect", "idle"))
            _demand(entry.get("role", "system") in ("system", "user") and isinstance(entry.get("vars", False), bool))
            _demand(("text" in entry) != ("file" in entry))
            _demand(all(key in TRIGGER_LEAVES for key in _keys(entry.get("when", {}))))
            own = {key: entry[key] for key in ("name", "file", "text", "when", "vars") if key in entry}
            usual = {"timing": "after_user_input", "role": entry.get("role", "system"), "persistent": False}
            hook = _read_entry(skill, usual | own, texts, declared(variables), set())
            hooks.setdefault(hook.name, Hook(skill, hook.entry | {"priority": 1000}, hook.content, hook.variables))
        except Wrong:
            continue
    return list(hooks.values())


def _keys(when: Any) -> set[str]:
    """The conditions in an object, deep inside, too."""
    _demand(isinstance(when, dict))
    found = {key for key in when if key not in ("all", "any", "not", "scan_turns")}
    for key in ("all", "any"):
        found |= {inner for part in when.get(key, []) for inner in _keys(part)}
    return found | (_keys(when["not"]) if "not" in when else set())


class Wrong(Exception):
    """The entry is dropped."""


def read(skill: str, entries: Sequence[Any], texts: Mapping[str, str], variables: Any = None) -> list[Hook]:
    """Return the hooks of one file, in its order, without the entries that are wrong."""
    hooks: dict[str, Hook] = {}
    sets = [entry["set"] for entry in entries if isinstance(entry, dict) and isinstance(entry.get("set"), dict)]
    strange = {name for one in sets for name, change in one.items() if isinstance(change, dict) and "from" in change}
    for number, entry in enumerate(entries, 1):
        try:
            hook = _read_entry(skill, _completed(entry, number), texts, declared(variables), strange)
        except Wrong:
            continue
        hooks.setdefault(hook.name, hook)  # L1-06
    return list(hooks.values())


def _is_update(entry: Json) -> bool:
    return "set" in entry and "file" not in entry and "text" not in entry


def _completed(entry: Any, number: int) -> Any:
    """L1-58: what may be left out where the text stands in the entry."""
    if not isinstance(entry, dict) or "text" not in entry:
        return entry
    _demand("file" not in entry and _is_text(entry["text"]) and entry["text"].strip() != "")
    _demand("name" in entry or not any(key in entry for key in OF_NAMED))
    usual = {"name": f"hook-{number}", "timing": "after_user_input", "role": "system", "persistent": False}
    return usual | entry


def _read_entry(skill: str, entry: Any, texts: Mapping[str, str], variables: Json, strange: set[str]) -> Hook:
    _demand(isinstance(entry, dict))
    for key, value in entry.items():
        if key.startswith(("_", "$", "x-")) or key in ("text", *REQUIRED_KEYS, *OPTIONAL_KEYS):  # L1-55: a comment
            continue
        _demand(key not in LIKE_CONDITIONS)
        _demand(not any(_is_one_letter_off(key, known) for known in OPTIONAL_KEYS))
        _demand(not any(get_close_matches(key, [known], cutoff=0.7) for known in PLACING if known not in entry))
        _demand(not isinstance(value, dict | list))
    _demand(_is_text(entry.get("name")))
    _demand(entry.get("timing") in TIMINGS)
    is_update = _is_update(entry)
    if is_update:
        for key in entry:
            is_right = key in ("name", "timing", "set", "enabled", "when", "once", "cooldown", "requires_tools")
            _demand(is_right or key.startswith(("_", "$", "x-")))
    else:
        _demand(entry.get("role") in ("system", "user"))
        _demand(isinstance(entry.get("persistent"), bool))
        _demand("text" in entry or entry.get("file") in texts)
    if "set" in entry:
        _set(entry["set"], variables, entry["timing"])
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
        _demand(_leaves(entry["when"], 1, variables) <= MAX_LEAVES)
    content = "" if is_update else (entry["text"] if "text" in entry else texts[entry["file"]]).strip()
    if entry.get("vars"):
        for name in re.findall(r"\{\{\{\{|\{\{([^{}\s]+)\}\}", content):
            if name.startswith("context."):
                _demand(re.fullmatch(CONTEXT_KEY, name[8:]) is not None)
                _demand(not entry["persistent"])
            elif name.startswith("var."):
                _is_variable(name[4:], variables)
                is_strange = "/" in name or (name[4:] in strange and isinstance(variables[name[4:]], str))
                _demand(not (entry["persistent"] and is_strange))
            else:
                _demand(name in ("", *VARIABLES))
    return Hook(skill, entry, content, variables)


def _is_variable(name: str, variables: Json) -> None:
    skill, slash, inner = name.rpartition("/")
    if slash:
        _demand(skill != "" and "/" not in skill and re.fullmatch(VARIABLE, inner) is not None)
    else:
        _demand(name in variables)


def _set(value: Any, variables: Json, timing: str) -> None:
    """L1-51: every change is of a variable of the skill, and of its kind."""
    _demand(isinstance(value, dict) and bool(value))
    for name, change in value.items():
        _demand(name in variables)
        start = variables[name]
        if not isinstance(change, dict):
            _demand(is_of_kind(change, start))
            continue
        match sorted(change):
            case ["add"]:
                _demand(isinstance(start, int) and not isinstance(start, bool))
                _demand(_is_integer(change["add"], -(2**53), 2**53))
            case ["toggle"]:
                _demand(isinstance(start, bool) and change["toggle"] is True)
            case ["pick"]:
                _demand(isinstance(change["pick"], list) and 1 <= len(change["pick"]) <= 32)
                _demand(all(is_of_kind(one, start) for one in change["pick"]))
            case ["from"]:
                _source(change["from"], timing)
            case ["from", "match"]:
                _source(change["from"], timing)
                _demand(not isinstance(start, bool) and isinstance(change["match"], str))
                _demand(expression_of(change["match"]) is not None)
                _patterns([change["match"]])
                _demand(re.compile((expression_of(change["match"]) or ("", False))[0]).groups == 1)
            case _:
                raise Wrong


def _source(value: Any, timing: str) -> None:
    _demand(isinstance(value, str))
    first, dot, rest = value.partition(".")
    match first:
        case "user_text" | "last_reply":
            _demand(not dot)
        case "context":
            _demand(re.fullmatch(CONTEXT_KEY, rest) is not None)
        case "tool_result":
            _demand(not dot and timing == "after_tool_call")
        case "tool_args":
            _demand(rest != "" and timing == "after_tool_call")
        case _:
            raise Wrong


def _leaves(when: Any, depth: int, variables: Json) -> int:
    """L1-42: how many leaves, and empty objects and lists, a condition has, if it is right."""
    _demand(isinstance(when, dict))
    _demand(depth <= MAX_DEPTH)
    _demand("scan_turns" not in when or "user_text" in when)
    count = int(not when)
    for key, value in when.items():
        match key:
            case "all" | "any":
                _demand(isinstance(value, list))
                count += not value
                count += sum(_leaves(inner, depth + 1, variables) for inner in value)
            case "not":
                count += _leaves(value, depth + 1, variables)
            case "scan_turns":
                _demand(_is_integer(value, 1, 20))
            case _:
                count += 1
                _demand(key in _LEAF_IS_RIGHT)
                _LEAF_IS_RIGHT[key](value)
                for name in value if key == "variables" else ():
                    _is_variable(name, variables)
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


def _values(value: Any) -> None:
    _demand(isinstance(value, dict) and bool(value))
    for wanted in value.values():
        if isinstance(wanted, dict):
            _demand(bool(wanted) and set(wanted) <= {"min", "max"} and all(map(_is_number, wanted.values())))
            _demand(wanted.get("min", -math.inf) <= wanted.get("max", math.inf))
        else:
            several = wanted if isinstance(wanted, list) else [wanted]
            _demand(1 <= len(several) <= MAX_LIST)
            _demand(all(isinstance(one, str | bool) or _is_number(one) for one in several))


def _context(value: Any) -> None:
    _values(value)
    _demand(all(re.fullmatch(CONTEXT_KEY, key) for key in value))


def _yes(value: Any) -> None:
    _demand(value is True)


def _chance(value: Any) -> None:
    _demand(_is_number(value) and 0 <= value <= 1)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


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
    "variables": _values,
    "context": _context,
    "last_reply": _patterns,
    "interrupted": _yes,
    "spoken": _yes,
    "attachments": _among("image", "document"),
    "chance": _chance,
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
