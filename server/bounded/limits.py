"""Limits of what is remembered, of how often something happens, and of how much is written. No clock: the time comes in."""

from collections import Counter, OrderedDict
from typing import Final, TypeVar

MAX_WRITERS: Final = 1000
_OTHERS: Final = "others"

K = TypeVar("K")
V = TypeVar("V")


class BoundedDict(OrderedDict[K, V]):
    """Holds at most `limit` entries; of more, the one that was set longest ago goes."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > self._limit:
            self.popitem(last=False)


class TokenBucket:
    """Allows `burst` things at once, and `per_s` in the long run."""

    __slots__ = ("_at_s", "_burst", "_left", "_per_s")

    def __init__(self, *, burst: float, per_s: float) -> None:
        self._burst = burst
        self._per_s = per_s
        self._left = burst
        self._at_s: float | None = None

    def take(self, now_s: float, tokens: float = 1) -> bool:
        """Take tokens; return whether so many were left."""
        if self._at_s is not None:
            self._left = min(self._burst, self._left + (now_s - self._at_s) * self._per_s)
        self._at_s = now_s
        if self._left < tokens:
            return False
        self._left -= tokens
        return True

    def wait_s(self, tokens: float = 1) -> float:
        """Return the time after the last `take` until so many tokens are there."""
        return max(0.0, (tokens - self._left) / self._per_s)

    def is_full(self, now_s: float) -> bool:
        """Return whether the bucket judges as a new one would."""
        return self._at_s is None or self._left + (now_s - self._at_s) * self._per_s >= self._burst


class WriteQuotas:
    """Limits how many bytes a minute each writer adds to a log, and counts what is left out.

    Tells MAX_WRITERS apart; more than that at once share one quota.
    """

    def __init__(self, bytes_a_minute: int) -> None:
        self._bytes = bytes_a_minute
        self._buckets: OrderedDict[str, TokenBucket] = OrderedDict()  # the longest unused first
        self._untold = Counter[str]()
        self.left_out = 0
        """Lines or entries left out since the start."""

    def admit(self, writer: str, size: int, now_s: float) -> bool:
        """Return whether the writer may write `size` bytes now; what may not be written is counted."""
        while self._buckets and next(iter(self._buckets.values())).is_full(now_s):
            self._buckets.popitem(last=False)
        if writer not in self._buckets and len(self._buckets) >= MAX_WRITERS:
            writer = _OTHERS
        bucket = self._buckets.setdefault(writer, TokenBucket(burst=self._bytes, per_s=self._bytes / 60))
        self._buckets.move_to_end(writer)
        if bucket.take(now_s, size):
            return True
        self._untold[writer] += 1
        self.left_out += 1
        return False

    def take_left_out(self) -> dict[str, int]:
        """Return how many each writer lost since the last call."""
        told, self._untold = self._untold, Counter()
        return dict(told)
