"""Plays a hook's whole life for it, through the code that serves it in the server, and watches what it prints."""

import asyncio
import errno
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from hook_tools.judging import judge, judge_own, slowness
from hook_tools.line_faults import Fault
from hook_tools.listener import Listener
from hook_tools.scenes import ORDER, Scene, call_of, events, scenes
from server import config
from server.hooks.process.hook_process import HookLimits, HookProcess, OnLine
from server.hooks.process.process_hook import PROTOCOL_VERSION
from server.hooks.process.process_settings import hello_modes, sent_stages
from server.hooks.stages import HookCallFailed, Stage, limit_s, observed_kinds
from server.llm.language_model import ToolSpec
from server.tool_calls import ToolInvocation

_LIMITS: Final = HookLimits()
_AT_ONCE: Final = 8
_PATIENCE_S: Final = 2.0  # after that, a late reply is taken for one that was not flushed
_QUIET_S: Final = 0.1  # after events: whoever answers them does so by then


@dataclass(kw_only=True, slots=True)
class Step:
    """One thing that was tried."""

    title: str
    outcome: str = ""
    ms: float | None = None
    faults: list[Fault] = field(default_factory=list)
    again: list[Fault] = field(default_factory=list)
    """Those that an earlier step has shown already."""

    @property
    def has_problem(self) -> bool:
        return any(fault.level == "problem" for fault in (*self.faults, *self.again))


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What is tried, and how long it may take."""

    name: str
    hook: config.ProcessHookSettings
    defaults: config.HookDefaults = field(default_factory=config.HookDefaults)
    is_chosen: bool = True
    """False: nobody said which stages the hook is for, so that it may refuse some."""
    wait_s: float = 10.0
    """No reply is waited for longer, whatever its limit."""

    def limit_s(self, stage: Stage) -> float:
        return limit_s(stage, self.defaults, self.hook.timeout_ms)


class Trial:
    """`run` once; `steps` is what was found, `times` how long the replies of each stage took, in ms."""

    def __init__(
        self,
        plan: Plan,
        environ: Mapping[str, str],
        *,
        show: Callable[[Step], None],
        announce: Callable[[Step], None] | None = None,
        on_line: OnLine | None = None,
    ) -> None:
        """`announce` is called with each step when it begins, `show` when it is over; `on_line` gets every line."""
        self._plan = plan
        self._environ = environ
        self._show = show
        self._announce = announce
        self._listener = Listener(on_line)
        self._told = set[Fault]()
        self._added = dict[str, ToolSpec]()  # by name: the tools that the hook has brought along
        self._silent = set[Stage]()  # that have failed to reply
        self.steps: list[Step] = []
        self.times: defaultdict[Stage, list[float]] = defaultdict(list)

    @property
    def problems(self) -> int:
        return sum(fault.level == "problem" for step in self.steps for fault in step.faults)

    @property
    def hints(self) -> int:
        return sum(fault.level == "hint" for step in self.steps for fault in step.faults)

    def summary(self) -> dict[Stage, tuple[float, float, float]]:
        """Of each stage that replied: median, slowest and limit in ms."""
        return {
            stage: (statistics.median(times), max(times), self._plan.limit_s(stage) * 1000)
            for stage, times in self.times.items()
        }

    async def run(self) -> None:
        """Leaves no process behind, also when cancelled."""
        try:
            life = await HookProcess.begin(
                self._plan.name, self._plan.hook, self._environ, _LIMITS, on_line=self._listener.hear
            )
        except (OSError, ValueError) as error:
            fault = Fault("problem", why_not_started(error, self._plan.hook.command))
            self._end(Step(title="start", outcome="cannot be started", faults=[fault]))
            return
        try:
            await self._play(life)
            if life.is_there:
                await self._end_of_input(life)
        finally:
            await life.end()

    async def _play(self, life: HookProcess) -> None:
        """Until it is gone, or turns out to be no hook."""
        if not await self._hello(life) or not await self._tell_events(life):
            return
        for stage in ORDER:
            if stage in sent_stages(self._plan.hook) and not await self._play_stage(life, stage):
                return
        await self._ask_at_once(life)

    async def _play_stage(self, life: HookProcess, stage: Stage) -> bool:
        """False: it is gone."""
        own = [call_of(tool) for tool in self._added.values()] if stage == "before_tool" else []
        for scene in [*scenes(stage), *own]:
            step = self._begin(f"hook.{stage}: {scene.title}")
            is_answered = await self._ask(life, scene, step)
            if not await self._is_alive(life, step):
                return False
            if not is_answered:
                self._silent.add(stage)
                break
        return True

    async def _hello(self, life: HookProcess) -> bool:
        step = self._begin("hook.hello")
        modes = hello_modes(self._plan.hook)
        began = time.perf_counter()
        try:
            hello = {"name": self._plan.name, "version": PROTOCOL_VERSION, "modes": modes}
            result = await life.request("hook.hello", hello, min(_LIMITS.hello_s, self._plan.wait_s))
        except HookCallFailed as error:
            step.faults.append(self._failure(error, "hook.hello", _LIMITS.hello_s))
        else:
            step.ms, step.outcome = _since_ms(began), "is greeted back"
            if result is not None and not isinstance(result, dict):
                step.faults.append(Fault("problem", "the result has to be an object, such as {}"))
        went_well = not step.faults
        return await self._is_alive(life, step) and went_well

    async def _tell_events(self, life: HookProcess) -> bool:
        hook = self._plan.hook
        told = events(observed_kinds(hook.observe), hook.event_method)
        if not told:
            return True
        step = self._begin(f"{len(told)} events as {hook.event_method}", "are taken without an answer")
        for _, params in told:
            life.notify(hook.event_method, params)
        await asyncio.sleep(_QUIET_S)
        return await self._is_alive(life, step)

    async def _ask(self, life: HookProcess, scene: Scene, step: Step) -> bool:
        """False: there is no sense in asking this stage again."""
        method, limit = f"hook.{scene.stage}", self._plan.limit_s(scene.stage)
        began = time.perf_counter()
        try:
            result = await life.request(method, scene.params, min(limit, self._plan.wait_s))
        except HookCallFailed as error:
            step.faults.append(self._failure(error, method, limit))
            return False
        step.ms = _since_ms(began)
        self.times[scene.stage].append(step.ms)
        step.faults += slowness(step.ms, limit)
        if result is not None and not isinstance(result, dict):
            step.faults.append(Fault("problem", "the result has to be an object"))
            return True
        judgement = judge(scene, result or {})
        step.outcome = judgement.outcome
        step.faults += judgement.faults
        self._added |= {tool.name: tool for tool in judgement.added}
        if scene.stage == "before_tool" and isinstance(scene.value, ToolInvocation) and scene.value.name in self._added:
            step.faults += judge_own(scene.value.name, result or {})
        return True

    def _failure(self, error: HookCallFailed, method: str, limit_s: float) -> Fault:
        match error.kind:
            case "timed_out":
                self._listener.give_up()
                waited = min(limit_s, self._plan.wait_s)
                more = f"; the server would wait {limit_s:g} s" if waited < limit_s else ""
                is_for_all = self._plan.is_chosen or method == "hook.hello"
                choose = "" if is_for_all else "; if it is not meant for this, name its stages with --intercept"
                return Fault("problem", f"no reply to {method} within {waited:g} s{more}{choose}")
            case "down":  # what became of it is told beside this
                return Fault("problem", f"did not live to answer {method}")
        if self._plan.is_chosen or method == "hook.hello":
            return Fault("problem", f"answered {method} with an error or garbage: {error}")
        return Fault("hint", f"refuses {method} ({error}); leave it out of “intercept”")

    async def _ask_at_once(self, life: HookProcess) -> None:
        """Several turns may wait for one hook: their replies are told apart by id alone."""
        asked = sent_stages(self._plan.hook) - self._silent
        chosen = [scene for stage in ORDER if stage in asked for scene in scenes(stage)][:_AT_ONCE]
        if not chosen:
            return
        step = self._begin(f"{len(chosen)} calls at once", "each has its reply")
        began = time.perf_counter()
        wait_s = min(self._plan.limit_s(chosen[0].stage), self._plan.wait_s)
        calls = (life.request(f"hook.{scene.stage}", scene.params, wait_s) for scene in chosen)
        results = await asyncio.gather(*calls, return_exceptions=True)
        step.ms = _since_ms(began)
        if failed := [result for result in results if isinstance(result, HookCallFailed)]:
            self._listener.give_up()
            step.outcome = ""
            step.faults.append(Fault("problem", f"{len(failed)} of {len(chosen)} calls had no reply: {failed[0]}"))
        await self._is_alive(life, step)

    async def _end_of_input(self, life: HookProcess) -> None:
        step = self._begin("end of input", "ends")
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE_S):
                await self._listener.caught_up()
        self._listener.is_over = True
        life.close_input()
        began = time.perf_counter()
        ending = life.ended
        await asyncio.wait({ending}, timeout=_LIMITS.eof_s)
        if not ending.done():
            step.outcome = ""
            step.faults.append(
                Fault("problem", "does not end when its standard input does; the server sends SIGTERM, then SIGKILL")
            )
        else:
            step.ms = _since_ms(began)
            if ending.result().startswith(("exit status", "signal")):
                step.faults.append(Fault("problem", f"ended with {self._last_words(ending.result())}"))
        if self._listener.was_buffered and ending.done():  # one that goes on is slow
            read = "" if self._listener.has_answered else "read standard input line by line, not to its end, and "
            step.faults.append(
                Fault("problem", f"its replies came only now: {read}flush standard output after each, or it will hang")
            )
        self._end(step)

    async def _is_alive(self, life: HookProcess, step: Step) -> bool:
        """Shows the step, and with it the last words of a hook that is gone."""
        is_there = life.is_there
        if not is_there:
            step.outcome = ""
            step.faults.append(Fault("problem", f"is gone: {self._last_words(await life.ended)}"))
        self._end(step)
        return is_there

    def _last_words(self, why: str) -> str:
        """How it ended, and what it wrote last on standard error."""
        words = " / ".join(self._listener.complaints)
        how = why.partition(": ")[0] if why.startswith("exit") else why
        return f"{how}; its last words: {words}" if words else how

    def _begin(self, title: str, outcome: str = "") -> Step:
        step = Step(title=title, outcome=outcome)
        if self._announce is not None:
            self._announce(step)
        return step

    def _end(self, step: Step) -> None:
        found = dict.fromkeys([*step.faults, *self._listener.take()])
        step.faults = [each for each in found if each not in self._told]
        step.again = [each for each in found if each in self._told]
        self._told.update(found)
        self.steps.append(step)
        self._show(step)


def why_not_started(error: Exception, command: Sequence[str]) -> str:
    """`error` in words; with the cure where it is about the command's own file."""
    if not isinstance(error, OSError) or not command or error.filename != command[0]:
        return str(error)
    if error.errno == errno.EACCES:
        return f"{error}: it may not be run as a program; chmod +x {command[0]}, or begin the command with what runs it, such as sh {command[0]}"
    if error.errno == errno.ENOEXEC:
        return f"{error}: it does not say what runs it; give it a first line such as #!/bin/sh, or begin the command with it: sh {command[0]}"
    return str(error)


def _since_ms(began: float) -> float:
    return (time.perf_counter() - began) * 1000
