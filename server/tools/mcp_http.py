"""The HTTP transport: the SDK's, with limits to what an answer may hold."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import httpx2
from mcp.client import Transport
from mcp.client.streamable_http import streamable_http_client

from server.config import McpServer

MAX_ANSWER_BYTES: Final = 8 << 20
"""Of one message: an answer in JSON, or one event."""

_CONNECT_S: Final = 5.0
_WRITE_S: Final = 10.0


@asynccontextmanager
async def open_http(settings: McpServer, *, read_s: float) -> AsyncIterator[Transport]:
    """A transport for `Client`. `read_s`: how long the server may say nothing in an answer it has begun."""
    assert settings.url is not None
    async with httpx2.AsyncClient(
        headers=settings.headers,
        timeout=httpx2.Timeout(connect=_CONNECT_S, write=_WRITE_S, pool=_CONNECT_S, read=read_s),
        transport=_Limited(httpx2.AsyncHTTPTransport()),
    ) as client:
        yield streamable_http_client(settings.url, http_client=client, max_sse_event_size=MAX_ANSWER_BYTES)


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
