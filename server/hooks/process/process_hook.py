"""A process hook: kept alive, asked, told, and judged by how it fares."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from server import config
from server.hooks.channel import HookCallFailed, Stage
from server.hooks.process import canary
from server.hooks.process import settings as process_settings
from server.hooks.process.health import HookHealth, State
from server.hooks.process.life import Limits, ProcessLife
from server.hooks.process.recording import Recording
from server.hooks.process.tap import Tap
from server.hooks.tally import Tally
from server.subprocesses.supervisor import BackoffPolicy, Supervisor

logger = logging.getLogger(__name__)

PROTOCOL_VERSION: Final = 1

_ODD_LINES: Final = {
    "stray": "it prints something else than replies; what is not for us belongs on standard error",
    "garbled": "it printed a line that is no JSON-RPC reply",
    "overlong": "it printed a line of more than 16 MiB",
    "no_id": "it answered without the `id` of the call, or answered a notification",
    "request": "it sent a call of its own; a hook only answers",
    "unknown_id": "it answered a call that was never made",
    "duplicate": "it answered a call twice",
    "late": "it answered a call after its time limit",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Terms:
    """What every hook is measured by."""

    limits: Limits = field(default_factory=Limits)
    backoff: BackoffPolicy = field(default_factory=BackoffPolicy)


class ProcessHook:
    """A HookChannel. `start`, then calls from any task; `aclose` ends the process and all that came of it.

    A process that ends is started again, after a wait that grows from one
    short life to the next; calls meanwhile fail at once, as `down`.
    """

    def __init__(
        self,
        name: str,
        settings: config.ProcessHookSettings,
        environ: Mapping[str, str],
        *,
        terms: Terms | None = None,
        on_change: Callable[[], None] | None = None,
    ) -> None:
        """`on_change` is called in the event loop when `health` has a new state."""
        self._name = name
        self._settings = settings
        self._environ = environ
        self._terms = terms or Terms()
        self._on_change = on_change
        self._tally = Tally()
        self._state: State = "starting"
        self._process: ProcessLife | None = None  # until nothing of it is left
        self._life: ProcessLife | None = None  # the same, while the state is `up`: its hello is answered
        self._settled = asyncio.Event()
        self._armed: bool | None = None
        self._armed_reason = ""
        self._supervisor = Supervisor(f"process hook {name}", self._live, self._terms.backoff, on_wait=self._note_wait)
        self.is_retired = False
        """Replaced by a reload: it serves the turns that began with it, but is not started again."""

    @property
    def name(self) -> str:
        return self._name

    @property
    def settings(self) -> config.ProcessHookSettings:
        return self._settings

    @property
    def state(self) -> State:
        return self._state

    @property
    def process(self) -> ProcessLife | None:
        """What is there now: also before it has answered hook.hello, and while it is being ended."""
        return self._process

    def start(self) -> None:
        """Returns at once; `settled` tells when it is up, or down. Needs a running loop."""
        self._supervisor.start()

    @property
    def is_settled(self) -> bool:
        return self._settled.is_set()

    async def settled(self) -> None:
        """Wait until its first start has succeeded or failed, its canary calls included, or it was closed."""
        await self._settled.wait()

    async def aclose(self) -> None:
        """Returns when nothing of it is left: after `limits.end_s`, or little more. May be called again."""
        await self._supervisor.aclose()
        self._settled.set()  # it will not be up any more: a turn may wait for that since before a reload
        self._become("closed")

    async def request(self, method: str, params: Mapping[str, Any], *, limit_s: float) -> Mapping[str, Any]:
        tally = self._tally
        tally.calls += 1
        if self._life is None:
            tally.failures += 1  # why it is not there stays the last error
            raise HookCallFailed("down", self._why_not_there())
        began = time.perf_counter()
        try:
            result = await self._life.request(method, params, limit_s)
            if result is not None and not isinstance(result, dict):
                what = f"expected an object, got {type(result).__name__}"
                raise HookCallFailed("failed", f'decode process hook "{self._name}" {method} result: {what}')
        except HookCallFailed as error:
            tally.failed(str(error))
            raise
        tally.answered((time.perf_counter() - began) * 1000)
        return result or {}

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        if self._life is None or not self._life.notify(method, params):
            self._tally.dropped_events += 1

    def warn(self, text: str) -> None:
        if self._tally.warn(text):
            logger.warning('process hook "%s": %s', self._name, text)

    def health(self) -> HookHealth:
        life, tally = self._life, self._tally
        retry_in_s = self._supervisor.retry_in_s
        return HookHealth(
            name=self._name,
            state=self._state,
            modes=process_settings.modes(self._settings),
            pid=None if life is None else life.pid,
            last_error=tally.last_error,
            restarts=self._supervisor.restarts,
            retry_in_s=None if retry_in_s is None else round(retry_in_s, 1),
            gates=list(process_settings.gates(self._settings)),
            armed=self._armed,
            armed_reason=self._armed_reason,
            calls=tally.calls,
            failures=tally.failures,
            p50_ms=tally.took_ms(0.5),
            p99_ms=tally.took_ms(0.99),
            dropped_events=tally.dropped_events,
            ignored=tally.all_ignored({} if life is None else life.calls.ignored),
            warnings=dict(tally.warnings),
        )

    # --- from life to life

    async def _live(self) -> float | None:
        """Run one life, unless a reload has replaced the hook; for the supervisor."""
        if self.is_retired:
            return None
        self._become("starting")
        return self._unless_retired(await self._live_once())

    def _unless_retired(self, lived_s: float) -> float | None:
        if not self.is_retired:
            return lived_s
        self._be_down("has ended under its last turns")
        return None

    def _note_wait(self, wait_s: float) -> None:
        why = ", for it keeps ending" if self._supervisor.backoff.is_open else ""
        self._be_down(f"is started again in {wait_s:g} s{why}")

    def _be_down(self, what_next: str) -> None:
        self._state = "down"
        self._settled.set()
        self._tell()
        logger.warning('process hook "%s" is down: %s; it %s', self._name, self._tally.last_error, what_next)

    async def _live_once(self) -> float:
        """How long it lived, its hello answered; the reason of its end is noted."""
        recording = self._begin_recording()
        try:
            return await self._live_recorded(recording)
        finally:
            if recording is not None:
                await asyncio.to_thread(recording.close)

    def _begin_recording(self) -> Recording | None:
        """A recording that cannot be is no reason to do without the hook."""
        if (path := self._settings.record) is None:
            return None
        try:
            recording = Recording(path, self._name, self._settings.command)
        except OSError as error:
            self.warn(f"its traffic is not recorded: {error}")
            return None
        self.warn(f"{path} records all that it is sent, what users say included")
        return recording

    async def _live_recorded(self, tap: Tap | None) -> float:
        try:
            life = await ProcessLife.begin(self._name, self._settings, self._environ, self._terms.limits, tap=tap)
        except (OSError, ValueError) as error:  # ValueError: a NUL in an argument
            self._tally.note(f'start process hook "{self._name}": {error}')
            return 0.0
        life.on_odd_line = self._note_odd_line
        self._process = life
        try:
            ending = asyncio.create_task(life.ended(), name=f"end of process hook {self._name}")
            try:
                return await self._serve(life, ending)
            finally:
                ending.cancel()
                await asyncio.gather(ending, return_exceptions=True)
        finally:
            self._life = None
            self._armed, self._armed_reason = None, ""
            await life.end()
            self._process = None
            self._tally.ignored.update(life.calls.ignored)

    async def _serve(self, life: ProcessLife, ending: asyncio.Task[str]) -> float:
        try:
            await self._say_hello(life)
        except HookCallFailed as error:
            self._tally.note(f'start process hook "{self._name}": {error}')
            return 0.0
        self._life = life
        self._become("up")
        logger.info('process hook "%s" is up (pid %d)', self._name, life.pid)
        await self._call_canaries()
        self._settled.set()
        self._tell()
        self._tally.note(f'process hook "{self._name}" ended: {await ending}')
        self._life = None
        self._become("down")  # now, not when the last of what it started is gone
        return life.lived_s

    async def _say_hello(self, life: ProcessLife) -> None:
        modes = process_settings.modes(self._settings)
        hello = {"name": self._name, "version": PROTOCOL_VERSION, "modes": modes}
        result = await life.request("hook.hello", hello, self._terms.limits.hello_s)
        if result is not None and not isinstance(result, dict):
            what = f"expected an object, got {type(result).__name__}"
            raise HookCallFailed("failed", f'decode process hook "{self._name}" hook.hello result: {what}')

    async def _call_canaries(self) -> None:
        """A call for each stage at which it is a gate, one after the other, until one goes wrong; `canary_s` for all."""
        if not (stages := process_settings.gates(self._settings)):
            return
        by = asyncio.get_running_loop().time() + self._terms.limits.canary_s
        problem = None
        for stage in stages:
            if problem := await self._call_canary(stage, by - asyncio.get_running_loop().time()):
                break
        self._armed, self._armed_reason = problem is None, problem or ""
        if problem and self._life is not None and self._life.is_there:
            self.warn(f"the gate is not armed: {problem}")

    async def _call_canary(self, stage: Stage, limit_s: float) -> str | None:
        try:
            result = await self.request(f"hook.{stage}", canary.params(stage), limit_s=max(0.0, limit_s))
        except HookCallFailed as error:
            return str(error)
        return canary.problem(stage, result)

    def _note_odd_line(self, reason: str) -> None:
        if text := _ODD_LINES.get(reason):  # a blank line is no harm
            self.warn(text)

    def _why_not_there(self) -> str:
        match self._state:
            case "closed":
                return f'process hook "{self._name}" is closed'
            case "starting":
                return f'process hook "{self._name}" is still starting'
        return f'process hook "{self._name}" is down: {self._tally.last_error}'

    def _become(self, state: State) -> None:
        if self._state != state:
            self._state = state
            self._tell()

    def _tell(self) -> None:
        if self._on_change is not None:
            self._on_change()
