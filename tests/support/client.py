"""A client of the wire protocol for tests: frames as dicts over the websockets package."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from tests.support.waiting import LIMIT_S

Frame = dict[str, Any]


class Client:
    """Keeps every frame it has received in `frames`."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.frames: list[Frame] = []

    async def send(self, type_: str, **fields: Any) -> None:
        await self.socket.send(json.dumps({"type": type_, **fields}))

    async def send_raw(self, data: str | bytes) -> None:
        await self.socket.send(data)

    async def chat(self, text: str = "hi", *, history: list[Frame] | None = None, **fields: Any) -> None:
        await self.send("chat", messages=[*(history or []), {"role": "user", "content": text}], **fields)

    async def receive(self) -> Frame:
        """The next frame. Raises ConnectionClosed."""
        async with asyncio.timeout(LIMIT_S):
            message = await self.socket.recv()
        assert isinstance(message, str), "no sound was asked for"
        frame: Frame = json.loads(message)
        self.frames.append(frame)
        return frame

    async def until(self, *types: str) -> Frame:
        """The next frame of one of these types; those before it are in `frames`."""
        while (frame := await self.receive())["type"] not in types:
            pass
        return frame

    async def turn(self, text: str = "hi", **fields: Any) -> list[Frame]:
        """Send a chat; the frames from its `turn_start` to its `turn_end`."""
        await self.chat(text, **fields)
        await self.until("turn_start")
        start = len(self.frames) - 1
        await self.until("turn_end")
        return self.frames[start:]

    async def pong(self) -> list[Frame]:
        """Everything that was on its way when we asked, without the pong itself."""
        start = len(self.frames)
        await self.send("ping", t="test")
        await self.until("pong")
        return self.frames[start:-1]

    async def closed(self) -> int:
        """The code with which the server closes."""
        async with asyncio.timeout(LIMIT_S):
            await self.socket.wait_closed()
        assert self.socket.close_code is not None
        return self.socket.close_code


@asynccontextmanager
async def client(ws_url: str, *, greeted: bool = True, **options: Any) -> AsyncIterator[Client]:
    """A connection that has read its `ready`; closed at the end of the block."""
    async with connect(ws_url, compression=None, max_size=None, **options) as socket:
        opened = Client(socket)
        if greeted:
            frame = await opened.receive()
            assert frame["type"] == "ready"
        yield opened


def kinds(frames: list[Frame]) -> list[str]:
    return [frame["type"] for frame in frames]
