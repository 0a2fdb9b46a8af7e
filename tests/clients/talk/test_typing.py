"""`python -m server.talk` at a terminal: no skill breaks a silence over a line that is begun."""

import asyncio
import contextlib
import json
import os
import pty
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.skills_engine.folders import make_skill, write_hooks_json
from tests.support.openai_server import OpenAIServer
from tests.support.parley import parley

ROOT = Path(__file__).parents[3]
CLEAR_LINE = b"\x15"
WATCHED_S = 3.0
"""Time in which the server has asked more than once whether to break the silence."""


@contextlib.contextmanager
def terminal() -> Iterator[tuple[int, int]]:
    """Lend both ends of a terminal: the user's and the program's."""
    ends = pty.openpty()
    try:
        yield ends
    finally:
        for end in ends:
            os.close(end)


async def until(end: int, words: bytes) -> None:
    """Read what the program prints until these words. Raises TimeoutError."""
    seen = b""
    async with asyncio.timeout(30):
        while words not in seen:
            seen += await asyncio.to_thread(os.read, end, 1024)


@pytest.mark.slow
@pytest.mark.rule("L1-49")
async def test_a_line_that_is_begun_is_not_talked_over(tmp_path: Path) -> None:
    folder = make_skill(tmp_path / "skills", "host")
    trigger = {"name": "still-there", "file": "hint.md", "on": "idle", "after_s": 1, "max": 100}
    write_hooks_json(folder, json.dumps({"triggers": [trigger]}))
    (folder / "hooks" / "hint.md").write_text("Ask again.")
    settings = {"agent": {"planning": False}, "skills": {"dir": str(tmp_path / "skills"), "edit": False}}
    async with OpenAIServer() as model, parley(tmp_path, model.url, settings) as server:
        model.say("Still there?")
        with terminal() as (user, program):
            talk = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "server.talk", server.ws_url), stdin=program, stdout=program, cwd=ROOT
            )
            await until(user, b"> ")
            os.write(user, b"I am wri")
            await asyncio.sleep(WATCHED_S)
            assert model.requests == []

            os.write(user, CLEAR_LINE)
            await until(user, b"Still there?")
            talk.terminate()
            await talk.wait()

    assert [request.contents[-2:-1] for request in model.requests] == [["Ask again."]]
