"""A process hook: kept alive, asked, sent events, and judged by how it fares."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any, Final

from server import config
from server.hooks.health import HookHealth, HookState, HookStats
from server.hooks.hook_params import event_params, stage_params
from server.hooks.process.hook_process import HookLimits, HookProcess, OnLine, no_listener
from server.hooks.process.process_settings import event_hint, gate_stages, hello_modes, sent_stages
from server.hooks.process.recording import Recording
from server.hooks.replies import read_reply
from server.hooks.reply_objects import ReplyUnusable
from server.hooks.stages import (
    Abort,
    ApproverVerdict,
    Decision,
    Deny,
    HookCallFailed,
    HookEvent,
    Ignored,
    LlmAnswer,
    LlmCall,
    Stage,
    StageContext,
    StageValue,
    ToolRan,
    observed_kinds,
)
from server.subprocesses.supervisor import Supervisor
from server.tools.tool_calls import ToolAnswer, ToolInvocation, TurnFacts

logger = logging.getLogger(__name__)

PROTOCOL_VERSION: Final = 1

_ODD_LINES: Final = {
    "stray": "it prints something other than replies; anything else belongs on standard error",
    "garbled": "it printed a line that is not a JSON-RPC reply",
    "overlong": "it printed a line of more than 16 MiB",
    "no_id": "it answered without the `id` of the call, or answered a notification",
    "odd_id": 'it answered with the `id` in another form, such as "2" or 2.0, which counts for nothing: send 2',
    "request": "it sent a call of its own; a hook only answers",
    "unknown_id": "it answered a call that was never made",
    "duplicate": "it answered a call twice",
    "late": "it answered a call after its time limit",
}

TEST_NAME: Final = "parley_canary"
"""The name of the tool (of the model, for the stages of model calls) that a test call is about. There is none."""

_TEST_CONTEXT: Final = StageContext(facts=TurnFacts(session_id=TEST_NAME, turn_id=TEST_NAME, conversation=TEST_NAME))
_TEST_VALUES: Final[Mapping[Stage, StageValue]] = {
    "before_llm": LlmCall(model=TEST_NAME, messages=[{"role": "user", "content": TEST_NAME}]),
    "after_llm": LlmAnswer(model=TEST_NAME, content=TEST_NAME),
    "before_tool": ToolInvocation(name=TEST_NAME, arguments={}),
    "after_tool": ToolRan(name=TEST_NAME, arguments={}, answer=ToolAnswer(for_llm=TEST_NAME, is_silent=True)),
    "approve_tool": ToolInvocation(name=TEST_NAME, arguments={}),
}


class ProcessHook:
    """A hook in a child process. `start`, then calls from any task; `aclose` ends the process and all that came of it.

    A process that ends is started again, after a wait that grows from one
    failure to the next; calls meanwhile fail at once, as `down`.
    """

    def __init__(
        self,
        name: str,
        settings: config.ProcessHookSettings,
        environ: Mapping[str, str],
        *,
        limits: HookLimits | None = None,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        """Set up the hook, not started; `on_change` is called in the event loop when `health` has a new state."""
        self.name = name
        self.settings = settings
        self.is_process = True
        self.order = (1, settings.priority, name.encode())
        self.stages = sent_stages(settings)
        self.kinds = observed_kinds(settings.observe)
        self.is_guard = settings.on_error == "closed"
        self.timeout_ms = settings.timeout_ms
        self.state: HookState = "starting"
        self.process: HookProcess | None = None
        """The present process, also before it has answered hook.hello and while it is being ended."""
        self.settled = asyncio.Event()
        """Event that is set when the hook's first start has succeeded or failed, or it was closed."""
        self.is_retired = False
        """Whether a reload has replaced it: it serves the turns that began with it, but is not started again."""
        self.leases = 0
        """Number of turns that use the hook."""
        self._environ = environ
        self._limits = limits or HookLimits()
        self._on_change = on_change
        self._stats = HookStats()
        self._up: HookProcess | None = None  # the process, while the state is `up`: its hello is answered
        self._armed: bool | None = None
        self._armed_reason = ""
        self._has_approved = False  # or refused: whether it has answered a real question, in this process or another
        self._supervisor = Supervisor(f"process hook {name}", self._run, self._limits.backoff, on_wait=self._note_wait)

    def start(self) -> None:
        """Start the hook and return at once; `settled` tells when it is up or down. Needs a running loop."""
        self._supervisor.start()

    async def aclose(self) -> None:
        """End the hook; returns when nothing of it is left, after about `limits.end_s`. May be called again."""
        await self._supervisor.aclose()
        self.settled.set()  # it will not be up any more: a turn may wait for that since before a reload
        self._become("closed")

    async def ask(
        self, stage: Stage, value: StageValue, at: StageContext, limit_s: float
    ) -> StageValue | Decision | Ignored | None:
        method = f"hook.{stage}"
        reply = await self.request(method, stage_params(stage, value, at), limit_s=limit_s)
        if stage == "approve_tool":
            self._has_approved = True
            if self._armed is None:
                self._note_armed(gate_problem(stage, reply))
        try:
            parsed = read_reply(stage, reply, value)
        except ReplyUnusable as error:
            text = f'decode process hook "{self.name}" {method} result: {error}'
            self.warn(text)
            raise HookCallFailed("failed", text) from error
        for warning in parsed.warnings:
            self.warn(warning)
        if parsed.is_doubtful and self.is_guard and not isinstance(parsed.result, Deny | Abort | ApproverVerdict):
            raise HookCallFailed("failed", f'process hook "{self.name}" gave a reply that was not understood')
        if parsed.is_doubtful and parsed.result is None:
            return Ignored(why="; ".join(parsed.warnings))
        return parsed.result

    async def request(self, method: str, params: Mapping[str, Any], *, limit_s: float) -> Mapping[str, Any]:
        """Return the `result` of one call (`{}` where it is missing or null); replies may come in any order.

        Raises HookCallFailed. Cancelling abandons the call at once; a late reply is dropped.
        """
        self._stats.calls += 1
        if self._up is None:
            self._stats.failures += 1  # why it is not there stays the last error
            why = {"closed": "is closed", "starting": "is still starting"}
            what = why.get(self.state, f"is down: {self._stats.last_error}")
            raise HookCallFailed("down", f'process hook "{self.name}" {what}')
        began = time.perf_counter()
        try:
            result = _checked(self.name, method, await self._up.request(method, params, limit_s))
        except HookCallFailed as error:
            self._stats.add_failure(str(error))
            raise
        self._stats.add_answer((time.perf_counter() - began) * 1000)
        return result

    def send_event(self, event: HookEvent) -> None:
        method = self.settings.event_method
        self.notify(method, event_params(event, method, self.settings.event_kinds))

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Queue a notification; never waits. Beyond the queue's limit the newest is dropped and counted."""
        self._stats.events += 1
        if self._up is None or not self._up.notify(method, params):
            self._stats.dropped_events += 1

    def warn(self, text: str) -> None:
        if self._stats.add_warning(text):
            logger.warning('process hook "%s": %s', self.name, text)

    def health(self) -> HookHealth:
        up, retry_in_s = self._up, self._supervisor.retry_in_s
        return HookHealth(
            name=self.name,
            state=self.state,
            modes=hello_modes(self.settings),
            pid=None if up is None else up.pid,
            restarts=self._supervisor.restarts,
            retry_in_s=None if retry_in_s is None else round(retry_in_s, 1),
            gates=list(gate_stages(self.settings)),
            armed=self._armed,
            armed_reason=self._armed_reason,
            ignored=self._stats.all_ignored({} if up is None else up.calls.ignored),
            **self._stats.counts(),
        )

    async def _run(self) -> float | None:
        if self.is_retired:
            return None
        self._become("starting")
        return self._unless_retired(await self._run_once())

    def _unless_retired(self, served_s: float) -> float | None:
        if not self.is_retired:
            return served_s
        self._be_down("has ended under its last turns")
        return None

    def _note_wait(self, wait_s: float) -> None:
        why = ", because it keeps ending" if self._supervisor.backoff.is_open else ""
        self._be_down(f"is started again in {wait_s:g} s{why}")

    def _be_down(self, what_next: str) -> None:
        self.state = "down"
        self.settled.set()
        self._on_change()
        logger.warning('process hook "%s" is down: %s; it %s', self.name, self._stats.last_error, what_next)

    async def _run_once(self) -> float:
        """Run one process; return how long it served, and note the reason of its end."""
        async with AsyncExitStack() as stack:
            on_line = self._begin_recording(stack)
            try:
                process = await HookProcess.begin(
                    self.name,
                    self.settings,
                    self._environ,
                    self._limits,
                    on_line=on_line,
                    on_odd_line=self._note_odd_line,
                )
            except (OSError, ValueError) as error:  # ValueError: a NUL in an argument
                self._stats.set_error(f'start process hook "{self.name}": {error}')
                return 0.0
            self.process = process
            stack.push_async_callback(self._end, process)
            return await self._serve(process)

    def _begin_recording(self, stack: AsyncExitStack) -> OnLine:
        """Return a listener that records until the stack ends, or does nothing where no file can be written."""
        if (path := self.settings.record) is not None:
            try:
                recording = Recording(path, self.name, self.settings.command)
            except OSError as error:  # no reason to do without the hook
                self.warn(f"its traffic is not recorded: {error}")
            else:
                self.warn(f"{path} records everything it is sent, including what users say")
                stack.push_async_callback(asyncio.to_thread, recording.close)
                return recording.add
        return no_listener

    async def _serve(self, process: HookProcess) -> float:
        try:
            hello = {"name": self.name, "version": PROTOCOL_VERSION, "modes": hello_modes(self.settings)}
            greeting = _checked(
                self.name, "hook.hello", await process.request("hook.hello", hello, self._limits.hello_s)
            )
        except HookCallFailed as error:
            self._stats.set_error(f'start process hook "{self.name}": {error}')
            return 0.0
        self._up = process
        self._become("up")
        logger.info('process hook "%s" is up (pid %d)', self.name, process.pid)
        self.settled.set()
        self._on_change()
        if (hint := await asyncio.to_thread(event_hint, self.settings)) is not None:
            self.warn(hint)
        async with asyncio.TaskGroup() as tasks:
            testing = tasks.create_task(self._test_gates(process, asks_for_it=greeting.get("canary") is True))
            why = await process.ended
            testing.cancel()
        self._stats.set_error(f'process hook "{self.name}" ended: {why}')
        self._up = None
        self._become("down")  # now, not when the last of what it started is gone
        return process.served_s

    async def _end(self, process: HookProcess) -> None:
        self._up = None
        self._armed, self._armed_reason = None, ""
        await process.end()
        self.process = None
        self._stats.ignored.update(process.calls.ignored)

    async def _test_gates(self, process: HookProcess, *, asks_for_it: bool) -> None:
        """Make a harmless call for each stage at which it is a gate, until one goes wrong; `gate_test_s` for all.

        A gate shows in this way, before it is needed, that it answers as a gate has
        to. Approvers are spared until they have answered a question: a human may
        stand behind them. A test call waits for a moment in which no turn uses the
        hook: one that answers call by call would keep the turn waiting.
        """
        if self.settings.canary is False or not (stages := gate_stages(self.settings)):
            return
        if not (self.is_guard or asks_for_it or self._has_approved):
            return
        loop = asyncio.get_running_loop()
        problem = None
        left_s = self._limits.gate_test_s
        for stage in stages:
            is_free = False
            while not is_free:
                await asyncio.sleep(self._limits.gate_quiet_s)
                is_free = not (self.leases or process.has_open_calls)
            began = loop.time()
            params = stage_params(stage, _TEST_VALUES[stage], _TEST_CONTEXT)
            try:
                result = await self.request(f"hook.{stage}", params, limit_s=max(0.0, left_s))
            except HookCallFailed as error:
                problem = str(error)
            else:
                problem = gate_problem(stage, result)
            left_s -= loop.time() - began
            if problem is not None:
                break
        self._note_armed(problem)
        if problem and process.is_there:
            self.warn(f"the gate is not armed: {problem}")

    def _note_armed(self, problem: str | None) -> None:
        self._armed, self._armed_reason = problem is None, problem or ""
        self._on_change()

    def _note_odd_line(self, reason: str) -> None:
        if text := _ODD_LINES.get(reason):  # a blank line is no harm
            self.warn(text)

    def _become(self, state: HookState) -> None:
        if self.state != state:
            self.state = state
            self._on_change()


def gate_problem(stage: Stage, result: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the reply to a test call, or None if a gate may answer so, whatever it decides."""
    try:
        parsed = read_reply(stage, result, _TEST_VALUES[stage])
    except ReplyUnusable as error:
        return f"{stage}: {error}"
    return "; ".join(parsed.warnings) or f"{stage}: it was not understood" if parsed.is_doubtful else None


def _checked(name: str, method: str, result: Any) -> Mapping[str, Any]:
    """Return the result as an object. Raises HookCallFailed for what is neither an object nor null."""
    if result is None:
        return {}
    if not isinstance(result, dict):
        what = f"expected an object, got {type(result).__name__}"
        raise HookCallFailed("failed", f'decode process hook "{name}" {method} result: {what}')
    return result
