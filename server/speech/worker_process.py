"""A process that recognises or synthesises, seen from the server.

It is started with the server's Python, does one job after the other, and dies
with the server. A crash fails the job in it and starts it again, after a wait
that grows from crash to crash.
"""

import asyncio
import logging
import math
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from server.errors import SpeechError, SpeechTimeout, SpeechUnavailable
from server.speech.worker_child import PREFIX, Header, WireError, lengths, pack, parse
from server.subprocesses.supervisor import BackoffPolicy, Supervisor
from server.wire.frames import SpeechPart

logger = logging.getLogger(__name__)

Part = tuple[Header, bytes]

_ROOT: Final = Path(__file__).resolve().parents[2]
_KEPT_VARIABLES: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
_BACKOFF: Final = BackoffPolicy(first_wait_s=0.2, longest_wait_s=30.0, open_s=30.0, steady_s=0.0)
_CLOSE_S: Final = 2.0


@dataclass(eq=False, kw_only=True)
class SpeechJob:
    """A request for one of the processes, and its answer."""

    id: int
    message: bytes = field(repr=False)
    due_in_s: Callable[[], float]
    asked_s: float
    timeout_s: float
    """Longest time to the first part, and from each to the next; then the process hangs, and is killed."""
    answer: asyncio.Queue[Part | SpeechError | None] = field(default_factory=asyncio.Queue)
    """Parts of the answer, then None or what went wrong; bounded as the texts and sounds given to a process are."""


class WorkerProcess:
    """A process that is kept running: `start`, then `begin` whenever it `is_free`; `aclose` ends it and fails its job."""

    def __init__(self, name: str, command: Sequence[str], *, on_change: Callable[[], None]) -> None:
        """`on_change` is called in the event loop when `status`, `facts` or `is_free` have changed."""
        self.name = name
        self._command = list(command)
        self._on_change = on_change
        self.status = SpeechPart(state="loading", name=name)
        self.facts: Header = {}
        """The facts that the engine sent when it was loaded; {} before."""
        self._ready_s = math.inf  # loop time at which the process that lives or lived last was ready
        self._process: asyncio.subprocess.Process | None = None
        self._is_closed = False
        self._supervisor = Supervisor(f"speech-worker {name}", self._live_once, _BACKOFF, on_wait=self._log_wait)
        self._job: SpeechJob | None = None  # until the process has answered it, also when it was cancelled
        self._watchdog: asyncio.TimerHandle | None = None

    @property
    def is_free(self) -> bool:
        return self._job is None and self._process is not None and self.status.state == "ready"

    @property
    def restarts(self) -> int:
        return self._supervisor.restarts

    def start(self) -> None:
        """Begin to load; `status` says when it is ready. Needs a running loop."""
        self._supervisor.start()

    async def aclose(self) -> None:
        self._is_closed = True
        await self._supervisor.aclose()

    def begin(self, job: SpeechJob) -> None:
        """Give the free process a job; its answer comes into `job.answer`."""
        self._job = job
        self._write(job.message)
        self._watch(job)

    def cancel(self, job: SpeechJob) -> None:
        """Stop that job at its next part; ignored if it is not this process that does it."""
        if self._job is job:
            self._write(pack({"op": "cancel", "id": job.id}))

    def _write(self, message: bytes) -> None:
        """Write to the process; if it has just died, its end fails the job."""
        if self._process is not None and self._process.stdin is not None and not self._process.stdin.is_closing():
            self._process.stdin.write(message)

    def _watch(self, job: SpeechJob | None) -> None:
        """Wait for the next part of `job`, if there is one."""
        if self._watchdog is not None:
            self._watchdog.cancel()
        self._watchdog = None
        if job is not None:
            self._watchdog = asyncio.get_running_loop().call_later(job.timeout_s, self._give_up, job)

    def _give_up(self, job: SpeechJob) -> None:
        logger.warning("%s hangs; it is killed and restarted", self.name)
        job.answer.put_nowait(SpeechTimeout(f"{self.name} did not answer for {job.timeout_s:g} s"))
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()

    def _end_job(self, end: SpeechError | None) -> None:
        job, self._job = self._job, None
        self._watch(None)
        if job is not None:
            job.answer.put_nowait(end)

    def _log_wait(self, wait_s: float) -> None:
        logger.warning("%s stopped; restarting it in %.1f s", self.name, wait_s)

    async def _live_once(self) -> float | None:
        """Run one process to its end. Return for how long it was ready; None if another one would fail as well."""
        self._ready_s = math.inf
        pipe, env = asyncio.subprocess.PIPE, {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        start = asyncio.create_subprocess_exec(*self._command, stdin=pipe, stdout=pipe, cwd=_ROOT, env=env)
        starting = asyncio.create_task(start)  # awaited below; cancelled itself, it would leave the process behind
        try:
            process = self._process = await asyncio.shield(starting)
        except asyncio.CancelledError:
            await _end(await starting)
            raise
        except OSError as error:
            self._become("missing", f"{self.name} cannot be started: {error}")
            return None
        try:
            await self._listen(process)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # it ended, or was killed
        except WireError as error:
            logger.warning("%s: %s", self.name, error)
        finally:
            await _end(process)
            self._process = None
            what = "is shut down" if self._is_closed else "crashed while working; it is being restarted"
            self._end_job(SpeechUnavailable(f"{self.name} {what}"))
            if not self._is_closed and self.status.state == "ready":
                self._become("loading", f"{self.name} crashed and is being restarted")
        served_s = max(0.0, asyncio.get_running_loop().time() - self._ready_s)
        return None if self.status.state == "missing" else served_s

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None, "a pipe"
        while True:
            head_bytes, payload_bytes = lengths(await process.stdout.readexactly(PREFIX.size))
            header = parse(await process.stdout.readexactly(head_bytes))
            payload = await process.stdout.readexactly(payload_bytes)
            self._handle(header, payload)

    def _handle(self, header: Header, payload: bytes) -> None:
        match header["event"]:
            case "loading":
                self._become("loading", header["stage"])
            case "ready":
                self.facts = header["facts"]
                for reason in self.facts.get("missing", ()):
                    logger.warning("%s runs without one of its parts: %s", self.name, reason)
                self._ready_s = asyncio.get_running_loop().time()
                self._become("ready")
            case "failed":
                self._become("missing", f"{self.name} cannot be loaded: {header['message']}")
            case "part" if self._job is not None:
                self._job.answer.put_nowait((header, payload))
                self._watch(self._job)
            case "done":
                self._end_job(None)
                self._on_change()
            case "error":
                self._end_job(SpeechUnavailable(f"{self.name} failed: {header['message']}"))
                self._on_change()

    def _become(self, state: Literal["loading", "ready", "missing"], reason: str | None = None) -> None:
        if state == "missing":
            logger.warning("%s", reason)
        self.status = SpeechPart(state=state, name=self.facts.get("name", self.name), reason=reason)
        self._on_change()


async def _end(process: asyncio.subprocess.Process) -> None:
    """Close the pipe, which is the order to end, and kill what does not obey. Leaves no process, even when cancelled."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
