"""server/gateway/connection.py: the socket's own manners."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Literal

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from server import config
from server.accounts.accounts import Accounts
from server.agent.chunks import LLMChunk
from server.bounded.fair_share import RESERVE_S, Share
from server.config import Secret
from server.gateway.auth import Authenticator
from server.gateway.connection import (
    LAST_TURN_S,
    PING_EVERY_S,
    SILENCE_S,
    Connection,
)
from server.gateway.dialect import ParleyDialect, RateLimiter
from server.gateway.http import auth_middleware
from server.gateway.routes import Routes
from server.gateway.websocket_server import WebSocketServer
from server.realtime.realtime_routes import RealtimeRoutes
from server.realtime.session_config import NO_TOOLS
from server.session.outbox import OutboxLimits
from tests.accounts.keys import SECRET, token
from tests.session.fakes import FakeAgent, Pause, SessionHarness
from tests.support.page_sessions import MemorySessions
from tests.support.waiting import LIMIT_S

UPGRADE = (
    b"GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)
TEXT, CLOSE, PING, PONG = 1, 8, 9, 10


class RawClient:
    """A WebSocket client that does nothing by itself."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, opcode: int, payload: bytes) -> None:
        length = len(payload)
        size = (
            [length] if length < 126 else [126, *length.to_bytes(2)] if length < 1 << 16 else [127, *length.to_bytes(8)]
        )
        self.writer.write(bytes([0x80 | opcode, 0x80 | size[0], *size[1:]]) + b"\0\0\0\0" + payload)

    async def receive(self) -> tuple[int, bytes]:
        first, length = await self.reader.readexactly(2)
        if length == 126:
            length = int.from_bytes(await self.reader.readexactly(2), "big")
        elif length == 127:
            length = int.from_bytes(await self.reader.readexactly(8), "big")
        return first & 0x0F, await self.reader.readexactly(length)

    async def until(self, opcode: int) -> bytes:
        while True:
            got, payload = await self.receive()
            if got == opcode:
                return payload


async def connect(
    port: int, *, path: str = "/ws", receive_buffer_bytes: int | None = None, token: str | None = None
) -> RawClient:
    raw = socket.socket()
    if receive_buffer_bytes is not None:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
    raw.setblocking(False)
    await asyncio.get_running_loop().sock_connect(raw, ("127.0.0.1", port))
    reader, writer = await asyncio.open_connection(sock=raw, limit=4096)
    bearer = b"" if token is None else f"Authorization: Bearer {token}\r\n".encode()
    writer.write(UPGRADE.replace(b"/ws", path.encode()).removesuffix(b"\r\n") + bearer + b"\r\n")
    await reader.readuntil(b"\r\n\r\n")
    return RawClient(reader, writer)


@dataclass
class Bench:
    """The WebSocket server with a scripted agent behind it."""

    harness: SessionHarness
    sockets: WebSocketServer
    port: int


@pytest.fixture
def agent() -> FakeAgent:
    return FakeAgent([[LLMChunk(text="Hi.")]])


@pytest.fixture
async def bench(agent: FakeAgent) -> AsyncIterator[Bench]:
    harness = SessionHarness(agent)
    limits = OutboxLimits(
        high_frames=4000, high_bytes=1 << 18, full_frames=8000, full_bytes=1 << 20, stall_s=0.1, close_s=3.0
    )
    security = config.SecuritySettings(jwt=config.JwtSettings(keys=[Secret(SECRET)], algorithms=["HS256"], leeway_s=0))
    accounts = Accounts(security, [b"a key"], MemorySessions())
    authenticator = Authenticator(config.ListenSettings(), security, [], accounts)
    sockets = WebSocketServer(harness.services, authenticator, harness.limits, outbox_limits=limits)
    app = web.Application()
    routes = Routes(app.router)
    app.middlewares.append(auth_middleware(authenticator, harness.metrics, routes))
    sockets.add_routes(routes)
    gate = harness.services.gate
    RealtimeRoutes(accounts, authenticator, sockets, model_name=str, server_tools=NO_TOOLS, gate=gate).add_routes(
        routes
    )
    async with TestServer(app) as server:
        assert server.port is not None
        yield Bench(harness, sockets, server.port)
        await sockets.aclose()


@pytest.mark.parametrize(
    ("path", "asks"),
    [
        ("/ws", b'{"type":"chat","messages":[{"role":"user","content":"hi"}]}'),
        ("/v1/realtime", b'{"type":"response.create","response":{"output_modalities":["text"]}}'),
    ],
)
async def test_a_client_that_does_not_read_is_told_4408_and_its_turn_is_over(
    bench: Bench, agent: FakeAgent, path: str, asks: bytes
) -> None:
    agent.turns = [[LLMChunk(text="x" * 60_000)] * 1000]
    slow = await connect(bench.port, path=path, receive_buffer_bytes=4096)
    slow.send(TEXT, asks)

    async with asyncio.timeout(LIMIT_S):
        while "parley_slow_clients_total 1.0" not in bench.harness.metrics.render().decode():  # noqa: ASYNC110 - no event
            await asyncio.sleep(0.02)
        payload = await slow.until(CLOSE)

    assert int.from_bytes(payload[:2], "big") == 4408
    assert agent.asked[0].is_closed
    slow.writer.close()


@pytest.mark.slow
async def test_a_client_that_never_reads_again_is_cut_off(bench: Bench, agent: FakeAgent) -> None:
    agent.turns = [[LLMChunk(text="x" * 60_000)] * 1000]
    slow = await connect(bench.port, receive_buffer_bytes=4096)
    slow.send(TEXT, b'{"type":"chat","messages":[{"role":"user","content":"hi"}]}')
    async with asyncio.timeout(LIMIT_S):
        await slow.until(TEXT)
        await bench.sockets.all_gone()

    slow.writer.close()


@pytest.mark.parametrize(("sent", "answer"), [(b"", b"\x03\xe8"), (b"\x03\xe9bye", b"\x03\xe9")])
async def test_a_clients_goodbye_is_answered_with_its_own_code(bench: Bench, sent: bytes, answer: bytes) -> None:
    me = await connect(bench.port)

    me.send(CLOSE, sent)

    assert await me.until(CLOSE) == answer
    assert await me.reader.read() == b""
    me.writer.close()


class Impatient(RateLimiter):
    """Has seen five seconds of it already."""

    def judge(self, now_s: float) -> Literal["close"]:
        return "close"


async def test_a_client_that_never_slows_down_is_told_4429(bench: Bench) -> None:
    me = await connect(bench.port)
    await me.until(TEXT)
    [connection] = bench.sockets.connections
    assert isinstance(connection.dialect, ParleyDialect)
    connection.dialect.rate = Impatient(1, 0.0)

    for _ in range(500):
        me.send(TEXT, b'{"type":"ping"}')

    assert int.from_bytes((await me.until(CLOSE))[:2], "big") == 4429
    me.writer.close()


async def test_a_user_who_has_taken_too_much_of_the_loop_waits_and_others_do_not(bench: Bench) -> None:
    greedy, other = (token(SECRET, "HS256", sub=name) for name in ("greedy", "other"))
    me = await connect(bench.port, token=greedy)
    him = await connect(bench.port, token=other)
    for client in (me, him):
        await client.until(TEXT)
    shares = bench.harness.services.loop_share
    shares.charge(Share("greedy"), 2 * RESERVE_S)

    me.send(PING, b"mine")
    him.send(PING, b"his")

    assert await him.until(PONG) == b"his"
    assert shares.waiting == 1
    assert await me.until(PONG) == b"mine"
    assert shares.waiting == 0
    for client in (me, him):
        client.writer.close()


async def test_a_ping_of_the_client_is_answered_with_its_words(bench: Bench) -> None:
    me = await connect(bench.port)

    me.send(PING, b"hello")

    assert await me.until(PONG) == b"hello"
    me.writer.close()


async def test_the_server_pings_and_gives_a_silent_client_up(bench: Bench) -> None:
    me = await connect(bench.port)
    await me.until(TEXT)
    [connection] = bench.sockets.connections
    now_s = asyncio.get_running_loop().time()

    connection.beat(now_s)
    connection.beat(now_s + PING_EVERY_S)
    assert await me.until(PING) == b""
    connection.beat(now_s + PING_EVERY_S + SILENCE_S - 1)
    assert bench.sockets.connections == {connection}
    connection.beat(now_s + PING_EVERY_S + SILENCE_S)

    await bench.sockets.all_gone()
    me.writer.close()


async def test_whatever_a_client_sends_after_a_ping_keeps_it(bench: Bench) -> None:
    me = await connect(bench.port)
    await me.until(TEXT)
    [connection] = bench.sockets.connections
    now_s = asyncio.get_running_loop().time()

    connection.beat(now_s + PING_EVERY_S)
    await me.until(PING)
    me.send(PONG, b"")
    me.send(PING, b"done")
    await me.until(PONG)
    connection.beat(now_s + PING_EVERY_S + SILENCE_S)

    assert isinstance(connection, Connection)
    assert await heard(me), "it was pinged again and is still there"
    me.writer.close()


@pytest.mark.parametrize("path", ["/ws", "/v1/realtime"])
async def test_a_client_in_the_midst_of_a_long_message_is_not_silent(bench: Bench, path: str) -> None:
    me, other = [await connect(bench.port, path=path) for _ in "ab"]
    await me.until(TEXT)
    now_s = asyncio.get_running_loop().time()
    message = bytes(1 << 20)

    beat(bench, now_s)
    beat(bench, now_s + PING_EVERY_S)
    me.writer.write(bytes([0x80 | TEXT, 0x80 | 127, *len(message).to_bytes(8)]) + b"\0\0\0\0" + message[:1000])
    assert await heard(other), "and what was sent before"
    beat(bench, now_s + PING_EVERY_S + SILENCE_S)
    me.writer.write(message[1000:])
    while b"error" not in await me.until(TEXT):
        pass  # it is read to its end, and answered

    beat(bench, now_s + 2 * (PING_EVERY_S + SILENCE_S))
    beat(bench, now_s + 3 * (PING_EVERY_S + SILENCE_S))
    await bench.sockets.all_gone()
    for client in (me, other):
        client.writer.close()


async def test_a_client_whose_messages_wait_is_not_silent(bench: Bench) -> None:
    """Nothing is read from a Realtime client that sends too fast, nor its answer to a ping."""
    me = await connect(bench.port, path="/v1/realtime")
    await me.until(TEXT)
    [connection] = bench.sockets.connections
    now_s = asyncio.get_running_loop().time()
    at_once = bench.harness.limits.max_frames_per_s
    for _ in range(at_once + 50):
        me.send(PING, b"")
    for _ in range(at_once):
        await me.until(PONG)

    connection.beat(now_s + PING_EVERY_S)
    connection.beat(now_s + PING_EVERY_S + SILENCE_S)

    assert await heard(me)
    me.writer.close()


async def heard(me: RawClient) -> bool:
    me.send(PING, b"still there?")
    while await me.until(PONG) != b"still there?":
        pass
    return True


# a login that ends


def beat(bench: Bench, now_s: float) -> None:
    for connection in bench.sockets.connections:
        connection.beat(now_s)


@pytest.mark.parametrize("grace_s", [0.0, LAST_TURN_S])
async def test_a_login_that_is_over_closes_the_connection_when_its_turn_is(
    bench: Bench, agent: FakeAgent, grace_s: float
) -> None:
    loop = asyncio.get_running_loop()
    pause = Pause()
    agent.turns = [[pause]]
    began_s = loop.time()
    me = await connect(bench.port, token=token(SECRET, "HS256", exp=time.time() + 60))
    if grace_s:
        me.send(TEXT, b'{"type":"chat","messages":[{"role":"user","content":"hi"}]}')
        await pause.reached.wait()
    beat(bench, began_s + 59)
    assert await heard(me)
    beat(bench, began_s + 60 + grace_s - 1)
    assert await heard(me)

    beat(bench, loop.time() + 61 + grace_s)

    assert (await me.until(CLOSE))[:2] == (4401).to_bytes(2, "big")
    me.writer.close()
