"""A model server on a real socket that speaks the OpenAI chat-completions API by script.

    async with OpenAIServer() as server:
        server.queue(calls(("current_time", {})))          # the answers, in order
        server.queue(text("It is ", "noon."))
        ...                                                # let something talk to server.url
        first, second = server.requests
        assert second.messages[-1]["role"] == "tool"
        await first.ended.wait()
        assert not first.closed_early

An answer may also be a function of the request (`respond=`, asked first; None
= take the queue's next). Unasked for, the server answers 500 and says that the
script has no answer left. `strict` makes it as touchy as real chat templates.
It reads no clock and sleeps only at a `Pause`. It belongs to the event loop that
started it. `python -m tests.support.openai_server --tokens 200 --interval-ms 20`
serves benchmarks.
"""

import argparse
import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self

from aiohttp import web

from tests.support import openai_strict
from tests.support.openai_faults import http_error
from tests.support.openai_script import (
    Answer,
    CutBeforeHeaders,
    HangBeforeHeaders,
    HttpError,
    Json,
    Stream,
    text,
    tokens,
)
from tests.support.openai_stream import as_completion, write_stream

Strictness = Literal["system_first", "tool_pairs", "alternation", "no_system"]
"""What a template refuses: a `system` message that is not first; calls and results that do not
pair; two neighbours of one role; any `system` message."""


@dataclass(kw_only=True)
class Request:
    """One chat-completions request as it came, and what became of it."""

    number: int
    body: Json
    headers: dict[str, str]
    connection: str
    """Address and port of the client: the same for two requests on one kept connection."""
    closed_early: bool = False
    """The client went before the answer had ended (its own end, or a `Cut`, does not count)."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def messages(self) -> list[Json]:
        messages: list[Json] = self.body.get("messages", [])
        return messages

    @property
    def tool_names(self) -> list[str]:
        return [tool["function"]["name"] for tool in self.body.get("tools", [])]

    @property
    def contents(self) -> list[Any]:
        return [message.get("content") for message in self.messages]


class OpenAIServer:
    """Answers by script; records everything. `url` is the base URL a client is given."""

    def __init__(
        self,
        *,
        respond: Callable[[Request], Answer | None] | None = None,
        strict: Collection[Strictness] = (),
        models: Sequence[Json] = ({"id": "scripted", "object": "model"},),
        api_key: str | None = None,
        context_tokens: int | None = None,
        props: Json | None = None,
    ) -> None:
        """`context_tokens`: reported as `max_model_len`, and a longer prompt (4 characters a token)
        is refused as vLLM does. `props`: what llama.cpp's `/props` answers."""
        self.respond = respond
        self.strict = frozenset(strict)
        self.models = list(models)
        self.models_answer: HttpError | HangBeforeHeaders | None = None
        self.api_key = api_key
        self.context_tokens = context_tokens
        self.props = props
        self.requests: list[Request] = []
        self.model_listings = 0
        self._answers: deque[Answer] = deque()
        self._arrival = asyncio.Condition()
        self._runner: web.AppRunner | None = None
        self._port = 0
        self._is_stopping = False

    # what tests call

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def unanswered(self) -> int:
        """How many queued answers nobody has asked for yet."""
        return len(self._answers)

    def queue(self, *answers: Answer) -> None:
        self._answers.extend(answers)

    def clear(self) -> None:
        """Forget the requests so far and the answers nobody asked for."""
        self.requests.clear()
        self._answers.clear()

    def say(self, *pieces: str) -> None:
        """Queue a plain reply in these pieces."""
        self.queue(text(*pieces))

    async def request(self, number: int) -> Request:
        """The request of this number, counted from 0, as soon as it has arrived."""
        async with self._arrival:
            await self._arrival.wait_for(lambda: len(self.requests) > number)
        return self.requests[number]

    async def start(self, port: int = 0) -> None:
        """Listen; after `stop`, on the same port again."""
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_get("/v1/models", self._list_models)
        app.router.add_get("/props", self._props)
        self._is_stopping = False
        self._runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port or self._port, reuse_address=True)
        await site.start()
        self._port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Close every connection and refuse new ones, as a server that is down."""
        self._is_stopping = True
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()

    # the HTTP side

    async def _chat(self, http: web.Request) -> web.StreamResponse:
        request = await self._record(http)
        try:
            return await self._answer(http, request)
        except (asyncio.CancelledError, ConnectionResetError):
            request.closed_early = not self._is_stopping
            raise
        finally:
            request.ended.set()

    async def _record(self, http: web.Request) -> Request:
        host, port = (http.transport.get_extra_info("peername") if http.transport else ("?", 0))[:2]
        body: Json = await http.json()
        request = Request(
            number=len(self.requests),
            body=body,
            headers=dict(http.headers),
            connection=f"{host}:{port}",
        )
        async with self._arrival:
            self.requests.append(request)
            self._arrival.notify_all()
        return request

    async def _answer(self, http: web.Request, request: Request) -> web.StreamResponse:
        answer = self._choose(request)
        match answer:
            case HttpError():
                return _error_response(answer)
            case HangBeforeHeaders():
                await asyncio.Event().wait()
                raise AssertionError("unreachable")
            case CutBeforeHeaders():
                assert http.transport is not None
                http.transport.abort()
                return web.Response()
            case Stream() if request.body.get("stream"):
                return await write_stream(http, answer, request.body)
            case Stream():
                return web.json_response(await as_completion(answer, request.body))

    def _choose(self, request: Request) -> Answer:
        if (refusal := self._refusal(request)) is not None:
            return refusal
        if self.respond is not None and (answer := self.respond(request)) is not None:
            return answer
        if self._answers:
            return self._answers.popleft()
        return http_error(500, f"the script has no answer left for request {request.number}")

    def _refusal(self, request: Request) -> HttpError | None:
        if self.api_key and request.headers.get("Authorization") != f"Bearer {self.api_key}":
            return http_error(401, "Incorrect API key provided")
        return openai_strict.refusal(request.messages, self.strict, self.context_tokens)

    async def _list_models(self, http: web.Request) -> web.StreamResponse:
        self.model_listings += 1
        match self.models_answer:
            case HttpError() as error:
                return _error_response(error)
            case HangBeforeHeaders():
                await asyncio.Event().wait()
        if self.api_key and http.headers.get("Authorization") != f"Bearer {self.api_key}":
            return _error_response(http_error(401, "Incorrect API key provided"))
        size = {} if self.context_tokens is None else {"max_model_len": self.context_tokens}
        return web.json_response({"object": "list", "data": [{**entry, **size} for entry in self.models]})

    async def _props(self, _http: web.Request) -> web.StreamResponse:
        if self.props is None:
            return _error_response(http_error(404, "not found"))
        return web.json_response(self.props)


def _error_response(error: HttpError) -> web.Response:
    if isinstance(error.body, str):
        return web.Response(status=error.status, text=error.body, headers=dict(error.headers))
    return web.json_response(error.body, status=error.status, headers=dict(error.headers))


async def _serve_benchmark(port: int, count: int, interval_s: float, first_s: float) -> None:
    def reply(_request: Request) -> Answer:
        return tokens(count, interval_s=interval_s, first_s=first_s)

    server = OpenAIServer(respond=reply)
    await server.start(port)
    try:
        print(f"listening on {server.url}", flush=True)
        await asyncio.Event().wait()
    finally:
        await server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve the same scripted reply to every request.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--tokens", type=int, default=100)
    parser.add_argument("--interval-ms", type=float, default=20.0)
    parser.add_argument("--first-ms", type=float, default=100.0)
    options = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve_benchmark(options.port, options.tokens, options.interval_ms / 1000, options.first_ms / 1000))


if __name__ == "__main__":
    main()
