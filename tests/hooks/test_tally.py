"""server/hooks/tally.py: the counts behind what an operator reads."""

from server.hooks.tally import Tally


def test_percentiles_are_of_the_latest_calls() -> None:
    tally = Tally()
    assert tally.took_ms(0.5) is None

    for took_ms in (999.0, *map(float, range(512))):
        tally.answered(took_ms)

    assert (tally.took_ms(0.5), tally.took_ms(0.99)) == (256.0, 506.0)


def test_a_warning_is_new_once_and_counted_ever_after() -> None:
    tally = Tally()

    assert [tally.warn("no `approved`"), tally.warn("no `approved`")] == [True, False]
    assert tally.warnings == {"no `approved`": 2}


def test_a_hook_that_warns_differently_each_time_fills_no_memory() -> None:
    tally = Tally()

    news = [tally.warn(f"call {number}: {'x' * 10_000}") for number in range(1000)]

    assert news.count(True) == 65
    assert tally.warnings["further warnings"] == 1000 - 64
    assert max(map(len, tally.warnings)) == 500


def test_ignored_lines_of_all_lives_are_added_up() -> None:
    tally = Tally()
    tally.ignored.update({"stray": 2})

    assert tally.all_ignored({"stray": 1, "late": 1}) == {"stray": 3, "late": 1}
