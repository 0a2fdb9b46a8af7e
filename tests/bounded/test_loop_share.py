"""server/bounded/fair_share.py: the event loop."""

import asyncio
import tracemalloc
from collections.abc import Coroutine
from typing import Any

import pytest

from server.bounded.fair_share import HEAVY_PART, MAX_ACCOUNTS, PRESENT_S, RESERVE_S, SLICE_S, LoopShare, Share
from tests.support.virtual_loop import VirtualLoop
from tests.support.waiting import settle


def run_virtually(program: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(program)


def shares() -> LoopShare:
    return LoopShare(now_s=asyncio.get_running_loop().time)


async def rounds(share: LoopShare, whose: Share, count: int, order: list[str] | None = None) -> float:
    """Take a slice so many times, one after the other; return how long that takes."""
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    for _ in range(count):
        await share.turn(whose)
        share.charge(whose, SLICE_S)
        if order is not None:
            order.append(whose.name)
    return loop.time() - began_s


def test_a_user_who_is_alone_gets_back_the_time_that_passes() -> None:
    async def main() -> None:
        share = shares()
        for _ in range(500):
            await rounds(share, Share("a"), 1)
            await asyncio.sleep(SLICE_S)  # the time that the work has taken
            assert share.waiting == 0

    run_virtually(main())


def test_among_others_a_user_gets_his_reserve_and_then_a_part_of_the_loop() -> None:
    async def main() -> None:
        share = shares()
        share.charge(Share("b"), 0.0)
        reserve = round(RESERVE_S / SLICE_S)

        assert await rounds(share, Share("a"), reserve) == 0
        slices_s = await rounds(share, Share("a"), 500)
        assert slices_s == pytest.approx(500 * SLICE_S / HEAVY_PART, rel=0.05)
        assert await rounds(share, Share("b"), 1) == 0

    run_virtually(main())


def test_users_who_wait_share_that_part() -> None:
    async def main() -> None:
        share = shares()
        for name in ("a", "b", "c"):
            share.charge(Share(name), RESERVE_S)

        took_s = await asyncio.gather(*(rounds(share, Share(name), 200) for name in ("a", "b", "c")))

        assert took_s == pytest.approx([3 * 200 * SLICE_S / HEAVY_PART] * 3, rel=0.1)

    run_virtually(main())


def test_keys_take_turns_and_do_not_multiply_their_users_share() -> None:
    async def main() -> None:
        share = shares()
        share.charge(Share("other"), 0.0)
        share.charge(Share("a"), RESERVE_S)
        order: list[str] = []
        keys = [Share("a", "k"), Share("a", "k"), Share("a", "k"), Share("a", "l")]

        took_s = await asyncio.gather(*(rounds(share, key, 50, order) for key in keys))

        assert max(took_s) == pytest.approx(200 * SLICE_S / HEAVY_PART, rel=0.1)
        assert order[:40].count("l") == 20

    run_virtually(main())


def test_a_user_who_was_there_long_ago_keeps_nobody_waiting() -> None:
    async def main() -> None:
        share = shares()
        share.charge(Share("gone"), SLICE_S)
        await asyncio.sleep(PRESENT_S)

        share.charge(Share("a"), 2 * RESERVE_S)

        assert await rounds(share, Share("a"), 1) == pytest.approx(RESERVE_S + SLICE_S)

    run_virtually(main())


def test_of_too_many_accounts_those_unused_for_longest_are_forgotten() -> None:
    async def main() -> None:
        share = shares()
        tracemalloc.start()
        for number in range(10 * MAX_ACCOUNTS):
            share.charge(Share(str(number)), SLICE_S)
        kept_bytes, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()

        assert kept_bytes < 1000 * MAX_ACCOUNTS

    run_virtually(main())


async def test_who_leaves_while_he_waits_hands_his_turn_on() -> None:
    share = LoopShare()
    share.charge(Share("a"), 2 * RESERVE_S)
    share.charge(Share("b"), 0.0)
    first, second = (asyncio.create_task(share.turn(Share("a"))) for _ in range(2))
    await settle()

    first.cancel()

    await second
    assert share.waiting == 0


async def test_the_steps_of_a_task_are_charged_and_its_waits_are_not() -> None:
    steps: list[float] = []
    share = LoopShare(on_step=steps.append)

    async def work() -> str:
        await asyncio.sleep(0)
        async with asyncio.timeout(60):
            await asyncio.sleep(0)
        return "done"

    assert await share.metered(Share("a"), work()) == "done"
    assert len(steps) == 3


async def test_a_measured_task_can_be_cancelled_and_fails_as_it_would_by_itself() -> None:
    share = LoopShare()
    ended: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cleaned up")

    async def fail() -> None:
        raise ValueError("wrong")

    task = asyncio.create_task(share.metered(Share("a"), work()))
    await settle()
    task.cancel()
    unstarted = asyncio.create_task(share.metered(Share("a"), work()))
    unstarted.cancel()  # a coroutine that is never run is a warning, which is an error here
    await settle()

    assert (task.cancelled(), unstarted.cancelled(), ended) == (True, True, ["cleaned up"])
    with pytest.raises(ValueError, match="wrong"):
        await share.metered(Share("a"), fail())
