"""deploy/systemd/: two processes as the unit starts them, with the configuration beside it, behind nginx.

No systemd runs here: the command line, the environment and the folder of the unit
are taken as they stand, with the three folders of an installation elsewhere.
"""

import asyncio
import re
import shlex
from collections import defaultdict
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import requests

from server.config import Config
from tests.support.client import client
from tests.support.nginx import Nginx, find_nginx
from tests.support.ports import lasting_port
from tests.support.server_process import ROOT, ServerProcess, running_together
from tests.support.waiting import LIMIT_S, wait_until

SYSTEMD = ROOT / "deploy/systemd"
TOKEN = "operator-token-of-more-than-enough-length-0123456789"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}

pytestmark = pytest.mark.timeout(120)


def unit() -> dict[str, list[str]]:
    """The values of each key of the unit file; a key may stand several times."""
    found = defaultdict(list)
    for line in (SYSTEMD / "parley@.service").read_text("utf-8").splitlines():
        if "=" in line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found[key].append(value)
    return found


class Machine:
    """Where the folders of an installation are in a test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._places = {"/srv/parley": ROOT, "/etc/parley": folder / "etc", "/var/lib/parley": folder / "state"}
        (folder / "etc").mkdir()
        (folder / "state").mkdir()
        (folder / "etc/parley.yaml").write_text(self.located((SYSTEMD / "parley.yaml").read_text("utf-8")))
        (folder / "etc/operator_token").write_text(f"{TOKEN}\n")

    def located(self, text: str) -> str:
        for place, here in self._places.items():
            text = text.replace(place, str(here))
        return text

    def instance(self, port: int) -> ServerProcess:
        """The process of parley@PORT.service."""
        [command] = unit()["ExecStart"]
        [working_directory] = unit()["WorkingDirectory"]
        assert self.located(working_directory) == str(ROOT), "where ServerProcess starts it"
        (self.folder / str(port)).mkdir()
        return ServerProcess(
            self.folder / str(port),
            environ=dict(self.located(line).split("=", 1) for line in unit()["Environment"]),
            command=shlex.split(self.located(command).replace("%i", str(port))),
            arguments=(),
        )


@pytest.fixture(scope="module")
def instances(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[ServerProcess]]:
    machine = Machine(tmp_path_factory.mktemp("machine"))
    made = [machine.instance(lasting_port()) for _ in range(2)]
    with running_together(made):
        yield made


@pytest.fixture(scope="module")
def nginx(instances: list[ServerProcess], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nginx]:
    program = find_nginx()
    if program is None:
        pytest.skip("no nginx: apt install nginx, or name it with NGINX=/path/to/nginx")
    ports = [int(instance.url.rpartition(":")[2]) for instance in instances]
    with Nginx(program, tmp_path_factory.mktemp("nginx"), ports) as running:
        yield running


def test_nobody_is_local_behind_nginx(nginx: Nginx) -> None:
    assert requests.get(nginx.url + "/api/hooks/config", timeout=LIMIT_S).status_code == 401


async def test_clients_are_shared_between_the_processes(nginx: Nginx, instances: list[ServerProcess]) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(6):
            await stack.enter_async_context(client(nginx.ws_url, additional_headers=HEADERS))

        assert [await asyncio.to_thread(connections, instance) for instance in instances] == [3, 3]


def connections(instance: ServerProcess) -> int:
    shown = requests.get(instance.url + "/metrics", headers=HEADERS, timeout=LIMIT_S).text
    [found] = re.findall(r"(?m)^parley_connections (\d+)", shown)
    return int(found)


def test_what_is_stored_at_one_process_is_in_force_at_the_other(instances: list[ServerProcess]) -> None:
    here, there = (f"{instance.url}/api/hooks/config?scope=user" for instance in instances)
    document: Any = {"tool_skip": [{"type": "audit_log", "filter": {"tools": ["current_time"]}}]}
    requests.post(here, json=document, headers={**HEADERS, "If-Match": "*"}, timeout=LIMIT_S).raise_for_status()
    version = requests.get(here, headers=HEADERS, timeout=LIMIT_S).headers["ETag"]

    wait_until(lambda: requests.get(there, headers=HEADERS, timeout=LIMIT_S).headers["ETag"] == version)


async def test_the_site_and_a_login_outlast_the_restart_of_each_process(
    nginx: Nginx, instances: list[ServerProcess]
) -> None:
    with requests.Session() as session:
        login = session.post(
            nginx.url + "/api/login", json={"token": TOKEN}, headers={"Origin": nginx.url}, timeout=LIMIT_S
        )
        session.headers["Parley-Session-Key"] = login.json()["key"]
        for instance in instances:
            assert await asyncio.to_thread(instance.stop) == 0
            who = await asyncio.to_thread(session.get, nginx.url + "/api/session", timeout=LIMIT_S)
            assert who.json()["user"] == "operator"
            async with client(nginx.ws_url, additional_headers=HEADERS) as me:
                assert me.frames[0]["type"] == "ready"
            await asyncio.to_thread(instance.start)


def test_systemd_lets_running_turns_end_and_starts_again_what_has_ended() -> None:
    given = unit()

    assert given["KillMode"] == ["mixed"], "speech engines and hooks are needed until the last turn is over"
    assert int(given["TimeoutStopSec"][0]) > Config().listen.drain_s
    assert given["Restart"] == ["always"]
    assert given["User"] != ["root"]
    assert int(given["LimitNOFILE"][0]) > 2 * Config().limits.connections
    [folder] = given["StateDirectory"]
    assert f"PARLEY_DATA__DIR=/var/lib/{folder}" in given["Environment"]
