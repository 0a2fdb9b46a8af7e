"""Facts that conditions look at: of a turn, of each tool call in it, and of the turns before.

The last are the memory of `once: "conversation"`, `cooldown` and `sticky` (L1-45). The server keeps no conversation:
this state travels to the client as a signed text and back with the next turn.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from skills_engine.signing import Signer

ToolStatus = Literal["ok", "error", "refused"]
Channel = Literal["voice", "text"]

MAX_STATE_BYTES = 8 * 1024
_PURPOSE = "hook state"


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

    @classmethod
    def read(cls, text: str, signer: Signer) -> "HookState":
        """Read what `signed` gave, with this key or one that was rotated out. Raises StateInvalidError."""
        if len(text) > MAX_STATE_BYTES:  # what we sign is ASCII
            raise StateInvalidError(f"the state is larger than {MAX_STATE_BYTES // 1024} KiB")
        signature, _, payload = text.partition(" ")
        if not _state_signer(signer).verify(signature, "", "", "", payload):
            raise StateInvalidError("the state has no valid signature of this server")
        turn, firings = json.loads(payload)
        return cls(turn, tuple(Firing(*firing) for firing in firings))

    def signed(self, signer: Signer) -> str:
        """Return it as a text of at most 8 KiB; the earliest firings are left out where there is no room."""
        state_signer = _state_signer(signer)
        room = MAX_STATE_BYTES - len(state_signer.sign("", "", "", "")) - len(f" [{self.turn},[]]")
        kept: list[str] = []
        for firing in reversed(self.firings):
            entry = _compact([firing.skill, firing.hook, firing.turn, firing.until])
            room -= len(entry) + bool(kept)
            if room < 0:
                break
            kept.append(entry)
        payload = f"[{self.turn},[{','.join(reversed(kept))}]]"
        return f"{state_signer.sign('', '', '', payload)} {payload}"

    def next(self, fired: Iterable[Firing]) -> "HookState":
        """Return the state after this turn: the firings that still count, those of `fired` in place of older ones."""
        turn = self.turn + 1
        latest = {(firing.skill, firing.hook): firing for firing in (*self.firings, *fired)}
        lasting = [firing for firing in latest.values() if firing.until is None or turn <= firing.until]
        return HookState(turn, tuple(sorted(lasting, key=lambda firing: (firing.turn, firing.skill, firing.hook))))


def _state_signer(signer: Signer) -> Signer:
    """Return one whose signatures no hook can pass for, and that takes no hook's."""
    return Signer(signer.derived_keys(_PURPOSE))


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))  # ASCII: as many bytes as characters


@dataclass(frozen=True, kw_only=True)
class CallFacts:
    """One tool call that ended: as it ran or, if it was refused, as it was asked for (L1-42)."""

    name: str
    status: ToolStatus = "ok"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    result: str = ""
    """The text that the model reads of it."""


@dataclass(frozen=True, kw_only=True)
class HookFacts:
    """The facts of a turn that are known when it starts."""

    user_messages: tuple[str, ...] = ()
    """The texts of what the client sent as role `user` without `_hook`, oldest first; this turn's is the last."""
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
    """The clock, aware, in the time zone of the server."""
    hook_tokens: int | None = None
    """Most tokens that hooks may cost in one model call (L1-47), or None for no limit."""
    state: HookState = field(default_factory=HookState)
