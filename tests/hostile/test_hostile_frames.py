"""A real server under ten thousand frames that nobody should send, and under too many and too large ones."""

import asyncio
import re
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from websockets.exceptions import ConnectionClosed

from tests.hostile.grammar import frame
from tests.hostile.siege import besiege
from tests.model.profile import rounds
from tests.support.client import Client, client
from tests.support.openai_script import Answer, calls, text
from tests.support.openai_server import OpenAIServer, Request
from tests.support.server_process import ServerProcess, endpoint

WARM_UP = 500
COUNT = rounds(100_000, few=10_000)
PER_CONNECTION = 250
MEMORY_BYTES = 5_000_000


@dataclass(frozen=True)
class Footprint:
    tasks: int
    descriptors: int
    memory_bytes: int


@dataclass(frozen=True)
class Target:
    server: ServerProcess
    model: OpenAIServer

    async def besiege(self, first: int, count: int) -> list[str]:
        complaints = []
        completed_turns = 0
        for start in range(first, first + count, PER_CONNECTION):
            numbers = range(start, min(start + PER_CONNECTION, first + count))
            found, turns = await besiege(self.server.ws_url, [frame(number) for number in numbers])
            complaints += found
            completed_turns += turns
        assert completed_turns > count // 1000, "some turns in between were left to finish"
        return complaints

    async def run_a_turn(self) -> None:
        async with client(self.server.ws_url) as connection:
            frames = await connection.turn()
        assert frames[-1]["reason"] == "completed"
        assert "".join(f["delta"] for f in frames if f["type"] == "text") == "Hello there."

    async def is_ready(self) -> bool:
        try:
            await self._get("/readyz")
        except urllib.error.HTTPError as error:
            error.close()
            return False
        return True

    async def footprint(self) -> Footprint:
        tasks = re.search(r"^parley_tasks (\S+)$", await self._get("/metrics"), re.MULTILINE)
        assert tasks is not None, "/metrics has no parley_tasks"
        process = psutil.Process(self.server.pid)
        return Footprint(int(float(tasks[1])), process.num_fds(), process.memory_info().rss)

    async def _get(self, path: str) -> str:
        def get() -> str:
            with urllib.request.urlopen(f"{self.server.url}{path}", timeout=10) as response:
                return str(response.read(), "utf-8")

        return await asyncio.to_thread(get)


@asynccontextmanager
async def target(
    folder: Path, respond: Callable[[Request], Answer] = lambda _: text("Hello", " there."), **limits: int
) -> AsyncIterator[Target]:
    async with (
        OpenAIServer(respond=respond) as model,
        ServerProcess(folder, environ=endpoint(model.url), settings={"limits": limits}) as server,
    ):
        attacked = Target(server, model)
        assert await eventually(attacked.is_ready), "the model's client is not loaded"
        yield attacked


async def eventually(is_so: Callable[[], Awaitable[bool]]) -> bool:
    """Ask again for some seconds: a server loads its model, and closes connections after we have."""
    for _ in range(600):
        if await is_so():
            return True
        await asyncio.sleep(0.05)
    return False


@pytest.mark.soak
async def test_hostile_frames_get_one_error_each_and_leave_nothing_behind(tmp_path: Path) -> None:
    async with target(tmp_path, max_frames_per_s=1_000_000) as under_siege:
        await under_siege.run_a_turn()
        await under_siege.besiege(0, WARM_UP)
        await under_siege.run_a_turn()
        before = await under_siege.footprint()

        complaints = await under_siege.besiege(WARM_UP, COUNT)

        assert complaints[:20] == [], f"{len(complaints)} of {COUNT} frames answered wrongly"
        await under_siege.run_a_turn()
        assert all(not key.startswith("_") for sent in under_siege.model.requests for m in sent.messages for key in m)

        async def is_as_before() -> bool:
            now = await under_siege.footprint()
            return now.tasks <= before.tasks and now.descriptors <= before.descriptors

        assert await eventually(is_as_before), (before, await under_siege.footprint())
        now = await under_siege.footprint()
        assert now.memory_bytes - before.memory_bytes < MEMORY_BYTES
        assert "Traceback" not in under_siege.server.log(), "a hostile frame is no surprise"


async def test_messages_over_the_limit_close_their_connection_and_no_other(tmp_path: Path) -> None:
    async with target(tmp_path, max_message_bytes=100_000) as under_siege, client(under_siege.server.ws_url) as calm:
        for filler in ("x" * 100_000, "[" * 200_000, b"\x00" * 100_002):
            async with client(under_siege.server.ws_url) as loud:
                await loud.send_raw(filler if isinstance(filler, bytes) else '{"type": "ping", "t": 1, "x": "' + filler)
                assert await loud.closed() == 1009

        assert (await calm.turn())[-1]["reason"] == "completed"


async def test_a_turn_id_of_this_connection_used_again_gets_one_error(tmp_path: Path) -> None:
    async with target(tmp_path) as under_siege, client(under_siege.server.ws_url) as connection:
        await connection.turn(id="once")

        await connection.chat(id="once")
        errors = [f for f in await connection.pong() if f["type"] == "error"]
        assert [(error["code"], error.get("turn_id")) for error in errors] == [("turn_id_reused", None)]
        assert (await connection.turn(id="twice"))[-1]["reason"] == "completed"


@pytest.mark.slow
async def test_a_flood_is_limited_at_first_and_closed_with_4429_at_last(tmp_path: Path) -> None:
    async with target(tmp_path, max_frames_per_s=20) as under_siege:
        async with client(under_siege.server.ws_url) as calm, client(under_siege.server.ws_url) as flooding:
            flood = asyncio.create_task(_flood(flooding), name="flood")

            error = await flooding.until("error")
            assert error["code"] == "rate_limited"
            assert (await calm.turn())[-1]["reason"] == "completed", "a flood is the flooder's problem"
            with pytest.raises(ConnectionClosed):
                await flooding.until("never")
            await flood
            assert await flooding.closed() == 4429
        await under_siege.run_a_turn()


async def _flood(connection: Client) -> None:
    try:
        while True:
            await connection.send("ping", t=1)
            await asyncio.sleep(0.005)  # ten times as often as allowed is flood enough
    except ConnectionClosed:
        pass


@pytest.mark.slow
async def test_large_frames_of_one_client_hold_up_nobody_elses_tools(tmp_path: Path) -> None:
    """Frames of 4 MiB of lists, which would take 270 ms and 300 MiB each to read, as fast as the server takes them."""
    large = '{"type": "chat", "messages": [{"role": "user", "content": "x", "_hook": [' + "[]," * 1_390_000 + "[]]}]}"
    async with (
        target(tmp_path, _ask_the_time) as under_siege,
        client(under_siege.server.ws_url) as calm,
        client(under_siege.server.ws_url, max_queue=None) as loud,
    ):
        await calm.turn()
        server = psutil.Process(under_siege.server.pid)
        before_bytes = peak_bytes = server.memory_info().rss
        attack = asyncio.create_task(_send_often(loud, large, 6), name="attack")
        while not attack.done():
            frames = await calm.turn()
            assert any(frame["type"] == "tool_result" for frame in frames)
            peak_bytes = max(peak_bytes, server.memory_info().rss)
        await attack
        assert (await loud.until("error"))["code"] == "message_too_large"

    assert peak_bytes - before_bytes < 100 << 20, f"{(peak_bytes - before_bytes) >> 20} MiB"


def _ask_the_time(request: Request) -> Answer:
    return text("Noon.") if any(m["role"] == "tool" for m in request.messages) else calls(("current_time", {}))


async def _send_often(connection: Client, message: str, times: int) -> None:
    for _ in range(times):
        await connection.send_raw(message)
