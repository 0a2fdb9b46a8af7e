"""A worker process that recognises or synthesises, seen from the server.

It is started with the server's Python, answers one request after the other,
and dies with the server. A crash fails the requests in it and starts it again,
after a wait that grows from crash to crash.
"""

import asyncio
import logging
import os
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

from server.errors import SpeechBusy, SpeechError, SpeechTimeout, SpeechUnavailable
from server.speech.worker_child import EXIT_LOAD_FAILED, PREFIX, Header, WireError, lengths, pack, parse
from server.subprocesses.supervisor import BackoffPolicy, Supervisor
from server.wire.frames import SpeechPart

logger = logging.getLogger(__name__)

Part = tuple[Header, bytes]

MAX_PENDING: Final = 64
"""Requests of all sessions that wait for one worker; one more is refused."""

_ROOT: Final = Path(__file__).resolve().parents[2]
_KEPT_VARIABLES: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
_READY_WAIT_S: Final = 20.0
_BACKOFF: Final = BackoffPolicy(first_wait_s=0.2, longest_wait_s=30.0, open_s=30.0, steady_s=0.0)
_CLOSE_S: Final = 2.0


def command_of(kind: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "server.speech.worker_engines", kind, *arguments]


class SpeechWorker:
    """A worker: `start`, then `request` from any task; `aclose` ends the process and fails what is still waiting."""

    def __init__(self, name: str, command: Sequence[str], *, on_change: Callable[[], None] | None = None) -> None:
        """`on_change` is called in the event loop when `status` or `facts` have changed."""
        self.name = name
        self._command = list(command)
        self._on_change = on_change
        self.status = SpeechPart(state="loading", name=name)
        self.facts: Header = {}
        """The facts that the engine sent when it was loaded; {} before."""
        self._is_ready = asyncio.Event()  # or missing: who waits looks at `status`
        self._ready_s: float | None = None  # loop time at which the process that lives or lived last was ready
        self._process: asyncio.subprocess.Process | None = None
        self._is_closed = False
        self._supervisor = Supervisor(f"speech-worker {name}", self._live_once, _BACKOFF, on_wait=self._note_wait)
        self._pending: dict[int, asyncio.Queue[Part | SpeechError]] = {}
        self._last_id = 0
        self._heard_s = 0.0  # loop time of the last message of the process

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    @property
    def restarts(self) -> int:
        return self._supervisor.restarts

    @property
    def pending(self) -> int:
        return len(self._pending)

    def start(self) -> None:
        """Begin to load; `status` says when it is ready. Needs a running loop."""
        self._supervisor.start()

    async def aclose(self) -> None:
        self._is_closed = True
        await self._supervisor.aclose()
        self._fail_all(SpeechUnavailable(f"{self.name} is shut down"))

    async def request(self, header: Header, payload: bytes = b"", *, timeout_s: float) -> AsyncGenerator[Part, None]:
        """Yield the parts of the answer. `timeout_s` is for each of them, waiting for other requests included.

        Closing the generator (or cancelling the task in it) cancels the request: the
        worker stops at its next part, and nothing of it arrives here any more.
        Raises SpeechUnavailable, SpeechBusy or SpeechTimeout.
        """
        await self._until_ready()
        if len(self._pending) >= MAX_PENDING:
            raise SpeechBusy(f"{self.name} has {MAX_PENDING} requests waiting")
        self._last_id += 1
        request_id = self._last_id
        answer: asyncio.Queue[Part | SpeechError] = asyncio.Queue()
        self._pending[request_id] = answer
        try:
            self._write(pack({**header, "id": request_id}, payload))
            while True:
                part = await self._next(answer, timeout_s)
                if part[0]["event"] == "done":
                    self._pending.pop(request_id, None)
                    return
                yield part
        finally:
            if self._pending.pop(request_id, None) is not None:
                self._write(pack({"op": "cancel", "id": request_id}))

    async def _until_ready(self) -> None:
        if self.status.state == "missing":
            raise SpeechUnavailable(self.status.reason or f"{self.name} is missing")
        try:
            async with asyncio.timeout(_READY_WAIT_S):
                await self._is_ready.wait()
        except TimeoutError as error:
            raise SpeechUnavailable(f"{self.name} is still loading; try again") from error
        if self.status.state != "ready":
            raise SpeechUnavailable(self.status.reason or f"{self.name} is missing")

    async def _next(self, answer: asyncio.Queue[Part | SpeechError], timeout_s: float) -> Part:
        try:
            async with asyncio.timeout(timeout_s):
                part = await answer.get()
        except TimeoutError as error:
            self._kill_if_stuck(timeout_s)
            raise SpeechTimeout(f"{self.name} did not answer for {timeout_s:g} s") from error
        if isinstance(part, SpeechError):
            raise part
        return part

    def _kill_if_stuck(self, silence_s: float) -> None:
        """Kill the process if it has answered nobody for so long; else it is busy with others."""
        if asyncio.get_running_loop().time() - self._heard_s >= silence_s and self._process is not None:
            logger.warning("%s hangs; it is killed and restarted", self.name)
            self._is_ready.clear()  # who comes now waits for the next process
            with suppress(ProcessLookupError):
                self._process.kill()

    def _write(self, message: bytes) -> None:
        """Write to the process; if it has just died, its end fails the request."""
        if self._process is not None and self._process.stdin is not None and not self._process.stdin.is_closing():
            self._process.stdin.write(message)

    def _note_wait(self, wait_s: float) -> None:
        logger.warning("%s stopped; restarting it in %.1f s", self.name, wait_s)

    async def _live_once(self) -> float | None:
        """Run one process to its end. Return for how long it was ready; None if another one would fail as well."""
        self._ready_s = None
        try:
            process = self._process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                cwd=_ROOT,
                env={name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ},
            )
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
            self._is_ready.clear()
            await _end(process)
            self._process = None
            if self._is_closed:
                pass
            elif self.status.state == "ready":
                self._become("loading", f"{self.name} crashed and is being restarted")
            elif self.status.state == "missing" or process.returncode == EXIT_LOAD_FAILED:
                self._is_ready.set()  # who waits for it reads `status`; a slow end may have become a kill
            self._fail_all(SpeechUnavailable(f"{self.name} crashed while working; it is being restarted"))
        return None if self.status.state == "missing" else self._served_s()

    def _served_s(self) -> float:
        return 0.0 if self._ready_s is None else asyncio.get_running_loop().time() - self._ready_s

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while True:
            head_bytes, payload_bytes = lengths(await process.stdout.readexactly(PREFIX.size))
            header = parse(await process.stdout.readexactly(head_bytes))
            payload = await process.stdout.readexactly(payload_bytes)
            self._heard_s = asyncio.get_running_loop().time()
            self._take(header, payload)

    def _take(self, header: Header, payload: bytes) -> None:
        match header["event"]:
            case "loading":
                self._become("loading", header["stage"])
            case "ready":
                self.facts = header["facts"]
                for reason in self.facts.get("missing", ()):
                    logger.warning("%s runs without one of its parts: %s", self.name, reason)
                self._ready_s = asyncio.get_running_loop().time()
                self._is_ready.set()
                self._become("ready")
            case "failed":
                self._become("missing", f"{self.name} cannot be loaded: {header['message']}")
            case "error":
                self._answer(header["id"], SpeechUnavailable(f"{self.name} failed: {header['message']}"))
            case _:
                self._answer(header["id"], (header, payload))

    def _answer(self, request_id: int, part: Part | SpeechError) -> None:
        if (answer := self._pending.get(request_id)) is not None:
            answer.put_nowait(part)  # as large as one answer: the texts and sounds given to a worker are bounded
        if isinstance(part, SpeechError):
            self._pending.pop(request_id, None)

    def _fail_all(self, error: SpeechError) -> None:
        for request_id in list(self._pending):
            self._answer(request_id, error)

    def _become(self, state: Literal["loading", "ready", "missing"], reason: str | None = None) -> None:
        if state == "missing":
            logger.warning("%s", reason)
        self.status = SpeechPart(state=state, name=self.facts.get("name", self.name), reason=reason)
        if self._on_change is not None:
            self._on_change()


async def _end(process: asyncio.subprocess.Process) -> None:
    """Close the pipe, which is the order to end, and kill what does not obey. Leaves no zombie, even when cancelled."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        async with asyncio.timeout(_CLOSE_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
