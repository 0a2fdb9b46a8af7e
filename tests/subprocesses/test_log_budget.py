"""server/subprocesses/log_budget.py"""

from server.subprocesses.log_budget import LogBudget


def test_50_lines_at_once_then_10_a_second_and_what_was_left_out_is_told() -> None:
    budget = LogBudget()

    assert [budget.spend(100.0) for _ in range(60)] == [True] * 50 + [False] * 10
    assert (budget.take_skipped(), budget.take_skipped()) == (10, 0)
    assert [budget.spend(100.2) for _ in range(3)] == [True, True, False]
    assert sum(budget.spend(1000.0) for _ in range(99)) == 50
