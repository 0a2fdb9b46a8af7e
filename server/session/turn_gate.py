"""How many turns run at once, over all connections."""

from typing import Final

from server.errors import TurnError
from server.metrics import Metrics

RETRY_AFTER_MS: Final = 2000


class TurnGate:
    """`enter` for each turn, `leave` when it has ended. Closed for new turns while draining."""

    def __init__(self, limit: int, metrics: Metrics) -> None:
        self.is_draining = False
        self._limit = limit
        self._running = 0
        self._gauge = metrics.turns_running

    def enter(self) -> None:
        """Raises TurnError, and then nothing was entered."""
        if self.is_draining:
            raise TurnError("turn_refused_draining", "the server is going away; connect again and send the turn there")
        if self._running >= self._limit:
            raise TurnError(
                "too_many_turns",
                f"{self._limit} turns are running, the most that are taken; try again in a moment",
                retry_after_ms=RETRY_AFTER_MS,
            )
        self._running += 1
        self._gauge.set(self._running)

    def leave(self) -> None:
        self._running -= 1
        self._gauge.set(self._running)
