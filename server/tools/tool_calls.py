"""The vocabulary of tool calls, shared by the executor, the hook layers and the session.

A tool call is a `ToolInvocation` on its way in and a `ToolOutcome` on its way
out; every stage takes one and returns one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

from server.accounts.principal import LOCAL_USER
from server.media.store import MediaItem
from server.toolguard import Permission

MAX_EDITS: Final = 4
"""Limit on how often humans may change the arguments of one call before it is refused; policy and approval count apart."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnFacts:
    session_id: str
    turn_id: str
    user_id: str = LOCAL_USER
    conversation: str | None = None
    """The client's own id of the conversation."""
    user_message: str = ""
    language: str | None = None
    address: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolAnswer:
    """The result of a tool call, as the tool or a hook in its place gives it."""

    for_llm: str = ""
    for_user: str = ""
    is_silent: bool = False
    """Whether `for_user` is kept from the user."""
    is_error: bool = False
    is_async: bool = False
    media: tuple[str, ...] = ()
    """Media as `media://` ids, `data:` URLs, or paths inside an allowed folder."""
    artifact_tags: tuple[str, ...] = ()
    is_handled: bool = False
    """Whether the user has what was asked for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolInvocation:
    name: str
    arguments: Any
    """Arguments as parsed JSON; until the first stage, the model's text."""
    id: str = ""
    permission: Permission = "EXTERNAL"
    destructive: bool | None = None
    """Hint of a trusted server, if it gives one: whether its tool may destroy or overwrite."""
    answer: ToolAnswer | None = None
    """Result that an earlier hook has proposed, without responding."""
    shown: Any = None
    """The arguments as a human may see them, where secrets were redacted."""


Ending = Literal["ran", "answered", "failed", "denied", "skipped", "open"]
"""End of a call: its tool ran; a hook answered in its place; an exception or a time limit; a refusal; never begun; left to the client."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolOutcome:
    """Outcome of a call; `name` is the tool that really ran (L1-27)."""

    id: str
    name: str
    content: str
    """Text that the model reads."""
    is_error: bool = False
    duration_ms: float = 0.0
    ending: Ending = "ran"
    error_type: str = ""
    """Class of the exception that ended a call which failed: of its cause, where the tool gave it a text of its own."""
    arguments: Any = None
    """Arguments that ran, or None if they are the model's."""
    for_user: str = ""
    """Text shown to the user beside what the model reads."""
    media: tuple[MediaItem, ...] = ()
    """Media shown to the user; the model sees the pictures among them where it can."""
    is_handled: bool = False
    """Whether the user has what was asked for; the turn ends if that holds for every call of the batch."""


class ToolPolicy(Protocol):
    """Layer 3 of one turn: what the operator and the user decided about tool calls.

    None in its place means that nothing is configured, and costs nothing.
    Nothing here raises but CancelledError.
    """

    async def before(self, call: ToolInvocation) -> ToolInvocation | ToolOutcome:
        """Run pre_tool_use on the final name and arguments; a ToolOutcome ends the call (`denied`)."""
        ...

    async def after(self, call: ToolInvocation, outcome: ToolOutcome) -> ToolOutcome:
        """Run post_tool_use on what ran, tool_error on what failed, tool_skip on the rest; then the scan.

        Observers only ever see what this returns.
        """
        ...

    async def conceal(self, value: Any) -> Any:
        """Return arguments as wire, trace, log and observers may show them: redacted, or the same object."""
        ...


class TurnAborted(Exception):
    """A hook ended the turn (`abort_turn`; with `rollback`: `hard_abort`). Not an error of ours."""

    def __init__(self, reason: str, *, rollback: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.rollback = rollback
        self.outcomes: Sequence[ToolOutcome] = ()
        """Outcomes of calls that had ended, but were not yielded before the abort."""
