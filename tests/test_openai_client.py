"""The client against a small HTTP server: what it sends, and what it makes of what comes back."""

import json
import socket
from collections.abc import AsyncIterator, Callable, Container
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web

from server.openai_client import (
    MAX_BODY_BYTES,
    MAX_REFUSAL_BYTES,
    OpenAIClient,
    OpenAIEndpoint,
    Refused,
    Unreachable,
    pieces_of,
)

Connect = Callable[..., OpenAIClient]


@dataclass
class Echo:
    """Answers with what it was sent; `/v1/refuse` with 418 and a long body."""

    url: str = ""
    requests: list[web.BaseRequest] = field(default_factory=list)
    connections: set[object] = field(default_factory=set)
    drops: Container[int] = ()
    """Numbers of requests, from 0, upon which it closes the connection without a word."""

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self.requests.append(request)
        if len(self.requests) - 1 in self.drops:
            assert request.transport is not None
            request.transport.close()
        self.connections.add(request.transport)
        if request.path == "/v1/refuse":
            return web.Response(status=418, body=b"x" * (3 * MAX_REFUSAL_BYTES), headers={"Retry-After": "7"})
        if request.path == "/v1/cut":
            response = web.StreamResponse(headers={"Content-Length": "1000"})
            await response.prepare(request)
            await response.write(b"half")
            assert request.transport is not None
            request.transport.close()
            return response
        if request.path == "/v1/endless":
            response = web.StreamResponse()
            await response.prepare(request)
            with suppress(ConnectionError):
                while True:
                    await response.write(b"x" * 65_536)
            return response
        return web.Response(body=await request.read(), content_type="application/octet-stream")


@pytest_asyncio.fixture
async def echo() -> AsyncIterator[Echo]:
    echo = Echo()
    runner = web.ServerRunner(web.Server(echo.answer))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0]
    echo.url = f"http://{host}:{port}/v1"
    yield echo
    await runner.cleanup()


@pytest_asyncio.fixture
async def connect(echo: Echo) -> AsyncIterator[Connect]:
    clients: list[OpenAIClient] = []

    def open_(base_url: str | None = None, **changes: Any) -> OpenAIClient:
        endpoint = OpenAIEndpoint(**{"base_url": base_url or echo.url, "api_key": "sk-1"} | changes)
        clients.append(OpenAIClient(endpoint, max_connections=10))
        return clients[-1]

    yield open_
    for client in clients:
        await client.aclose()


async def post(client: OpenAIClient, body: dict[str, Any]) -> bytes:
    """Send JSON and return the whole answer."""
    async with client.stream("/completions", body) as answer:
        return b"".join([piece async for piece in pieces_of(answer)])


async def test_json_goes_out_with_the_key_and_the_body_of_a_success_comes_back(connect: Connect, echo: Echo) -> None:
    body = await post(connect(), {"prompt": "Grüße"})

    assert json.loads(body) == {"prompt": "Grüße"}
    [request] = echo.requests
    assert (request.method, request.path) == ("POST", "/v1/completions")
    assert request.headers["Authorization"] == "Bearer sk-1"
    assert request.headers["Content-Type"] == "application/json"


async def test_without_a_key_none_is_sent(connect: Connect, echo: Echo) -> None:
    await connect(api_key=None).get("/models")

    assert "Authorization" not in echo.requests[0].headers


async def test_organisation_and_project_come_from_the_environment(
    connect: Connect, echo: Echo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-1")

    await post(connect(), {})

    assert echo.requests[0].headers["OpenAI-Organization"] == "org-1"
    assert echo.requests[0].headers["OpenAI-Project"] == "proj-1"


async def test_a_whole_address_is_asked_as_it_is(connect: Connect, echo: Echo) -> None:
    await connect().get(echo.url.removesuffix("/v1") + "/props")

    assert echo.requests[0].path == "/props"


async def test_a_file_goes_out_as_a_form(connect: Connect, echo: Echo) -> None:
    body = await connect().upload("/audio/transcriptions", {"model": "m"}, ("speech.wav", b"RIFF", "audio/wav"))

    assert echo.requests[0].headers["Content-Type"].startswith("multipart/form-data; boundary=")
    assert b'name="model"\r\n\r\nm\r\n' in body
    assert b'name="file"; filename="speech.wav"\r\nContent-Type: audio/wav\r\n\r\nRIFF\r\n' in body


async def test_a_connection_serves_one_call_after_the_other(connect: Connect, echo: Echo) -> None:
    client = connect()
    for _ in range(3):
        await post(client, {})

    assert len(echo.connections) == 1


async def test_without_keepalive_each_call_has_its_own_connection(connect: Connect, echo: Echo) -> None:
    client = connect(keepalive_s=0)
    for _ in range(3):
        await post(client, {})

    assert len(echo.connections) == 3


async def test_a_refusal_tells_status_and_headers_and_the_beginning_of_its_body(connect: Connect) -> None:
    with pytest.raises(Refused) as caught:
        async with connect().stream("/refuse", {}):
            pass

    assert (caught.value.status, caught.value.headers["retry-after"]) == (418, "7")
    assert caught.value.body == b"x" * MAX_REFUSAL_BYTES


async def test_where_nobody_listens_the_reason_is_told(connect: Connect) -> None:
    with socket.socket() as deaf, pytest.raises(Unreachable, match=r"(?i)connect"):
        deaf.bind(("127.0.0.1", 0))
        await connect(f"http://127.0.0.1:{deaf.getsockname()[1]}/v1").get("/models")


async def test_an_answer_that_breaks_off_is_none(connect: Connect) -> None:
    with pytest.raises(Unreachable):
        await connect().get("/cut")


async def test_an_answer_that_does_not_end_is_none(connect: Connect) -> None:
    with pytest.raises(Unreachable, match=f"more than {MAX_BODY_BYTES >> 20} MiB"):
        await connect().get("/endless")


async def test_a_proxy_of_the_environment_carries_the_requests(
    connect: Connect, echo: Echo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", echo.url.removesuffix("/v1"))
    monkeypatch.delenv("no_proxy", raising=False)

    await connect("http://far.test/v1").get("/models")

    assert [request.headers["Host"] for request in echo.requests] == ["far.test"]


async def test_who_is_named_in_the_address_is_the_one_who_asks(connect: Connect, echo: Echo) -> None:
    await connect(echo.url.replace("://", "://jo:secret@")).get("/models")

    assert echo.requests[0].headers["Authorization"] == "Basic am86c2VjcmV0"


async def test_what_meets_an_idle_connection_as_it_is_closed_is_sent_again(connect: Connect, echo: Echo) -> None:
    client = connect()
    echo.drops = {1}
    await post(client, {})

    assert await post(client, {"n": 2}) == b'{"n":2}'
    assert len(echo.requests) == 3


async def test_it_is_sent_again_once_and_on_a_new_connection_not_at_all(connect: Connect, echo: Echo) -> None:
    client = connect()
    echo.drops = {0, 2, 3}
    with pytest.raises(Unreachable):
        await post(client, {})
    await post(client, {})

    with pytest.raises(Unreachable):
        await post(client, {})

    assert len(echo.requests) == 4
