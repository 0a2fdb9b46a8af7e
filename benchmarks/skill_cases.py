"""Scripted tests of skills: 200 of them as a command, and those of one skill from a save to the page."""

import asyncio
import json
import random
import sys
import tempfile
import time
from pathlib import Path

from websockets.asyncio.client import ClientConnection, connect

from benchmarks.figures import Figure, figure
from benchmarks.processes import parley, running

SKILLS = 10
TESTS = 20
"""Tests of each skill."""
HOOKS = 6
"""Hooks of each skill, half of which fire in a turn."""


async def measure(*, is_quick: bool) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        skills = Path(folder)
        for number in range(SKILLS):
            _save_skill(skills / f"skill-{number}")
        commands = [await _command_s(skills) for _ in range(3 if is_quick else 10)]
        async with (
            running("-m", "benchmarks.model_server", "1", "0") as teller,
            parley(teller.url, skills_dir=skills) as server,
            connect(server.url.replace("http", "ws", 1) + "/ws", compression=None) as socket,
        ):
            saves = [await _save_ms(socket, skills / "skill-5", number) for number in range(10 if is_quick else 60)]
    return [
        figure(f"`test` of {SKILLS * TESTS} scripted tests, Python's start included", "s", commands, goal_p95=2),
        figure(f"save → {TESTS} tests of the skill have run, in the `skills` frame", "ms", saves, goal_p95=300),
    ]


async def _command_s(skills: Path) -> float:
    started_s = time.monotonic()
    command = (sys.executable, "-m", "skills_engine", "test", str(skills))
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.DEVNULL)
    if await process.wait():
        raise RuntimeError("the tests of the benchmark do not pass")
    return time.monotonic() - started_s


async def _save_ms(socket: ClientConnection, skill: Path, number: int) -> float:
    await asyncio.sleep(random.uniform(0.1, 0.3))
    tests = _tests_yaml(TESTS + number % 2)
    saved_s = time.monotonic()
    (skill / "tests" / "a.yaml").write_text(tests)
    async with asyncio.timeout(20):
        while True:
            frame = json.loads(await socket.recv())
            if frame["type"] == "skills":
                [saved] = [item for item in frame["skills"] if item["name"] == skill.name]
                if saved.get("tests", {}).get("count") == TESTS + number % 2:
                    return (time.monotonic() - saved_s) * 1000


def _save_skill(folder: Path) -> None:
    for inner in ("hooks", "tests"):
        (folder / inner).mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {folder.name}\ndescription: Skill of the benchmark.\n---\n\nBody.\n")
    hooks = []
    for number in range(HOOKS):
        timing = "after_tool_call" if number % 2 else "after_user_input"
        when = {"user_text": ["money", "/refund/i"], "not": {"channel": "text"}}
        hook = {"name": f"h{number}", "file": "hook.md", "timing": timing, "role": "system", "persistent": False}
        hooks.append({**hook, "when": when})
    (folder / "hooks" / "hooks.json").write_text(json.dumps({"hooks": hooks}))
    (folder / "hooks" / "hook.md").write_text("Ask for the order number.\n")
    (folder / "tests" / "a.yaml").write_text(_tests_yaml(TESTS))


def _tests_yaml(count: int) -> str:
    return "tests:\n" + "".join(_TEST.format(number=number) for number in range(count))


_TEST = """
  - name: asks for the order number after a failed refund, {number}
    user: I want my money back
    history: [{{user: hi}}, {{assistant: hello}}]
    channel: voice
    script:
      - need_tools: Let me look.
      - calls: [{{tool: shop__refund, arguments: {{id: {number}}}, error: no such order}}]
      - answer: I could not find it.
    expect:
      fires: [h0, h2, h4, h1, h3, h5]
      reads: [{{call: 3, contains: order number}}]
      tokens: {{max: 50}}
"""
