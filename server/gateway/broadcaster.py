"""Changes that every client learns of: skills, speech engines, the model, servers of tools."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from server.session.session import Session

logger = logging.getLogger(__name__)

MAX_WAITING: Final = 64

Send = Callable[[Session], None]
"""Called with each session that is open when the change is sent; returns at once."""


class Broadcaster:
    """`publish` takes changes; `run` sends them, in the order in which they came.

    Of a topic that changes again before it was sent, clients learn the latest
    state. Beyond MAX_WAITING topics the newest is left out, and logged.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, Send] = {}  # by topic
        self._has_some = asyncio.Event()

    def publish(self, topic: str, send: Send) -> None:
        self._waiting.pop(topic, None)
        if len(self._waiting) >= MAX_WAITING:
            logger.warning("too many changes wait to be sent; clients do not learn of: %s", topic)
            return
        self._waiting[topic] = send
        self._has_some.set()

    async def run(self, for_each_session: Callable[[Send], Awaitable[None]]) -> None:
        """Runs until cancelled."""
        while True:
            await self._has_some.wait()
            self._has_some.clear()
            while self._waiting:
                await for_each_session(self._waiting.pop(next(iter(self._waiting))))
