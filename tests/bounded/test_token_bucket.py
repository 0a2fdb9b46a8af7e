"""server/bounded/limits.py"""

from server.bounded.limits import MAX_WRITERS, TokenBucket, WriteQuotas


def test_the_burst_at_once_then_so_many_a_second() -> None:
    bucket = TokenBucket(burst=50, per_s=10)

    assert [bucket.take(100.0) for _ in range(60)] == [True] * 50 + [False] * 10
    assert [bucket.take(100.2) for _ in range(3)] == [True, True, False]
    assert sum(bucket.take(1000.0) for _ in range(99)) == 50


def test_each_writer_has_a_quota_of_bytes_and_what_is_left_out_is_told_once() -> None:
    quotas = WriteQuotas(6000)

    assert [quotas.admit("anna", 2500, 0.0) for _ in range(4)] == [True, True, False, False]
    assert quotas.admit("bert", 6000, 0.0)
    assert quotas.take_left_out() == {"anna": 2}
    assert quotas.take_left_out() == {}
    assert not quotas.admit("anna", 2500, 14.0)
    assert quotas.admit("anna", 2500, 15.0)
    assert quotas.left_out == 3


def test_writers_beyond_the_limit_share_one_quota_until_others_are_idle() -> None:
    quotas = WriteQuotas(100)
    for number in range(MAX_WRITERS):
        quotas.admit(str(number), 100, 0.0)

    assert [quotas.admit(name, 60, 1.0) for name in ("x", "y", "x")] == [True, False, False]
    assert quotas.take_left_out() == {"others": 2}
    assert [quotas.admit(name, 60, 62.0) for name in ("x", "y")] == [True, True]
