"""One child process whose program is not ours, from its start to the end of everything that came of it."""

import asyncio
import logging
import os
import secrets
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from server.bounded.limits import TokenBucket
from server.subprocesses.lines import Line, Lines, Overlong
from server.subprocesses.pipes import PipeReader
from server.subprocesses.process_tree import MARK, ProcessTree, adopt_orphans

logger = logging.getLogger(__name__)

EOF_S: Final = 1.0
"""Time from the end of the child's input to SIGTERM."""
END_S: Final = 2.0
"""Time from the end of the child's input to SIGKILL."""
MAX_STDERR_LINE_BYTES: Final = 8192

_KILL_WAIT_S: Final = 2.0  # a killed process that does not go hangs in the kernel
_LOGGED_CHARACTERS: Final = 2000
_KEPT_VARIABLES: Final = ("PATH", "HOME", "LANG", "TZ", "TMPDIR")  # and LC_*

_running: Final = set["ChildProcess"]()  # begun, and not ended


def kill_all() -> None:
    """Kill every child with its process group, at once: for when there is no time to `end` them."""
    for child in _running:
        child.kill()


def child_environment(
    environ: Mapping[str, str], own: Mapping[str, str], *, inherits_all: bool = False
) -> dict[str, str]:
    """Return what a child's environment holds: of ours only what a program needs, and `own` over it.

    Our environment holds API keys, which are none of a child's business.
    PYTHONUNBUFFERED, because a program that forgets to flush its reply would hang.
    """
    kept = {
        name: value
        for name, value in environ.items()
        if inherits_all or name in _KEPT_VARIABLES or name.startswith("LC_")
    }
    return {"PYTHONUNBUFFERED": "1", **kept, **own}


class ChildProcess:
    """A child: `begin` it, use its pipes, and await `end` whatever happened. Its standard error goes into our log."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        tree: ProcessTree,
        label: str,
        *,
        on_error_line: Callable[[Line], None] | None,
        eof_s: float,
        end_s: float,
    ) -> None:
        """Take the process over; call `begin` instead of this."""
        assert process.stdin is not None, "`_spawn` opens it"
        assert process.stdout is not None, "`_spawn` opens it"
        assert process.stderr is not None, "`_spawn` opens it"
        self.stdin, self.stdout = process.stdin, process.stdout
        self.tree = tree
        self._process = process
        self._log = StderrLog(label)
        self._on_error_line = on_error_line
        self._eof_s = eof_s
        self._end_s = end_s
        self._loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[str] = self._loop.create_future()
        """End of the child, in words, once it has."""
        self._err = PipeReader(process.stderr, Lines(MAX_STDERR_LINE_BYTES), self._take_error)
        watch_exit(process, self._loop, self._note_exit)
        _running.add(self)

    @classmethod
    async def begin(
        cls,
        command: Sequence[str],
        *,
        label: str,
        folder: Path | None,
        environment: Mapping[str, str],
        on_error_line: Callable[[Line], None] | None = None,
        eof_s: float = EOF_S,
        end_s: float = END_S,
    ) -> "ChildProcess":
        """Start it without a shell, in a session of its own; `label` names it in the log, as in `MCP server x`.

        Raises OSError, and ValueError for a NUL in an argument; cancelled, it leaves no process.
        """
        mark = secrets.token_hex(8)
        spawn = asyncio.to_thread(_spawn, command, folder, environment, mark)
        spawning = asyncio.create_task(spawn, name=f"spawn {label}")  # awaited below

        def take_over(spawned: tuple[subprocess.Popen[bytes], ProcessTree]) -> "ChildProcess":
            return cls(*spawned, label, on_error_line=on_error_line, eof_s=eof_s, end_s=end_s)

        try:
            return take_over(await asyncio.shield(spawning))
        except asyncio.CancelledError:
            await asyncio.wait([spawning])
            if spawning.exception() is None:
                child = take_over(spawning.result())
                child.stdin.close()
                await child.end()
                child.stdout.close()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def last_error_line(self) -> str:
        """The last line on standard error: most programs say there why they end."""
        return self._log.last_line

    def kill(self) -> None:
        """Kill it at once, with its process group. It is still to be ended."""
        if not self.exited.done():
            self.tree.signal_group(signal.SIGKILL)

    async def end(self) -> None:
        """Wait for it to go, now that its input is closed; SIGTERM to all that came of it, wait; SIGKILL.

        Returns when nothing of it is left. Cancelled, it kills what it can reach at once.
        """
        by = self._loop.time() + self._end_s
        try:
            await asyncio.wait({self.exited}, timeout=self._eof_s)
            if not self.exited.done():
                self._process.send_signal(signal.SIGTERM)
            await self.tree.end(by)
            await asyncio.wait({self.exited}, timeout=max(0.0, by - self._loop.time()))
        finally:
            if not self.exited.done():
                self._process.kill()
            self._err.close()
            _running.discard(self)
        if not self.exited.done():
            await asyncio.wait({self.exited}, timeout=_KILL_WAIT_S)
            await self.tree.end(self._loop.time())  # what it started while the others were ended

    def _take_error(self, line: Line) -> bool:
        if self._on_error_line is not None:
            self._on_error_line(line)
        return self._log.write(line)

    def _note_exit(self) -> None:
        if not self.exited.done():
            self.exited.set_result(exit_text(self._process.returncode))


def _spawn(
    command: Sequence[str], folder: Path | None, environment: Mapping[str, str], mark: str
) -> tuple[subprocess.Popen[bytes], ProcessTree]:
    adopt_orphans()
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder and str(folder),  # as a Path it would stand in errors as PosixPath('…')
        env={**environment, MARK: mark},
        bufsize=0,
        start_new_session=True,
    )
    tree = ProcessTree(process.pid, mark)
    tree.mark_leader()
    return process, tree


def watch_exit(process: subprocess.Popen[bytes], loop: asyncio.AbstractEventLoop, on_exit: Callable[[], None]) -> None:
    """Call `on_exit` in the loop when the process has exited and is reaped."""
    try:
        handle = os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # macOS, and an old Linux
        watch_in_thread(process, loop, on_exit)
        return

    def exited() -> None:
        loop.remove_reader(handle)
        os.close(handle)
        process.wait()  # it is over: no waiting
        on_exit()

    loop.add_reader(handle, exited)


def watch_in_thread(
    process: subprocess.Popen[bytes], loop: asyncio.AbstractEventLoop, on_exit: Callable[[], None]
) -> None:
    """Do the same as `watch_exit`, where there are no pidfds."""

    def wait() -> None:
        process.wait()
        loop.call_soon_threadsafe(on_exit)

    threading.Thread(target=wait, name=f"wait for process {process.pid}", daemon=True).start()


def exit_text(code: int | None) -> str:
    """Name an exit as the reference host does."""
    if not code:
        return "process exited"
    if code > 0:
        return f"exit status {code}"
    return f"signal: {signal.strsignal(-code) or -code}".lower()


class StderrLog:
    """Copies a child's standard error into our log: 50 lines at once, 10 a second in the long run."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._bucket = TokenBucket(burst=50, per_s=10)
        self._skipped = 0
        self.last_line = ""

    def write(self, line: Line) -> bool:
        """Return False, as such a line is of no use to a call: a flood of them is read slowly."""
        cut = line.head if isinstance(line, Overlong) else line
        text = cut.decode("utf-8", "replace").strip()[:_LOGGED_CHARACTERS]
        if not text:
            return False
        self.last_line = text
        if not self._bucket.take(time.monotonic()):
            self._skipped += 1
            return False
        if self._skipped:
            logger.info("%s stderr: %d lines were left out", self._label, self._skipped)
            self._skipped = 0
        logger.info("%s stderr: %s", self._label, text)
        return False
