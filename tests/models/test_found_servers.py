"""Model servers that are found: real HTTP servers on this machine, good and bad ones."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from server.config import LlmSettings
from server.models.found_servers import (
    MAX_ANSWER_BYTES,
    MAX_MODELS,
    FoundServer,
    ServerAddress,
    find_servers,
    places_to_look,
)
from tests.support.openai_server import OpenAIServer
from tests.support.parley import parley

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def listing(*names: str) -> dict[str, Any]:
    return {"object": "list", "data": [{"id": name, "object": "model"} for name in names]}


@asynccontextmanager
async def serving(**routes: Handler | Any) -> AsyncIterator[tuple[str, list[web.Request]]]:
    """Serve JSON values, or what handlers answer, under the name `models`. Yields base URL and requests."""
    requests: list[web.Request] = []
    paths = {"models": "/v1/models", "elsewhere": "/elsewhere"}

    async def answer(request: web.Request) -> web.StreamResponse:
        requests.append(request)
        wanted = next((routes[name] for name, path in paths.items() if name in routes and path == request.path), None)
        if wanted is None:
            raise web.HTTPNotFound
        return await wanted(request) if callable(wanted) else web.json_response(wanted)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1", requests
    finally:
        await runner.cleanup()


async def found_at(base_url: str) -> list[FoundServer]:
    return await find_servers([ServerAddress("LM Studio", base_url)])


async def test_servers_that_list_models_are_found_in_order_and_nothing_else_is_asked() -> None:
    async with (
        serving(models=listing("qwen3:8b", "nomic-embed-text", "qwen3:8b")) as (ollama, asked),
        serving(models={"object": "list", "data": [{"id": "m", "max_model_len": 4096}]}) as (vllm, _),
    ):
        places = [ServerAddress("Ollama", ollama), ServerAddress("Jan", "http://127.0.0.1:1/v1")]
        found = await find_servers([*places, ServerAddress("vLLM", vllm)])

    assert found == [FoundServer("Ollama", ollama, ("qwen3:8b",)), FoundServer("vLLM", vllm, ("m",))]
    assert [(request.method, request.path) for request in asked] == [("GET", "/v1/models")]
    assert not {"Authorization", "Cookie"} & asked[0].headers.keys()


async def test_no_key_and_no_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID"):
        monkeypatch.setenv(name, "sk-secret")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")

    async with serving(models=listing("m")) as (url, asked):
        assert len(await found_at(url)) == 1
    assert "sk-secret" not in str(asked[0].headers)


async def hanging(_request: web.Request) -> web.StreamResponse:
    await asyncio.Event().wait()
    raise AssertionError


async def redirecting(_request: web.Request) -> web.StreamResponse:
    raise web.HTTPTemporaryRedirect("/elsewhere")


async def trickling(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    while True:
        await response.write(b" ")
        await asyncio.sleep(0.02)


async def another_parley(_request: web.Request) -> web.StreamResponse:
    return web.json_response(listing("gpt-realtime"), headers={"Server": "parley"})


async def packed(_request: web.Request) -> web.StreamResponse:
    response = web.json_response(listing("m"))
    response.enable_compression(web.ContentCoding.gzip)
    return response


def of_size(size: int) -> Handler:
    async def answer(_request: web.Request) -> web.StreamResponse:
        body = json.dumps(listing("m")).encode()
        return web.Response(body=body + b" " * (size - len(body)))

    return answer


@pytest.mark.parametrize("answer", [hanging, redirecting, trickling, another_parley, packed, of_size(300 << 10)])
async def test_who_redirects_dawdles_packs_or_sends_too_much_is_none(answer: Handler) -> None:
    async with serving(models=answer, elsewhere=listing("m")) as (url, asked):
        assert await found_at(url) == []
    assert [request.path for request in asked] == ["/v1/models"]


async def test_the_longest_answer_is_read() -> None:
    async with serving(models=of_size(MAX_ANSWER_BYTES)) as (url, _):
        assert len(await found_at(url)) == 1


@pytest.mark.parametrize(
    "answer",
    [
        {},
        [],
        {"data": []},
        {"data": {"id": "m"}},
        {"data": [{"name": "m"}]},
        {"data": [{"id": 5}]},
        {"data": [{"id": ""}]},
        {"data": [{"id": "m" * 257}]},
        {"error": "no such path"},
        listing("text-embedding-3-small"),
        listing("\x1b[2J"),
    ],
)
async def test_only_a_list_of_models_counts(answer: Any) -> None:
    async with serving(models=answer) as (url, _):
        assert await found_at(url) == []


async def test_a_hundred_models_of_a_server_are_listed_and_no_more() -> None:
    async with serving(models=listing(*(f"m{number}" for number in range(MAX_MODELS + 1)))) as (url, _):
        [server] = await found_at(url)

    assert len(server.models) == MAX_MODELS


async def test_a_search_that_is_cancelled_leaves_no_request() -> None:
    arrived, left = asyncio.Event(), asyncio.Event()

    async def waiting(request: web.Request) -> web.StreamResponse:
        arrived.set()
        try:
            return await hanging(request)
        finally:
            left.set()

    async with serving(models=waiting) as (url, _):
        search = asyncio.create_task(found_at(url))
        await arrived.wait()
        search.cancel()
        await asyncio.wait([search])
        assert search.cancelled()
        await left.wait()


async def test_a_parley_finds_neither_itself_nor_another(tmp_path: Path) -> None:
    async with OpenAIServer() as model, parley(tmp_path, model.url) as server:
        assert await found_at(f"{server.url}/v1") == []
        config = LlmSettings(discover_urls=[server.url, f"{server.url}/v1", "http://localhost:1/v1"])
        assert [place.base_url for place in places_to_look(config, server.url)][5:] == ["http://localhost:1/v1"]


def test_one_looks_on_this_machine_and_where_the_settings_say() -> None:
    config = LlmSettings(discover_urls=["http://nas.lan:11434", "https://models.example.org/openai/v1/"])

    places = places_to_look(config, "http://127.0.0.1:8080")

    assert places == [
        ServerAddress("Ollama", "http://127.0.0.1:11434/v1"),
        ServerAddress("LM Studio", "http://127.0.0.1:1234/v1"),
        ServerAddress("vLLM", "http://127.0.0.1:8000/v1"),
        ServerAddress("Jan", "http://127.0.0.1:1337/v1"),
        ServerAddress("nas.lan:11434", "http://nas.lan:11434/v1"),
        ServerAddress("models.example.org", "https://models.example.org/openai/v1"),
    ]
    assert places_to_look(LlmSettings(discover="off", discover_urls=["http://nas.lan"]), "http://127.0.0.1:1") == []
