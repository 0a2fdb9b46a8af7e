"""Facts that conditions look at: of a turn, of each tool call in it, and of the turns before.

The last are the memory of `once: "conversation"`, `cooldown` and `sticky` (L1-45), and the variables of skills (L1-50).
The server keeps no conversation: this state travels to the client as a signed text and back with the next turn.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeGuard
from zoneinfo import ZoneInfo

from skills_engine.signing import Signer

ToolStatus = Literal["ok", "error", "refused"]
Channel = Literal["voice", "text"]

Value = bool | int | str
"""The value of a variable."""
Values = Mapping[str, Mapping[str, Value]]
"""Values of variables by skill and name."""
ContextValue = str | bool | int | float | Sequence[str]

MAX_STATE_BYTES = 16 * 1024
MAX_SKILL_BYTES = 4 * 1024
"""Limit for the changed variables of one skill, as compact JSON in UTF-8."""
MAX_VARIABLES_BYTES = MAX_STATE_BYTES - 512
"""Limit for those of all skills, which leaves room for the signature."""
MAX_INTEGER = 2**53
MAX_LINE_CHARS = 200
_PURPOSE = "hook state"
_SURROGATE = re.compile("[\ud800-\udfff]")


class StateInvalidError(Exception):
    """The state is forged, signed with no key of ours, or too large."""


@dataclass(frozen=True)
class Firing:
    """The last turn in which a hook fired of itself."""

    skill: str
    hook: str
    turn: int
    until: int | None
    """The last turn in which this counts, or None if it counts for good."""


@dataclass(frozen=True)
class HookState:
    """Memory of the hooks after a turn, whose number is `turn`; 0 before the first."""

    turn: int = 0
    firings: tuple[Firing, ...] = ()
    """The firings of hooks, the earliest first."""
    variables: Values = field(default_factory=dict)
    """The values that differ from the start values."""

    @classmethod
    def read(cls, text: str, signer: Signer) -> "HookState":
        """Read what `signed` gave, with this key or one that was rotated out. Raises StateInvalidError."""
        if len(text.encode(errors="surrogatepass")) > MAX_STATE_BYTES:
            raise StateInvalidError(f"the state is larger than {MAX_STATE_BYTES // 1024} KiB")
        signature, _, payload = text.partition(" ")
        if not _state_signer(signer).verify(signature, "", "", "", payload):
            raise StateInvalidError("the state has no valid signature of this server")
        turn, firings, *rest = json.loads(payload)  # a state of an older version has no variables
        return cls(turn, tuple(Firing(*firing) for firing in firings), rest[0] if rest else {})

    def signed(self, signer: Signer) -> str:
        """Return it as a text of at most 16 KiB; the earliest firings are left out where there is no room."""
        state_signer = _state_signer(signer)
        variables = f",{compact_json(self.variables)}" if self.variables else ""
        room = MAX_STATE_BYTES - len(state_signer.sign("", "", "", "")) - _size(f" [{self.turn},[]{variables}]")
        kept: list[str] = []
        for firing in reversed(self.firings):
            entry = compact_json([firing.skill, firing.hook, firing.turn, firing.until])
            room -= _size(entry) + bool(kept)
            if room < 0:
                break
            kept.append(entry)
        payload = f"[{self.turn},[{','.join(reversed(kept))}]{variables}]"
        return f"{state_signer.sign('', '', '', payload)} {payload}"

    def next(self, fired: Iterable[Firing], variables: Values) -> "HookState":
        """Return the state after this turn: the firings that still count, those of `fired` in place of older ones."""
        turn = self.turn + 1
        latest = {(firing.skill, firing.hook): firing for firing in (*self.firings, *fired)}
        lasting = [firing for firing in latest.values() if firing.until is None or turn <= firing.until]
        lasting.sort(key=lambda firing: (firing.turn, firing.skill, firing.hook))
        return HookState(turn, tuple(lasting), variables)


class TurnVariables:
    """The variables of the skills that are on, and what the state brought of others."""

    def __init__(self, declared: Values, came: Values) -> None:
        """Take what came of a skill that is on, as far as name and kind still fit (L1-50)."""
        self._declared = declared
        checked = {skill: _differing(values, declared.get(skill)) for skill, values in came.items()}
        self.changed: Values = {skill: values for skill, values in checked.items() if values}
        self._bytes = _size(compact_json(self.changed))

    def of(self, skill: str) -> Mapping[str, Value]:
        """Return the values of a skill; none of one that is off."""
        return {**self._declared[skill], **self.changed.get(skill, {})} if skill in self._declared else {}

    def value(self, skill: str, name: str) -> Value | None:
        """Return the value, or None where no skill that is on has such a variable."""
        starts = self._declared.get(skill, {})
        return self.changed.get(skill, starts).get(name, starts[name]) if name in starts else None

    def write(self, skill: str, values: Mapping[str, Value]) -> bool:
        """Change all of these, in a new `changed`; return False, and change none, if the state has no room for them."""
        before = self.changed.get(skill, {})
        after = _differing({**before, **values}, self._declared.get(skill))
        if after == before:
            return True
        total = self._bytes + _item_size(skill, after) - _item_size(skill, before)
        if _size(compact_json(after)) > MAX_SKILL_BYTES or total > MAX_VARIABLES_BYTES:
            return False
        changed = {**self.changed, skill: after}
        if not after:
            del changed[skill]
        self.changed, self._bytes = changed, total
        return True


def _differing(values: Mapping[str, Value], starts: Mapping[str, Value] | None) -> Mapping[str, Value]:
    """Return what differs from a skill's start values and is of their kind; all, if the skill is off."""
    if starts is None:
        return values
    return {n: v for n, v in values.items() if n in starts and v != starts[n] and is_of_kind(v, starts[n])}


def _item_size(skill: str, values: Mapping[str, Value]) -> int:
    """Return the size of an item in the JSON of all skills, with its comma."""
    return _size(compact_json({skill: values})) - 1 if values else 0


def is_of_kind(value: object, start: object) -> TypeGuard[Value]:
    """Return whether a variable with this start value can have the value (L1-50)."""
    if isinstance(value, str):
        is_right = is_line(value) and len(value) <= MAX_LINE_CHARS and not _SURROGATE.search(value)
    else:
        is_right = isinstance(value, bool) or (isinstance(value, int) and abs(value) <= MAX_INTEGER)
    return is_right and type(value) is type(start)


def is_line(text: str) -> bool:
    return f"{text}.".splitlines() == [f"{text}."]


def zone_of(context: Mapping[str, object]) -> ZoneInfo | None:
    """Return the time zone that the context names; None for none, and where there is no such zone."""
    try:
        return ZoneInfo(str(context["timezone"])) if "timezone" in context else None
    except (OSError, ValueError, KeyError):
        return None


def throw(seed: str, *what: str) -> int:
    """Return a number of 64 bits that the seed and these names decide (L1-53)."""
    return int.from_bytes(hashlib.sha256(json.dumps([seed, *what]).encode()).digest()[:8])


def _state_signer(signer: Signer) -> Signer:
    """Return one whose signatures no hook can pass for, and that takes no hook's."""
    return Signer(signer.derived_keys(_PURPOSE))


def compact_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _size(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))


@dataclass(frozen=True, kw_only=True)
class CallFacts:
    """One tool call that ended: as it ran or, if it was refused, as it was asked for (L1-42)."""

    name: str
    status: ToolStatus = "ok"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    result: str = ""
    """The text that the model reads of it."""
    concealed_arguments: Mapping[str, Any] | None = None
    """The arguments as the user may see them, where these differ."""

    @property
    def shown_arguments(self) -> Mapping[str, Any]:
        return self.arguments if self.concealed_arguments is None else self.concealed_arguments


@dataclass(frozen=True, kw_only=True)
class HookFacts:
    """The facts of a turn that are known when it starts."""

    user_messages: tuple[str, ...] = ()
    """The texts of what the client sent as role `user` without `_hook`, oldest first; this turn's is the last."""
    is_new_message: bool = True
    """Whether the turn answers a new user message; not so for a nudge, or for results of the client's tools (L1-51)."""
    last_reply: str | None = None
    """The text of the assistant before this turn's user message, or None without one (L1-52)."""
    attachments: frozenset[str] = frozenset()
    """Kinds of what came with the user's message: `image`, `document`."""
    interrupted: bool = False
    """Whether the user's message, or what came before it, ended a running reply."""
    spoken: bool = False
    """Whether the reply will be spoken."""
    context: Mapping[str, ContextValue] = field(default_factory=dict)
    """Facts that the application around the client knows (L1-56)."""
    may_say_context: bool = True
    """Whether texts may hold values of the context: the client may instruct the model."""
    seed: str = ""
    """The seed of what is drawn at random in this turn (L1-53)."""
    channel: Channel = "text"
    language: str | None = None
    model: str = ""
    is_local: bool = False
    """Whether the model runs on this machine or network; else it is a `cloud` one."""
    user: str | None = None
    """The name of the user who is logged in."""
    is_operator: bool = False
    skills: frozenset[str] = frozenset()
    """The skills that are on."""
    tools: frozenset[str] = frozenset()
    """The tools that the turn may use; none when tools are off."""
    started_at: datetime = field(default_factory=lambda: datetime.now().astimezone())
    """The clock, aware, in the time zone of the context, or of the server."""
    hook_tokens: int | None = None
    """Most tokens that hooks may cost in one model call (L1-47), or None for no limit."""
    state: HookState = field(default_factory=HookState)

    @property
    def context_for_texts(self) -> Mapping[str, ContextValue]:
        """The context as texts and variables may hold it."""
        return self.context if self.may_say_context else {}
