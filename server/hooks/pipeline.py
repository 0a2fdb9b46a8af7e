"""The hooks of one turn: which are asked in which order, what a failure means, and the events they are sent.

A hook that fails is skipped and the next one gets what it would have got; an
approver that fails denies, and so does a guard (`on_error: closed`). The first
decision ends the chain. What one hook changed, the next one sees.
"""

import logging
import time
import traceback
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from server import config
from server.approval.asking import AskHuman
from server.hooks.hook_trace import HookReport, cut, report_change, report_failure
from server.hooks.stages import (
    STAGES,
    Abort,
    ApproverVerdict,
    Decision,
    Deny,
    Hook,
    HookCallFailed,
    HookEvent,
    Ignored,
    LlmAnswer,
    LlmCall,
    Respond,
    Severity,
    Stage,
    StageContext,
    StageValue,
    ToolRan,
    limit_s,
    refused,
)
from server.tools.tool_calls import ToolAnswer, ToolInvocation, TurnAborted, TurnFacts

logger = logging.getLogger(__name__)

DENIED = "Tool execution denied by hook"
NOT_APPROVED = "Tool execution denied by approval hook"

Check = Callable[[Sequence[dict[str, Any]]], str | None]
"""Function that returns why no provider would take a list of messages, or None if one would."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EditedArguments:
    """A call whose arguments a human has changed while approving; `editor` is the hook that asked."""

    editor: Hook
    call: ToolInvocation


class HookEvents:
    """Sends the events of one turn to the hooks that observe them; without any of them, nothing is built."""

    def __init__(self, hooks: Sequence[Hook], facts: TurnFacts) -> None:
        self._observers = tuple(hook for hook in hooks if hook.kinds)
        self._facts = facts
        self.iteration = 0
        """The round of the agent loop, kept up to date by the code that counts it."""

    def wants(self, kind: str) -> bool:
        """Return whether a hook observes this kind; asked before a payload is built."""
        return any(kind in hook.kinds for hook in self._observers)

    def emit(
        self, kind: str, payload: Mapping[str, Any], *, trace_path: str = "turn", severity: Severity = "info"
    ) -> None:
        if observers := [hook for hook in self._observers if kind in hook.kinds]:
            at = StageContext(facts=self._facts, iteration=self.iteration)
            event = HookEvent(kind=kind, payload=payload, at=at, trace_path=trace_path, severity=severity)
            for hook in observers:
                hook.send_event(event)


class HookPipeline:
    """Asks the hooks of one turn, stage by stage. Built once per turn, over the hooks that the turn pinned."""

    def __init__(
        self,
        hooks: Sequence[Hook],
        facts: TurnFacts,
        *,
        events: HookEvents,
        defaults: config.HookDefaults | None = None,
        ask: AskHuman | None = None,
        is_traced: bool = False,
        conceal: Callable[[Any], Awaitable[Any]] | None = None,
    ) -> None:
        ordered = sorted(hooks, key=lambda hook: hook.order)
        self._at_stage: dict[Stage, tuple[Hook, ...]] = {
            stage: tuple(hook for hook in ordered if stage in hook.stages) for stage in STAGES
        }
        self._facts = facts
        self._defaults = defaults or config.HookDefaults()
        self._ask_human = ask
        self._events = events
        self._is_traced = is_traced
        self._conceal = conceal
        self._injected: dict[str, str] = {}  # tool → the hook that added it, for the whole turn
        self._reports: list[HookReport] = []

    def has(self, stage: Stage) -> bool:
        """Return whether any hook is asked at this stage."""
        return bool(self._at_stage[stage])

    @property
    def has_process_at_tools(self) -> bool:
        """Whether a process hook is asked about tool calls."""
        stages: tuple[Stage, ...] = ("before_tool", "after_tool", "approve_tool")
        return any(hook.is_process for stage in stages for hook in self._at_stage[stage])

    def take_reports(self) -> list[HookReport]:
        """Return what hooks did since the last time; always empty without a trace."""
        reports, self._reports = self._reports, []
        return reports

    def injector(self, tool: str) -> str | None:
        """Return the hook whose own tool this is."""
        return self._injected.get(tool)

    async def before_llm(self, call: LlmCall, *, registered: Collection[str], check: Check) -> LlmCall:
        """Let hooks change the model call; messages that no provider would take are put back. Raises TurnAborted.

        `registered`: the tools that are no hook's, offered in this call or not.
        """
        for hook in self._at_stage["before_llm"]:
            result = await self._consult(hook, "before_llm", call, check)
            if not isinstance(result, LlmCall):
                continue
            known = {tool.name for tool in call.tools}.union(registered)
            for tool in result.tools:
                if tool.name not in known:
                    self._injected.setdefault(tool.name, hook.name)
            call = result
        return call

    async def after_llm(self, answer: LlmAnswer) -> LlmAnswer:
        """Let hooks change the model's answer. Raises TurnAborted."""
        for hook in self._at_stage["after_llm"]:
            result = await self._consult(hook, "after_llm", answer)
            if isinstance(result, LlmAnswer):
                answer = result
        return answer

    async def before_tool(self, call: ToolInvocation) -> ToolInvocation | Respond | Deny:
        """Let hooks change, answer or refuse the call before it runs. Raises TurnAborted."""
        for hook in self._at_stage["before_tool"]:
            match await self._consult(hook, "before_tool", call):
                case ToolInvocation() as changed:
                    call = changed
                case Respond() as response:
                    return replace(response, hook=hook.name)
                case Deny(reason=reason):
                    return Deny(reason=_because(DENIED, reason))
        return call

    async def approve_tool(self, call: ToolInvocation, *, editor: Hook | None = None) -> EditedArguments | Deny | None:
        """Ask the approvers in turn; return None if all approve. The first refusal wins.

        EditedArguments comes back at once: the new arguments have to pass schema
        and policy, then all approvers but the `editor` are asked about them.
        """
        for hook in self._at_stage["approve_tool"]:
            if hook is editor:
                continue
            verdict = await self._consult(hook, "approve_tool", call)
            if not isinstance(verdict, ApproverVerdict) or not verdict.approved:
                reason = verdict.reason if isinstance(verdict, ApproverVerdict) else ""
                return Deny(reason=_because(NOT_APPROVED, reason))
            if verdict.arguments is not None and verdict.arguments != call.arguments:
                return EditedArguments(editor=hook, call=replace(call, arguments=verdict.arguments))
        return None

    async def after_tool(self, ran: ToolRan) -> ToolAnswer:
        """Let hooks change the tool's result. Raises TurnAborted."""
        for hook in self._at_stage["after_tool"]:
            result = await self._consult(hook, "after_tool", ran)
            if isinstance(result, ToolRan):
                ran = replace(ran, answer=result.answer)
        return ran.answer

    async def _consult(
        self, hook: Hook, stage: Stage, value: StageValue, check: Check | None = None
    ) -> StageValue | Decision | None:
        """Ask one hook. Raises TurnAborted where it ends the turn. Messages that do not pass `check` are put back."""
        started_s = time.perf_counter()
        try:
            given = await self._ask(hook, stage, value)
        except HookCallFailed as error:
            result = _on_failure(hook, stage, error, value)
            await self._note_failure(hook, stage, error, result, started_s)
        else:
            result, discarded = _kept(given, value, check)
            if problem := discarded.get("messages"):
                hook.warn(f"{stage}: its change of the messages is discarded: {problem}")
            if given is not None and self._is_traced:
                report = await report_change(value, given, discarded, self._concealed)
                self._add_report(report, hook, stage, started_s)
        if isinstance(result, Abort):
            reason = str(cut(await self._concealed(result.reason))) or f'the hook "{hook.name}" ended the turn'
            message = f"hook aborted turn during {stage}: {reason}"
            self._events.emit("agent.error", {"Stage": f"hook.{stage}", "Message": message}, severity="error")
            raise TurnAborted(reason, rollback=result.is_hard)
        return result

    async def _ask(self, hook: Hook, stage: Stage, value: StageValue) -> StageValue | Decision | Ignored | None:
        at = StageContext(facts=self._facts, iteration=self._events.iteration, ask=self._ask_human)
        try:
            return await hook.ask(stage, value, at, limit_s(stage, self._defaults, hook.timeout_ms))
        except HookCallFailed:
            raise
        except Exception as error:  # the boundary to a hook
            text = f'hook "{hook.name}" could not be asked: {type(error).__name__}'
            raise HookCallFailed("failed", text, raised=error) from error

    async def _note_failure(
        self, hook: Hook, stage: Stage, error: HookCallFailed, result: StageValue | Decision | None, started_s: float
    ) -> None:
        message = await self._concealed(str(error))
        report = report_failure(error.kind, message, result)
        logger.warning("hook %s at %s: %s (%s): %s", hook.name, stage, error.kind, report.data["effect"], message)
        if error.raised is not None:
            trace = "".join(traceback.format_exception(error.raised)).rstrip()
            logger.warning("hook %s at %s raised\n%s", hook.name, stage, await self._concealed(trace))
        if self._is_traced:
            self._add_report(report, hook, stage, started_s)

    def _add_report(self, report: HookReport | None, hook: Hook, stage: Stage, started_s: float) -> None:
        if report is not None:
            ms = round((time.perf_counter() - started_s) * 1000, 3)
            data = {"stage": stage, "hook": hook.name, "ms": ms, **report.data}
            self._reports.append(replace(report, data=data))

    async def _concealed(self, value: Any) -> Any:
        return value if self._conceal is None else await self._conceal(value)


def _kept(
    given: StageValue | Decision | Ignored | None, value: StageValue, check: Check | None
) -> tuple[StageValue | Decision | None, dict[str, str]]:
    """Return what counts of a hook's answer, and why the rest does not: what is discarded → why."""
    if isinstance(given, Ignored):
        return None, {"reply": given.why}
    if check is None or not isinstance(given, LlmCall) or not isinstance(value, LlmCall):
        return given, {}
    if given.messages is value.messages or not (problem := check(given.messages)):
        return given, {}
    return replace(given, messages=value.messages), {"messages": problem}


def _on_failure(hook: Hook, stage: Stage, error: HookCallFailed, value: StageValue) -> StageValue | Decision | None:
    """Return what stands for the answer of a hook that could not be asked: nothing, or no."""
    ended = "timed out" if error.kind == "timed_out" else "failed"
    if stage == "approve_tool":
        return ApproverVerdict(approved=False, reason=f'tool approval hook "{hook.name}" {ended}')
    return refused(value, f'hook "{hook.name}" {ended}') if hook.is_guard else None


def _because(text: str, reason: str) -> str:
    return f"{text}: {reason}" if reason else text
