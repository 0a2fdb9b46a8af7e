"""Clients that stay connected over restarts, as the page does, and count the attempts of each outage."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.support.client import Client, client
from tests.support.waiting import LIMIT_S

GOING_AWAY = 1001


class Visitor:
    """Client that reconnects as frontend/sdk/socket.js does."""

    def __init__(self, ws_url: str, headers: Mapping[str, str]) -> None:
        self.refusals: list[int] = []
        """Attempts that failed before each of its returns."""
        self.is_connected = asyncio.Event()
        self._ws_url = ws_url
        self._headers = headers

    async def run(self) -> None:
        """Runs until cancelled."""
        attempt, refused, silently_at = 0, 0, -float("inf")
        while True:
            was_ready, code = False, None
            try:
                async with client(self._ws_url, additional_headers=self._headers) as me:
                    self.refusals.append(refused)
                    attempt, refused, was_ready = 0, 0, True
                    self.is_connected.set()
                    code = await closed(me)
            except (OSError, InvalidStatus, ConnectionClosed):
                refused += 1
            now = time.monotonic()
            if was_ready:
                self.is_connected.clear()
            if was_ready and code == GOING_AWAY and now - silently_at >= 2:
                silently_at = now
            else:
                attempt += 1
                await asyncio.sleep(min(0.5 * 2 ** (attempt - 1), 15) * random.uniform(0.7, 1.3))


async def closed(me: Client) -> int | None:
    """The code with which the connection ended, however long it lasted."""
    await me.socket.wait_closed()
    return me.socket.close_code


@asynccontextmanager
async def visitors(ws_url: str, number: int, headers: Mapping[str, str]) -> AsyncIterator[list[Visitor]]:
    """So many, all connected when the block begins."""
    made = [Visitor(ws_url, headers) for _ in range(number)]
    tasks = [asyncio.create_task(visitor.run()) for visitor in made]
    try:
        await all_connected(made)
        yield made
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def all_connected(among: Sequence[Visitor]) -> None:
    async with asyncio.timeout(LIMIT_S):
        for visitor in among:
            await visitor.is_connected.wait()
