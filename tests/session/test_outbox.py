"""server/session/outbox.py"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from server.errors import Closed
from server.metrics import Metrics
from server.session.outbox import Kind, Outbox, OutboxLimits

SMALL = OutboxLimits(high_frames=4, high_bytes=100, full_frames=8, full_bytes=200, stall_s=0.02)
PATIENT = OutboxLimits(high_frames=4, high_bytes=100, full_frames=8, full_bytes=200, stall_s=60)


class FakeSocket:
    """Takes messages while `reads` is set; then each `send` waits."""

    def __init__(self) -> None:
        self.sent: list[tuple[Kind, bytes]] = []
        self.closed: tuple[int, str] | None = None
        self.unsent = 0
        self.reads = asyncio.Event()
        self.reads.set()
        self.is_gone = False
        self.was_asked = asyncio.Event()
        self.was_looked_at = asyncio.Event()

    async def send(self, kind: Kind, data: bytes) -> None:
        self.was_asked.set()
        await self.reads.wait()
        if self.is_gone:
            raise ConnectionResetError
        self.sent.append((kind, data))

    def unsent_bytes(self) -> int:
        self.unsent = max(0, self.unsent - 1)  # a little is read between any two looks
        if self.unsent == 990:
            self.was_looked_at.set()
        return self.unsent

    async def close(self, code: int, reason: str) -> None:
        self.closed = (code, reason)


@asynccontextmanager
async def running(outbox: Outbox) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(outbox.run(), name="outbox")
    try:
        yield task
    finally:
        outbox.abandon()
        await task


async def test_everything_leaves_in_the_order_it_was_put() -> None:
    socket = FakeSocket()
    outbox = Outbox(socket, Metrics())
    messages = [(kind, bytes([n])) for n in range(50) for kind in (Kind.TEXT, Kind.BINARY)]

    async with running(outbox) as task:
        for kind, data in messages:
            outbox.put(kind, data)
        outbox.finish(1001, "going away")
        await task

    assert socket.sent == messages
    assert socket.closed == (1001, "going away")


async def test_what_is_due_with_a_message_goes_before_it_is_written() -> None:
    socket = FakeSocket()
    outbox = Outbox(socket, Metrics())

    async def begin() -> bool:
        return bool(socket.sent)

    async with running(outbox):
        await asyncio.sleep(0)  # it waits for something to do
        outbox.put(Kind.TEXT, b"said")
        was_written = await asyncio.create_task(begin(), name="begun after it")

    assert not was_written


async def test_nothing_is_taken_after_finish() -> None:
    socket = FakeSocket()
    outbox = Outbox(socket, Metrics())

    outbox.put(Kind.TEXT, b"before")
    outbox.finish(1001, "")
    outbox.put(Kind.TEXT, b"after")
    await outbox.run()

    assert socket.sent == [(Kind.TEXT, b"before")]


async def test_a_producer_waits_above_the_high_mark_and_goes_on_when_the_client_reads() -> None:
    socket = FakeSocket()
    socket.reads.clear()
    outbox = Outbox(socket, Metrics(), PATIENT)
    for _ in range(4):
        outbox.put(Kind.TEXT, b"x")
    producer = asyncio.create_task(outbox.room(), name="producer")

    async with running(outbox):
        await socket.was_asked.wait()
        outbox.put(Kind.TEXT, b"x")  # one is with the socket: still four wait
        await asyncio.sleep(0)
        assert not producer.done()
        socket.reads.set()
        await producer


async def test_bytes_count_as_well_as_messages() -> None:
    socket = FakeSocket()
    outbox = Outbox(socket, Metrics(), PATIENT)
    outbox.put(Kind.TEXT, b"x" * 150)

    await outbox.room(is_urgent=True)
    producer = asyncio.create_task(outbox.room(), name="producer")
    await asyncio.sleep(0)

    assert not producer.done()
    async with running(outbox):
        await producer


async def test_a_client_that_takes_nothing_is_closed_with_4408() -> None:
    socket = FakeSocket()
    socket.reads.clear()
    slow = asyncio.Event()
    outbox = Outbox(socket, Metrics(), SMALL, on_slow=slow.set)
    producer = asyncio.create_task(fill(outbox), name="producer")

    await outbox.run()

    assert socket.closed == (4408, "client too slow to read")
    assert slow.is_set()
    with pytest.raises(Closed):
        await producer


async def fill(outbox: Outbox) -> None:
    while True:
        outbox.put(Kind.TEXT, b"x")
        await outbox.room()


async def test_a_client_that_reads_slowly_is_kept() -> None:
    socket = FakeSocket()
    socket.reads.clear()
    socket.unsent = 1000
    outbox = Outbox(socket, Metrics(), SMALL)

    async with running(outbox):
        for _ in range(6):
            outbox.put(Kind.TEXT, b"x")
        await socket.was_looked_at.wait()
        assert not outbox.is_closing


async def test_twice_the_full_mark_closes_at_once() -> None:
    socket = FakeSocket()
    outbox = Outbox(socket, Metrics(), PATIENT)

    for _ in range(17):
        outbox.put(Kind.TEXT, b"x")

    assert outbox.is_closing
    await outbox.run()
    assert socket.closed == (4408, "client too slow to read")
    assert socket.sent == []


async def test_one_message_larger_than_the_box_passes() -> None:
    socket = FakeSocket()
    outbox = Outbox(socket, Metrics(), PATIENT)
    outbox.put(Kind.TEXT, b"x" * 1000)
    outbox.finish(1000, "")

    await outbox.run()

    assert [len(data) for _, data in socket.sent] == [1000]


async def test_finish_waits_for_a_stuck_client_no_longer_than_stall_s() -> None:
    socket = FakeSocket()
    socket.reads.clear()
    outbox = Outbox(socket, Metrics(), SMALL)

    async with running(outbox) as task:
        outbox.put(Kind.TEXT, b"x")
        await socket.was_asked.wait()
        outbox.finish(1001, "going away")
        await task

    assert socket.closed == (1001, "going away")


async def test_a_lost_connection_ends_the_writer_and_frees_who_waits() -> None:
    socket = FakeSocket()
    socket.reads.clear()
    outbox = Outbox(socket, Metrics(), PATIENT)
    producer = asyncio.create_task(fill(outbox), name="producer")

    async with running(outbox) as task:
        await socket.was_asked.wait()
        socket.is_gone = True
        socket.reads.set()
        await task

    with pytest.raises(Closed):
        await producer


async def test_a_cancelled_producer_leaves_no_waiter_behind() -> None:
    outbox = Outbox(FakeSocket(), Metrics(), PATIENT)
    for _ in range(4):
        outbox.put(Kind.TEXT, b"x")
    producer = asyncio.create_task(outbox.room(), name="producer")
    await asyncio.sleep(0)

    producer.cancel()

    with pytest.raises(asyncio.CancelledError):
        await producer
    async with running(outbox):
        await outbox.room()
