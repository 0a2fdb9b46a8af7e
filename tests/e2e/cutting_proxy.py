"""Between browser and server: forwards TCP, and cuts it where it is told to."""

import asyncio
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

CHUNK_BYTES = 4096


class CuttingProxy:
    """`cut_after(n)`: once n more bytes have come down a WebSocket, every WebSocket breaks, in mid frame if need be."""

    def __init__(self, target_url: str) -> None:
        self._target = urlsplit(target_url)
        self._server: asyncio.Server | None = None
        self._sockets: set[asyncio.StreamWriter] = set()
        self._clients: set[asyncio.StreamWriter] = set()
        self._remaining: int | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.cuts = 0
        self.is_away = False

    @property
    def url(self) -> str:
        assert self._server is not None, "not started"
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def cut_after(self, remaining_bytes: int) -> None:
        self._remaining = remaining_bytes

    def lead_to(self, target_url: str) -> None:
        """From the next connection on."""
        self._target = urlsplit(target_url)

    def cut(self) -> None:
        """Now."""
        self.cuts += 1
        self._remaining = None
        for writer in self._sockets:
            writer.transport.abort()
        self._sockets.clear()

    def go_away(self) -> None:
        """As a server that has gone, until `is_away` is set back."""
        self.is_away = True
        for writer in self._clients:
            writer.transport.abort()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._clients.add(writer)
        try:
            if not self.is_away:
                await self._connect(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # one side went: so does the other
        finally:
            self._clients.discard(writer)
            writer.transport.abort()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        up_reader, up_writer = await asyncio.open_connection(self._target.hostname, self._target.port)
        is_socket = head.startswith(b"GET /ws ")
        if is_socket:
            self._sockets.update((writer, up_writer))
        up_writer.write(head)
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._forward(reader, up_writer), name="up")
                both.create_task(self._forward(up_reader, writer, counts=is_socket), name="down")
        except* ConnectionError:
            pass  # as above
        finally:
            self._sockets.difference_update((writer, up_writer))
            up_writer.transport.abort()

    async def _forward(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, counts: bool = False
    ) -> None:
        while data := await reader.read(CHUNK_BYTES):
            if counts and self._remaining is not None:
                writer.write(data[: self._remaining])
                if len(data) >= self._remaining:
                    await writer.drain()
                    return self.cut()
                self._remaining -= len(data)
            else:
                writer.write(data)
            await writer.drain()
        raise ConnectionResetError("the other side ended")
