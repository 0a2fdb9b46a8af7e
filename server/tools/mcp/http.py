"""The HTTP transport: the SDK's, with limits to what an answer may hold."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
import httpx2
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.client import Transport
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from server.config import McpServerSettings
from server.tools.mcp.intake import Intake, shorten

MAX_ANSWER_BYTES: Final = 8 << 20
"""Of one message: an answer in JSON, or one event."""

_CONNECT_S: Final = 5.0
_WRITE_S: Final = 10.0

Incoming = SessionMessage | Exception


@asynccontextmanager
async def open_http(settings: McpServerSettings, *, read_s: float) -> AsyncIterator[Transport]:
    """A transport for `Client`. `read_s`: how long the server may say nothing in an answer it has begun."""
    assert settings.url is not None
    async with httpx2.AsyncClient(
        headers=settings.headers,
        timeout=httpx2.Timeout(connect=_CONNECT_S, write=_WRITE_S, pool=_CONNECT_S, read=read_s),
        transport=_Limited(httpx2.AsyncHTTPTransport()),
    ) as client:
        yield _filtered(streamable_http_client(settings.url, http_client=client, max_sse_event_size=MAX_ANSWER_BYTES))


@asynccontextmanager
async def _filtered(inner: Transport) -> AsyncIterator[tuple[MemoryObjectReceiveStream[Incoming], Any]]:
    """The streams of a transport, without what the intake drops."""
    intake = Intake(sees_sent=False)
    loop = asyncio.get_running_loop()
    async with inner as (incoming, outgoing), anyio.create_task_group() as tasks:
        passed_on, admitted = anyio.create_memory_object_stream[Incoming](0)

        async def pump() -> None:
            async with passed_on:
                async for message in incoming:
                    if not isinstance(message, Exception):
                        if not intake.admits(message.message, loop.time()):
                            continue
                        shorten(message.message)
                    await passed_on.send(message)

        tasks.start_soon(pump)
        async with admitted:
            yield admitted, outgoing
            tasks.cancel_scope.cancel()


class _Limited(httpx2.AsyncBaseTransport):
    """Breaks off an answer in JSON that is too long. The SDK limits single events, which go on for ever in sum."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _Counted(response.stream)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        total = 0
        async for piece in self._inner:
            total += len(piece)
            if total > MAX_ANSWER_BYTES:
                raise httpx2.StreamError(f"an answer of more than {MAX_ANSWER_BYTES >> 20} MiB")
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()
