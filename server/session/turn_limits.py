"""Limits of turns: how many run at once, over all connections and for one user, and how long one may take."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from server.errors import TurnError
from server.metrics import Metrics

RETRY_AFTER_MS: Final = 2000


class TurnGate:
    """Places for running turns: `enter` for each, `leave` when it has ended. Closed while draining."""

    def __init__(self, limit: int, metrics: Metrics, *, per_user: int | None = None) -> None:
        self.is_draining = False
        self._limit = limit
        self._per_user = per_user
        self._running = 0
        self._by_user: Counter[str] = Counter()  # of those that have a turn: no larger than `limit`
        self._gauge = metrics.turns_running

    @property
    def users(self) -> frozenset[str]:
        """Users who have a turn now."""
        return frozenset(self._by_user)

    def enter(self, user: str | None = None, *, is_spoken: bool = False) -> None:
        """`user` is who the turn counts for (None: nobody). Raises TurnError, and then nothing was entered.

        `is_spoken`: the turn belongs to an utterance that was accepted, before draining began or as an answer.
        """
        if self.is_draining and not is_spoken:
            raise TurnError("turn_refused_draining", "the server is stopping; reconnect and send the turn again")
        if self._running >= self._limit:
            raise _full(f"{self._limit} turns are running, the most that this server accepts")
        if user is not None and self._per_user is not None and self._by_user[user] >= self._per_user:
            raise _full(f"{self._per_user} turns of yours are running, the most that one user may have")
        if user is not None:
            self._by_user[user] += 1
        self._running += 1
        self._gauge.set(self._running)

    def leave(self, user: str | None = None) -> None:
        """Give the place back; `user` as it was given to `enter`."""
        if user is not None:
            self._by_user[user] -= 1
            if not self._by_user[user]:
                del self._by_user[user]
        self._running -= 1
        self._gauge.set(self._running)


class TurnTimer:
    """Time limit of one turn, which stands still while somebody else is waited for.

    `async with timer.running(limit_s): …`; within it, in any task, `with timer.paused(): …`.
    Pauses may overlap; the timer goes on when the last one ends. Outside
    `running`, and once the limit has struck, nothing here does anything.
    """

    def __init__(self) -> None:
        self._limit: asyncio.Timeout | None = None
        self._pauses = 0
        self._left_s = 0.0  # while paused
        self.has_expired = False
        """The limit was reached, and `running` has raised TimeoutError."""

    @asynccontextmanager
    async def running(self, limit_s: float) -> AsyncIterator[None]:
        """Cancels what runs in it after `limit_s`, pauses not counted, and raises TimeoutError."""
        limit = asyncio.timeout(limit_s)
        try:
            async with limit:
                self._limit = limit
                if self._pauses:
                    self._stop()
                try:
                    yield
                finally:
                    self._limit = None
        finally:
            self.has_expired = limit.expired()

    @contextmanager
    def paused(self) -> Iterator[None]:
        if self._pauses == 0:
            self._stop()
        self._pauses += 1
        try:
            yield
        finally:
            self._pauses -= 1
            if self._pauses == 0:
                self._go_on()

    def give_back(self, seconds: float) -> None:
        """Extend the limit: so much of the time that has passed was somebody else's."""
        limit = self._limit
        if self._pauses:
            self._left_s += seconds
        elif limit is not None and not limit.expired() and (when_s := limit.when()) is not None:
            limit.reschedule(when_s + seconds)

    def _stop(self) -> None:
        limit = self._limit
        if limit is not None and not limit.expired() and (when_s := limit.when()) is not None:
            self._left_s = when_s - asyncio.get_running_loop().time()
            limit.reschedule(None)

    def _go_on(self) -> None:
        limit = self._limit
        if limit is not None and not limit.expired() and limit.when() is None:
            limit.reschedule(asyncio.get_running_loop().time() + self._left_s)


def _full(what: str) -> TurnError:
    return TurnError("too_many_turns", f"{what}; try again in a moment", retry_after_ms=RETRY_AFTER_MS)
