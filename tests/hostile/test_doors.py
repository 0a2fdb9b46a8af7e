"""Requests that no browser sends, byte by byte, before the real server in its own process."""

import asyncio
import json
import re
import socket
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest
from aiohttp import ClientSession, DummyCookieJar, web
from msgspec import structs

from server import config
from server.accounts.accounts import Accounts
from server.gateway.auth import Authenticator
from server.gateway.http import STRANGERS, USERS, RequestBodies, auth_middleware, connection_factory
from server.gateway.routes import Access, Routes
from server.metrics import Metrics
from tests.accounts.keys import SECRET, token
from tests.support.client import client
from tests.support.page_sessions import MemorySessions
from tests.support.server_process import ServerProcess
from tests.support.waiting import LIMIT_S

ANNA = "annas-token-0123456789"
NOWHERE = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_MODEL": "none"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    settings = {
        "security": {
            "tokens": [{"user": "anna", "token": ANNA}],
            "jwt": {"keys": [SECRET], "algorithms": ["HS256"]},
        },
        "log": {"level": "debug"},
    }
    with ServerProcess(tmp_path_factory.mktemp("doors"), environ=NOWHERE, settings=settings) as process:
        yield process


def ask(server: ServerProcess, *lines: str | bytes, body: bytes = b"", only_head: bool = False) -> bytes:
    """What the server answers to these lines until it closes; empty where it merely closes."""
    data = b"\r\n".join(line if isinstance(line, bytes) else line.encode() for line in lines)
    with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), LIMIT_S) as raw:
        raw.sendall(data + b"\r\nConnection: close\r\n\r\n" + body)
        got = b""
        try:
            while chunk := raw.recv(65_536):
                got += chunk
                if only_head and b"\r\n\r\n" in got:
                    break  # it reads the rest of what we send for a while, so that its answer is not lost
        except ConnectionResetError:
            pass  # it has said what it had to say while we still sent
    return got


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def serves(server: ServerProcess) -> bool:
    return status(ask(server, "GET / HTTP/1.1", "Host: localhost")) == 200


# other pages: rebound names, foreign and missing origins


HOSTS = [
    "evil.example",
    "localhost.evil.example",
    "localhost@evil.example",
    "evil.example:80@localhost",
    "127.0.0.1.evil.example",
    "localhost:8765:80",
    "localhost#.evil.example",
    "localhost/.evil.example",
    "localhost, evil.example",
    "0x7f.1",
    "2130706433",
    "[::1",
    "[::1].evil.example",
    "",
    " ",
]


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("path", ["/", "/ws", "/api/session", "/metrics", "/login"])
def test_a_name_that_is_not_ours_gets_nothing(server: ServerProcess, path: str, host: str) -> None:
    assert status(ask(server, f"GET {path} HTTP/1.1", f"Host: {host}")) in (400, 403)


def test_one_host_header_is_needed_and_no_more(server: ServerProcess) -> None:
    assert status(ask(server, "GET / HTTP/1.1", "X: y")) in (400, 403)
    assert status(ask(server, "GET / HTTP/1.1", "Host: localhost", "Host: evil.example")) in (400, 403)
    assert status(ask(server, "GET / HTTP/1.1", "Host: localhost", "Host: localhost")) in (400, 403)


ORIGINS = ["null", "https://evil.example", "http://localhost.evil.example", "http://localhost:1", "file://", "", "*"]


@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize("path", ["/", "/ws", "/api/login", "/api/session"])
def test_a_page_that_is_not_ours_gets_nothing(server: ServerProcess, path: str, origin: str) -> None:
    method = "POST" if path == "/api/login" else "GET"
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Origin: {origin}", "Content-Length: 0"]

    assert status(ask(server, *lines)) == 403


@pytest.mark.parametrize(
    "more",
    [
        ["Origin: https://evil.example"],
        ["Origin: https://evil.example", "Access-Control-Request-Method: POST"],
        ["Origin: http://localhost", "Access-Control-Request-Method: POST"],
    ],
)
def test_no_answer_lets_another_page_read_it(server: ServerProcess, more: list[str]) -> None:
    for method in ("GET", "OPTIONS"):
        answer = ask(server, f"{method} /api/session HTTP/1.1", "Host: localhost", *more)

        assert b"access-control-" not in answer.lower()


# injection: into headers, into the next request, into the log


@pytest.mark.parametrize(
    "path", ["/%0d%0aSet-Cookie:%20a=b", "/login%0d%0aX-Evil:%201", "/?a=%0d%0aX-Evil:%201", "/%00"]
)
def test_nothing_of_an_address_becomes_a_header(server: ServerProcess, path: str) -> None:
    head = ask(server, f"GET {path} HTTP/1.1", "Host: localhost", "Via: x", "Accept: text/html").split(b"\r\n\r\n")[0]

    assert b"x-evil" not in head.lower()
    assert b"set-cookie" not in head.lower()


@pytest.mark.parametrize(
    "lines",
    [
        ["Transfer-Encoding: chunked", "Content-Length: 4"],
        ["Content-Length: 4", "Content-Length: 5"],
        ["Content-Length: +4"],
        ["Content-Length: -1"],
        ["Content-Length: 0x4"],
        ["Transfer-Encoding: chunked, identity"],
        ["Transfer-Encoding : chunked"],
        ["X: a", " b: folded"],
        ["X\x00: a"],
        ["X: a\x00b"],
        ["no colon"],
        [": no name"],
    ],
)
def test_a_request_that_two_servers_could_read_differently_is_refused(server: ServerProcess, lines: list[str]) -> None:
    """Behind a proxy the difference would be a second request, made in somebody else's name."""
    smuggled = b"0\r\n\r\nGET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
    start = ["POST /api/login HTTP/1.1", "Host: localhost", "Content-Type: application/json"]

    answer = ask(server, *start, *lines, body=smuggled)

    assert status(answer) == 400
    assert b"parley_connections" not in answer
    assert serves(server)


async def test_the_log_keeps_its_lines_and_holds_no_credential(server: ServerProcess) -> None:
    jwt = token(SECRET, "HS256", sub="ben")
    forged = token(SECRET, "HS256", sub="x\r\n00:00:00 INFO    server: user ops has logged in")
    async with ClientSession(cookie_jar=DummyCookieJar()) as http:
        for given in (ANNA, jwt, forged):
            async with http.post(f"{server.url}/api/login", json={"token": given}) as answer:
                cookies = answer.headers.getall("Set-Cookie", [])
                assert (answer.status == 200) is bool(cookies) is (given is not forged)
                key = (await answer.json()).get("key", "")
            session = cookies[0].split(";")[0].partition("=")[2] if cookies else ""
            shown = {"Cookie": f"parley={session}", "Parley-Session-Key": key}
            async with http.get(f"{server.url}/?token={given}", headers=shown) as answer:
                assert answer.status == 200
            if cookies:
                assert session not in server.log()
                assert key not in server.log()
    async with client(server.ws_url, subprotocols=["parley.v1", f"parley.bearer.{jwt}"]) as me:
        await me.pong()
    async with client(server.ws_url, subprotocols=["parley.bearer.wrong-token-in-a-protocol"], greeted=False) as me:
        assert await me.closed() == 4401

    log = server.log()
    for secret in (ANNA, jwt, forged, SECRET, "wrong-token-in-a-protocol"):
        assert secret not in log
    assert "user ben has logged in" in log
    assert not re.search("(?m)^00:00:00", log)


# too much


@pytest.mark.parametrize(
    "lines",
    [
        ["GET /" + "a" * 40_000 + " HTTP/1.1", "Host: localhost"],
        ["GET / HTTP/1.1", "Host: localhost", "X: " + "a" * 20_000],
        ["GET / HTTP/1.1", "Host: localhost", "X" * 20_000 + ": a"],
        ["GET / HTTP/1.1", "Host: localhost", *(f"X{number}: a" for number in range(1000))],
        ["GET / HTTP/1.1", "Host: localhost", "Cookie: " + "; ".join(f"c{number}=x" for number in range(5000))],
        ["GET / HTTP/1.1", "Host: localhost", f"Authorization: Bearer {'x' * 20_000}"],
        ["GET /ws HTTP/1.1", "Host: localhost", f"Sec-WebSocket-Protocol: parley.bearer.{'x' * 20_000}"],
    ],
    ids=["address", "header", "name", "headers", "cookies", "bearer", "subprotocol"],
)
def test_headers_without_end_are_refused(server: ServerProcess, lines: list[str]) -> None:
    assert status(ask(server, *lines)) in (400, 414, 431)
    assert serves(server)


def test_many_small_cookies_hide_none_and_plant_none(server: ServerProcess) -> None:
    many = "; ".join(f"c{number}=x" for number in range(800))

    assert status(ask(server, "GET / HTTP/1.1", "Host: localhost", f"Cookie: {many}")) == 200
    assert status(ask(server, "GET / HTTP/1.1", "Host: localhost", f"Cookie: {many}; parley=v1.x.y", "Via: x")) == 401


def test_a_body_without_end_is_refused_before_it_is_read(server: ServerProcess) -> None:
    start = ["POST /api/login HTTP/1.1", "Host: localhost", "Content-Type: application/json"]

    told = ask(server, *start, "Content-Length: 99999999999", body=b"x" * 4_000_000, only_head=True)
    assert status(told) == 413
    chunked = b"1000000\r\n" + b"x" * 4_000_000
    assert status(ask(server, *start, "Transfer-Encoding: chunked", body=chunked, only_head=True)) == 413
    assert serves(server)


STRANGER = ["POST /api/login HTTP/1.1", "Host: localhost", "Via: x", "Content-Type: application/json"]


@pytest.mark.parametrize("who", [["Via: x"], [], [f"Authorization: Bearer {ANNA}"]], ids=["stranger", "local", "user"])
@pytest.mark.parametrize("asked", ["POST /api/login", "POST /api/policy", "GET /healthz", "GET /ws"])
def test_a_packed_body_is_refused_before_it_is_unpacked(server: ServerProcess, asked: str, who: list[str]) -> None:
    packed = zlib.compress(json.dumps({"token": "x" * 5_000_000}).encode())
    lines = [f"{asked} HTTP/1.1", "Host: localhost", *who, "Content-Type: application/json"]

    answer = ask(server, *lines, "Content-Encoding: deflate", f"Content-Length: {len(packed)}", body=packed)

    assert status(answer) == (401 if who == ["Via: x"] and asked == "POST /api/policy" else 415)
    assert serves(server)


def test_a_stranger_sends_no_more_than_a_token_takes(server: ServerProcess) -> None:
    small = json.dumps({"token": "x" * 8000}).encode()
    large = b" " * (8 << 10) + b"{}"
    chunked = b"2\r\n{}\r\n0\r\n\r\n"

    assert status(ask(server, *STRANGER, f"Content-Length: {len(small)}", body=small)) == 401
    assert status(ask(server, *STRANGER, f"Content-Length: {len(large)}", body=large)) == 413
    assert status(ask(server, *STRANGER, "Transfer-Encoding: chunked", body=chunked)) == 411


@pytest.mark.slow
def test_with_auth_none_a_visitor_may_send_as_much_as_a_user(tmp_path: Path) -> None:
    put = ["PUT /api/hooks/config HTTP/1.1", "Host: localhost", "Via: x", "Content-Type: application/json"]
    large = b" " * (8 << 10) + b"{}"

    with ServerProcess(tmp_path, environ=NOWHERE, settings={"security": {"auth": "none"}}) as server:
        assert status(ask(server, *put, f"Content-Length: {len(large)}", body=large)) not in (411, 413)
        assert status(ask(server, *put, f"Content-Length: {2 << 20}", only_head=True)) == 413


@pytest.mark.slow
async def test_bodies_of_strangers_take_next_to_no_memory(server: ServerProcess) -> None:
    """400 packed bodies that never end would unpack to 400 MB; as many plain ones of 1 MiB would be as much."""
    packer = zlib.compressobj()
    packed = packer.compress(b" " * 1_000_000) + packer.flush(zlib.Z_SYNC_FLUSH)
    bodies = [(["Content-Encoding: deflate"], packed), ([], b" " * 1_000_000)]
    before = psutil.Process(server.pid).memory_info().rss
    writers: list[asyncio.StreamWriter] = []
    for number in range(400):
        more, body = bodies[number % 2]
        _, writer = await asyncio.open_connection("127.0.0.1", int(server.url.rpartition(":")[2]))
        lines = [*STRANGER, *more, f"Content-Length: {len(body) + 1}"]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        writers.append(writer)
    for _ in range(20):
        assert await asyncio.to_thread(serves, server)
    after = psutil.Process(server.pid).memory_info().rss
    for writer in writers:
        writer.close()

    assert after - before < 100 << 20, f"{(after - before) >> 20} MiB"


# too slow: the same limits, made short


@asynccontextmanager
async def impatient(*, keepalive_s: float = 60.0, bodies: RequestBodies | None = None) -> AsyncIterator[int]:
    """The port of a door that waits for next to nothing."""
    security = config.SecuritySettings()
    authenticator = Authenticator(
        config.ListenSettings(), security, [], Accounts(security, [b"a key"], MemorySessions())
    )
    app = web.Application()
    routes = Routes(app.router)
    app.middlewares.append(auth_middleware(authenticator, Metrics(), routes, bodies))
    routes.add("POST", "/", _echo)
    routes.add("POST", "/login", _echo, Access.EVERYONE)
    runner = web.AppRunner(app, shutdown_timeout=1.0)
    await runner.setup()
    connect = connection_factory(runner, keepalive_s=keepalive_s)
    listener = await asyncio.get_running_loop().create_server(connect, "127.0.0.1", 0)
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        listener.close()
        await runner.cleanup()


async def _echo(request: web.Request) -> web.Response:
    return web.Response(body=await request.read())


async def dripped(port: int, start: bytes, drop: bytes) -> bytes:
    """What the server says to one who sends a little all the time, until it closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(start)

    async def drip() -> None:
        while True:
            writer.write(drop)
            await asyncio.sleep(0.01)

    dripping = asyncio.create_task(drip(), name="drip")
    try:
        async with asyncio.timeout(LIMIT_S):
            return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        return error.partial
    except ConnectionResetError:
        return b""
    finally:
        dripping.cancel()
        writer.close()


@pytest.mark.parametrize("start", [b"GET /", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: "])
async def test_headers_that_never_end_lose_their_connection(start: bytes) -> None:
    async with impatient(keepalive_s=0.2) as port:
        assert await dripped(port, start, b"a") == b""


@pytest.mark.parametrize("who", [b"", b"Via: x\r\n"], ids=["user", "stranger"])
async def test_a_body_that_never_ends_is_told_so(who: bytes) -> None:
    start = b"POST /login HTTP/1.1\r\nHost: localhost\r\n" + who + b"Content-Length: 8000\r\n\r\n"
    soon = {
        name: structs.replace(limits, slowest_s=0.2) for name, limits in (("strangers", STRANGERS), ("users", USERS))
    }
    async with impatient(bodies=RequestBodies(**soon)) as port:
        assert (await dripped(port, start, b"a")).startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize("limit", ["in_flight", "in_flight_of_address"])
async def test_no_more_bytes_of_strangers_are_read_at_once_than_the_limit(limit: str) -> None:
    start = b"POST /login HTTP/1.1\r\nHost: localhost\r\nVia: x\r\nContent-Length: 600\r\n\r\n"
    few = structs.replace(STRANGERS, slowest_s=60.0, **{limit: 1000})
    async with impatient(bodies=RequestBodies(strangers=few)) as port:
        first, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(start)
        assert (await dripped(port, start, b"")).startswith(b"HTTP/1.1 503")

        writer.write(b"a" * 600)
        assert await first.readuntil(b"\r\n") == b"HTTP/1.1 200 OK\r\n"
        second, writer_of_second = await asyncio.open_connection("127.0.0.1", port)
        writer_of_second.write(start + b"a" * 600)
        assert await second.readuntil(b"\r\n") == b"HTTP/1.1 200 OK\r\n"
        writer.close()
        writer_of_second.close()


async def test_a_body_that_comes_in_pieces_is_read_whole() -> None:
    async with impatient() as port, ClientSession() as http:

        async def pieces() -> AsyncIterator[bytes]:
            for _ in range(5):
                yield b"piece "
                await asyncio.sleep(0)

        async with http.post(f"http://127.0.0.1:{port}/", data=pieces()) as answer:
            assert await answer.read() == b"piece " * 5
