"""The form of `tests/*.yaml`: one struct for each mapping in it. Keys that are left out are None."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

MAX_SAMPLES = 50

_Text = Annotated[str, Meta(min_length=1)]
_Count = Annotated[int, Meta(ge=1)]
_Patterns = Annotated[list[_Text], Meta(min_length=1, max_length=32)]
_Names = Annotated[list[_Text], Meta(max_length=64)]


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


class ExpectSpec(Struct, forbid_unknown_fields=True, frozen=True):
    """Expectations of a turn, all of which must hold."""

    fires: _Names | None = None
    silent: _Names | None = None
    reads: Annotated[list[ReadsSpec], Meta(min_length=1, max_length=64)] | None = None
    tokens: TokensSpec | None = None
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


class TurnSpec(Struct, forbid_unknown_fields=True, frozen=True):
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
    tools: _Names | None = None
    hook_tokens: _Count | None = None
    script: Annotated[list[StepSpec], Meta(max_length=64)] | None = None
    expect: ExpectSpec | None = None


class SkillTestSpec(TurnSpec, forbid_unknown_fields=True, frozen=True):
    """One test; what it says of the turn holds for each of its `turns` that says nothing else."""

    name: _Text | None = None
    history: Annotated[list[MessageSpec], Meta(max_length=200)] | None = None
    turns: Annotated[list[TurnSpec], Meta(min_length=1, max_length=32)] | None = None
    after: _Text | None = None
    ask: AskSpec | None = None
    compare: CompareSpec | None = None


class SkillTestsDocument(Struct, forbid_unknown_fields=True, frozen=True):
    """The tests of one file."""

    tests: list[SkillTestSpec]


SHARED = ("channel", "language", "model", "user_name", "operator", "time", "skills", "tools", "hook_tokens")
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


def with_shared(turn: TurnSpec, test: SkillTestSpec) -> TurnSpec:
    """Return the turn with what its test says of all turns."""
    return msgspec.structs.replace(turn, **{key: getattr(test, key) for key in SHARED if getattr(turn, key) is None})
