"""A proxy before `/v1/realtime` that checks every event on its way to a client that is not ours."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import ClientSession, ClientWebSocketResponse, WSMsgType, web

from tests.support.realtime_types import RealtimeEventChecker

Sockets = ClientWebSocketResponse | web.WebSocketResponse


@dataclass
class RealtimeProxy:
    target: str
    session: ClientSession
    url: str = ""
    checked: int = 0
    """Events that passed."""
    problems: list[str] = field(default_factory=list)
    """What was wrong with some."""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("Upgrade", "").lower() == "websocket":
            return await self._pass_on(request)
        headers = {name: request.headers[name] for name in ("Authorization", "Content-Type") if name in request.headers}
        asked = self.session.request(
            request.method, self.target + request.path_qs, data=await request.read(), headers=headers
        )
        async with asked as answer:
            return web.Response(body=await answer.read(), status=answer.status, content_type=answer.content_type)

    async def _pass_on(self, request: web.Request) -> web.StreamResponse:
        names = request.headers.get("Sec-WebSocket-Protocol", "")
        protocols = [name.strip() for name in names.split(",") if name.strip()]
        headers = {name: request.headers[name] for name in ("Authorization",) if name in request.headers}
        connecting = self.session.ws_connect(
            self.target + request.path_qs, headers=headers, protocols=protocols, max_msg_size=0
        )
        async with connecting as server:
            client = web.WebSocketResponse(protocols=[server.protocol] if server.protocol else (), max_msg_size=0)
            await client.prepare(request)
            checker = RealtimeEventChecker()
            down = asyncio.create_task(self._pump(server, client, checker))
            await self._pump(client, server, None)
            await server.close()
            await down
            await client.close()
            return client

    async def _pump(self, source: Sockets, sink: Sockets, checker: RealtimeEventChecker | None) -> None:
        async for message in source:
            if message.type is WSMsgType.TEXT and not sink.closed:
                if checker is not None:
                    self._check(checker, message.data)
                await sink.send_str(message.data)
        await sink.close()

    def _check(self, checker: RealtimeEventChecker, data: str) -> None:
        try:
            checker.check(json.loads(data))
            self.checked += 1
        except (AssertionError, KeyError) as problem:
            self.problems.append(f"{problem!r}: {data[:500]}")


@asynccontextmanager
async def realtime_proxy(target: str) -> AsyncIterator[RealtimeProxy]:
    async with ClientSession(auto_decompress=False) as session:
        proxy = RealtimeProxy(target, session)
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", proxy.handle)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        proxy.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield proxy
        finally:
            await runner.cleanup()
