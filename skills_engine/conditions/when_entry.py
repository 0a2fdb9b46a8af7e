"""The `when` of an entry in hooks.json: its form, and the condition that comes of it (L1-42)."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

import msgspec
from msgspec import UNSET, Meta, UnsetType

from skills_engine.conditions.condition import (
    MAX_SCAN_TURNS,
    AllOf,
    AnyOf,
    CallLeaf,
    Condition,
    Leaf,
    Moment,
    Node,
    Not,
    TextSearch,
    is_in_span,
)
from skills_engine.conditions.set_entry import CONTEXT_KEY, NO_OWNER, Owner
from skills_engine.conditions.text_patterns import Globs, Patterns, are_alike, is_in_range
from skills_engine.conditions.turn_facts import CallFacts, Channel, HookFacts, ToolStatus, throw
from skills_engine.diagnostics import Report, did_you_mean, quoted

MAX_LEAVES = 64
MAX_DEPTH = 8

Text = Annotated[str, Meta(min_length=1)]
Texts = Annotated[list[Text], Meta(min_length=1, max_length=32)]
_Count = Annotated[int, Meta(ge=1)]
_Clock = Annotated[str, Meta(pattern="^([01][0-9]|2[0-3]):[0-5][0-9]$", max_length=5)]


class NumberSpan(msgspec.Struct, forbid_unknown_fields=True):
    min: float | UnsetType = UNSET
    max: float | UnsetType = UNSET

    def __post_init__(self) -> None:
        is_empty = self.min is UNSET and self.max is UNSET
        if is_empty or (self.min is not UNSET and self.max is not UNSET and self.min > self.max):
            raise ValueError("expected min, or max, or both, min not above max")

    def __contains__(self, number: float) -> bool:
        return (self.min is UNSET or self.min <= number) and (self.max is UNSET or number <= self.max)


class CountSpan(NumberSpan, forbid_unknown_fields=True):
    min: _Count | UnsetType = UNSET
    max: _Count | UnsetType = UNSET


class ClockSpan(msgspec.Struct, forbid_unknown_fields=True, rename={"start": "from", "end": "to"}):
    start: _Clock | UnsetType = UNSET
    end: _Clock | UnsetType = UNSET
    days: Annotated[list[Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]], Meta(min_length=1)] | UnsetType = (
        UNSET
    )
    timezone: Text | UnsetType = UNSET


_Span = _Count | CountSpan
_Scalar = bool | int | float | str
_Wanted = Annotated[
    dict[Text, _Scalar | Annotated[list[_Scalar], Meta(min_length=1, max_length=32)] | NumberSpan], Meta(min_length=1)
]
_OnlyTrue = Annotated[bool, Meta(extra_json_schema={"const": True})]


# The source of the JSON Schema and of the checks; the descriptions are what an editor shows.
class SharedConditions(msgspec.Struct, rename={"all_": "all", "any_": "any", "not_": "not"}):
    """The conditions that count in hooks and triggers."""

    user_text: Annotated[
        Texts | UnsetType,
        Meta(description="One is in the user's last message: a text of whole words, or an expression: /…/ or /…/i."),
    ] = UNSET
    scan_turns: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_SCAN_TURNS)] | UnsetType,
        Meta(description="With user_text: so many of the last user messages are searched."),
    ] = UNSET
    turn: Annotated[
        _Span | UnsetType, Meta(description="The number of user messages in the conversation, this one included.")
    ] = UNSET
    channel: Annotated[Channel | UnsetType, Meta(description="How the turn began.")] = UNSET
    language: Annotated[
        Texts | UnsetType, Meta(description="The user's language: de fits de-CH, too; * is any language.")
    ] = UNSET
    model: Annotated[Texts | UnsetType, Meta(description="The model by its name, or local or cloud.")] = UNSET
    user: Annotated[Texts | UnsetType, Meta(description="The user who is logged in; operator is the role.")] = UNSET
    skills: Annotated[Texts | UnsetType, Meta(description="These skills are all on.")] = UNSET
    context: Annotated[
        _Wanted | UnsetType,
        Meta(description="What the application says: for each key a value, a list of values, or a span of numbers."),
    ] = UNSET
    time: Annotated[
        ClockSpan | UnsetType,
        Meta(
            description="The clock when the turn started; the span may pass midnight. Without a timezone: the context's, else the server's."
        ),
    ] = UNSET
    chance: Annotated[
        Annotated[float, Meta(ge=0, le=1)] | UnsetType, Meta(description="It holds at random, with this probability.")
    ] = UNSET


class TriggerWhenEntry(SharedConditions, forbid_unknown_fields=True):
    all_: Annotated["list[TriggerWhenEntry] | UnsetType", Meta(description="All of these hold.")] = UNSET
    any_: Annotated["list[TriggerWhenEntry] | UnsetType", Meta(description="One of these holds.")] = UNSET
    not_: Annotated["TriggerWhenEntry | UnsetType", Meta(description="This does not hold.")] = UNSET


class WhenEntry(SharedConditions, forbid_unknown_fields=True):
    all_: Annotated["list[WhenEntry] | UnsetType", Meta(description="All of these hold.")] = UNSET
    any_: Annotated["list[WhenEntry] | UnsetType", Meta(description="One of these holds.")] = UNSET
    not_: Annotated["WhenEntry | UnsetType", Meta(description="This does not hold.")] = UNSET
    tool: Annotated[Texts | UnsetType, Meta(description="The tool that ran; * and ? stand for any.")] = UNSET
    tool_status: Annotated[
        Annotated[list[ToolStatus], Meta(min_length=1, max_length=32)] | UnsetType,
        Meta(description="How the tool call ended."),
    ] = UNSET
    tool_args: Annotated[
        dict[Text, Texts] | UnsetType,
        Meta(description="The path of an argument (dots lead inwards) and the patterns of which it holds one."),
    ] = UNSET
    tool_result: Annotated[Texts | UnsetType, Meta(description="Patterns, of which the result holds one.")] = UNSET
    round: Annotated[_Span | UnsetType, Meta(description="The round of the agent loop; the first one is 1.")] = UNSET
    variables: Annotated[
        _Wanted | UnsetType,
        Meta(description="Variables of this skill, or of another: skill/name. As in context."),
    ] = UNSET
    last_reply: Annotated[Texts | UnsetType, Meta(description="Patterns, of which the reply before holds one.")] = UNSET
    interrupted: Annotated[_OnlyTrue | UnsetType, Meta(description="true: the user has ended a running reply.")] = UNSET
    attachments: Annotated[
        Annotated[list[Literal["image", "document"]], Meta(min_length=1, max_length=32)] | UnsetType,
        Meta(description="One of these is attached to the user's message."),
    ] = UNSET
    spoken: Annotated[_OnlyTrue | UnsetType, Meta(description="true: the reply will be spoken.")] = UNSET


CONDITIONS = {field.encode_name: field.type for field in msgspec.structs.fields(WhenEntry)}
_STRINGS = "a list of 1 to 32 non-empty strings"
_PATTERNS = f'{_STRINGS}, such as ["refund", "/order \\\\d+/i"]'
_ALIASES = {"and": "all", "or": "any"}
_COUNT = 'a number from 1 on, or {"min": …, "max": …}, one or both, min not above max'
_EXPECTED = {
    "user_text": _PATTERNS,
    "scan_turns": "a number from 1 to 20",
    "tool_status": "a list of ok, error, refused",
    "tool_args": 'an object of paths and patterns, such as {"order.id": ["/^7/"]}',
    "tool_result": _PATTERNS,
    "round": _COUNT,
    "turn": _COUNT,
    "channel": "voice or text",
    "language": f'{_STRINGS}, such as ["de", "pt-BR"]',
    "time": 'an object of from and to (such as "09:00"), days (such as ["sat", "sun"]) and timezone',
    **dict.fromkeys(("from", "to"), 'a time from "00:00" to "23:59"'),
    "days": "a list of mon, tue, wed, thu, fri, sat, sun",
    "timezone": "a name such as Europe/Berlin",
    **dict.fromkeys(("min", "max"), "a number from 1 on"),
    **dict.fromkeys(
        ("variables", "context"), 'an object of names and values, such as {"step": "name", "score": {"min": 3}}'
    ),
    "last_reply": _PATTERNS,
    **dict.fromkeys(("interrupted", "spoken"), "true (or under not: leave it out, or turn it with not)"),
    "attachments": "a list of image, document",
    "chance": "a number from 0 to 1",
}
_INSIDE = re.compile(r" unknown field `(.+)`$| - at `\$\.(\w+)")
"""The place of a mistake inside `time`, `round` or `turn`, in msgspec's words."""


def read_when(
    value: object, place: str, report: Report, *, known: Sequence[str] | None = None, owner: Owner = NO_OWNER
) -> Condition | None:
    """Return the condition, or None with every reason why there is none. `place` is its JSON path.

    `known` names the conditions that count here; by default all of them.
    """
    errors = len(report.errors)
    reader = _Reader(place, report, known, owner)
    root = reader.read(value, "when", depth=1)
    if reader.leaves > MAX_LEAVES:
        report.error(place, f"has {reader.leaves} conditions: at most {MAX_LEAVES} are allowed")
    if len(report.errors) > errors:
        return None
    return Condition(json.dumps(value), root, reader.searches)


class _Reader:
    """Reads the objects of one `when`; `path` is that of the condition, as reasons name it."""

    def __init__(self, place: str, report: Report, known: Sequence[str] | None, owner: Owner) -> None:
        self.leaves = 0  # and empty objects and lists
        self.searches: list[TextSearch] = []
        self._known = known
        self._owner = owner
        self._place = place
        self._report = report

    def read(self, value: object, path: str, *, depth: int) -> Node:
        if not isinstance(value, dict):
            self._error(path, f"expected an object of conditions, got {quoted(value)}")
        elif depth > MAX_DEPTH:
            self._error(path, f"is nested too deep: at most {MAX_DEPTH} objects, one in the other, are allowed")
        else:
            self.leaves += not value
            return AllOf(path, [part for key in value if (part := self._part(key, value, path, depth)) is not None])
        return AllOf(path, ())

    def _part(self, key: str, siblings: Mapping[str, Any], parent: str, depth: int) -> Node | CallLeaf | None:
        value, path = siblings[key], f"{parent}.{key}"
        match key:
            case "all":
                return AllOf(path, self._list(value, path, depth))
            case "any":
                return AnyOf(path, self._list(value, path, depth))
            case "not":
                return Not(self.read(value, path, depth=depth + 1))
            case "scan_turns" if "user_text" not in siblings:
                self._error(path, "counts beside user_text only")
                return None
        if key not in CONDITIONS:
            hint = f" (did you mean {_ALIASES[key]}?)" if key in _ALIASES else did_you_mean(key, CONDITIONS)
            self._error(path, f"unknown condition{hint}")
            return None
        if self._known is not None and key not in (*self._known, "scan_turns"):
            self._error(path, f"does not count here; these do: {', '.join(self._known)}")
            return None
        self.leaves += key != "scan_turns"
        try:
            right = msgspec.convert(value, CONDITIONS[key])
            if key == "scan_turns":
                return None
            if (call_test := _call_test(key, right, self._patterns)) is not None:
                return CallLeaf(path, call_test)
            return Leaf(path, _test(key, right, siblings.get("scan_turns", 1), self._patterns, self._owner))
        except (msgspec.ValidationError, UnicodeEncodeError) as error:  # half of a surrogate pair among chosen words
            self._wrong(key, value, path, _INSIDE.search(str(error)))
        except ValueError as error:  # of which PatternError is one
            self._error(path + ".timezone" * (key == "time"), str(error))
        return None

    def _patterns(self, patterns: Sequence[str], last: int = 0) -> Patterns:
        """Compile patterns that are searched in so many user messages, or in other texts. Raises PatternError."""
        compiled = Patterns(patterns)
        if compiled.expressions:
            self.searches.append(TextSearch(last, compiled.expressions, compiled.steps, compiled.grams))
        return compiled

    def _wrong(self, key: str, value: Any, path: str, inside: re.Match[str] | None) -> None:
        if inside is None or key in ("variables", "context"):
            self._error(path, f"expected {_EXPECTED.get(key, _STRINGS)}; got {quoted(value)}")
        elif unknown := inside[1]:
            self._error(f"{path}.{unknown}", f"unknown key: expected {_EXPECTED[key]}")
        else:
            self._error(f"{path}.{inside[2]}", f"expected {_EXPECTED[inside[2]]}; got {quoted(value[inside[2]])}")

    def _list(self, value: object, path: str, depth: int) -> list[Node]:
        if not isinstance(value, list):
            self._error(path, f"expected a list of objects, got {quoted(value)}")
            return []
        self.leaves += not value
        return [self.read(item, f"{path}[{index}]", depth=depth + 1) for index, item in enumerate(value)]

    def _error(self, path: str, message: str) -> None:
        self._report.error(self._place + path.removeprefix("when"), message)


def _call_test(
    key: str, value: Any, compile_patterns: Callable[[Sequence[str]], Patterns]
) -> Callable[[CallFacts, Moment], bool] | None:
    match key:
        case "tool":
            names = Globs(value)
            return lambda call, _: names.fit(call.name)
        case "tool_status":
            return lambda call, _: call.status in value
        case "tool_args":
            each = {path: compile_patterns(patterns) for path, patterns in value.items()}
            return lambda call, moment: all(
                (text := moment.turn.argument(call, path)) is not None and moment.work.finds(one, text)
                for path, one in each.items()
            )
        case "tool_result":
            patterns = compile_patterns(value)
            return lambda call, moment: moment.finds(patterns, call.result)
    return None


def _value_test(key: str, wanted: Mapping[str, Any], owner: Owner) -> Callable[[Moment], bool]:
    """Return the test of a leaf about variables or the context. Raises ValueError."""
    if key == "context":
        if wrong := next((name for name in wanted if not CONTEXT_KEY.fullmatch(name)), None):
            raise ValueError(f"{quoted(wrong)} is no key: expected up to 64 letters, digits and _, no digit first")
        return lambda moment: all(_is_one_of(one, moment.turn.facts.context.get(name)) for name, one in wanted.items())
    if wrong := next((name for name in wanted if not owner.knows(name)), None):
        raise ValueError(f"no variable of this skill is called {wrong}{did_you_mean(wrong, owner.declared)}")
    return lambda moment: all(_is_one_of(one, owner.value(name, moment)) for name, one in wanted.items())


def _is_one_of(wanted: object, value: object) -> bool:
    """Return whether it is what is wanted: texts however they are written, of a list one item, booleans as such only."""
    if isinstance(value, list | tuple):
        return any(_is_one_of(wanted, one) for one in value)
    match wanted:
        case list():
            return any(_is_one_of(one, value) for one in wanted)
        case str():
            return isinstance(value, str) and are_alike(value, wanted)
        case bool():
            return wanted is value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return value in wanted if isinstance(wanted, NumberSpan) else wanted == value


def _test(
    key: str, value: Any, last: int, compile_patterns: Callable[[Sequence[str], int], Patterns], owner: Owner
) -> Callable[[Moment], bool]:
    match key:
        case "user_text":
            patterns = compile_patterns(value, last)
            return lambda moment: (
                not (owner.has_set and not moment.turn.facts.is_new_message)
                and moment.finds(patterns, *moment.turn.last_texts(last))
            )
        case "last_reply":
            patterns = compile_patterns(value, 0)
            return lambda moment: (
                moment.turn.facts.last_reply is not None and moment.finds(patterns, moment.turn.facts.last_reply)
            )
        case "variables" | "context":
            return _value_test(key, value, owner)
        case "chance":
            most = value * 2**64
            return lambda moment: throw(moment.turn.facts.seed, owner.skill, owner.name) < most
        case "interrupted" | "spoken":
            if value is not True:
                raise ValueError("expected true; for the contrary put it under not")
            return lambda moment: bool(getattr(moment.turn.facts, key))
        case "attachments":
            return lambda moment: not moment.turn.facts.attachments.isdisjoint(value)
        case "round":
            span = CountSpan(value, value) if isinstance(value, int) else value
            return lambda moment: moment.round is not None and moment.round in span
        case "turn":
            span = CountSpan(value, value) if isinstance(value, int) else value
            return lambda moment: len(moment.turn.facts.user_messages) in span
        case "channel":
            return lambda moment: moment.turn.facts.channel == value
        case "language":
            return lambda moment: _has_language(moment.turn.facts, value)
        case "model":
            names = Globs(value)
            return lambda moment: _location(moment.turn.facts) in value or names.fit(moment.turn.facts.model)
        case "user":
            names = Globs(name for name in value if name != "operator")
            return lambda moment: _has_user(moment.turn.facts, names, asks_role="operator" in value)
        case "skills":
            return lambda moment: moment.turn.facts.skills.issuperset(value)
        case _:
            return _clock_test(value)


def _has_language(facts: HookFacts, ranges: Sequence[str]) -> bool:
    return facts.language is not None and any(is_in_range(facts.language, one) for one in ranges)


def _location(facts: HookFacts) -> str:
    return "local" if facts.is_local else "cloud"


def _has_user(facts: HookFacts, names: Globs, *, asks_role: bool) -> bool:
    """Return whether a user is logged in whose name fits, or whose role is meant by `operator`."""
    return facts.user is not None and ((asks_role and facts.is_operator) or names.fit(facts.user))


def _clock_test(value: ClockSpan) -> Callable[[Moment], bool]:
    start = "00:00" if value.start is UNSET else value.start
    end = "24:00" if value.end is UNSET else value.end
    days = None if value.days is UNSET else value.days
    if value.timezone is UNSET:
        return lambda moment: is_in_span(moment.turn.facts.started_at, start, end, days)
    try:
        zone = ZoneInfo(value.timezone)
    except (OSError, ValueError, KeyError) as error:  # no such file, or a name that is no path in the database
        raise ValueError(f"no time zone is called {quoted(value.timezone)}: write it like Europe/Berlin") from error
    return lambda moment: is_in_span(moment.turn.facts.started_at.astimezone(zone), start, end, days)
