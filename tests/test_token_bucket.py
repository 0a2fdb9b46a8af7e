"""server/token_bucket.py"""

from server.token_bucket import TokenBucket


def test_the_burst_at_once_then_so_many_a_second() -> None:
    bucket = TokenBucket(burst=50, per_s=10)

    assert [bucket.take(100.0) for _ in range(60)] == [True] * 50 + [False] * 10
    assert [bucket.take(100.2) for _ in range(3)] == [True, True, False]
    assert sum(bucket.take(1000.0) for _ in range(99)) == 50
