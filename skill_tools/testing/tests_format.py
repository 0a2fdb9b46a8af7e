"""The form of `tests/*.yaml`: one struct for each mapping in it, and the checks that no struct can make.

Keys that are left out are None.
"""

from collections.abc import Iterator, Sequence
from datetime import MAXYEAR, MINYEAR, UTC, datetime, time, timedelta, tzinfo
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from skills_engine.bounded_yaml import Place
from skills_engine.conditions.condition import DAYS
from skills_engine.conditions.text_patterns import Patterns
from skills_engine.conditions.turn_facts import Value

MAX_SAMPLES = 50

_Text = Annotated[str, Meta(min_length=1)]
_Count = Annotated[int, Meta(ge=1)]
_Patterns = Annotated[list[_Text], Meta(min_length=1, max_length=32)]
_Names = Annotated[list[_Text], Meta(max_length=64)]
_Variables = dict[_Text, Value]
_Context = dict[_Text, str | bool | int | float | list[str]]

DEFAULT_TIME = datetime(2026, 1, 5, 12, tzinfo=UTC)
"""The clock of a test that names no time: a Monday at noon, so that it ends the same on every day."""

TIME_FORMS = "14:05, sun 23:30 or 2026-11-22 14:05"
_ASKED = ("language", "skills", "with_skills", "tools")
"""Keys that a test may use when it asks a model through a server; the rest is as it is there."""

Found = Iterator[tuple[Place, str]]


class CallSpec(Struct, forbid_unknown_fields=True, frozen=True):
    """A tool call of the scripted model and how it ends: with a result, an error, or refused."""

    tool: _Text | None = None
    arguments: dict[str, Any] = {}
    result: str | None = None
    error: str | None = None
    refused: str | None = None


class StepSpec(Struct, forbid_unknown_fields=True, frozen=True):
    """One reply of the scripted model: one of the three."""

    need_tools: str | None = None
    calls: Annotated[list[CallSpec], Meta(min_length=1, max_length=32)] | None = None
    answer: str | None = None


class ReadsSpec(Struct, forbid_unknown_fields=True, frozen=True):
    """Texts that a model call must and must not read; without `call`: that one of them must, and none must."""

    call: _Count | None = None
    contains: _Text | _Patterns | None = None
    lacks: _Text | _Patterns | None = None


class TokensSpec(Struct, forbid_unknown_fields=True, frozen=True):
    """Limit for what hooks cost in the dearest call, estimated at four characters a token."""

    max: Annotated[int, Meta(ge=0)] | None = None


class ReplySpec(Struct, forbid_unknown_fields=True, frozen=True):
    """Conditions for a model's answer."""

    min_words: _Count | None = None
    max_words: _Count | None = None
    contains: _Text | _Patterns | None = None
    lacks: _Text | _Patterns | None = None
    judge: _Text | None = None
    json: dict[str, Any] | None = None


class ExpectSpec(Struct, forbid_unknown_fields=True, frozen=True):
    """Expectations of a turn, all of which must hold."""

    fires: _Names | None = None
    silent: _Names | None = None
    reads: Annotated[list[ReadsSpec], Meta(min_length=1, max_length=64)] | None = None
    tokens: TokensSpec | None = None
    variables: Annotated[_Variables, Meta(min_length=1)] | None = None
    reply: ReplySpec | None = None


class MessageSpec(Struct, forbid_unknown_fields=True, frozen=True):
    """One message of the history: one of the two."""

    user: _Text | None = None
    assistant: _Text | None = None


class AskSpec(Struct, forbid_unknown_fields=True, frozen=True, rename={"pass_rate": "pass"}):
    """Number of times that a model is asked, and the share of its answers that must be as expected."""

    samples: Annotated[int, Meta(ge=1, le=MAX_SAMPLES)] = 5
    pass_rate: Annotated[float, Meta(ge=0, le=1)] = 1.0


class CompareSpec(Struct, forbid_unknown_fields=True, frozen=True):
    """Hooks that are left out when the model is asked a second time."""

    without: Annotated[list[_Text], Meta(min_length=1, max_length=64)] | None = None


class TurnSpec(Struct, forbid_unknown_fields=True, frozen=True, rename={"with_skills": "with"}):
    """One turn: who begins it, what is known of it, what the scripted model replies, what is expected."""

    user: _Text | None = None
    trigger: _Text | None = None
    channel: Literal["voice", "text"] | None = None
    language: _Text | None = None
    model: _Text | None = None
    user_name: _Text | None = None
    operator: bool | None = None
    time: _Text | None = None
    skills: _Names | None = None
    with_skills: Literal["all"] | None = None
    tools: _Names | None = None
    hook_tokens: _Count | None = None
    context: _Context | None = None
    spoken: bool | None = None
    interrupted: bool | None = None
    attachments: list[Literal["image", "document"]] | None = None
    seed: str | None = None
    script: Annotated[list[StepSpec], Meta(max_length=64)] | None = None
    expect: ExpectSpec | None = None


class SkillTestSpec(TurnSpec, forbid_unknown_fields=True, frozen=True, rename={"with_skills": "with"}):
    """One test; what it says of the turn holds for each of its `turns` that says nothing else."""

    name: _Text | None = None
    history: Annotated[list[MessageSpec], Meta(max_length=200)] | None = None
    variables: _Variables | None = None
    turns: Annotated[list[TurnSpec], Meta(min_length=1, max_length=32)] | None = None
    after: _Text | None = None
    ask: AskSpec | None = None
    compare: CompareSpec | None = None


class SkillTestsDocument(Struct, forbid_unknown_fields=True, frozen=True):
    """The tests of one file."""

    tests: list[SkillTestSpec]


_OWN = ("user", "trigger", "script", "expect")
"""Keys that each of several turns has for itself."""
SHARED = tuple(key for key in TurnSpec.__struct_fields__ if key not in _OWN)
"""Keys that a turn takes from its test where it has none of its own."""


STRUCTS: dict[str, type[Struct]] = {
    "": SkillTestSpec,
    "turns": TurnSpec,
    "script": StepSpec,
    "calls": CallSpec,
    "expect": ExpectSpec,
    "reads": ReadsSpec,
    "tokens": TokensSpec,
    "reply": ReplySpec,
    "history": MessageSpec,
    "ask": AskSpec,
    "compare": CompareSpec,
}
"""The struct that stands under a key; under no key, that of a test."""
DICTS: dict[str | int, Any] = {"variables": _Variables, "context": _Context}
"""The type that stands under a key where the keys below are the author's own."""


CHOICES = {"channel": ("voice", "text"), "attachments": ("image", "document"), "with": ("all",)}
"""The values that a key may have, where these are few."""


def with_shared(turn: TurnSpec, test: SkillTestSpec) -> TurnSpec:
    """Return the turn with what its test says of all turns."""
    return msgspec.structs.replace(turn, **{key: getattr(test, key) for key in SHARED if getattr(turn, key) is None})


@lru_cache(maxsize=1024)
def pattern_of(text: str) -> Patterns:
    """Return one pattern, ready to be searched. Raises ValueError."""
    return Patterns([text])


def patterns_of(value: str | Sequence[str] | None) -> dict[str, Patterns]:
    """Return what stands under `contains` or `lacks`, each with its text. Raises ValueError."""
    texts = [value] if isinstance(value, str) else value or ()
    return {text: pattern_of(text) for text in texts}


def clock_of(text: str | None, zone: tzinfo | None = UTC) -> datetime:
    """Return the time that a test names, in `zone` where it names no offset. Raises ValueError."""
    if text is None:
        return DEFAULT_TIME
    day, _, clock = text.rpartition(" ")
    if day.lower() in DAYS or (not day and "T" not in text):
        date = DEFAULT_TIME.date() + timedelta(days=DAYS.index(day.lower()) if day else 0)
        return datetime.combine(date, time.fromisoformat(clock), zone)
    moment = datetime.fromisoformat(text)
    if not MINYEAR < moment.year < MAXYEAR:
        raise ValueError("in another time zone there may be no such day")
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)


def check_test(spec: SkillTestSpec) -> Found:
    """Yield each mistake with its place in the test."""
    if spec.name is None:
        yield ("name",), "missing: give the test a name, the sentence that it checks"
    if spec.after is not None and spec.history is not None:
        yield ("history",), "the test starts where another one ended (`after`), so it has that one's history"
    for index, message in enumerate(spec.history or ()):
        if (message.user is None) == (message.assistant is None):
            yield ("history", index), "expected {user: …} or {assistant: …}"
    if spec.turns is not None:
        for key in _OWN:
            if getattr(spec, key) is not None:
                yield (key,), "belongs into one of the `turns`"
        for index, turn in enumerate(spec.turns):
            yield from _check_turn(turn, ("turns", index), spec)
    yield from _check_turn(spec, (), spec)
    yield from _check_asking(spec)


def _check_turn(turn: TurnSpec, at: Place, test: SkillTestSpec) -> Found:
    is_outer = isinstance(turn, SkillTestSpec) and turn.turns is not None
    if turn.user is None and turn.trigger is None and not is_outer:
        yield (*at, "user"), "missing: what the user says; or `trigger`, or `turns` with several turns"
    if turn.user is not None and turn.trigger is not None:
        yield (*at, "trigger"), "begins a turn without the user: remove it, or `user`"
    try:
        clock_of(turn.time)
    except ValueError:
        yield (*at, "time"), f"expected a time such as {TIME_FORMS}; got {turn.time}"
    tools = test.tools if turn.tools is None else turn.tools
    yield from _check_script(turn, (*at, "script"), tools)
    if turn.expect is not None:
        yield from _check_expect(turn.expect, (*at, "expect"), is_asked=test.ask is not None)


def _check_script(turn: TurnSpec, at: Place, tools: list[str] | None) -> Found:
    steps = turn.script or []
    for index, step in enumerate(steps):
        place = (*at, index)
        if sum(value is not None for value in (step.need_tools, step.calls, step.answer)) != 1:
            yield place, "expected one of need_tools, calls and answer"
        elif step.need_tools is not None and index:
            yield place, "need_tools can only come first: the model says once, at the start, that it needs tools"
        elif step.answer is not None and index < len(steps) - 1:
            yield place, "nothing can come after the answer"
        elif tools == [] and step.answer is None:
            yield place, "tools are off (`tools: []`): the model can only answer"
        for number, call in enumerate(step.calls or ()):
            if call.tool is None:
                yield (*place, "calls", number, "tool"), "missing: the name of the tool"
            elif tools and call.tool not in tools and call.error is None:
                text = f"{call.tool} is not among the test's `tools`: add it there, or give the call an error"
                yield (*place, "calls", number, "tool"), text
            if sum(value is not None for value in (call.result, call.error, call.refused)) > 1:
                yield (*place, "calls", number), "expected at most one of result, error and refused"


def _check_expect(expect: ExpectSpec, at: Place, *, is_asked: bool) -> Found:
    if expect == ExpectSpec():
        yield at, f"expects nothing, so it cannot fail: write one of {', '.join(ExpectSpec.__struct_fields__)}"
    for key in ("fires", "silent", "reads", "tokens", "variables"):
        if is_asked and getattr(expect, key) is not None:
            yield (*at, key), "is for scripted tests: a test that asks a model looks at `reply` alone"
    if not is_asked and expect.reply is not None:
        yield (*at, "reply"), "is for tests that ask a model: add `ask`"
    if expect.tokens is not None and expect.tokens.max is None:
        yield (*at, "tokens"), "expected {max: …}"
    for index, reads in enumerate(expect.reads or ()):
        if reads.contains is None and reads.lacks is None:
            yield (*at, "reads", index), "expected contains or lacks"
        yield from _check_patterns(reads, (*at, "reads", index))
    if expect.reply is not None:
        yield from _check_patterns(expect.reply, (*at, "reply"))
        yield from _check_schema(expect.reply.json, (*at, "reply", "json"))


def _check_schema(schema: dict[str, Any] | None, at: Place) -> Found:
    if schema is None:
        return
    from jsonschema import Draft202012Validator, SchemaError  # a third of a second, for what few tests have

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        yield (*at, *error.path), f"is no JSON Schema: {error.message}"


def _check_patterns(spec: ReadsSpec | ReplySpec, at: Place) -> Found:
    for key in ("contains", "lacks"):
        try:
            patterns_of(getattr(spec, key))
        except ValueError as error:
            yield (*at, key), str(error)


def _check_asking(spec: SkillTestSpec) -> Found:
    if spec.ask is None:
        if spec.compare is not None:
            yield ("compare",), "is for tests that ask a model: add `ask`"
        return
    for key in ("trigger", "script", "turns", "after", "variables"):
        if getattr(spec, key) is not None:
            yield (key,), "is for scripted tests: remove it, or `ask`"
    for key in SHARED:
        if key not in _ASKED and getattr(spec, key) is not None:
            yield (key,), "is as it is at the server in a test that asks a model: remove it, or `ask`"
    if spec.tools:
        yield ("tools",), "are the server's in a test that asks a model: remove it, or write [] to switch them off"
    if spec.compare is not None and spec.compare.without is None:
        yield ("compare", "without"), "missing: the hooks to leave out"
    if spec.expect is None or spec.expect.reply is None:
        yield ("expect",), "expected {reply: …}: what the answer must be like"
