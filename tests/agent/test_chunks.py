"""Every chunk says which of its fields is set, and what is put into a channel comes to its reader."""

import asyncio
import gc
from contextlib import aclosing
from contextvars import ContextVar

import pytest

from server.agent.chunks import ChunkChannel, LLMChunk, NoticeGiven, streamed


@pytest.mark.parametrize(
    ("chunk", "kind"),
    [
        (LLMChunk(text="Hi"), "text"),
        (LLMChunk(hook={"name": "a"}), "hook"),
        (LLMChunk(notice=NoticeGiven("a", "info", "b")), "notice"),
        (LLMChunk(reply_end=True), "reply_end"),
        (LLMChunk(model_request=True), "model_request"),
        (LLMChunk(held=True), "held"),
    ],
)
def test_the_kind_of_a_chunk_is_the_field_that_is_set(chunk: LLMChunk, kind: str) -> None:
    assert chunk.kind == kind


def test_a_chunk_without_a_field_is_none() -> None:
    with pytest.raises(ValueError, match="no field set"):
        _ = LLMChunk().kind


A, B = LLMChunk(text="a"), LLMChunk(text="b")


async def test_what_is_emitted_comes_in_order_and_only_when_it_is_asked_for() -> None:
    log = []

    async def work(out: ChunkChannel) -> None:
        await out.put(A, B)
        await asyncio.sleep(0)
        log.append("waited")
        await out.put()
        await out.put(A)
        log.append("over")

    stream = streamed(work)
    assert [await anext(stream), await anext(stream)] == [A, B]
    assert log == []
    assert await anext(stream) == A
    assert log == ["waited"]
    assert [chunk async for chunk in stream] == []
    assert log == ["waited", "over"]


async def test_a_time_limit_around_a_put_strikes_in_the_one_who_waits() -> None:
    log = []

    async def work(out: ChunkChannel) -> None:
        try:
            async with asyncio.timeout(0):
                await out.put(A)
        except TimeoutError:
            log.append("too late")
        await out.put(B)

    stream = streamed(work)
    taken = [await anext(stream)]
    taken += [chunk async for chunk in stream]

    assert (taken, log) == ([B], ["too late"])


async def test_a_put_comes_from_any_task_of_the_work() -> None:
    async def work(out: ChunkChannel) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(out.put(A, A))
            tasks.create_task(out.put(B))

    assert [chunk async for chunk in streamed(work)] == [A, B, A]


async def test_the_work_knows_for_whom_its_reader_works() -> None:
    user: ContextVar[str] = ContextVar("user")

    async def work(out: ChunkChannel) -> None:
        await out.put(LLMChunk(text=user.get()))

    user.set("ada")

    assert [chunk.text async for chunk in streamed(work)] == ["ada"]


async def test_what_the_work_raises_comes_after_what_it_emitted() -> None:
    async def work(out: ChunkChannel) -> None:
        await out.put(A)
        raise LookupError("no")

    stream = streamed(work)
    assert await anext(stream) == A
    with pytest.raises(LookupError):
        await anext(stream)
    await stream.aclose()


async def test_closing_ends_the_work_and_waits_until_it_has_unwound() -> None:
    log = []

    async def inner(out: ChunkChannel) -> None:
        try:
            await out.put(A)
        except Exception:  # noqa: BLE001  # a reader that has gone is no error of the work's
            log.append("wrong")
        finally:
            await asyncio.sleep(0)
            log.append("unwound")

    async def work(out: ChunkChannel) -> None:
        await inner(out)
        log.append("went on")

    async with aclosing(streamed(work)) as stream:
        await anext(stream)

    assert log == ["unwound"]


async def test_work_that_emits_while_it_ends_comes_to_its_end() -> None:
    log = []

    async def work(out: ChunkChannel) -> None:
        try:
            await out.put(A)
        finally:
            try:
                await out.put(A)
            finally:
                await asyncio.sleep(0)
                log.append("unwound")

    async with aclosing(streamed(work)) as stream:
        await anext(stream)

    assert log == ["unwound"]


async def test_cancelling_the_reader_cancels_the_work_where_it_waits() -> None:
    log = []

    async def work(out: ChunkChannel) -> None:
        await out.put(A)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)  # unwinding may take its time
            log.append("cancelled")
            raise

    async def read() -> None:
        async for _ in streamed(work):
            began.set()

    began = asyncio.Event()
    task = asyncio.create_task(read())
    await began.wait()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert log == ["cancelled"]


async def test_work_that_takes_long_to_unwind_can_be_cancelled() -> None:
    unwinding = asyncio.Event()

    async def work(out: ChunkChannel) -> None:
        try:
            await out.put(A)
        finally:
            unwinding.set()
            await asyncio.Event().wait()

    async def read_one() -> None:
        async with aclosing(streamed(work)) as stream:
            await anext(stream)

    task = asyncio.create_task(read_one())
    await unwinding.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_stream_that_nobody_reads_starts_no_work() -> None:
    async def work(out: ChunkChannel) -> None:
        raise AssertionError("not wanted")

    await streamed(work).aclose()


async def test_a_reader_that_is_cancelled_leaves_no_reference_cycle() -> None:
    async def work(out: ChunkChannel) -> None:
        await asyncio.Event().wait()

    async def read() -> None:
        async for _ in streamed(work):
            pass

    gc.collect()
    gc.disable()
    try:
        task = asyncio.create_task(read())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        del task
        assert gc.collect() == 0
    finally:
        gc.enable()
