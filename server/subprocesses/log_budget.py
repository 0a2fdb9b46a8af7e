"""How much a child may write into our log. No clock: the time comes in."""

from typing import Final

_BURST: Final = 50.0
_PER_S: Final = 10.0


class LogBudget:
    """50 lines at once, 10 a second in the long run."""

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
