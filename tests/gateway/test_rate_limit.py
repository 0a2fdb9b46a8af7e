"""server/gateway/dialect.py: how fast a client may send"""

from server.gateway.dialect import RateLimiter


def judged(limiter: RateLimiter, now_s: float, count: int) -> list[str]:
    return [limiter.judge(now_s) for _ in range(count)]


def test_one_seconds_worth_may_come_at_once() -> None:
    assert judged(RateLimiter(10, 0.0), 0.0, 11) == ["take"] * 10 + ["drop"]


def test_a_steady_stream_at_the_rate_passes() -> None:
    limiter = RateLimiter(10, 0.0)

    assert {limiter.judge(n / 10) for n in range(1000)} == {"take"}


def test_a_pause_fills_the_bucket_but_no_further() -> None:
    limiter = RateLimiter(10, 0.0)
    judged(limiter, 0.0, 20)

    assert judged(limiter, 100.0, 11) == ["take"] * 10 + ["drop"]


def test_five_seconds_over_the_rate_close() -> None:
    limiter = RateLimiter(10, 0.0)
    verdicts = [(n / 20, limiter.judge(n / 20)) for n in range(200)]  # twice the rate

    first_drop_s = next(at for at, verdict in verdicts if verdict == "drop")
    first_close_s = next(at for at, verdict in verdicts if verdict == "close")
    assert 5.0 <= first_close_s - first_drop_s <= 5.1


def test_a_calm_second_forgives() -> None:
    limiter = RateLimiter(10, 0.0)
    for start_s in range(0, 60, 3):  # a burst, then calm
        assert "close" not in judged(limiter, float(start_s), 30)
