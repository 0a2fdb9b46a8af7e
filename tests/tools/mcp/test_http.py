"""MCP servers over HTTP that do not behave."""

import asyncio
import gzip
import json
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from server.config import McpServerSettings
from server.errors import ToolError
from server.subprocesses.lines import MAX_PARTS
from server.tools.mcp.transports import MAX_ANSWER_BYTES, MAX_ENTRIES
from tests.tools.mcp_scene import connected, says

Call = Callable[[web.Request, Any], Awaitable[web.StreamResponse]]


def answer(message: Any, **fields: Any) -> web.Response:
    return web.json_response({"jsonrpc": "2.0", "id": message["id"], **fields})


class Scripted:
    """Answers in JSON, as the protocol of 2025-06-18 allows; each tool is a function of the request."""

    def __init__(self, **tools: Call) -> None:
        self.tools = tools
        self.headers: list[str | None] = []
        self.status = 200
        self.refusal = "text/html"
        self.refusal_text = '{"error": "invalid_token"}'
        self.url = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.headers.append(request.headers.get("X-Key"))
        if self.status != 200:
            return web.Response(status=self.status, text=self.refusal_text, content_type=self.refusal)
        if request.method != "POST":
            return web.Response(status=405)
        message = await request.json()
        match message["method"]:
            case "initialize":
                info = {"name": "fake", "version": "1"}
                result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
                return answer(message, result=result)
            case "tools/list":
                tools = [{"name": name, "inputSchema": {"type": "object"}} for name in self.tools]
                return answer(message, result={"tools": tools})
            case "tools/call":
                return await self.tools[message["params"]["name"]](request, message)
            case _ if "id" in message:
                return answer(message, error={"code": -32601, "message": "Method not found"})
        return web.Response(status=202)


@asynccontextmanager
async def serving(**tools: Call) -> AsyncIterator[Scripted]:
    fake = Scripted(**tools)
    app = web.Application()
    app.router.add_route("*", "/mcp", fake.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    fake.url = f"http://127.0.0.1:{runner.addresses[0][1]}/mcp"
    try:
        yield fake
    finally:
        await runner.cleanup()


async def fine(_request: web.Request, message: Any) -> web.StreamResponse:
    return answer(message, result=says("fine"))


async def huge(_request: web.Request, message: Any) -> web.StreamResponse:
    return answer(message, result=says("x" * MAX_ANSWER_BYTES))


async def many(_request: web.Request, message: Any) -> web.StreamResponse:
    return answer(message, result={"content": [{"type": "text", "text": "x"}] * 3000})


PADDING = 16 << 20


async def packed(_request: web.Request, message: Any) -> web.StreamResponse:
    """An answer that is small on the wire alone: blanks, which JSON allows."""
    body = gzip.compress(json.dumps({"jsonrpc": "2.0", "id": message["id"]}).encode() + b" " * PADDING)
    return web.Response(body=body, content_type="application/json", headers={"Content-Encoding": "gzip"})


async def packed_events(_request: web.Request, message: Any) -> web.StreamResponse:
    """More than the limit of an answer in comments, which are nobody's event."""
    last = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": says("done")})
    body = gzip.compress((b": " + b"x" * 1022 + b"\n\n") * (16 << 10) + f"data: {last}\n\n".encode())
    return web.Response(body=body, content_type="text/event-stream", headers={"Content-Encoding": "gzip"})


async def parts(_request: web.Request, message: Any) -> web.StreamResponse:
    return answer(message, result=says("fine") | {"_meta": {"x": [[]] * MAX_PARTS}})


async def parts_in_an_event(_request: web.Request, message: Any) -> web.StreamResponse:
    told = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": says("x") | {"_meta": {"x": [[]] * MAX_PARTS}}})
    data = "\r\ndata: ".join(told[at : at + 50_000] for at in range(0, len(told), 50_000))
    return web.Response(text=f"event: message\r\ndata: {data}\r\n\r\n", content_type="text/event-stream")


async def many_events(_request: web.Request, message: Any) -> web.StreamResponse:
    """More parts than one message may have, in many."""
    log = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": [[]] * 1000}}
    last = {"jsonrpc": "2.0", "id": message["id"], "result": says("done")}
    events = [*[log] * (2 * MAX_PARTS // 1000), last]
    text = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    return web.Response(text=text, content_type="text/event-stream")


async def odd(_request: web.Request, _message: Any) -> web.StreamResponse:
    return web.Response(text="<html>hello</html>", content_type="text/html")


async def hang(_request: web.Request, _message: Any) -> web.StreamResponse:
    await asyncio.Event().wait()
    return web.Response()


async def flood(request: web.Request, message: Any) -> web.StreamResponse:
    """Requests of its own, without end, before the answer."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for number in range(2000):
        ping = json.dumps({"jsonrpc": "2.0", "id": f"theirs-{number}", "method": "ping"})
        await response.write(f"event: message\ndata: {ping}\n\n".encode())
    last = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": says("done")})
    await response.write(f"event: message\ndata: {last}\n\n".encode())
    return response


async def test_what_the_operator_wrote_into_the_headers_is_sent() -> None:
    async with serving(fine=fine) as fake, connected(McpServerSettings(url=fake.url, headers={"X-Key": "k"})) as scene:
        assert (await scene.call("s__fine")).for_llm == "fine"
        assert set(fake.headers) == {"k"}


async def test_an_answer_beyond_the_limit_costs_its_call_only() -> None:
    async with serving(huge=huge, fine=fine) as fake, connected(McpServerSettings(url=fake.url)) as scene:
        with pytest.raises(
            ToolError, match="refused the call: Failed to parse JSON response: an answer of more than 8 MiB"
        ):
            await scene.call("s__huge")

        assert (await scene.call("s__fine")).for_llm == "fine"
        assert scene.notices == []


async def test_a_packed_answer_is_limited_by_what_it_unpacks_to() -> None:
    async with (
        serving(packed=packed, packed_events=packed_events, fine=fine) as fake,
        connected(McpServerSettings(url=fake.url)) as scene,
    ):
        with pytest.raises(ToolError, match="an answer of more than 8 MiB"):
            await scene.call("s__packed")

        assert (await scene.call("s__packed_events")).for_llm == "done"
        assert (await scene.call("s__fine")).for_llm == "fine"


async def test_an_answer_of_too_many_parts_costs_its_call_only() -> None:
    async with (
        serving(parts=parts, parts_in_an_event=parts_in_an_event, many_events=many_events) as fake,
        connected(McpServerSettings(url=fake.url)) as scene,
    ):
        with pytest.raises(ToolError, match="an answer of more than 100000 objects and lists"):
            await scene.call("s__parts")
        with pytest.raises(ToolError):
            await scene.call("s__parts_in_an_event")

        assert (await scene.call("s__many_events")).for_llm == "done"


async def test_an_answer_that_is_no_answer_costs_its_call_only() -> None:
    async with serving(odd=odd, fine=fine) as fake, connected(McpServerSettings(url=fake.url)) as scene:
        with pytest.raises(ToolError, match="Unexpected content type: text/html"):
            await scene.call("s__odd")

        assert (await scene.call("s__fine")).for_llm == "fine"


async def test_a_call_that_hangs_is_given_up_and_costs_no_other() -> None:
    async with serving(hang=hang, fine=fine) as fake, connected(McpServerSettings(url=fake.url)) as scene:
        hanging = asyncio.create_task(scene.call("s__hang"))
        assert (await scene.call("s__fine")).for_llm == "fine"

        hanging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hanging
        assert (await scene.call("s__fine")).for_llm == "fine"


async def test_a_flood_of_requests_before_an_answer_is_thinned() -> None:
    async with serving(flood=flood) as fake, connected(McpServerSettings(url=fake.url)) as scene:
        assert (await scene.call("s__flood")).for_llm == "done"

        assert len(fake.headers) < 200


async def test_a_server_that_no_longer_lets_us_in_is_lost_until_it_does() -> None:
    async with serving(fine=fine) as fake, connected(McpServerSettings(url=fake.url), heartbeat_s=0.05) as scene:
        fake.status = 401
        await scene.until(lambda: scene.notices == ["mcp_server_lost"])
        fake.status = 200
        await scene.until(lambda: scene.notices == ["mcp_server_lost", "mcp_server_back"])

        assert (await scene.call("s__fine")).for_llm == "fine"


CURE = ": check url and headers in tools.mcp"
REFUSAL = json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32001, "message": "token expired"}})


@pytest.mark.parametrize(("status", "cure"), [(401, CURE), (403, CURE), (429, ""), (503, "")])
@pytest.mark.parametrize(
    ("kind", "sent", "own"),
    [
        ("text/html", "<html>", ""),
        ("application/json", '{"error": "invalid_token"}', ""),
        ("application/json", REFUSAL, r" \(token expired\)"),
    ],
    ids=["page", "json", "json-rpc"],
)
async def test_a_server_that_refuses_us_is_lost_with_the_status_and_its_own_words(
    status: int, cure: str, kind: str, sent: str, own: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="server.tools.mcp.mcp_connection")
    async with serving(fine=fine) as fake:
        fake.status, fake.refusal, fake.refusal_text = status, kind, sent
        async with connected(McpServerSettings(url=fake.url), waits=False) as scene:
            await scene.until(lambda: scene.notices == ["mcp_server_lost"])

    assert re.search(f"is lost: HTTP {status}{cure}{own}$", caplog.text, re.MULTILINE)


async def test_of_a_result_in_thousands_of_pieces_the_first_are_read() -> None:
    async with serving(many=many) as fake, connected(McpServerSettings(url=fake.url)) as scene:
        assert len((await scene.call("s__many")).for_llm.splitlines()) == MAX_ENTRIES


async def test_a_connection_can_be_given_up_at_any_moment_of_its_loss() -> None:
    async with serving(fine=fine) as fake:
        for moment in range(40):
            fake.status = 200
            async with connected(McpServerSettings(url=fake.url), heartbeat_s=0.01), asyncio.timeout(20):
                fake.status = 401
                await asyncio.sleep(moment / 1000)
