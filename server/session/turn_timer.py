"""Time limit of one turn, which stands still while somebody else is waited for."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager


class TurnTimer:
    """`async with timer.running(limit_s): …`; within it, in any task, `with timer.paused(): …`.

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
        """So much of what has passed was somebody else's."""
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
