"""What every client is told as it changes: skills, speech engines, the model, servers of tools."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from server.session.session import Session

logger = logging.getLogger(__name__)

MAX_WAITING: Final = 64

Tell = Callable[[Session], None]
"""Called with each session that is open when the news is sent; returns at once."""


class News:
    """`tell` whenever there is some; `run` sends it, in the order in which it came.

    Of one thing that changes again before it was sent, clients learn the
    latest. Beyond MAX_WAITING things the newest is left out, and logged.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, Tell] = {}  # by what has changed
        self._has_some = asyncio.Event()

    def tell(self, what: str, tell: Tell) -> None:
        self._waiting.pop(what, None)
        if len(self._waiting) >= MAX_WAITING:
            logger.warning("too much news waits; clients are not told: %s", what)
            return
        self._waiting[what] = tell
        self._has_some.set()

    async def run(self, tell_all: Callable[[Tell], Awaitable[None]]) -> None:
        """Until cancelled. `tell_all` calls what it is given for each session."""
        while True:
            await self._has_some.wait()
            self._has_some.clear()
            while self._waiting:
                await tell_all(self._waiting.pop(next(iter(self._waiting))))
