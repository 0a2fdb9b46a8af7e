"""One user who does the worst that tools allow, and another who asks what time it is. The server has 2 GiB."""

import asyncio
import sys
from pathlib import Path

import psutil
import pytest

from tests.support.client import client
from tests.support.openai_script import Answer, calls, text
from tests.support.openai_server import OpenAIServer, Request
from tests.support.server_process import ServerProcess, endpoint
from tests.support.waiting import children_of, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

TOKENS = {user: f"{user}-token-0123456789abcdef" for user in ("greedy", "bystander")}
LIMITED = ("sh", "-c", f'ulimit -v {2 << 20}; exec {sys.executable} -m server "$@"', "server")
WORK = {
    "search": ("search_text", {"pattern": r"((?:[a-z ]|(?1)|(?1))+)#{9}", "path": "slow.txt"}),
    "wait": ("search_text", {"pattern": "^(a|aa)+$", "path": "slow.txt"}),
    "read": ("read_file", {"path": "secrets.txt"}),
    "time": ("current_time", {"timezone": "Asia/Tokyo"}),
}


def answer(request: Request) -> Answer:
    """Call the tool that the user names; then be done."""
    if any(message["role"] == "tool" for message in request.messages):
        return text("Done.")
    return calls(next(WORK[content] for content in request.contents if content in WORK))


def headers(user: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {TOKENS[user]}"}


async def keep_asking(server: ServerProcess, what: str, done: list[str]) -> None:
    async with client(server.ws_url, additional_headers=headers("greedy"), ping_interval=None) as socket:
        while True:
            await socket.turn(what)
            done.append(what)


async def test_one_users_worst_holds_up_no_other_turn_and_takes_little_memory(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "slow.txt").write_text("the quick brown fox " * 5 + "1#########\n" + "a" * 60 + "c\n")
    (folder / "secrets.txt").write_text("密码:\n" * 100_000)
    settings = {
        "agent": {"planning": False},
        "tools": {"roots": [str(folder)], "max_result_bytes": 1 << 20},
        "hooks": {"post_tool_use": [{"type": "security_scan"}]},
        "security": {"auth": "token", "tokens": [{"user": user, "token": TOKENS[user]} for user in TOKENS]},
    }
    done: list[str] = []  # turns of the greedy user
    overtaken = 0
    async with (
        OpenAIServer(respond=answer) as model,
        ServerProcess(tmp_path, environ=endpoint(model.url), settings=settings, command=LIMITED) as server,
    ):
        greedy = [asyncio.create_task(keep_asking(server, what, done)) for what in ("search", "wait", "read") * 3]
        async with client(server.ws_url, additional_headers=headers("bystander")) as socket:
            await socket.turn("time")
            for _ in range(100):
                before = len(done)
                frames = await socket.turn("time")
                overtaken = max(overtaken, len(done) - before)
                assert frames[-1]["reason"] == "completed"
        await until(lambda: bool(children_of(server.pid, "server.tools.folders")))  # it still tries
        took_mib = psutil.Process(server.pid).memory_info().rss >> 20
        for task in greedy:
            task.cancel()
        await asyncio.gather(*greedy, return_exceptions=True)

    assert overtaken <= len(greedy), "in the time of one turn of the bystander, each greedy client has one"
    assert took_mib < 700
