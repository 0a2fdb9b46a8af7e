"""server/hooks/process/stderr.py: how much a hook may write into our log."""

import logging

import pytest

from server.hooks.process.lines import Overlong
from server.hooks.process.stderr import LogBudget, StderrLog


def test_50_lines_at_once_then_10_a_second_and_what_was_left_out_is_told() -> None:
    budget = LogBudget()

    assert [budget.spend(100.0) for _ in range(60)] == [True] * 50 + [False] * 10
    assert (budget.take_skipped(), budget.take_skipped()) == (10, 0)
    assert [budget.spend(100.2) for _ in range(3)] == [True, True, False]
    assert sum(budget.spend(1000.0) for _ in range(99)) == 50


def test_lines_are_logged_whole_or_cut_and_a_flood_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    log = StderrLog("x")
    for line in (b"  \xffhello  ", b"", Overlong(b"long"), b"y" * 8000):
        assert log.take(line) is False
    for number in range(1000):
        log.take(b"line %d" % number)

    assert caplog.messages[:2] == ['process hook "x" stderr: \ufffdhello', 'process hook "x" stderr: long']
    assert len(caplog.messages[2]) < 2050
    assert len(caplog.messages) < 200
    assert log.last_line == "line 999"
