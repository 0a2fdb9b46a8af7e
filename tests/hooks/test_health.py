"""server/hooks/health.py: the counts behind what an operator reads."""

from server.hooks.health import HookStats


def test_percentiles_are_of_the_latest_calls() -> None:
    stats = HookStats()
    assert stats.percentile_ms(0.5) is None

    for took_ms in (999.0, *map(float, range(512))):
        stats.add_answer(took_ms)

    assert (stats.percentile_ms(0.5), stats.percentile_ms(0.99)) == (256.0, 506.0)


def test_a_warning_is_new_once_and_counted_ever_after() -> None:
    stats = HookStats()

    assert [stats.add_warning("no `approved`"), stats.add_warning("no `approved`")] == [True, False]
    assert stats.warnings == {"no `approved`": 2}


def test_a_hook_that_warns_differently_each_time_fills_no_memory() -> None:
    stats = HookStats()

    news = [stats.add_warning(f"call {number}: {'x' * 10_000}") for number in range(1000)]

    assert news.count(True) == 65
    assert stats.warnings["further warnings"] == 1000 - 64
    assert max(map(len, stats.warnings)) == 500


def test_ignored_lines_of_all_processes_are_added_up() -> None:
    stats = HookStats()
    stats.ignored.update({"stray": 2})

    assert stats.all_ignored({"stray": 1, "late": 1}) == {"stray": 3, "late": 1}
