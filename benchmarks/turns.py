"""What the server adds to a turn: request in → model request out, model chunk in → `text` out."""

import asyncio
import json
import random
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from websockets.asyncio.client import ClientConnection, connect

from benchmarks.figures import Figure, figure
from benchmarks.processes import ROOT, parley, running
from benchmarks.stamps import Stamps

TOKENS = 40
INTERVAL_S = 0.02
IDLE_S = 2.0
GOALS_MS = {1: (2.0, 0.5), 10: (2.0, 0.5), 100: (None, None)}
HOOKS = 20
CONDITIONS = {
    "when": {"user_text": ["time", "/clock/i"], "any": [{"channel": "text"}, {"language": ["de"]}]},
    "sticky": 2,
}
HOOKED = {
    "no skills": None,
    f"{HOOKS} hooks": {},
    f"{HOOKS} hooks with conditions and memory": CONDITIONS,
}
CONDITIONS_GOAL_MS = 0.5


@dataclass
class Load:
    """What the clients of one run saw together."""

    stamps: Stamps = field(default_factory=Stamps)
    texts: int = 0
    overhead_bytes: list[float] = field(default_factory=list)  # of a `text`, beside the delta itself


async def measure(*, is_quick: bool) -> list[Figure]:
    figures: list[Figure] = []
    model = ("-m", "benchmarks.model_server", str(TOKENS), str(INTERVAL_S))
    async with running(*model) as teller, parley(teller.url) as server:
        await _run_clients(server.url, 2, 2, Load())  # warms connections, imports, caches
        for at_once, each in ((1, 6 if is_quick else 30), (10, 2 if is_quick else 8), (100, 1 if is_quick else 4)):
            figures += await _at_once(server.url, server.pid, at_once, each)
            figures += await _floor(teller.url, at_once, each)
    return figures


async def measure_hooked(*, is_quick: bool) -> list[Figure]:
    """Measure what hooks of skills add to a turn, without and with conditions: the same turns at three servers by turns."""
    loads = {name: Load() for name in HOOKED}
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        teller = await stack.enter_async_context(running("-m", "benchmarks.model_server", "2", "0"))
        sockets = {}
        for name, keys in HOOKED.items():
            skills = _write_skill(folder / name, keys)
            server = await stack.enter_async_context(parley(teller.url, skills_dir=skills))
            url = server.url.replace("http", "ws", 1) + "/ws"
            sockets[name] = await stack.enter_async_context(connect(url, compression=None))
            await sockets[name].recv()  # ready
        states: dict[str, str] = dict.fromkeys(HOOKED, "")
        for number in range(-5, 60 if is_quick else 600):
            for name, socket in sockets.items():
                states[name] = await _turn(socket, loads[name] if number >= 0 else Load(), state=states[name])
    plain, conditional = (load.stamps.request_ms for load in list(loads.values())[1:])
    differences = [after - before for before, after in zip(plain, conditional, strict=True)]
    figures = [
        figure(f"request in → model request out, {name}", "ms", load.stamps.request_ms) for name, load in loads.items()
    ]
    return [*figures, figure("  of which conditions and state", "ms", differences, goal_p50=CONDITIONS_GOAL_MS)]


def _write_skill(root: Path, keys: Mapping[str, object] | None) -> Path:
    """Write a skill whose hooks have these keys, too; None: no skill. Returns the folder of skills."""
    hooks = root / "benchmark" / "hooks"
    root.mkdir()
    if keys is None:
        return root
    hooks.mkdir(parents=True)
    (root / "benchmark" / "SKILL.md").write_text("---\nname: benchmark\ndescription: Measured.\n---\nBody.\n")
    (hooks / "short.md").write_text("Answer in one sentence.\n")
    entries = [
        {
            "name": f"hook-{number}",
            "file": "short.md",
            "timing": "after_user_input",
            "role": "system",
            "persistent": False,
            **keys,
        }
        for number in range(HOOKS)
    ]
    (hooks / "hooks.json").write_text(json.dumps({"hooks": entries}))
    return root


async def _at_once(url: str, pid: int, at_once: int, each: int) -> list[Figure]:
    load = Load()
    idle_share = await _idle_share(pid)
    started, before_s = time.monotonic(), _cpu_s(pid)
    await _run_clients(url, at_once, each, load)
    busy_s = _cpu_s(pid) - before_s - idle_share * (time.monotonic() - started)
    cpu_us = max(0.0, busy_s) * 1e6 / load.texts
    request_goal, chunk_goal = GOALS_MS[at_once]
    turns = f"{at_once} turn{'s' if at_once > 1 else ''} at once"
    return [
        figure(f"request in → model request out, {turns}", "ms", load.stamps.request_ms, goal_p50=request_goal),
        figure(f"model chunk in → `text` out, {turns}", "ms", load.stamps.chunk_ms, goal_p50=chunk_goal),
        figure(f"CPU per `text`, its part of the turn in it, {turns}", "µs", [cpu_us]),
        figure(f"bytes of a `text` beside its delta, {turns}", "B", load.overhead_bytes),
    ]


async def _idle_share(pid: int) -> float:
    """How much of a core the server takes while nobody talks to it: watching skills, heartbeat, clocks."""
    before_s = _cpu_s(pid)
    await asyncio.sleep(IDLE_S)
    return (_cpu_s(pid) - before_s) / IDLE_S


def _cpu_s(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


async def _floor(model_url: str, at_once: int, each: int) -> list[Figure]:
    """The openai package alone, in the same run, as the floor."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.bare_client", model_url, str(at_once), str(each)),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError("the bare client failed; its own words stand above")
    samples = json.loads(output)
    turns = f"{at_once} at once"
    return [
        figure(f"  floor: openai call → model request, {turns}", "ms", samples["request_ms"]),
        figure(f"  floor: model chunk → openai delta, {turns}", "ms", samples["chunk_ms"]),
    ]


async def _run_clients(url: str, at_once: int, each: int, load: Load) -> None:
    async with asyncio.TaskGroup() as group:
        for number in range(at_once):
            group.create_task(_client(url, each, load), name=f"client-{number}")


async def _client(url: str, each: int, load: Load) -> None:
    async with connect(url.replace("http", "ws", 1) + "/ws", compression=None) as socket:
        await socket.recv()  # ready
        await asyncio.sleep(random.uniform(0, TOKENS * INTERVAL_S))  # they do not all begin together
        for _ in range(each):
            await _turn(socket, load)


async def _turn(socket: ClientConnection, load: Load, *, state: str = "") -> str:
    """Play one turn; return its state, if it has one."""
    frame = {"type": "chat", "messages": [{"role": "user", "content": "What time is it?"}]}
    chat = json.dumps(frame | ({"state": state} if state else {}))
    started_ns = time.monotonic_ns()
    await socket.send(chat)
    async for message in socket:
        if isinstance(message, str) and message.startswith('{"type":"text"'):
            load.texts += 1
            delta = json.loads(message)["delta"]
            load.stamps.read(delta, started_ns=started_ns)
            load.overhead_bytes.append(len(message.encode()) - len(json.dumps(delta)) + 2)
        elif isinstance(message, str) and '"turn_end"' in message:
            end = json.loads(message)
            if end["reason"] != "completed":
                raise RuntimeError(f"the turn ended otherwise than measured: {message}")
            return str(end.get("state", ""))
    raise RuntimeError("the server went away")
