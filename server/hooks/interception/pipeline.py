"""The five stages of one turn: who is asked in which order, and what a failure means.

A hook that fails is skipped and the next one gets what it would have got; an
approver that fails denies, and so does a guard (`on_error: closed`). The first
decision ends the chain. What one hook changed, the next one sees.
"""

import logging
import time
import traceback
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from server.approval.asking import AskHuman
from server.hooks.channel import STAGES, HookCallFailed, Stage
from server.hooks.interception.changes import Changes, action_of, changes, cut, trimmed
from server.hooks.interception.events import Events
from server.hooks.interception.members import Member
from server.hooks.interception.stages import (
    Abort,
    Decision,
    Deny,
    Ignored,
    LlmAnswer,
    LlmCall,
    Moment,
    Respond,
    StageValue,
    ToolRan,
    Verdict,
)
from server.tool_calls import ToolAnswer, ToolInvocation, TurnAborted, TurnFacts

logger = logging.getLogger(__name__)

DENIED = "Tool execution denied by hook"
NOT_APPROVED = "Tool execution denied by approval hook"

Conceal = Callable[[Any], Awaitable[Any]]
Check = Callable[[Sequence[dict[str, Any]]], str | None]
"""Why no provider would take a list of messages; None: it would."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HookReport:
    """What a hook did, for the inspector."""

    event: Literal["hook_changed", "hook_failed"]
    data: dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """A hook gave the result in the tool's place."""

    hook: str
    answer: ToolAnswer


@dataclass(frozen=True, kw_only=True, slots=True)
class Denied:
    hook: str
    text: str
    """What the model reads."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Edited:
    """A human has changed the arguments while approving."""

    editor: Member
    """Who asked that human."""
    call: ToolInvocation


class HookPipeline:
    """Built once per turn, over the hooks that the turn pinned."""

    def __init__(
        self,
        members: Sequence[Member],
        facts: TurnFacts,
        *,
        events: Events,
        ask: AskHuman | None = None,
        is_traced: bool = False,
        conceal: Conceal | None = None,
    ) -> None:
        ordered = sorted(members, key=lambda member: member.order)
        self._at_stage: dict[Stage, tuple[Member, ...]] = {
            stage: tuple(member for member in ordered if stage in member.stages) for stage in STAGES
        }
        self._facts = facts
        self._ask = ask
        self._events = events
        self._is_traced = is_traced
        self._conceal = conceal
        self._injected: dict[str, str] = {}  # tool → the hook that added it, for the whole turn
        self._reports: list[HookReport] = []

    def has(self, stage: Stage) -> bool:
        return bool(self._at_stage[stage])

    def take_reports(self) -> list[HookReport]:
        """What hooks did since the last time; always empty without a trace."""
        reports, self._reports = self._reports, []
        return reports

    def injector(self, tool: str) -> str | None:
        """The hook whose own tool this is."""
        return self._injected.get(tool)

    async def before_llm(self, call: LlmCall, *, registered: Collection[str], check: Check) -> LlmCall:
        """Raises TurnAborted. A list of messages that no provider would take is put back as it was.

        `registered`: the tools that are no hook's, offered in this call or not.
        """
        for member in self._at_stage["before_llm"]:
            result = await self._consult(member, "before_llm", call, check)
            if not isinstance(result, LlmCall):
                continue
            known = {tool.name for tool in call.tools}.union(registered)
            for tool in result.tools:
                if tool.name not in known:
                    self._injected.setdefault(tool.name, member.name)
            call = result
        return call

    async def after_llm(self, answer: LlmAnswer) -> LlmAnswer:
        """Raises TurnAborted."""
        for member in self._at_stage["after_llm"]:
            result = await self._consult(member, "after_llm", answer)
            if isinstance(result, LlmAnswer):
                answer = result
        return answer

    async def before_tool(self, call: ToolInvocation) -> ToolInvocation | Answered | Denied:
        """Raises TurnAborted."""
        for member in self._at_stage["before_tool"]:
            match await self._consult(member, "before_tool", call):
                case ToolInvocation() as changed:
                    call = changed
                case Respond(answer=answer):
                    return Answered(hook=member.name, answer=answer)
                case Deny(reason=reason):
                    return Denied(hook=member.name, text=_because(DENIED, reason))
        return call

    async def approve_tool(self, call: ToolInvocation, *, editor: Member | None = None) -> Edited | Denied | None:
        """None: approved by all. The first refusal wins.

        Edited comes back at once: the new arguments have to pass schema and
        policy, then everybody but the `editor` is asked about them.
        """
        for member in self._at_stage["approve_tool"]:
            if member is editor:
                continue
            verdict = await self._consult(member, "approve_tool", call)
            if not isinstance(verdict, Verdict) or not verdict.approved:
                reason = verdict.reason if isinstance(verdict, Verdict) else ""
                return Denied(hook=member.name, text=_because(NOT_APPROVED, reason))
            if verdict.arguments is not None and verdict.arguments != call.arguments:
                return Edited(editor=member, call=replace(call, arguments=verdict.arguments))
        return None

    async def after_tool(self, ran: ToolRan) -> ToolAnswer:
        """Raises TurnAborted."""
        for member in self._at_stage["after_tool"]:
            result = await self._consult(member, "after_tool", ran)
            if isinstance(result, ToolRan):
                ran = replace(ran, answer=result.answer)
        return ran.answer

    async def _consult(
        self, member: Member, stage: Stage, value: StageValue, check: Check | None = None
    ) -> StageValue | Decision | None:
        """Ask one hook. Raises TurnAborted where it ends the turn. Messages that do not pass `check` are put back."""
        started_s = time.perf_counter()
        at = Moment(facts=self._facts, iteration=self._events.iteration, ask=self._ask)
        try:
            given = await _asked(member, stage, value, at)
        except HookCallFailed as error:
            result = _on_failure(member, stage, error, value)
            await self._report_failure(member, stage, error, result, started_s)
        else:
            result, discarded = _kept(given, value, check)
            if problem := discarded.get("messages"):
                member.warn(f"{stage}: its change of the messages is discarded: {problem}")
            if given is not None and self._is_traced:
                await self._report_change(member, stage, value, given, discarded, started_s)
        if isinstance(result, Abort):
            reason = str(cut(await self._concealed(result.reason))) or f'the hook "{member.name}" ended the turn'
            message = f"hook aborted turn during {stage}: {reason}"
            self._events.emit("agent.error", {"Stage": f"hook.{stage}", "Message": message}, severity="error")
            raise TurnAborted(reason, rollback=result.is_hard)
        return result

    async def _report_change(
        self,
        member: Member,
        stage: Stage,
        value: StageValue,
        result: StageValue | Decision | Ignored,
        discarded: dict[str, str],
        started_s: float,
    ) -> None:
        if isinstance(result, Verdict) and result.approved and result.arguments is None:
            return
        data = {
            "stage": stage,
            "hook": member.name,
            "ms": _ms_since(started_s),
            "action": action_of(result),
            "changes": trimmed(await self._concealed(_shown(value, result))),
        }
        if discarded:
            data["discarded"] = trimmed(await self._concealed(discarded))
        self._reports.append(HookReport(event="hook_changed", data=data))

    async def _report_failure(
        self,
        member: Member,
        stage: Stage,
        error: HookCallFailed,
        fallback: StageValue | Decision | None,
        started_s: float,
    ) -> None:
        effect = "skipped" if fallback is None else "withheld" if isinstance(fallback, ToolRan) else action_of(fallback)
        message = await self._concealed(str(error))
        logger.warning("hook %s at %s: %s (%s): %s", member.name, stage, error.kind, effect, message)
        if error.raised is not None:
            trace = "".join(traceback.format_exception(error.raised)).rstrip()
            logger.warning("hook %s at %s raised\n%s", member.name, stage, await self._concealed(trace))
        if self._is_traced:
            data = {
                "stage": stage,
                "hook": member.name,
                "ms": _ms_since(started_s),
                "kind": error.kind,
                "message": cut(message),
                "effect": effect,
            }
            self._reports.append(HookReport(event="hook_failed", data=data))

    async def _concealed(self, value: Any) -> Any:
        return value if self._conceal is None else await self._conceal(value)


def _kept(
    given: StageValue | Decision | Ignored | None, value: StageValue, check: Check | None
) -> tuple[StageValue | Decision | None, dict[str, str]]:
    """What counts of a hook's answer, and why the rest does not: what is discarded → why."""
    if isinstance(given, Ignored):
        return None, {"reply": given.why}
    if check is None or not isinstance(given, LlmCall) or not isinstance(value, LlmCall):
        return given, {}
    if given.messages is value.messages or not (problem := _problem(check, given.messages)):
        return given, {}
    return replace(given, messages=value.messages), {"messages": problem}


def _problem(check: Check, messages: Sequence[dict[str, Any]]) -> str | None:
    try:
        return check(messages)
    except (AttributeError, KeyError, TypeError) as error:  # a hook in this process may have put anything into it
        return f"they are no messages ({type(error).__name__}: {error})"


def _shown(value: StageValue, result: StageValue | Decision | Ignored) -> Changes:
    try:
        return changes(value, result)
    except (AttributeError, KeyError, TypeError):
        if isinstance(result, LlmCall) and isinstance(value, LlmCall):  # messages that are none have no shape
            return changes(value, replace(result, messages=value.messages))
        raise


async def _asked(member: Member, stage: Stage, value: StageValue, at: Moment) -> StageValue | Decision | Ignored | None:
    try:
        return await member.ask(stage, value, at)
    except HookCallFailed:
        raise
    except Exception as error:  # the boundary to a hook
        text = f'hook "{member.name}" could not be asked: {type(error).__name__}'
        raise HookCallFailed("failed", text, raised=error) from error


def _on_failure(member: Member, stage: Stage, error: HookCallFailed, value: StageValue) -> StageValue | Decision | None:
    """What a hook that could not be asked stands for: nothing, or no."""
    ended = "timed out" if error.kind == "timed_out" else "failed"
    if stage == "approve_tool":
        return Verdict(approved=False, reason=f'tool approval hook "{member.name}" {ended}')
    if not member.is_guard:
        return None
    text = f'hook "{member.name}" {ended}'
    if stage == "before_tool":
        return Deny(reason=text)
    if isinstance(value, ToolRan):
        return replace(value, answer=ToolAnswer(for_llm=f"The result is withheld: {text}", is_error=True))
    return Abort(reason=text)


def _because(text: str, reason: str) -> str:
    return f"{text}: {reason}" if reason else text


def _ms_since(started_s: float) -> float:
    return round((time.perf_counter() - started_s) * 1000, 3)
