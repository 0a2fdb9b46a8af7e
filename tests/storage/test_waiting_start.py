"""A server that is started while its database is away: what it answers meanwhile, and how the wait ends."""

import asyncio
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.client import client
from tests.support.ports import lasting_port
from tests.support.postgres import Postgres
from tests.support.server_process import ServerProcess, endpoint
from tests.support.waiting import LIMIT_S

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


def server_for(folder: Path, storage: dict[str, Any]) -> ServerProcess:
    arguments = ("--port", str(lasting_port()))
    environ = endpoint("http://127.0.0.1:9/v1")
    return ServerProcess(folder, environ=environ, settings={"storage": storage}, arguments=arguments)


async def status(server: ServerProcess, path: str) -> int:
    """Return the status of the answer, 0 where no server listens."""
    address = f"http://127.0.0.1:{server.arguments[1]}{path}"
    try:
        return (await asyncio.to_thread(requests.get, address, timeout=LIMIT_S)).status_code
    except requests.ConnectionError:
        return 0


async def until_ok(server: ServerProcess, path: str, starting: "asyncio.Task[None]") -> None:
    async with asyncio.timeout(LIMIT_S):
        while await status(server, path) != 200:
            assert not starting.done() or starting.exception() is None, server.log()
            await asyncio.sleep(0.1)  # the server needs the processor, too


@asynccontextmanager
async def waiting(server: ServerProcess) -> AsyncIterator["asyncio.Task[None]"]:
    """A server that waits for its database when the block begins; the task ends when it has started."""
    starting = asyncio.create_task(asyncio.to_thread(server.start))
    try:
        await until_ok(server, "/healthz", starting)
        assert await status(server, "/readyz") == 503
        yield starting
    finally:
        await asyncio.to_thread(server.stop)
        await asyncio.gather(starting, return_exceptions=True)


async def test_a_server_started_without_its_database_serves_once_it_is_there(
    postgres: Postgres, tmp_path: Path
) -> None:
    url = postgres.new_database()
    postgres.stop()
    try:
        async with waiting(server := server_for(tmp_path, {"url": url})) as starting:
            assert await status(server, "/") == 503
            assert await status(server, "/ws") == 503
            assert server.lines == []

            await asyncio.to_thread(postgres.start)
            await starting
            async with client(server.ws_url) as me:
                assert me.frames[0]["type"] == "ready"
            await until_ok(server, "/readyz", starting)  # it loads its model
    finally:
        if not postgres.is_running:
            postgres.start()


async def test_sigterm_ends_the_wait_for_a_database_that_answers_nothing(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://127.0.0.1:{silent.getsockname()[1]}/db"
        server = server_for(tmp_path, {"url": url, "wait_s": 600})
        async with waiting(server):
            server.signal(signal.SIGTERM)
            assert await asyncio.to_thread(server.wait) == 0
