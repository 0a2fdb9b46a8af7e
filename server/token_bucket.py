"""A token bucket: limits how often something may happen. No clock: the time comes in."""


class TokenBucket:
    """Allows `burst` things at once, and `per_s` in the long run."""

    __slots__ = ("_at_s", "_burst", "_left", "_per_s")

    def __init__(self, *, burst: float, per_s: float) -> None:
        self._burst = burst
        self._per_s = per_s
        self._left = burst
        self._at_s: float | None = None

    def take(self, now_s: float) -> bool:
        """Take one token. False: there is none left, and this is one too many."""
        if self._at_s is not None:
            self._left = min(self._burst, self._left + (now_s - self._at_s) * self._per_s)
        self._at_s = now_s
        if self._left < 1:
            return False
        self._left -= 1
        return True
