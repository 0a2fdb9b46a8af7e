"""deploy/nginx/parley.conf before two real servers: restarts, a user at the limit, a server that comes back, the login."""

import asyncio
import re
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import requests
from websockets.exceptions import InvalidStatus

from tests.support.client import client
from tests.support.nginx import Nginx, find_nginx
from tests.support.ports import lasting_port
from tests.support.server_process import ServerProcess, endpoint, running_together
from tests.support.visitors import all_connected, visitors
from tests.support.waiting import LIMIT_S

USERS = ("ops", "anna", "greta")
PER_USER = 20
MOST_REFUSALS = 2
"""Attempts of a client that may fail in an outage; with `max_fails=1` they fail for `fail_timeout`, 10 s, or much longer."""

Servers = tuple[ServerProcess, ServerProcess]

pytestmark = pytest.mark.timeout(120)


def token(user: str) -> str:
    return f"{user}-token-of-more-than-enough-length-0123456789"


def login(user: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token(user)}"}


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Two servers with one data folder, each on a port that it keeps over restarts."""
    folder = tmp_path_factory.mktemp("servers")
    settings: dict[str, Any] = {
        "security": {
            "trust_loopback": False,
            "tokens": [{"user": user, "token": token(user), "operator": user == "ops"} for user in USERS],
        },
        "proxies": ["127.0.0.1"],
        "limits": {"per_user": PER_USER},
    }
    environ = {**endpoint("http://127.0.0.1:9/v1"), "PARLEY_DATA__DIR": str(folder / "shared")}
    made = []
    for name in ("one", "two"):
        (folder / name).mkdir()
        port = str(lasting_port())
        made.append(ServerProcess(folder / name, environ=environ, settings=settings, arguments=("--port", port)))
    with running_together(made):
        yield made[0], made[1]


@pytest.fixture
def nginx(servers: Servers, tmp_path: Path) -> Iterator[Nginx]:
    program = find_nginx()
    if program is None:
        pytest.skip("no nginx: apt install nginx, or name it with NGINX=/path/to/nginx")
    with Nginx(program, tmp_path / "nginx", [int(server.url.rpartition(":")[2]) for server in servers]) as running:
        yield running


async def restart(server: ServerProcess) -> None:
    await asyncio.to_thread(server.stop)
    await asyncio.to_thread(server.start)


def connections(server: ServerProcess) -> int:
    shown = requests.get(f"{server.url}/metrics", headers=login("ops"), timeout=LIMIT_S).text
    [found] = re.findall(r"(?m)^parley_connections (\d+)", shown)
    return int(found)


async def test_a_rolling_restart_brings_every_client_back_at_once(servers: Servers, nginx: Nginx) -> None:
    async with visitors(nginx.ws_url, 12, login("anna")) as everybody:
        for server in servers:
            await restart(server)
        await all_connected(everybody)

        assert sum(map(connections, servers)) == len(everybody)
        assert max(refused for visitor in everybody for refused in visitor.refusals) <= MOST_REFUSALS


async def test_a_user_at_the_limit_shuts_nobody_else_out(servers: Servers, nginx: Nginx) -> None:
    async with AsyncExitStack() as held:
        for _ in range(2 * PER_USER):
            await held.enter_async_context(client(nginx.ws_url, additional_headers=login("greta")))
        for _ in range(5):
            with pytest.raises(InvalidStatus) as refused:
                await held.enter_async_context(client(nginx.ws_url, additional_headers=login("greta")))
            assert refused.value.response.status_code == 503
            assert refused.value.response.headers["Retry-After"] == "5"
            for _ in range(4):
                page = await asyncio.to_thread(requests.get, nginx.url + "/login", timeout=LIMIT_S)
                assert page.status_code == 200
                async with client(nginx.ws_url, additional_headers=login("anna")) as me:
                    assert me.frames[0]["type"] == "ready"


async def test_a_server_that_is_back_gets_the_next_clients(servers: Servers, nginx: Nginx) -> None:
    one, two = servers
    await asyncio.to_thread(one.stop)
    async with visitors(nginx.ws_url, 8, login("anna")):
        await asyncio.to_thread(one.start)
        async with visitors(nginx.ws_url, 8, login("anna")):
            assert connections(one) >= 6, "new clients go where fewest are"
            assert connections(two) <= 10


async def test_the_login_page_is_served_on_any_port(servers: Servers, nginx: Nginx) -> None:
    answer = await asyncio.to_thread(
        requests.post,
        nginx.url + "/api/login",
        json={"token": token("anna")},
        headers={"Origin": nginx.url},
        timeout=LIMIT_S,
    )

    assert answer.ok, answer.text
