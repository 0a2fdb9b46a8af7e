"""What a child writes on standard error: into our log, within limits."""

import logging
import time
from typing import Final

from server.subprocesses.lines import Line, Overlong
from server.subprocesses.log_budget import LogBudget

logger = logging.getLogger(__name__)

MAX_STDERR_LINE_BYTES: Final = 8192
_LOGGED_CHARACTERS: Final = 2000


class StderrLog:
    def __init__(self, whose: str) -> None:
        """`whose`: as the log calls it, such as `MCP server x`."""
        self._whose = whose
        self._budget = LogBudget()
        self.last_line = ""
        """Most programs say last why they end."""

    def take(self, line: Line) -> bool:
        """Always False: such a line is of no use to a call, and a flood of them is read slowly."""
        cut = line.head if isinstance(line, Overlong) else line
        text = cut.decode("utf-8", "replace").strip()[:_LOGGED_CHARACTERS]
        if not text:
            return False
        self.last_line = text
        if self._budget.spend(time.monotonic()):
            if skipped := self._budget.take_skipped():
                logger.info("%s stderr: %d lines were left out", self._whose, skipped)
            logger.info("%s stderr: %s", self._whose, text)
        return False
