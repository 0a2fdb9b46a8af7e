"""Tries a hook from its start to its end, with the code that runs it in the server, and watches what it prints."""

import asyncio
import errno
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from hook_tools.line_checks import Finding
from hook_tools.listener import Listener
from hook_tools.reply_checks import check_own_tool, check_reply, check_speed
from hook_tools.sample_calls import ORDER, SampleCall, events, sample_call_of, sample_calls
from server import config
from server.hooks.process.hook_process import HookLimits, HookProcess, OnLine, no_listener
from server.hooks.process.process_hook import PROTOCOL_VERSION
from server.hooks.process.process_settings import event_hint, hello_modes, sent_stages
from server.hooks.stages import HookCallFailed, Stage, limit_s, observed_kinds
from server.llm.language_model import ToolSpec
from server.tools.tool_calls import ToolInvocation

_LIMITS: Final = HookLimits()
_AT_ONCE: Final = 8
_LATE_REPLY_S: Final = 2.0  # after that, a late reply is taken for one that was not flushed
_QUIET_S: Final = 0.1  # pause after events, in which a hook that wrongly answers them does so


@dataclass(kw_only=True, slots=True)
class Step:
    """One thing that was tried, and what was found."""

    title: str
    outcome: str = ""
    ms: float | None = None
    findings: list[Finding] = field(default_factory=list)
    again: list[Finding] = field(default_factory=list)
    """Findings that an earlier step has shown already."""

    @property
    def has_problem(self) -> bool:
        return any(finding.level == "problem" for finding in (*self.findings, *self.again))


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """The hook to try, and how long it may take."""

    name: str
    hook: config.ProcessHookSettings
    defaults: config.HookDefaults = field(default_factory=config.HookDefaults)
    is_chosen: bool = True
    """Whether the stages were chosen for this hook; a hook that gets all by default may refuse some."""
    wait_s: float = 10.0
    """Longest wait for a reply, whatever its stage's limit."""

    def limit_s(self, stage: Stage) -> float:
        return limit_s(stage, self.defaults, self.hook.timeout_ms)


class Trial:
    """Trial of one hook: `run` it once; then `steps` holds what was found, `times` the ms that replies took, by stage."""

    def __init__(
        self,
        plan: Plan,
        environ: Mapping[str, str],
        *,
        show: Callable[[Step], None],
        announce: Callable[[Step], None] | None = None,
        on_line: OnLine = no_listener,
    ) -> None:
        """`announce` is called with each step when it begins, `show` when it is over; `on_line` gets every line."""
        self._plan = plan
        self._environ = environ
        self._show = show
        self._announce = announce
        self._listener = Listener(on_line)
        self._shown_before = set[Finding]()
        self._added = dict[str, ToolSpec]()  # by name: the tools that the hook has brought along
        self._silent = set[Stage]()  # that have failed to reply
        self.steps: list[Step] = []
        self.times: defaultdict[Stage, list[float]] = defaultdict(list)

    @property
    def problems(self) -> int:
        return sum(finding.level == "problem" for step in self.steps for finding in step.findings)

    @property
    def hints(self) -> int:
        return sum(finding.level == "hint" for step in self.steps for finding in step.findings)

    def summary(self) -> dict[Stage, tuple[float, float, float]]:
        """Return median, slowest and limit in ms for each stage that replied."""
        return {
            stage: (statistics.median(times), max(times), self._plan.limit_s(stage) * 1000)
            for stage, times in self.times.items()
        }

    async def run(self) -> None:
        """Try all; leave no process behind, also when cancelled."""
        try:
            process = await HookProcess.begin(
                self._plan.name, self._plan.hook, self._environ, _LIMITS, on_line=self._listener.hear
            )
        except (OSError, ValueError) as error:
            finding = Finding("problem", why_not_started(error, self._plan.hook.command))
            self._end(Step(title="start", outcome="cannot be started", findings=[finding]))
            return
        try:
            await self._play(process)
            if process.is_there:
                await self._end_of_input(process)
        finally:
            await process.end()

    async def _play(self, process: HookProcess) -> None:
        """Try everything, until it is gone or turns out to be no hook."""
        if not await self._hello(process) or not await self._send_events(process):
            return
        for stage in ORDER:
            if stage in sent_stages(self._plan.hook) and not await self._play_stage(process, stage):
                return
        await self._ask_at_once(process)

    async def _play_stage(self, process: HookProcess, stage: Stage) -> bool:
        """Try one stage; return whether the hook is still there."""
        own = [sample_call_of(tool) for tool in self._added.values()] if stage == "before_tool" else []
        for sample in [*sample_calls(stage), *own]:
            step = self._begin(f"hook.{stage}: {sample.title}")
            is_answered = await self._ask(process, sample, step)
            if not await self._is_alive(process, step):
                return False
            if not is_answered:
                self._silent.add(stage)
                break
        return True

    async def _hello(self, process: HookProcess) -> bool:
        step = self._begin("hook.hello")
        modes = hello_modes(self._plan.hook)
        began = time.perf_counter()
        try:
            hello = {"name": self._plan.name, "version": PROTOCOL_VERSION, "modes": modes}
            result = await process.request("hook.hello", hello, min(_LIMITS.hello_s, self._plan.wait_s))
        except HookCallFailed as error:
            step.findings.append(self._failure(error, "hook.hello", _LIMITS.hello_s))
        else:
            step.ms, step.outcome = _since_ms(began), "is answered"
            if result is not None and not isinstance(result, dict):
                step.findings.append(Finding("problem", "the result must be an object, such as {}"))
        went_well = not step.findings
        return await self._is_alive(process, step) and went_well

    async def _send_events(self, process: HookProcess) -> bool:
        hook = self._plan.hook
        sent = events(observed_kinds(hook.observe), hook.event_method)
        if not sent:
            return True
        step = self._begin(f"{len(sent)} events as {hook.event_method}", "are taken without an answer")
        if (hint := event_hint(hook)) is not None:
            step.findings.append(Finding("hint", hint))
        for _, params in sent:
            process.notify(hook.event_method, params)
        await asyncio.sleep(_QUIET_S)
        return await self._is_alive(process, step)

    async def _ask(self, process: HookProcess, sample: SampleCall, step: Step) -> bool:
        """Make one call; return whether the hook answered it, so that it makes sense to ask this stage again."""
        method, limit = f"hook.{sample.stage}", self._plan.limit_s(sample.stage)
        began = time.perf_counter()
        try:
            result = await process.request(method, sample.params, min(limit, self._plan.wait_s))
        except HookCallFailed as error:
            step.findings.append(self._failure(error, method, limit))
            return False
        step.ms = _since_ms(began)
        self.times[sample.stage].append(step.ms)
        step.findings += check_speed(step.ms, limit)
        if result is not None and not isinstance(result, dict):
            step.findings.append(Finding("problem", "the result must be an object"))
            return True
        check = check_reply(sample, result or {})
        step.outcome = check.outcome
        step.findings += check.findings
        self._added |= {tool.name: tool for tool in check.added}
        if (
            sample.stage == "before_tool"
            and isinstance(sample.value, ToolInvocation)
            and sample.value.name in self._added
        ):
            step.findings += check_own_tool(sample.value.name, result or {})
        return True

    def _failure(self, error: HookCallFailed, method: str, limit_s: float) -> Finding:
        match error.kind:
            case "timed_out":
                self._listener.give_up()
                waited = min(limit_s, self._plan.wait_s)
                more = f"; the server would wait {limit_s:g} s" if waited < limit_s else ""
                is_for_all = self._plan.is_chosen or method == "hook.hello"
                choose = "" if is_for_all else "; if it is not meant for this, name its stages with --intercept"
                return Finding("problem", f"no reply to {method} within {waited:g} s{more}{choose}")
            case "down":  # what became of it is reported beside this
                return Finding("problem", f"ended before it answered {method}")
        if self._plan.is_chosen or method == "hook.hello":
            return Finding("problem", f"answered {method} with an error or garbage: {error}")
        return Finding("hint", f"refuses {method} ({error}); leave it out of “intercept”")

    async def _ask_at_once(self, process: HookProcess) -> None:
        """Make several calls at once, as several turns do: their replies are told apart by id alone."""
        asked = sent_stages(self._plan.hook) - self._silent
        chosen = [sample for stage in ORDER if stage in asked for sample in sample_calls(stage)][:_AT_ONCE]
        if not chosen:
            return
        step = self._begin(f"{len(chosen)} calls at once", "each has its reply")
        began = time.perf_counter()
        wait_s = min(self._plan.limit_s(chosen[0].stage), self._plan.wait_s)
        calls = (process.request(f"hook.{sample.stage}", sample.params, wait_s) for sample in chosen)
        results = await asyncio.gather(*calls, return_exceptions=True)
        step.ms = _since_ms(began)
        if failed := [result for result in results if isinstance(result, HookCallFailed)]:
            self._listener.give_up()
            step.outcome = ""
            step.findings.append(Finding("problem", f"{len(failed)} of {len(chosen)} calls had no reply: {failed[0]}"))
        await self._is_alive(process, step)

    async def _end_of_input(self, process: HookProcess) -> None:
        step = self._begin("end of input", "ends")
        with suppress(TimeoutError):
            async with asyncio.timeout(_LATE_REPLY_S):
                await self._listener.caught_up()
        self._listener.is_over = True
        process.close_input()
        began = time.perf_counter()
        ending = process.ended
        await asyncio.wait({ending}, timeout=_LIMITS.eof_s)
        if not ending.done():
            step.outcome = ""
            step.findings.append(
                Finding("problem", "does not end when its standard input does; the server sends SIGTERM, then SIGKILL")
            )
        else:
            step.ms = _since_ms(began)
            if ending.result().startswith(("exit status", "signal")):
                step.findings.append(Finding("problem", f"ended with {self._last_words(ending.result())}"))
        if self._listener.was_buffered and ending.done():  # one that goes on is slow
            read = "" if self._listener.has_answered else "read standard input line by line, not to its end, and "
            step.findings.append(
                Finding(
                    "problem", f"its replies came only now: {read}flush standard output after each, or it will hang"
                )
            )
        self._end(step)

    async def _is_alive(self, process: HookProcess, step: Step) -> bool:
        """Show the step, and with it the last words of a hook that is gone."""
        is_there = process.is_there
        if not is_there:
            step.outcome = ""
            step.findings.append(Finding("problem", f"is gone: {self._last_words(await process.ended)}"))
        self._end(step)
        return is_there

    def _last_words(self, why: str) -> str:
        """Return how it ended, and what it wrote last on standard error."""
        words = " / ".join(self._listener.complaints)
        how = why.partition(": ")[0] if why.startswith("exit") else why
        return f"{how}; its last words: {words}" if words else how

    def _begin(self, title: str, outcome: str = "") -> Step:
        step = Step(title=title, outcome=outcome)
        if self._announce is not None:
            self._announce(step)
        return step

    def _end(self, step: Step) -> None:
        found = dict.fromkeys([*step.findings, *self._listener.take()])
        step.findings = [each for each in found if each not in self._shown_before]
        step.again = [each for each in found if each in self._shown_before]
        self._shown_before.update(found)
        self.steps.append(step)
        self._show(step)


def why_not_started(error: Exception, command: Sequence[str]) -> str:
    """Return `error` in words; with a fix where it is about the command's own file."""
    if not isinstance(error, OSError) or not command or error.filename != command[0]:
        return str(error)
    if error.errno == errno.EACCES:
        return f"{error}: it may not be run as a program; chmod +x {command[0]}, or begin the command with what runs it, such as sh {command[0]}"
    if error.errno == errno.ENOEXEC:
        return f"{error}: it does not say what runs it; give it a first line such as #!/bin/sh, or begin the command with it: sh {command[0]}"
    return str(error)


def _since_ms(began: float) -> float:
    return (time.perf_counter() - began) * 1000
