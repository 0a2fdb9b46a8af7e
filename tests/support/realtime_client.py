"""A client of `/v1/realtime` for tests: events as dicts over the websockets package, each checked as it comes."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from tests.support.realtime_types import Event, RealtimeEventChecker
from tests.support.waiting import LIMIT_S


class RealtimeClient:
    """Keeps every event it has received in `events`."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.events: list[Event] = []
        self.checker = RealtimeEventChecker()

    async def send(self, type_: str, **fields: Any) -> None:
        await self.socket.send(json.dumps({"type": type_, **fields}))

    async def receive(self) -> Event:
        """The next event. Raises ConnectionClosed."""
        async with asyncio.timeout(LIMIT_S):
            message = await self.socket.recv()
        assert isinstance(message, str), "Realtime has no binary messages"
        event: Event = json.loads(message)
        self.events.append(event)
        self.checker.check(event)
        return event

    async def until(self, *types: str) -> Event:
        """The next event of one of these types; those before it are in `events`."""
        while (event := await self.receive())["type"] not in types:
            pass
        return event

    async def create(self, **item: Any) -> Event:
        await self.send("conversation.item.create", item=item)
        return await self.until("conversation.item.done", "error")

    async def say(self, text: str) -> Event:
        return await self.create(type="message", role="user", content=[{"type": "input_text", "text": text}])

    async def respond(self, **wishes: Any) -> Event:
        """Ask for a response; the resource of its `response.done`."""
        await self.send("response.create", response=wishes)
        done: Event = (await self.until("response.done"))["response"]
        return done

    async def update(self, **session: Any) -> Event:
        """Change the session; its `session.updated` or `error`."""
        await self.send("session.update", session={"type": "realtime", **session})
        return await self.until("session.updated", "error")


@asynccontextmanager
async def realtime_client(url: str, **options: Any) -> AsyncIterator[RealtimeClient]:
    """`url`: the server's, in http. Yields once the session is created; at the end every response has its done."""
    address = url.replace("http", "ws", 1) + "/v1/realtime?model=any"
    async with connect(address, max_size=None, **options) as socket:
        client = RealtimeClient(socket)
        assert (await client.receive())["type"] == "session.created"
        assert (await client.receive())["type"] == "conversation.created"
        yield client
    client.checker.end()
