"""The facts that conditions look at: of a turn, and of each tool call in it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from skills_engine.conditions.hook_state import HookState

ToolStatus = Literal["ok", "error", "refused"]
Channel = Literal["voice", "text"]


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
