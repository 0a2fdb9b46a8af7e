"""server/subprocesses/supervisor.py: when something that ended is started again."""

import asyncio

from server.subprocesses.supervisor import Backoff, BackoffPolicy, Supervisor

AT_ONCE = BackoffPolicy(first_wait_s=0, longest_wait_s=0, open_s=0)


def test_waits_double_until_the_breaker_opens_and_then_one_try_is_made_a_minute() -> None:
    backoff = Backoff(BackoffPolicy())

    assert [backoff.wait_s(0) for _ in range(5)] == [0.25, 0.5, 1, 2, 4]
    assert not backoff.is_open
    assert [backoff.wait_s(9.9) for _ in range(3)] == [60, 60, 60]
    assert backoff.is_open


def test_serving_for_a_while_closes_the_breaker() -> None:
    backoff = Backoff(BackoffPolicy())
    for _ in range(6):
        backoff.wait_s(0)

    assert backoff.wait_s(10) == 0.25
    assert not backoff.is_open
    assert backoff.wait_s(0) == 0.5


def test_where_serving_at_all_is_a_success_only_what_never_served_waits_longer() -> None:
    backoff = Backoff(BackoffPolicy(steady_s=0))

    assert [backoff.wait_s(served_s) for served_s in (0.1, 0, 0, 0.1, 0)] == [0.25, 0.5, 1, 0.25, 0.5]


async def test_one_life_follows_another_until_one_is_the_last() -> None:
    lives = iter([1.0, 0.0, None])
    waits: list[float] = []

    async def live() -> float | None:
        return next(lives)

    supervisor = Supervisor("x", live, AT_ONCE, on_wait=waits.append)
    await supervisor.run()

    assert (supervisor.restarts, waits) == (2, [0, 0])
    assert supervisor.retry_in_s is None


async def test_a_pause_tells_how_long_it_still_is_and_ends_with_the_supervisor() -> None:
    waiting = asyncio.Event()

    async def live() -> float:
        return 0.0

    policy = BackoffPolicy(first_wait_s=600, longest_wait_s=600)
    supervisor = Supervisor("x", live, policy, on_wait=lambda _: waiting.set())
    supervisor.start()
    supervisor.start()
    await waiting.wait()
    assert 590 < (supervisor.retry_in_s or 0) <= 600

    await supervisor.aclose()
    await supervisor.aclose()
    assert supervisor.restarts == 0
