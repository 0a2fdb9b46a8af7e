"""A child's standard streams, from our side: neither end ever waits for the other.

Output is read a slice at a time, with a rest after one that was only noise, so
that a flood costs a child its own replies, and others nothing. Input that
finds no room waits here, within a limit.
"""

import asyncio
import fcntl
import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Final

from server.subprocesses.lines import MAX_LINE_BYTES, Line, Lines

PIPE_BYTES: Final = 256 << 10
MAX_BACKLOG_BYTES: Final = MAX_LINE_BYTES
"""Limit for lines that wait for a child which does not read."""

_SLICE_S: Final = 0.001
_REST_S: Final = 0.01
_MAX_NOISE: Final = 512  # lines of no use, or as many halves of a KiB of a line beyond the limit, before a rest
_NOISE_BYTES: Final = 512
_MAX_WRITES: Final = 64  # in a row, to a child that reads as fast as we write


class BacklogFull(Exception):
    """A line too many for a child that does not read: MAX_BACKLOG_BYTES wait for it already."""


def _prepared(pipe: IO[bytes]) -> int:
    """Make our end of a pipe not block, and large where the system lets us (one wake-up for a long line)."""
    fd = pipe.fileno()
    os.set_blocking(fd, False)
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with suppress(OSError):  # beyond the user's share
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    return fd


class PipeWriter:
    """Writes lines to a child, in the order of sending. Owns `pipe` until it is closed."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._fd = _prepared(pipe)
        self._loop = asyncio.get_running_loop()
        self._begun: memoryview | None = None  # the rest of a line of which the child has the beginning
        self._waiting = dict[int, bytearray]()  # by the sender's key, in order
        self._waiting_bytes = 0
        self._is_watching = False
        self._is_idle = asyncio.Event()
        self._is_idle.set()
        self.is_closed = False

    @property
    def backlog_bytes(self) -> int:
        return self._waiting_bytes + (0 if self._begun is None else len(self._begun))

    def send(self, key: int, line: bytearray) -> None:
        """Write or queue a line; never waits. Raises BacklogFull, or BrokenPipeError if the child has closed its end."""
        if self.is_closed:
            raise BrokenPipeError
        if self._begun is not None or self._waiting:
            if self.backlog_bytes + len(line) > MAX_BACKLOG_BYTES:
                raise BacklogFull
            self._waiting[key] = line
            self._waiting_bytes += len(line)
            return
        sent = self._write(line)
        if sent < len(line):
            self._begun = memoryview(line)[sent:]
            self._watch(True)

    async def drain(self) -> None:
        """Wait until the child has been given all that was sent, or cannot be given it any more."""
        await self._is_idle.wait()

    def is_waiting(self, key: int) -> bool:
        return key in self._waiting

    def withdraw(self, key: int) -> None:
        """Take a line back that is not begun; anything else changes nothing."""
        if (line := self._waiting.pop(key, None)) is not None:
            self._waiting_bytes -= len(line)

    def close(self) -> None:
        """Let the child see the end of its input, without what waits. May be called again."""
        if not self.is_closed:
            self.is_closed = True
            self._forget()
            self._pipe.close()

    def _write(self, data: bytearray | memoryview) -> int:
        try:
            return os.write(self._fd, data)
        except BlockingIOError:
            return 0

    def _go_on(self) -> None:
        for _ in range(_MAX_WRITES):
            if self._begun is None and not self._waiting:
                self._watch(False)
                return
            if self._begun is None:
                line = self._waiting.pop(next(iter(self._waiting)))
                self._waiting_bytes -= len(line)
                self._begun = memoryview(line)
            try:
                sent = self._write(self._begun)
            except OSError:  # the child has closed its end: its calls wait for their limits, or for its own end
                self._forget()
                return
            if sent == 0:
                return
            self._begun = self._begun[sent:] if sent < len(self._begun) else None

    def _watch(self, is_wanted: bool) -> None:
        if is_wanted and not self._is_watching:
            self._loop.add_writer(self._fd, self._go_on)
        elif self._is_watching and not is_wanted:
            self._loop.remove_writer(self._fd)
        self._is_watching = is_wanted
        if is_wanted:
            self._is_idle.clear()
        else:
            self._is_idle.set()

    def _forget(self) -> None:
        self._watch(False)
        self._begun = None
        self._waiting.clear()
        self._waiting_bytes = 0


class PipeReader:
    """Hands lines of a child to `on_line`, which says whether the line was of use. Owns `pipe` until it is closed.

    `on_end` is called once, when the child and all who inherited its end have closed it.
    """

    def __init__(
        self, pipe: IO[bytes], lines: Lines, on_line: Callable[[Line], bool], on_end: Callable[[], None] | None = None
    ) -> None:
        self._pipe = pipe
        self._fd = _prepared(pipe)
        self._loop = asyncio.get_running_loop()
        self._lines = lines
        self._on_line = on_line
        self._on_end = on_end
        self._buffer = bytearray(PIPE_BYTES)
        self._view = memoryview(self._buffer)
        self._resting: asyncio.Handle | None = None
        self._noise = 0  # since the last rest
        self.has_ended = False
        self.is_closed = False
        self._loop.add_reader(self._fd, self._read)

    def close(self) -> None:
        """Stop reading. May be called again."""
        if not self.is_closed:
            self.is_closed = True
            self._loop.remove_reader(self._fd)
            if self._resting is not None:
                self._resting.cancel()
            self._pipe.close()

    def _read(self) -> None:
        try:
            count = os.readv(self._fd, [self._buffer])
        except BlockingIOError:
            return
        except OSError:
            count = 0
        if count == 0:
            self._end()
            return
        self._lines.feed(bytes(self._view[:count]))
        if self._take() and self._lines.is_skipping:
            self._noise += count // _NOISE_BYTES
        if self._noise >= _MAX_NOISE and self._resting is None and not self.is_closed:
            self._rest()

    def _take(self) -> bool:
        """Hand out lines for a millisecond at most; return whether none is left for later."""
        until = time.perf_counter() + _SLICE_S
        while (line := self._lines.next()) is not None:
            if not self._on_line(line):
                self._noise += 1
            if self.is_closed:
                return False
            if self._noise >= _MAX_NOISE or time.perf_counter() > until:
                self._rest()
                return False
        return True

    def _rest(self) -> None:
        self._loop.remove_reader(self._fd)
        wait_s = _REST_S if self._noise >= _MAX_NOISE else 0.0
        self._resting = self._loop.call_later(wait_s, self._go_on)

    def _go_on(self) -> None:
        self._resting, self._noise = None, 0
        if self._take():
            self._loop.add_reader(self._fd, self._read)

    def _end(self) -> None:
        self._loop.remove_reader(self._fd)
        self.has_ended = True
        if (line := self._lines.end()) is not None:
            self._on_line(line)
        if self._on_end is not None and not self.is_closed:
            self._on_end()
