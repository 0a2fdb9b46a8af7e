"""server/subprocesses/restarts.py: when a hook that died is started again."""

from server.subprocesses.restarts import Patience, Restarts


def test_waits_double_until_the_breaker_opens_and_then_one_try_is_made_a_minute() -> None:
    restarts = Restarts(Patience())

    assert [restarts.ended(0) for _ in range(5)] == [0.25, 0.5, 1, 2, 4]
    assert not restarts.is_open
    assert [restarts.ended(9.9) for _ in range(3)] == [60, 60, 60]
    assert restarts.is_open


def test_a_steady_life_closes_the_breaker() -> None:
    restarts = Restarts(Patience())
    for _ in range(6):
        restarts.ended(0)

    assert restarts.ended(10) == 0.25
    assert not restarts.is_open
    assert restarts.ended(0) == 0.5
