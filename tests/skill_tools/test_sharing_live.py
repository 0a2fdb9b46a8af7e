"""A running server, with skills of a further folder and one that is added meanwhile."""

import asyncio
import sys
from pathlib import Path

import pytest

from tests.skill_tools.repositories import make_repository
from tests.skills_engine.folders import entry, make_skill
from tests.support.client import client
from tests.support.openai_script import text
from tests.support.openai_server import OpenAIServer
from tests.support.parley import parley

PROJECT = Path(__file__).parents[2]


async def run(*arguments: object) -> None:
    command = [sys.executable, "-m", "skills_engine", *map(str, arguments)]
    process = await asyncio.create_subprocess_exec(*command, cwd=PROJECT, stdout=asyncio.subprocess.DEVNULL)
    assert await process.wait() == 0


@pytest.mark.slow
async def test_the_next_turn_reads_a_skill_that_was_added_by_git_and_no_longer_one_that_was_removed(
    tmp_path: Path,
) -> None:
    make_skill(tmp_path / "shared", "common", entry("common"))
    make_skill(tmp_path / "source", "calm", entry("calm"))
    url = make_repository(tmp_path / "source").as_uri()
    settings = {"skills": {"reload": "auto", "dirs": [str(tmp_path / "shared")]}, "agent": {"planning": False}}

    async with OpenAIServer() as model, parley(tmp_path, model.url, settings) as server:
        async with client(server.ws_url) as user:

            async def read() -> list[str]:
                model.queue(text("Yes."))
                await user.turn()
                contents = [str(message["content"]) for message in model.requests[-1].messages]
                return [content for content in contents if content.startswith("Text of ")]

            async def until_skills(*names: str) -> None:
                while sorted(skill["name"] for skill in (await user.until("skills"))["skills"]) != sorted(names):
                    pass

            assert await read() == ["Text of common."]
            await run("add", f"{url}#calm", "--dir", tmp_path / "skills", "--yes")
            await until_skills("calm", "common")
            assert sorted(await read()) == ["Text of calm.", "Text of common."]

            await run("remove", "calm", "--dir", tmp_path / "skills", "--yes")
            await until_skills("common")
            assert await read() == ["Text of common."]
        problems = [frame["diagnostics"] for frame in user.frames if frame["type"] == "skills"]
        assert [one for found in problems for one in found if one["severity"] == "error"] == []
