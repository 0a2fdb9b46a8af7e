"""server/bounded/limits.py"""

from server.bounded.limits import BoundedDict


def test_beyond_the_limit_the_entry_goes_that_was_set_longest_ago() -> None:
    known = BoundedDict[str, int](2)
    known["a"] = 1
    known["b"] = 2
    known["a"] = 3

    known["c"] = 4

    assert known == {"a": 3, "c": 4}
