"""One child process, from its spawn to the end of everything that came of it."""

import asyncio
import secrets
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Final

from server.subprocesses.exit import exit_text, watch_exit
from server.subprocesses.family import MARK, Family
from server.subprocesses.lines import Line, Lines
from server.subprocesses.pipes import PipeReader
from server.subprocesses.stderr import MAX_STDERR_LINE_BYTES, StderrLog

EOF_S: Final = 1.0
"""From the end of its input to SIGTERM."""
END_S: Final = 2.0
"""From the end of its input to SIGKILL."""
_KILL_WAIT_S: Final = 2.0  # a killed process that does not go hangs in the kernel

_running: Final = set["Child"]()  # begun, and not ended


def kill_all() -> None:
    """Every child with its process group, at once: for when there is no time to `end` them."""
    for child in _running:
        child.kill()


class Child:
    """`begin` it, and use its pipes; `end` must be awaited, whatever happened. Its standard error goes into our log."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        family: Family,
        log: StderrLog,
        *,
        on_error_line: Callable[[Line], None] | None,
        eof_s: float,
        end_s: float,
    ) -> None:
        """Takes the process over; `begin` is the way in."""
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self.stdin: IO[bytes] = process.stdin
        self.stdout: IO[bytes] = process.stdout
        self.family = family
        self._process = process
        self._log = log
        self._on_error_line = on_error_line
        self._eof_s = eof_s
        self._end_s = end_s
        self._loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[str] = self._loop.create_future()
        """Says how, in words."""
        self._err = PipeReader(process.stderr, Lines(MAX_STDERR_LINE_BYTES), self._take_error)
        watch_exit(process, self._loop, self._note_exit)
        _running.add(self)

    @classmethod
    async def begin(
        cls,
        command: Sequence[str],
        *,
        whose: str,
        folder: Path | None,
        environment: Mapping[str, str],
        on_error_line: Callable[[Line], None] | None = None,
        eof_s: float = EOF_S,
        end_s: float = END_S,
    ) -> "Child":
        """Without a shell, in a session of its own; `whose` names it in the log.

        Raises OSError, and ValueError for a NUL in an argument; cancelled, it leaves no process.
        """
        mark = secrets.token_hex(8)
        spawning = asyncio.create_task(
            asyncio.to_thread(_spawn, command, folder, {**environment, MARK: mark}), name=f"spawn {whose}"
        )

        def child_of(process: subprocess.Popen[bytes]) -> "Child":
            family, log = Family(process.pid, mark), StderrLog(whose)
            return cls(process, family, log, on_error_line=on_error_line, eof_s=eof_s, end_s=end_s)

        try:
            return child_of(await asyncio.shield(spawning))
        except asyncio.CancelledError:
            await asyncio.wait([spawning])
            if spawning.exception() is None:
                child = child_of(spawning.result())
                child.stdin.close()
                await child.end()
                child.stdout.close()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def last_error_line(self) -> str:
        """Most programs say last why they end."""
        return self._log.last_line

    def kill(self) -> None:
        """At once, with its process group. It is still to be ended."""
        if not self.exited.done():
            self.family.signal_group(signal.SIGKILL)

    async def end(self) -> None:
        """Wait for it to go, now that its input is closed; SIGTERM to all that came of it, wait; SIGKILL.

        Returns when nothing of it is left. Cancelled, it kills what it can reach at once.
        """
        by = self._loop.time() + self._end_s
        try:
            await asyncio.wait({self.exited}, timeout=self._eof_s)
            if not self.exited.done():
                self._process.send_signal(signal.SIGTERM)
            await self.family.end(by)
            await asyncio.wait({self.exited}, timeout=max(0.0, by - self._loop.time()))
        finally:
            if not self.exited.done():
                self._process.kill()
            self._err.close()
            _running.discard(self)
        if not self.exited.done():
            await asyncio.wait({self.exited}, timeout=_KILL_WAIT_S)
            await self.family.end(self._loop.time())  # what it started while the others were ended

    def _take_error(self, line: Line) -> bool:
        if self._on_error_line is not None:
            self._on_error_line(line)
        return self._log.take(line)

    def _note_exit(self) -> None:
        if not self.exited.done():
            self.exited.set_result(exit_text(self._process.returncode))


def _spawn(command: Sequence[str], folder: Path | None, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder and str(folder),  # as a Path it would stand in errors as PosixPath('…')
        env=environment,
        bufsize=0,
        start_new_session=True,
    )
