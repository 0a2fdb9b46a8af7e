"""What a hook writes on standard error: into our log, within limits."""

import logging
import time
from typing import Final

from server.hooks.process.lines import Line, Overlong

logger = logging.getLogger(__name__)

MAX_STDERR_LINE_BYTES: Final = 8192
_LOGGED_CHARACTERS: Final = 2000
_BURST: Final = 50.0
_PER_S: Final = 10.0


class StderrLog:
    def __init__(self, name: str) -> None:
        self._name = name
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
                logger.info('process hook "%s" stderr: %d lines were left out', self._name, skipped)
            logger.info('process hook "%s" stderr: %s', self._name, text)
        return False


class LogBudget:
    """50 lines at once, 10 a second in the long run. No clock: the time comes in."""

    def __init__(self) -> None:
        self._left = _BURST
        self._at_s: float | None = None
        self._skipped = 0

    def spend(self, now_s: float) -> bool:
        """False: this line is one too many."""
        elapsed_s = 0.0 if self._at_s is None else now_s - self._at_s
        self._at_s = now_s
        self._left = min(_BURST, self._left + elapsed_s * _PER_S)
        if self._left < 1:
            self._skipped += 1
            return False
        self._left -= 1
        return True

    def take_skipped(self) -> int:
        """How many lines were too many since this was last asked."""
        skipped, self._skipped = self._skipped, 0
        return skipped
