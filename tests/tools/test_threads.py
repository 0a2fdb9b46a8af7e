"""The threads that tools work in."""

import asyncio
import threading

import pytest

from server.tools.builtin import MAX_THREADS, Deadline, in_thread


async def test_a_full_pool_of_tools_holds_up_nothing_else() -> None:
    may_end = threading.Event()
    busy = [asyncio.create_task(in_thread(may_end.wait)) for _ in range(MAX_THREADS + 1)]
    await asyncio.sleep(0)

    assert not (await asyncio.to_thread(threading.current_thread)).name.startswith("tool")

    may_end.set()
    assert await asyncio.gather(*busy) == [True] * (MAX_THREADS + 1)


async def test_work_gets_its_arguments_and_its_error_comes_back() -> None:
    assert await in_thread(int, "ff", base=16) == 255
    with pytest.raises(ValueError, match="zz"):
        await in_thread(int, "zz")


async def test_a_deadline_ended_early_ends_work_whose_caller_was_cancelled() -> None:
    deadline = Deadline(60)
    has_begun, has_ended = threading.Event(), threading.Event()

    def work() -> None:
        has_begun.set()
        while deadline.left_s:
            pass
        has_ended.set()

    task = asyncio.create_task(in_thread(work))
    await asyncio.to_thread(has_begun.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    deadline.end_now()

    assert await asyncio.to_thread(has_ended.wait, 20)
    assert (deadline.limit_s, deadline.left_s) == (60, 0)
