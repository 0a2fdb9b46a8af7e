"""How many turns run at once, over all connections and for one user."""

from collections import Counter
from typing import Final

from server.errors import TurnError
from server.metrics import Metrics

RETRY_AFTER_MS: Final = 2000


class TurnGate:
    """`enter` for each turn, `leave` when it has ended. Closed for new turns while draining."""

    def __init__(self, limit: int, metrics: Metrics, *, per_user: int | None = None) -> None:
        self.is_draining = False
        self._limit = limit
        self._per_user = per_user
        self._running = 0
        self._by_user: Counter[str] = Counter()  # of those that have a turn: no larger than `limit`
        self._gauge = metrics.turns_running

    @property
    def users(self) -> frozenset[str]:
        """Those who have a turn now."""
        return frozenset(self._by_user)

    def enter(self, user: str | None = None) -> None:
        """`user` is who the turn counts for, None nobody. Raises TurnError, and then nothing was entered."""
        if self.is_draining:
            raise TurnError("turn_refused_draining", "the server is going away; connect again and send the turn there")
        if self._running >= self._limit:
            raise _full(f"{self._limit} turns are running, the most that are taken")
        if user is not None and self._per_user is not None and self._by_user[user] >= self._per_user:
            raise _full(f"{self._per_user} turns of yours are running, the most that one user may have")
        if user is not None:
            self._by_user[user] += 1
        self._running += 1
        self._gauge.set(self._running)

    def leave(self, user: str | None = None) -> None:
        """`user` as it was given to `enter`."""
        if user is not None:
            self._by_user[user] -= 1
            if not self._by_user[user]:
                del self._by_user[user]
        self._running -= 1
        self._gauge.set(self._running)


def _full(what: str) -> TurnError:
    return TurnError("too_many_turns", f"{what}; try again in a moment", retry_after_ms=RETRY_AFTER_MS)
