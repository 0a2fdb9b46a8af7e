"""What a policy handler is given and gives back (seed 003 §2)."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from server.approval.asking import AnsweredBy, AskHuman


class HookType(Enum):
    PRE_TOOL_USE = "pre_tool_use"
    POST_TOOL_USE = "post_tool_use"
    TOOL_ERROR = "tool_error"
    TOOL_SKIP = "tool_skip"


class HookAction(Enum):
    ALLOW = "allow"
    DENY = "deny"
    """pre_tool_use."""
    MODIFY = "modify"
    """pre_tool_use: with these arguments instead."""
    MODIFY_RESULT = "modify_result"
    """post_tool_use, tool_error: the model and the user get this instead."""
    CONTINUE = "continue"


@dataclass(kw_only=True, slots=True)
class HookContext:
    """One call at one stage. What a handler changes here counts for nobody else: it answers with a HookResult."""

    tool_name: str
    arguments: dict[str, Any]
    """Those that run, or ran."""
    phase: HookType
    result: Any = None
    """After the call: the text that the model would read."""
    error: Exception | None = None
    """Of a call that failed; its text is what the model would read."""
    session_id: str | None = None
    user_id: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    """`permission`, `call_id`, `turn_id`, `language`; after the call `duration_ms`, `ending`."""
    ask: AskHuman | None = field(default=None, repr=False)
    """Asks the human; None: nobody is there."""
    shown_arguments: Any = None
    """As people and logs may see them: secrets redacted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HookResult:
    """An action that its stage does not know, or a value of another type or without its action, counts as a failure."""

    action: HookAction
    message: str | None = None
    modified_args: dict[str, Any] | None = None
    """JSON, with MODIFY."""
    modified_result: Any = None
    """With MODIFY_RESULT: a text, or what JSON can be made of; never None."""
    approval: AnsweredBy | None = None
    """How the human answered who was asked."""
    counts: dict[str, int] = field(default_factory=dict)
    """What was taken out of a result, by kind."""


ALLOW = HookResult(action=HookAction.ALLOW)
CONTINUE = HookResult(action=HookAction.CONTINUE)


class PolicyHandler(Protocol):
    """May leave any method out (then it has nothing to say at that stage).

    Methods are coroutines or plain functions; a plain one runs in a thread.
    What one raises stays inside: before a call it denies, after a call the
    result stays as it was, but for the scan, which withholds it.
    """

    async def pre_execute(self, ctx: HookContext) -> HookResult | None: ...

    async def post_execute(self, ctx: HookContext) -> HookResult | None: ...

    async def on_error(self, ctx: HookContext) -> HookResult | None: ...

    async def on_skip(self, ctx: HookContext) -> HookResult | None: ...


METHODS = {
    HookType.PRE_TOOL_USE: "pre_execute",
    HookType.POST_TOOL_USE: "post_execute",
    HookType.TOOL_ERROR: "on_error",
    HookType.TOOL_SKIP: "on_skip",
}
