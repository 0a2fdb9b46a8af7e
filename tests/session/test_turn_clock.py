"""server/session/turn_clock.py: the limit of a turn, in virtual time."""

import asyncio
from collections.abc import Awaitable, Callable

from server.session.turn_clock import TurnClock
from tests.support.virtual_loop import VirtualLoop


def struck_at_s(work: Callable[[TurnClock], Awaitable[None]]) -> float | None:
    """When the limit of 10 s ends the work; None: the work ended by itself."""

    async def run() -> float | None:
        clock = TurnClock()
        try:
            async with clock.running(10):
                await work(clock)
        except TimeoutError:
            assert clock.has_struck
            return asyncio.get_running_loop().time()
        assert not clock.has_struck
        return None

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(run())


async def wait_paused(clock: TurnClock, seconds: float) -> None:
    with clock.paused():
        await asyncio.sleep(seconds)


def test_work_that_takes_too_long_is_ended() -> None:
    assert struck_at_s(lambda _: asyncio.sleep(9)) is None
    assert struck_at_s(lambda _: asyncio.sleep(11)) == 10


def test_a_pause_does_not_count_however_long_it_is() -> None:
    async def work(clock: TurnClock) -> None:
        await asyncio.sleep(4)
        await wait_paused(clock, 1000)
        await asyncio.sleep(100)

    assert struck_at_s(work) == 1010


def test_pauses_that_overlap_are_one() -> None:
    async def work(clock: TurnClock) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(wait_paused(clock, 20))
            tasks.create_task(wait_paused(clock, 30))
        await asyncio.sleep(100)

    assert struck_at_s(work) == 40


def test_a_pause_that_is_cancelled_ends() -> None:
    async def work(clock: TurnClock) -> None:
        waiting = asyncio.create_task(wait_paused(clock, 1000))
        await asyncio.sleep(5)
        waiting.cancel()
        await asyncio.sleep(100)

    assert struck_at_s(work) == 15


def test_time_is_given_back_in_a_pause_too() -> None:
    async def work(clock: TurnClock) -> None:
        clock.give_back(5)
        with clock.paused():
            clock.give_back(2)
        await asyncio.sleep(100)

    assert struck_at_s(work) == 17


def test_a_pause_that_began_before_the_clock_ran_counts() -> None:
    async def run() -> float:
        clock = TurnClock()
        with clock.paused():
            async with clock.running(10):
                await asyncio.sleep(50)
        return asyncio.get_running_loop().time()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        assert runner.run(run()) == 50


async def test_after_the_work_and_after_the_limit_nothing_is_moved() -> None:
    clock = TurnClock()
    clock.give_back(1)
    with clock.paused():
        clock.give_back(1)
    try:
        async with clock.running(0):
            try:
                await asyncio.Event().wait()
            finally:
                clock.give_back(1)
                with clock.paused():
                    pass
    except TimeoutError:
        assert clock.has_struck
