"""A model behind any OpenAI-compatible endpoint. Nothing is retried.

Its stream is parsed here, which costs a quarter of what the openai package takes per token.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing, contextmanager
from threading import Lock
from typing import Any

import aiohttp

from server.errors import ProviderProtocol, ProviderTimeout, ProviderUnreachable
from server.llm.endpoint import Discovery, ModelEndpoint, is_for_chat, read_listing
from server.llm.language_model import LateSystem, Message, ModelEvent, ModelInfo, ModelRequest
from server.llm.provider_errors import error_from_answer, error_from_event
from server.llm.stream import EventReader, ReplyReader, StreamError, parse_chunk
from server.openai_client import OpenAIClient, Refused, Unreachable, pieces_of

logger = logging.getLogger(__name__)

_TAIL_TIMEOUT_S = 0.1  # for the end of the body behind `[DONE]`, so that the connection can be kept
_USAGE_TIMEOUT_S = 2.0  # for what may follow a finish_reason
_EVENTS_AT_ONCE = 16  # of a stream, before others run: each may be 0.1 ms of work for those who read it
_MAX_CONNECTIONS = 1000
_OWN_FIELDS = frozenset(("model", "messages", "tools", "tool_choice", "stream", "stream_options"))


class OpenAICompatible:
    """A model behind an HTTP address; see `LanguageModel` for the contract.

    Nothing is opened before `start` or the first call. `start` may fail, or be left
    out: a later call does its work. `aclose` breaks what is still open.
    """

    is_compact = False
    sees_images: bool | None = None

    def __init__(self, endpoint: ModelEndpoint) -> None:
        self._endpoint = endpoint
        self._client: OpenAIClient | None = None
        self._making = Lock()  # a call may come while a thread makes the client, and needs the same imports
        self._discovery = Discovery(endpoint, lambda path: self._connected().get(path))
        self._responses: set[aiohttp.ClientResponse] = set()  # of the streams under way

    @property
    def info(self) -> ModelInfo:
        return ModelInfo(
            name=self._discovery.known_model or "not named",
            host=self._endpoint.host,
            location=self._endpoint.location,
            key_source=self._endpoint.key_source,
        )

    @property
    def late_system(self) -> LateSystem | None:
        return "native" if self._endpoint.is_openai else None

    async def start(self) -> None:
        """Load the client and find the model's name. Raises ProviderError where that cannot be found out now."""
        await asyncio.to_thread(self._connected)  # 0.8 s of imports, and certificates to read
        self._discovery.begin()
        await self._discovery.model()

    async def names(self) -> list[str]:
        """Return the models for chat that the endpoint lists. Raises ProviderError."""
        with self._request_errors():
            async with asyncio.timeout(self._endpoint.first_token_timeout_s):
                body = await self._connected().get("/models")
        try:
            return list(filter(is_for_chat, read_listing(body).names))
        except (ValueError, RecursionError) as error:
            raise ProviderProtocol(f"{self._endpoint.host} lists no models: check llm.base_url") from error

    async def aclose(self) -> None:
        """Close every connection; a stream under way fails with ProviderUnreachable."""
        await self._discovery.aclose()
        client, self._client = self._client, None
        for response in tuple(self._responses):
            response.close()  # without it, its reader would wait for its time limit
        if client is not None:
            await client.aclose()

    async def context_tokens(self) -> int | None:
        return await self._discovery.context_tokens()

    async def problem(self) -> str:
        return "" if await self._discovery.has_answer() else f"no answer from {self._endpoint.host}: is it running?"

    def prefill(self, messages: Sequence[Message], *, question: str, tool_names: Sequence[str]) -> None:
        """Do nothing: every token may cost money."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        return self.stream_with(request, self._wishes(request))

    async def read(self, messages: Sequence[Message]) -> None:
        """Let the server read these messages ahead of a call that begins with them. Raises ProviderError."""
        async with aclosing(self.stream_with(ModelRequest(messages=messages), {"max_tokens": 1})) as events:
            async for _ in events:
                pass

    async def stream_with(self, request: ModelRequest, extra: dict[str, Any]) -> AsyncGenerator[ModelEvent, None]:
        """Stream with further fields in the request, which win over the configured ones."""
        body = self._body(request, await self._discovery.model()) | extra
        body = {name: value for name, value in body.items() if value is not None}
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._endpoint.first_token_timeout_s
        reply = ReplyReader()
        async with AsyncExitStack() as stack:
            stack.enter_context(self._stream_errors())
            response = await self._open(stack, body, deadline)
            reader = self._reader_of(response)
            pieces = await stack.enter_async_context(aclosing(pieces_of(response)))
            while not reader.is_done and (data := await self._read(pieces, deadline, reply)) is not None:
                for number, piece in enumerate(reader.feed(data), 1):
                    for event in self._events(piece, reply):
                        yield event
                    if number % _EVENTS_AT_ONCE == 0:
                        await asyncio.sleep(0)  # a quick model's whole reply may come at once
                if reply.has_begun:
                    deadline = loop.time() + self._endpoint.idle_timeout_s
                if reply.is_finished:
                    deadline = min(deadline, loop.time() + _USAGE_TIMEOUT_S)
            for piece in reader.finish():
                for event in self._events(piece, reply):
                    yield event
            if not reader.is_done and not reply.is_finished:
                if reply.has_begun:
                    raise self._cut_off()
                raise ProviderProtocol(f"{self._endpoint.host} answered without a reply: check llm.base_url")
            for event in reply.finish():
                yield event
            await _skip_tail(pieces)  # last: the reply is whole without it

    def _body(self, request: ModelRequest, model: str) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": model,
            "messages": request.messages,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.tools:
            choice = request.tool_choice
            named = choice if isinstance(choice, str) else {"type": "function", "function": {"name": choice.name}}
            body |= {"tools": [tool.as_json() for tool in request.tools], "tool_choice": named}
        if self._endpoint.max_tokens:
            # OpenAI's newer models refuse the older name, other servers do not know the newer.
            name = "max_completion_tokens" if self._endpoint.is_openai else "max_tokens"
            body[name] = self._endpoint.max_tokens
        body |= self._endpoint.options
        return body

    def _wishes(self, request: ModelRequest) -> dict[str, Any]:
        wishes = {name: value for name, value in request.options.items() if name not in _OWN_FIELDS}
        if self._endpoint.is_openai and "max_tokens" in wishes:
            wishes["max_completion_tokens"] = wishes.pop("max_tokens")
        return wishes | ({"model": request.model} if request.model else {})

    async def _open(self, stack: AsyncExitStack, body: dict[str, Any], deadline: float) -> aiohttp.ClientResponse:
        """Send the request; returns at the headers of a success. `stack` owns the connection."""
        with self._request_errors(body["model"]):
            async with asyncio.timeout_at(deadline):
                response = await stack.enter_async_context(self._connected().stream("/chat/completions", body))
        self._responses.add(response)
        stack.callback(self._responses.discard, response)
        return response

    async def _read(self, pieces: AsyncGenerator[bytes, None], deadline: float, reply: ReplyReader) -> bytes | None:
        """Return the next bytes, or None at the end; waits until the deadline. A finished reply cannot break off."""
        try:
            async with asyncio.timeout_at(deadline):
                return await anext(pieces, None)
        except TimeoutError as error:
            if reply.is_finished:
                return None
            if not reply.has_begun:
                raise self._no_first_token() from error
            raise ProviderTimeout(
                f"{self._endpoint.host} stopped in mid-reply: nothing for {self._endpoint.idle_timeout_s:g} s "
                "(llm.idle_timeout_s)"
            ) from error
        except Unreachable as error:
            if reply.is_finished:
                return None
            raise self._cut_off() from error

    def _events(self, piece: bytes, reply: ReplyReader) -> list[ModelEvent]:
        chunk = parse_chunk(piece)
        if (error := chunk.failure) is not None:
            raise error_from_event(self._endpoint, self._discovery.known_model, error)
        return reply.feed(chunk)

    @contextmanager
    def _stream_errors(self) -> Iterator[None]:
        try:
            yield
        except StreamError as error:
            raise ProviderProtocol(f"{self._endpoint.host} sent {error}") from error

    @contextmanager
    def _request_errors(self, model: str | None = None) -> Iterator[None]:
        try:
            yield
        except TimeoutError as error:
            raise self._no_first_token() from error
        except Refused as error:
            raise error_from_answer(self._endpoint, model, error) from error
        except Unreachable as error:
            raise ProviderUnreachable(
                f"no answer from {self._endpoint.host}: is it running, and is llm.base_url right? ({str(error)[:200]})"
            ) from error

    def _reader_of(self, response: aiohttp.ClientResponse) -> EventReader:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "text/html":
            raise ProviderProtocol(
                f"{self._endpoint.host} answered with an HTML page: check llm.base_url; it usually ends in /v1"
            )
        return EventReader(is_whole=kind == "application/json")

    def _connected(self) -> OpenAIClient:
        with self._making:
            if self._client is None:
                self._client = OpenAIClient(self._endpoint, max_connections=_MAX_CONNECTIONS)
            return self._client

    def _no_first_token(self) -> ProviderTimeout:
        return ProviderTimeout(
            f"{self._endpoint.host} sent nothing for {self._endpoint.first_token_timeout_s:g} s "
            "(llm.first_token_timeout_s)"
        )

    def _cut_off(self) -> ProviderUnreachable:
        return ProviderUnreachable(f"{self._endpoint.host} closed the connection in mid-reply")


async def _skip_tail(pieces: AsyncGenerator[bytes, None]) -> None:
    try:
        async with asyncio.timeout(_TAIL_TIMEOUT_S):
            async for _ in pieces:
                pass
    except (TimeoutError, Unreachable):
        pass  # the reply is whole; only the connection is not kept
