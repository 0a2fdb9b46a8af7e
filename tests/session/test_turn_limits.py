"""server/session/turn_limits.py: places for turns, and the limit of a turn in virtual time."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from server.bounded.fair_share import Share
from server.errors import TurnError
from server.metrics import Metrics
from server.session.turn_limits import BEGUN_S, MAX_BEGUN, MAX_BEGUN_USERS, BegunTurns, TurnGate, TurnTimer, UserPlaces
from tests.support.virtual_loop import VirtualLoop


def struck_at_s(work: Callable[[TurnTimer], Awaitable[None]]) -> float | None:
    """When the limit of 10 s ends the work; None: the work ended by itself."""

    async def run() -> float | None:
        timer = TurnTimer()
        try:
            async with timer.running(10):
                await work(timer)
        except TimeoutError:
            assert timer.has_expired
            return asyncio.get_running_loop().time()
        assert not timer.has_expired
        return None

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(run())


async def wait_paused(timer: TurnTimer, seconds: float) -> None:
    with timer.paused():
        await asyncio.sleep(seconds)


def test_work_that_takes_too_long_is_ended() -> None:
    assert struck_at_s(lambda _: asyncio.sleep(9)) is None
    assert struck_at_s(lambda _: asyncio.sleep(11)) == 10


def test_a_pause_does_not_count_however_long_it_is() -> None:
    async def work(timer: TurnTimer) -> None:
        await asyncio.sleep(4)
        await wait_paused(timer, 1000)
        await asyncio.sleep(100)

    assert struck_at_s(work) == 1010


def test_pauses_that_overlap_are_one() -> None:
    async def work(timer: TurnTimer) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(wait_paused(timer, 20))
            tasks.create_task(wait_paused(timer, 30))
        await asyncio.sleep(100)

    assert struck_at_s(work) == 40


def test_a_pause_that_is_cancelled_ends() -> None:
    async def work(timer: TurnTimer) -> None:
        waiting = asyncio.create_task(wait_paused(timer, 1000))
        await asyncio.sleep(5)
        waiting.cancel()
        await asyncio.sleep(100)

    assert struck_at_s(work) == 15


def test_time_is_given_back_in_a_pause_too() -> None:
    async def work(timer: TurnTimer) -> None:
        timer.give_back(5)
        with timer.paused():
            timer.give_back(2)
        await asyncio.sleep(100)

    assert struck_at_s(work) == 17


def test_a_pause_that_began_before_the_clock_ran_counts() -> None:
    async def run() -> float:
        timer = TurnTimer()
        with timer.paused():
            async with timer.running(10):
                await asyncio.sleep(50)
        return asyncio.get_running_loop().time()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        assert runner.run(run()) == 50


async def test_after_the_work_and_after_the_limit_nothing_is_moved() -> None:
    timer = TurnTimer()
    timer.give_back(1)
    with timer.paused():
        timer.give_back(1)
    try:
        async with timer.running(0):
            try:
                await asyncio.Event().wait()
            finally:
                timer.give_back(1)
                with timer.paused():
                    pass
    except TimeoutError:
        assert timer.has_expired


def test_one_user_cannot_take_every_place() -> None:
    gate = TurnGate(10, Metrics(), per_user=2)
    gate.enter(Share("anna"))
    gate.enter(Share("anna"))

    with pytest.raises(TurnError, match="turns of yours") as caught:
        gate.enter(Share("anna"))
    assert caught.value.code == "too_many_turns"
    assert caught.value.retry_after_ms is not None

    gate.enter(Share("ben"))
    gate.leave(Share("anna"))
    gate.enter(Share("anna"))


def test_who_counts_for_nobody_is_limited_by_the_sum_alone() -> None:
    gate = TurnGate(3, Metrics(), per_user=1)
    for _ in range(3):
        gate.enter(None)

    with pytest.raises(TurnError, match="3 turns"):
        gate.enter(None)


def test_a_user_who_holds_nothing_takes_no_memory() -> None:
    places = UserPlaces(1)
    for number in range(100):
        places.take(Share("anna", str(number)))
        places.give_back(Share("anna", str(number)))

    assert places.accounts == frozenset()


def test_keys_take_from_the_places_of_their_account_and_from_their_own() -> None:
    places = UserPlaces(2)
    places.take(Share("anna", "first"))
    assert places.full(Share("anna", "first")) is None
    places.take(Share("anna", "second"))

    assert places.full(Share("anna", "third")) == 2, "minting keys multiplies nothing"
    assert places.full(Share("anna")) == 2
    assert places.full(Share("ben")) is None
    places.give_back(Share("anna", "first"))
    assert places.full(Share("anna", "third")) is None


def test_an_account_with_more_places_has_them_for_all_its_keys_but_not_for_one() -> None:
    places = UserPlaces(1, {"gateway": 3})
    for name in ("first", "second"):
        places.take(Share("gateway", name))

    assert places.full(Share("gateway", "first")) == 1
    assert places.full(Share("gateway", "third")) is None
    places.take(Share("gateway", "third"))
    assert places.full(Share("gateway", "fourth")) == 3


def test_a_turn_has_begun_for_ten_minutes_and_for_its_user_alone() -> None:
    turns, anna, ben = BegunTurns(), Share("anna"), Share("ben")
    turns.add(anna, "t1", now_s=100)

    assert [turns.has(anna, "t1", now_s=100 + age_s) for age_s in (0, BEGUN_S - 1, BEGUN_S)] == [True, True, False]
    assert not turns.has(ben, "t1", now_s=100)


def test_only_so_many_turns_and_users_are_remembered() -> None:
    turns = BegunTurns()
    for number in range(MAX_BEGUN + 1):
        turns.add(Share("anna"), f"t{number}", now_s=0)

    assert [turns.has(Share("anna"), turn_id, now_s=1) for turn_id in ("t0", "t1")] == [False, True]
    for number in range(MAX_BEGUN_USERS):
        turns.add(Share(f"user{number}"), "t", now_s=2)
    assert not turns.has(Share("anna"), "t1", now_s=3)
    assert turns.has(Share("user0"), "t", now_s=3)


def test_a_user_s_old_turns_take_no_memory() -> None:
    turns = BegunTurns()
    for number in range(3):
        turns.add(Share("anna"), f"t{number}", now_s=number * BEGUN_S)

    assert not turns.has(Share("anna"), "t0", now_s=0)
