"""From the end of a save to the `skills` frame that tells of it."""

import asyncio
import json
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from benchmarks.figures import Figure, figure
from benchmarks.processes import parley, running

Item = dict[str, Any]


async def measure(*, is_quick: bool) -> list[Figure]:
    """200 saves: a hooks.json and a SKILL.md in place, a hook's .md replaced by renaming."""
    saves = 30 if is_quick else 200
    with tempfile.TemporaryDirectory() as folder:
        skills = Path(folder)
        for name in ("alpha", "beta", "gamma"):
            _save_skill(skills / name, 0)
            _save_hooks(skills / name, 0)
            _save_text(skills / name, 0)
        async with (
            running("-m", "benchmarks.model_server", "1", "0") as teller,
            parley(teller.url, skills_dir=skills) as server,
            connect(server.url.replace("http", "ws", 1) + "/ws", compression=None) as socket,
        ):
            samples_ms = [await _one_save(socket, skills, number) for number in range(1, saves + 1)]
    return [figure(f"save → `skills` frame, {saves} saves", "ms", samples_ms, goal_p95=120)]


async def _one_save(socket: ClientConnection, skills: Path, number: int) -> float:
    save, is_told = KINDS[number % len(KINDS)]
    await asyncio.sleep(random.uniform(0.06, 0.2))
    await _drop_waiting(socket)
    save(skills / "beta", number)
    saved_ns = time.monotonic_ns()
    async with asyncio.timeout(10):
        while True:
            frame = json.loads(await socket.recv())
            if frame["type"] == "skills":
                [beta] = [item for item in frame["skills"] if item["name"] == "beta"]
                if is_told(beta, number):
                    return (time.monotonic_ns() - saved_ns) / 1e6


async def _drop_waiting(socket: ClientConnection) -> None:
    """Frames of earlier saves are not taken for the answer to the next."""
    try:
        async with asyncio.timeout(0.001):
            while True:
                await socket.recv()
    except TimeoutError:
        return


def _save_skill(folder: Path, number: int) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "SKILL.md").write_text(
        f"---\nname: {folder.name}\ndescription: Skill of the benchmark, save {number}.\n---\n\nBody.\n"
    )


def _save_hooks(folder: Path, number: int) -> None:
    (folder / "hooks").mkdir(exist_ok=True)
    hook = {"name": f"hook-{number}", "file": "hook.md", "timing": "after_user_input", "role": "system"}
    (folder / "hooks" / "hooks.json").write_text(json.dumps({"hooks": [{**hook, "persistent": False}]}))


def _save_text(folder: Path, number: int) -> None:
    """As careful editors do: written beside, renamed over."""
    beside = folder / "hooks" / ".hook.md.tmp"
    beside.write_text(f"Text of save {number}.\n")
    beside.replace(folder / "hooks" / "hook.md")


def _skill_is_told(item: Item, number: int) -> bool:
    return bool(item["description"].endswith(f"save {number}."))


def _hooks_are_told(item: Item, number: int) -> bool:
    return any(hook["name"] == f"hook-{number}" for hook in item["hooks"])


def _any(_item: Item, _number: int) -> bool:
    return True  # a hook's text is not in the frame; that there is one is the answer


KINDS: list[tuple[Callable[[Path, int], None], Callable[[Item, int], bool]]] = [
    (_save_skill, _skill_is_told),
    (_save_hooks, _hooks_are_told),
    (_save_text, _any),
]
