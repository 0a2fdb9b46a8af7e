"""server/subprocesses/stderr.py: what a child may write into our log."""

import logging

import pytest

from server.subprocesses.lines import Overlong
from server.subprocesses.stderr import StderrLog


def test_lines_are_logged_whole_or_cut_and_a_flood_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    log = StderrLog('process hook "x"')
    for line in (b"  \xffhello  ", b"", Overlong(b"long"), b"y" * 8000):
        assert log.take(line) is False
    for number in range(1000):
        log.take(b"line %d" % number)

    assert caplog.messages[:2] == ['process hook "x" stderr: \ufffdhello', 'process hook "x" stderr: long']
    assert len(caplog.messages[2]) < 2050
    assert len(caplog.messages) < 200
    assert log.last_line == "line 999"
