"""A turn that the inspector exports becomes a test that passes, and fails once the skill behaves differently."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest_asyncio

from skills_engine.__main__ import main
from tests.e2e.parley_page import ParleyPage
from tests.skills_engine.folders import entry, make_skill, write_hooks_json
from tests.support.openai_script import calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.parley import Parley, parley

HOOKS = [
    {
        "name": "note-name",
        "timing": "after_user_input",
        "set": {"name": {"from": "user_text", "match": "/I am (\\pL+)/"}},
    },
    entry("greet", when={"user_text": ["hello"], "last_reply": ["who are you"]}),
    entry("failed", timing="after_tool_call", when={"tool": ["read_file"], "tool_status": ["error"]}),
    entry("told", timing="after_tool_call", when={"tool_result": ["Tokyo"]}),
]


@pytest_asyncio.fixture(loop_scope="session")
async def server(tmp_path: Path, model: OpenAIServer) -> AsyncIterator[Parley]:
    folder = make_skill(tmp_path / "skills", "tutor", *HOOKS[1:])
    write_hooks_json(folder, {"variables": {"name": "", "score": 0}, "hooks": HOOKS})
    make_skill(tmp_path / "skills", "other", entry("each"))
    async with parley(tmp_path, model.url) as server:
        yield server


async def test_a_real_turn_becomes_a_test_that_breaks_with_the_skill(
    server: Parley, model: OpenAIServer, new_page: Callable[[str], ParleyPage], tmp_path: Path
) -> None:
    page = new_page(server.url)
    await page.open()
    model.queue(text("<no_tool>Who are you?"))
    await page.ask_and_wait("Hm.")
    failing, working = ("read_file", {"path": "no/such.md"}), ("current_time", {"timezone": "Asia/Tokyo"})
    model.queue(text("<need_tool>"), calls(failing, working), text("Done."))
    await page.ask_and_wait("Hello, I am Ada")
    await page.open_panel("Inspector")
    async with page.tab.expect_download() as download:
        await page.button("Export for a test").first.click()
    await (await download.value).save_as(tmp_path / "turn.json")
    skill = tmp_path / "skills" / "tutor"

    arguments = ["test", str(skill), "--from-trace", str(tmp_path / "turn.json")]
    assert await asyncio.to_thread(main, arguments) == 0
    written = (skill / "tests" / "turn.yaml").read_text()
    assert "other" not in written, written
    assert "- tutor/greet\n    - tutor/failed\n    - tutor/told\n" in written, written
    assert "tutor/name: Ada" in written

    hooks = json.loads((skill / "hooks" / "hooks.json").read_text())
    hooks["hooks"][2]["when"]["tool_status"] = ["refused"]
    write_hooks_json(skill, hooks)
    assert await asyncio.to_thread(main, ["test", str(skill)]) == 1
