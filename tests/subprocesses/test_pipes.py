"""server/subprocesses/pipes.py: streams that never wait, with this test as the child."""

import asyncio
import os
from collections.abc import Iterator
from typing import IO

import pytest

from server.subprocesses.lines import Line, Lines
from server.subprocesses.pipes import MAX_BACKLOG_BYTES, BacklogFull, PipeReader, PipeWriter
from tests.support.waiting import until


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """(read end, write end); a test closes what it uses up by taking it with `os.dup`."""
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def writer(pipe: tuple[int, int]) -> PipeWriter:
    return PipeWriter(os.fdopen(os.dup(pipe[1]), "wb", buffering=0))


def read_end(pipe: tuple[int, int]) -> IO[bytes]:
    return os.fdopen(os.dup(pipe[0]), "rb", buffering=0)


class Heard:
    """A reader of the pipe, and what it heard; lines that begin with `+` are of use."""

    def __init__(self, pipe: tuple[int, int], *, max_bytes: int = 1 << 20) -> None:
        self.lines: list[Line] = []
        self.ended = asyncio.Event()
        self.changed = asyncio.Event()
        self.reader = PipeReader(read_end(pipe), Lines(max_bytes), self._take, self.ended.set)

    def _take(self, line: Line) -> bool:
        self.lines.append(line)
        self.changed.set()
        return isinstance(line, bytes) and line.startswith(b"+")

    async def count(self, count: int) -> None:
        while len(self.lines) < count:
            self.changed.clear()
            await self.changed.wait()


async def test_lines_that_find_no_room_wait_and_arrive_whole_and_in_order(pipe: tuple[int, int]) -> None:
    lines = [bytearray(b"%d " % number + b"x" * 300_000 + b"\n") for number in range(10)]
    out = writer(pipe)
    for key, line in enumerate(lines):
        out.send(key, line)
    assert out.backlog_bytes > 2_000_000

    heard = Heard(pipe)
    await heard.count(10)

    assert [bytes(line) for line in heard.lines if not hasattr(line, "head")] == [bytes(line[:-1]) for line in lines]
    assert out.backlog_bytes == 0
    out.close()
    heard.reader.close()


async def test_what_is_withdrawn_before_its_beginning_is_never_sent(pipe: tuple[int, int]) -> None:
    out = writer(pipe)
    for key in range(4):
        out.send(key, bytearray(b"%d " % key + b"x" * 300_000 + b"\n"))
    for key in (0, 2, 9):  # 0 is begun, 9 is unknown
        out.withdraw(key)
    assert [out.is_waiting(key) for key in range(4)] == [False, True, False, True]

    heard = Heard(pipe)
    await heard.count(3)

    assert [bytes(line)[:1] for line in heard.lines if not hasattr(line, "head")] == [b"0", b"1", b"3"]
    out.close()
    heard.reader.close()


async def test_the_backlog_has_a_limit_and_withdrawing_makes_room(pipe: tuple[int, int]) -> None:
    out = writer(pipe)
    out.send(1, bytearray(PIPE_AND_MORE))
    line = bytearray(MAX_BACKLOG_BYTES - out.backlog_bytes)
    out.send(2, line)

    with pytest.raises(BacklogFull):
        out.send(3, bytearray(1))
    out.withdraw(2)
    out.send(3, line)

    out.close()
    out.close()
    assert out.backlog_bytes == 0


PIPE_AND_MORE = 2 << 20


async def test_a_child_that_closed_its_end_is_told_at_once(pipe: tuple[int, int]) -> None:
    out, reader = writer(pipe), os.dup(pipe[0])
    os.dup2(os.open(os.devnull, os.O_RDONLY), pipe[0])
    os.close(reader)

    with pytest.raises(BrokenPipeError):
        out.send(1, bytearray(b"x\n"))

    out.close()
    with pytest.raises(BrokenPipeError):
        out.send(1, bytearray(b"x\n"))


async def test_the_end_is_told_after_the_last_line(pipe: tuple[int, int]) -> None:
    heard = Heard(pipe)
    os.write(pipe[1], b"+one\nlast")
    os.dup2(os.open(os.devnull, os.O_RDONLY), pipe[1])
    await heard.ended.wait()

    assert heard.lines == [b"+one", b"last"]
    assert heard.reader.has_ended
    heard.reader.close()
    heard.reader.close()


async def test_a_flood_is_read_in_slices_with_turns_for_others_between(pipe: tuple[int, int]) -> None:
    heard = Heard(pipe)
    os.set_blocking(pipe[1], False)
    os.write(pipe[1], b"noise\n" * 5000 + b"+reply\n")
    turns = [0]

    async def others() -> None:
        while True:
            await asyncio.sleep(0)
            turns[0] += 1

    other = asyncio.create_task(others())
    await heard.count(5001)
    other.cancel()

    assert heard.lines[-1] == b"+reply"
    assert turns[0] >= 5000 // 512
    heard.reader.close()


async def test_a_reader_closed_by_its_own_line_reads_no_more(pipe: tuple[int, int]) -> None:
    heard: list[Line] = []

    def take(line: Line) -> bool:
        heard.append(line)
        reader.close()
        return True

    reader = PipeReader(read_end(pipe), Lines(), take)
    os.write(pipe[1], b"one\ntwo\n")
    await until(lambda: bool(heard))

    assert heard == [b"one"]


async def test_a_line_beyond_the_limit_is_skipped_with_rests(pipe: tuple[int, int]) -> None:
    heard = Heard(pipe, max_bytes=1000)
    out = writer(pipe)
    out.send(1, bytearray(b"x" * (4 << 20) + b"\n"))
    out.send(2, bytearray(b"+next\n"))

    await heard.count(2)

    assert heard.lines[1] == b"+next"
    out.close()
    heard.reader.close()
