"""The `variables` of a hooks.json and the `set` of its entries: their form, and the changes that come of it (L1-50, L1-51)."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Any, Final, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType

from skills_engine.conditions.condition import Moment, TextSearch, compact_json
from skills_engine.conditions.text_patterns import Pattern, SearchedText, capturing
from skills_engine.conditions.turn_facts import MAX_INTEGER, MAX_LINE_CHARS, Value, is_of_kind, is_value, throw
from skills_engine.diagnostics import Report, did_you_mean, quoted

MAX_VARIABLES = 16
CONTEXT_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
VARIABLE_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")

_INTEGER = re.compile(r"-?[0-9]{1,16}")
_SPACES = re.compile(r"\s+")
_SOURCE = re.compile(r"user_text|last_reply|context\.[A-Za-z_][A-Za-z0-9_]{0,63}|tool_result|tool_args\..+", re.DOTALL)
_SOURCES = "user_text, last_reply, context.KEY, or at after_tool_call: tool_result, tool_args.PATH"
_VALUE = f"an integer (up to 2^53), true, false, or a text of one line of at most {MAX_LINE_CHARS} characters"

Declared = Mapping[str, Value]
"""The variables of a skill, with their start values."""
Change = Callable[[Value, Moment, "Owner"], Value | None]
"""Function that returns the new value of a variable, or None if its `from` finds nothing."""


class Owner(NamedTuple):
    """The entry that a condition or a `set` belongs to."""

    skill: str = ""
    name: str = ""
    declared: Declared = MappingProxyType({})

    def knows(self, variable: str) -> bool:
        """Return whether this is a variable of the skill, or may be one of another: `skill/name`."""
        skill, slash, name = variable.rpartition("/")
        if slash:
            return skill != "" and "/" not in skill and VARIABLE_NAME.fullmatch(name) is not None
        return variable in self.declared


NO_OWNER: Final = Owner()


# The source of the JSON Schema and of the checks; the descriptions are what an editor shows.
class ChangeEntry(msgspec.Struct, forbid_unknown_fields=True, rename={"source": "from"}):
    add: Annotated[
        Annotated[int, Meta(ge=-MAX_INTEGER, le=MAX_INTEGER)] | UnsetType, Meta(description="Added to an integer.")
    ] = UNSET
    toggle: Annotated[bool | UnsetType, Meta(description="true: a boolean becomes the other one.")] = UNSET
    pick: Annotated[
        Annotated[list[bool | int | str], Meta(min_length=1, max_length=32)] | UnsetType,
        Meta(description="One of these, drawn at random."),
    ] = UNSET
    source: Annotated[str | UnsetType, Meta(description=f"What the value is read from: {_SOURCES}.")] = UNSET
    match: Annotated[
        str | UnsetType, Meta(description="An expression with one group, which is the value: /…(…)…/ or /…(…)…/i.")
    ] = UNSET


Changes = Annotated[dict[str, bool | int | str | ChangeEntry], Meta(min_length=1)]


@dataclass(frozen=True)
class SetEntry:
    """A `set` that was read without error. Equal if written alike."""

    source: str
    changes: Sequence[tuple[str, Change]] = field(compare=False, repr=False)
    searches: Sequence[TextSearch] = field(compare=False, repr=False)


def read_variables(written: object, report: Report) -> dict[str, Value]:
    """Return the variables of a skill; each that is wrong is reported and left out."""
    if not isinstance(written, dict):
        report.error("$.variables", f"expected an object of names and start values, got {quoted(written)}")
        return {}
    found: dict[str, Value] = {}
    for number, (name, start) in enumerate(written.items()):
        if number >= MAX_VARIABLES:
            report.error(f"$.variables.{name}", f"is one too many: a skill has at most {MAX_VARIABLES} variables")
        elif not VARIABLE_NAME.fullmatch(name):
            message = "is no name: expected up to 32 of a-z, 0-9 and _, a letter first"
            report.error(f"$.variables.{name}", message)
        elif not is_value(start):
            report.error(f"$.variables.{name}", f"expected {_VALUE}; got {quoted(start)}")
        else:
            found[name] = start
    return found


def read_set(written: object, place: str, report: Report, owner: Owner, timing: object) -> SetEntry | None:
    """Return the changes, or None with every reason why there are none."""
    errors = len(report.errors)
    if not isinstance(written, dict) or not written:
        report.error(place, f"expected an object of variables and their new values, got {quoted(written)}")
        return None
    changes, searches = [], []
    for name, value in written.items():
        if name not in owner.declared:
            report.error(f"{place}.{name}", f"no variable of this skill{did_you_mean(name, owner.declared)}")
            continue
        try:
            pattern = _pattern(value)
            changes.append((name, _change(name, value, owner.declared[name], pattern, timing)))
            if pattern is not None:
                searches.append(TextSearch(int(value["from"] == "user_text"), [pattern], pattern.steps))
        except (ValueError, msgspec.ValidationError) as error:  # of the first, PatternError is one
            report.error(f"{place}.{name}", str(error))
    return SetEntry(json.dumps(written), changes, searches) if len(report.errors) == errors else None


def captured_variables(entries: Sequence[object]) -> Iterator[str]:
    """Yield the names of variables that some entry sets by `from`: their texts may be a stranger's words."""
    for entry in entries:
        changes = entry.get("set") if isinstance(entry, dict) else None
        for name, change in changes.items() if isinstance(changes, dict) else ():
            if isinstance(change, dict) and "from" in change:
                yield name


def _pattern(value: object) -> Pattern | None:
    written = value.get("match") if isinstance(value, dict) else None
    return capturing(written) if isinstance(written, str) else None


def _change(name: str, value: Any, start: Value, pattern: Pattern | None, timing: object) -> Change:
    """Return the change. Raises ValueError, msgspec.ValidationError."""
    kind = "an integer" if type(start) is int else "true or false" if isinstance(start, bool) else "a text"
    if not isinstance(value, dict):
        if not is_of_kind(value, start):
            raise ValueError(f"expected {kind}, or an object of add, toggle, pick or from; got {quoted(value)}")
        return lambda *_: value
    entry = msgspec.convert(value, ChangeEntry)
    match sorted(value):
        case ["add"] if type(start) is int:
            return lambda now, *_: max(-MAX_INTEGER, min(MAX_INTEGER, now + entry.add))
        case ["toggle"] if isinstance(start, bool) and entry.toggle is True:
            return lambda now, *_: not now
        case ["pick"] if all(is_of_kind(one, start) for one in value["pick"]):
            choices: Sequence[Value] = value["pick"]
            return lambda _, moment, owner: choices[
                throw(moment.turn.facts.seed, owner.skill, owner.name, name) * len(choices) >> 64
            ]
        case ["from"] | ["from", "match"] if pattern is None or not isinstance(start, bool):
            if not _SOURCE.fullmatch(value["from"]):
                raise ValueError(f"from: expected {_SOURCES}; got {quoted(value['from'])}")
            if value["from"].startswith("tool_") and timing != "after_tool_call":
                raise ValueError(f"from: {value['from']} is known at after_tool_call only")
            return lambda _, moment, __: _as_kind(_captured(value["from"], pattern, moment), start)
    raise ValueError(f"does not fit {kind}: expected add (integers), toggle (true), pick (values of its kind) or from")


def _captured(source: str, pattern: Pattern | None, moment: Moment) -> object:
    found, text = _looked_up(source, moment)
    if text is None:
        return None
    return found if pattern is None else moment.work.capture(pattern, text)


def _looked_up(source: str, moment: Moment) -> tuple[object, SearchedText | None]:
    """Return the value and its text; the latter is None where there is no value that a variable can take."""
    first, _, rest = source.partition(".")
    match first:
        case "user_text" if moment.has_words:
            text = moment.turn.last_text
        case "user_text":
            text = None
        case "last_reply":
            text = moment.turn.last_reply
        case "context":
            return moment.turn.context(rest)
        case "tool_result":
            text = moment.call.result if moment.call else None
        case _:
            return moment.call.shown.value(rest) if moment.call else (None, None)
    return (None if text is None else text.written), text


def _as_kind(found: object, start: Value) -> Value | None:
    """Return what was found as a value of the variable's kind, or None where it is none."""
    if found is None or isinstance(start, bool):
        return found if isinstance(found, bool) else None
    text = found if isinstance(found, str) else compact_json(found)
    text = _SPACES.sub(_on_one_line, text.strip())[:MAX_LINE_CHARS]
    if isinstance(start, str):
        return text
    return int(text) if _INTEGER.fullmatch(text) and abs(int(text)) <= MAX_INTEGER else None


def _on_one_line(spaces: re.Match[str]) -> str:
    return spaces[0] if spaces[0].splitlines() == [spaces[0]] else " "
