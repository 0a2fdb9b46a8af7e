"""The `variables` of a hooks.json and the `set` of its entries: their form, and the changes that come of it (L1-50, L1-51)."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Any, Final, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType

from skills_engine.conditions.condition import Moment, TextSearch, argument, text_of
from skills_engine.conditions.text_patterns import Pattern, capturing
from skills_engine.conditions.turn_facts import MAX_INTEGER, MAX_LINE_CHARS, Value, is_line, is_of_kind, throw
from skills_engine.diagnostics import Report, did_you_mean, quoted

MAX_VARIABLES = 16
CONTEXT_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
VARIABLE_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")

_INTEGER = re.compile(r"-?[0-9]{1,16}")
_SPACES = re.compile(r"\s+")
_SOURCE = re.compile(r"user_text|last_reply|context\.[A-Za-z_][A-Za-z0-9_]{0,63}|tool_result|tool_args\..+", re.DOTALL)
_SOURCES = "user_text, last_reply, context.KEY, or at after_tool_call: tool_result, tool_args.PATH"
_TOO_MANY = f"a skill has at most {MAX_VARIABLES} variables"
_NAME_FORM = "a name has up to 32 of a-z, 0-9 and _, a letter first"
_START_FORM = f"a start value is an integer (up to 2^53), true, false, or a line of up to {MAX_LINE_CHARS} characters"

Declared = Mapping[str, Value]
"""The variables of a skill, with their start values."""
Change = Callable[[Any, Moment], Value | None]
"""Function that returns the new value of a variable for the present one, or None if its `from` finds nothing."""


class Owner(NamedTuple):
    """The entry that a condition, a `set` or a text belongs to."""

    skill: str = ""
    name: str = ""
    declared: Declared = MappingProxyType({})
    has_set: bool = False
    """Whether it sets variables."""

    def knows(self, variable: str) -> bool:
        """Return whether this is a variable of the skill, or may be one of another: `skill/name`."""
        skill, slash, name = variable.rpartition("/")
        if slash:
            return skill != "" and "/" not in skill and VARIABLE_NAME.fullmatch(name) is not None
        return variable in self.declared

    def value(self, variable: str, moment: Moment) -> Value | None:
        """Return the value of such a variable, or None where there is none."""
        skill, _, name = variable.rpartition("/")
        return moment.variables.value(skill or self.skill, name)


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
    values: frozenset[tuple[str, object]] = field(compare=False, repr=False)
    """The names of its variables with each constant that they may get, and with None where they may get others."""


@dataclass(frozen=True)
class Capture:
    """The change to what stands at a source, as far as it is of the kind of the start value."""

    source: str
    expression: Pattern | None
    start: Value

    def __call__(self, _: object, moment: Moment) -> Value | None:
        found = _found(self.source, moment)
        if isinstance(self.start, bool):
            return found if isinstance(found, bool) else None
        if not isinstance(found, str | int | float):
            return None
        searched = moment.turn.searched(text_of(found))
        text = moment.work.capture(self.expression, searched) if self.expression else searched.written
        if text is None:
            return None
        text = _SPACES.sub(lambda spaces: spaces[0] if is_line(spaces[0]) else " ", text.strip())[:MAX_LINE_CHARS]
        if isinstance(self.start, str):
            return text
        return int(text) if _INTEGER.fullmatch(text) and is_of_kind(int(text), self.start) else None


def read_variables(written: object, report: Report) -> dict[str, Value]:
    """Return the variables of a skill; each that is wrong is reported and left out."""
    found: dict[str, Value] = {}
    if not isinstance(written, dict):
        report.error("$.variables", f"expected an object of names and start values, got {quoted(written)}")
        return found
    for number, (name, start) in enumerate(written.items()):
        is_named = VARIABLE_NAME.fullmatch(name) is not None
        if number < MAX_VARIABLES and is_named and is_of_kind(start, start):
            found[name] = start
        else:
            problem = _NAME_FORM if not is_named else _TOO_MANY if number >= MAX_VARIABLES else _START_FORM
            report.error(f"$.variables.{name}", f"{quoted(start)} is dropped: {problem}")
    return found


def read_set(written: object, place: str, report: Report, owner: Owner, timing: object) -> SetEntry | None:
    """Return the changes, or None with every reason why there are none."""
    if not isinstance(written, dict) or not written:
        report.error(place, f"expected an object of variables and their new values, got {quoted(written)}")
        return None
    changes: list[tuple[str, Change]] = []
    for name, value in written.items():
        try:
            changes.append((name, _change(name, value, owner, timing)))
        except (ValueError, msgspec.ValidationError) as error:  # of the first, PatternError is one
            report.error(f"{place}.{name}", str(error))
    searches = [
        TextSearch(int(change.source == "user_text"), [change.expression], change.expression.steps)
        for _, change in changes
        if isinstance(change, Capture) and change.expression is not None
    ]
    if len(changes) < len(written):
        return None
    given = {name: value.get("pick", [None]) if isinstance(value, dict) else [value] for name, value in written.items()}
    values = frozenset((name, value) for name, each in given.items() for value in each)
    return SetEntry(json.dumps(written), changes, searches, values)


def captured_variables(entries: Sequence[object]) -> Iterator[str]:
    """Yield the names of variables that some entry sets by `from`: their texts may be a stranger's words."""
    for entry in entries:
        changes = entry.get("set") if isinstance(entry, dict) else None
        for name, change in changes.items() if isinstance(changes, dict) else ():
            if isinstance(change, dict) and "from" in change:
                yield name


def _change(variable: str, value: Any, owner: Owner, timing: object) -> Change:
    """Return the change of a variable. Raises ValueError, msgspec.ValidationError."""
    if variable not in owner.declared:
        raise ValueError(f"no variable of this skill{did_you_mean(variable, owner.declared)}")
    start = owner.declared[variable]
    if is_of_kind(value, start):
        return lambda *_: value
    entry = msgspec.convert(value, ChangeEntry) if isinstance(value, dict) else ChangeEntry()
    match value:
        case {"add": int(number), **others} if type(start) is int and not others:
            return lambda now, _: max(-MAX_INTEGER, min(MAX_INTEGER, now + number))
        case {"toggle": True, **others} if isinstance(start, bool) and not others:
            return lambda now, _: not now
        case {"pick": choices, **others} if not others and all(is_of_kind(one, start) for one in choices):
            drawn = (owner.skill, owner.name, variable)
            return lambda _, moment: choices[throw(moment.turn.facts.seed, *drawn) * len(choices) >> 64]
        case {"from": str(source), **others} if others.keys() <= {"match"}:
            if not _SOURCE.fullmatch(source) or (source.startswith("tool_") and timing != "after_tool_call"):
                raise ValueError(f"from: expected {_SOURCES}; got {quoted(source)}")
            if entry.match is UNSET or not isinstance(start, bool):
                return Capture(source, None if entry.match is UNSET else capturing(entry.match), start)
    kind = (
        "an integer, or add" if type(start) is int else "a text" if isinstance(start, str) else "true, false, or toggle"
    )
    raise ValueError(f"expected {kind}, pick (values of this kind) or from; got {quoted(value)}")


def _found(source: str, moment: Moment) -> object:
    """Return what stands at the source; something that no variable can take where nothing does."""
    facts, (first, _, rest) = moment.turn.facts, source.partition(".")
    match first:
        case "user_text":
            return facts.user_messages[-1] if facts.is_new_message and facts.user_messages else None
        case "last_reply":
            return facts.last_reply
        case "context":
            return facts.context_for_texts.get(rest)
    if moment.call is None:
        return None
    return moment.call.result if first == "tool_result" else argument(moment.call.shown_arguments, rest)
