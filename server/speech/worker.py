"""An embedded engine in processes of its own, and the queue before it.

The request that is due first goes first. When it is due is asked each time that
a process is free: playback may have been paused, an utterance may have ended.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Final

from server.errors import SpeechBusy, SpeechError, SpeechTimeout, SpeechUnavailable
from server.speech.worker_child import Header, pack
from server.speech.worker_process import Part, SpeechJob, WorkerProcess
from server.wire.frames import SpeechPart

DueIn = Callable[[], float]
"""Returns in how many seconds a result is needed, as things stand; negative: it is late."""

MAX_WAITING: Final = 64
"""Requests of all sessions that wait for one engine; beyond it the one that is due last is refused."""

_READY_WAIT_S: Final = 20.0  # for an engine that loads, or is restarted
_STATES: Final = ("ready", "loading", "missing")


def command_of(kind: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "server.speech.worker_engines", kind, *arguments]


def at_once() -> float:
    """Return the deadline of a request that should start at once; ties go to the oldest."""
    return 0.0


class SpeechWorker:
    """An engine: `start`, then `request` from any task; `aclose` ends the processes and fails what is still waiting."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        processes: int = 1,
        max_waiting: int = MAX_WAITING,
        on_change: Callable[[], None] = lambda: None,
        spawn: Callable[..., WorkerProcess] = WorkerProcess,
    ) -> None:
        """`on_change` is called in the event loop when `status` or `facts` have changed."""
        self.name = name
        self._max_waiting = max_waiting
        self._on_change = on_change
        self._processes = [spawn(name, command, on_change=self._update) for _ in range(processes)]
        self._published = self.status
        self._waiting: dict[SpeechJob, asyncio.TimerHandle] = {}  # the oldest first; with what ends its wait
        self._last_id = 0
        self._is_closed = False
        self.on_begin: Callable[[float, float], None] | None = None
        """Called when a process begins with a request: seconds since it was asked for, and since it was due."""

    @property
    def status(self) -> SpeechPart:
        """The status of the process that is best off."""
        return min((process.status for process in self._processes), key=lambda status: _STATES.index(status.state))

    @property
    def facts(self) -> Header:
        """The facts that the engine sent when it was loaded; {} before."""
        return next((process.facts for process in self._processes if process.facts), {})

    @property
    def restarts(self) -> int:
        return sum(process.restarts for process in self._processes)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def start(self) -> None:
        """Begin to load; `status` says when it is ready. Needs a running loop."""
        for process in self._processes:
            process.start()

    async def aclose(self) -> None:
        self._is_closed = True
        await asyncio.gather(*(process.aclose() for process in self._processes))
        self._fail_waiting(SpeechUnavailable(f"{self.name} is shut down"))

    async def request(
        self, header: Header, payload: bytes = b"", *, timeout_s: float, due_in_s: DueIn = at_once
    ) -> AsyncGenerator[Part, None]:
        """Yield the parts of the answer. A process begins at most `timeout_s` after it is due; no part takes it longer.

        While the engine loads, a request waits for 20 s at least.
        Closing the generator (or cancelling the task in it) cancels the request: it leaves
        the queue at once, or the process stops at its next part; nothing of it arrives here
        any more. Raises SpeechUnavailable, SpeechBusy or SpeechTimeout.
        """
        self._last_id += 1
        job = SpeechJob(
            id=self._last_id,
            message=pack({**header, "id": self._last_id}, payload),
            due_in_s=due_in_s,
            asked_s=asyncio.get_running_loop().time(),
            timeout_s=timeout_s,
        )
        self._admit(job)
        try:
            while (part := await job.answer.get()) is not None:
                if isinstance(part, SpeechError):
                    raise part
                yield part
        finally:
            self._withdraw(job)

    def _admit(self, job: SpeechJob) -> None:
        if self._is_closed:
            raise SpeechUnavailable(f"{self.name} is shut down")
        if self.status.state == "missing":
            raise SpeechUnavailable(self.status.reason or f"{self.name} is missing")
        self._limit_wait(job)
        self._dispatch()
        if len(self._waiting) > self._max_waiting:
            last = max(reversed(self._waiting), key=lambda job: job.due_in_s())
            self._refuse(last, SpeechBusy(f"{self.name} has {self._max_waiting} requests waiting that are due earlier"))

    def _limit_wait(self, job: SpeechJob) -> None:
        limit_s = job.timeout_s if self.status.state == "ready" else max(job.timeout_s, _READY_WAIT_S)
        wait_s = max(0.0, job.due_in_s()) + limit_s
        self._waiting[job] = asyncio.get_running_loop().call_later(wait_s, self._expire, job)

    def _dispatch(self) -> None:
        for process in self._processes:
            if process.is_free and self._waiting:
                job = min(self._waiting, key=lambda job: job.due_in_s())
                if self.on_begin is not None:
                    waited_s = asyncio.get_running_loop().time() - job.asked_s
                    self.on_begin(waited_s, max(0.0, -job.due_in_s()))
                self._waiting.pop(job).cancel()
                process.begin(job)

    def _refuse(self, job: SpeechJob, error: SpeechError) -> None:
        self._waiting.pop(job).cancel()
        job.answer.put_nowait(error)

    def _expire(self, job: SpeechJob) -> None:
        if job.due_in_s() > 0:  # playback was paused, say
            self._limit_wait(job)
        elif self.status.state == "ready":
            self._refuse(job, SpeechTimeout(f"{self.name} was busy with what is due earlier"))
        else:
            self._refuse(job, SpeechUnavailable(f"{self.name} is still loading; try again"))

    def _withdraw(self, job: SpeechJob) -> None:
        if job in self._waiting:
            self._waiting.pop(job).cancel()
        for process in self._processes:
            process.cancel(job)

    def _fail_waiting(self, error: SpeechError) -> None:
        for job in list(self._waiting):
            self._refuse(job, error)

    def _update(self) -> None:
        """Go on after a change of a process."""
        status = self.status
        if status.state == "missing":
            self._fail_waiting(SpeechUnavailable(status.reason or f"{self.name} is missing"))
        self._dispatch()
        if status != self._published:
            self._published = status
            self._on_change()
