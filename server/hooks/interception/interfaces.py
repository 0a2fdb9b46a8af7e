"""Hooks in this process: what one may implement. It may leave any method out.

A method gives None for "as it was", a changed value (`dataclasses.replace`) or
a decision. What it raises stays inside: an interceptor that fails is skipped,
an approver that fails denies. `hooks.defaults` limits each call in time.
"""

from typing import Protocol

from server.hooks.interception.events import HookEvent
from server.hooks.interception.stages import Abort, Deny, LlmAnswer, LlmCall, Moment, Respond, ToolRan, Verdict
from server.tool_calls import ToolInvocation


class Observer(Protocol):
    async def on_event(self, event: HookEvent) -> None:
        """One event at a time, in order; beyond a queue of 256 the newest are dropped and counted."""
        ...


class LlmInterceptor(Protocol):
    async def before_llm(self, call: LlmCall, at: Moment) -> LlmCall | Abort | None: ...

    async def after_llm(self, answer: LlmAnswer, at: Moment) -> LlmAnswer | Abort | None: ...


class ToolInterceptor(Protocol):
    async def before_tool(self, call: ToolInvocation, at: Moment) -> ToolInvocation | Respond | Deny | Abort | None: ...

    async def after_tool(self, ran: ToolRan, at: Moment) -> ToolRan | Abort | None: ...


class Approver(Protocol):
    async def approve_tool(self, call: ToolInvocation, at: Moment) -> Verdict:
        """`at.ask` asks the human; the time a human takes does not count against the limit."""
        ...
