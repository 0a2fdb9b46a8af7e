"""How fast one client may send. Pure: time comes in as an argument."""

from enum import Enum, auto
from typing import Final

PATIENCE_S: Final = 5.0
"""Being over the rate for so long closes the connection."""
_CALM_S: Final = 1.0  # without a dropped frame: the excess is over


class Verdict(Enum):
    TAKE = auto()
    DROP = auto()
    CLOSE = auto()


class RateLimiter:
    """A token bucket that holds one second's worth."""

    __slots__ = ("_at_s", "_last_drop_s", "_over_since_s", "_rate", "_tokens")

    def __init__(self, rate_per_s: float, now_s: float) -> None:
        self._rate = rate_per_s
        self._tokens = rate_per_s
        self._at_s = now_s
        self._over_since_s = now_s  # first drop of the excess under way
        self._last_drop_s = float("-inf")

    def judge(self, now_s: float) -> Verdict:
        self._tokens = min(self._rate, self._tokens + (now_s - self._at_s) * self._rate)
        self._at_s = now_s
        if self._tokens >= 1:
            self._tokens -= 1
            return Verdict.TAKE
        if now_s - self._last_drop_s > _CALM_S:
            self._over_since_s = now_s
        self._last_drop_s = now_s
        return Verdict.CLOSE if now_s - self._over_since_s >= PATIENCE_S else Verdict.DROP
