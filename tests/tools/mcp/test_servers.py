"""MCP servers in a whole server: their tools in turns, their loss on the wire, their end with ours."""

import base64
import json
import os
import sys
from pathlib import Path
from typing import Any

import aiohttp

from tests.support.client import client
from tests.support.mcp_server import PNG
from tests.support.openai_script import calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.parley import parley
from tests.support.waiting import children_of
from tests.tools.mcp_scene import with_results

# a first run ends at once: what comes later begins with `mcp_server_back`
_SECOND_TIME = """
import os, pathlib, sys
flag = pathlib.Path(sys.argv[1])
if not flag.exists():
    flag.touch()
    sys.exit()
os.execv(sys.executable, [sys.executable, "-m", "tests.support.mcp_raw", sys.argv[2]])
"""


def settings(folder: Path, script: dict[str, Any], **more: Any) -> dict[str, Any]:
    arguments = ["-c", _SECOND_TIME, str(folder / "flag"), json.dumps(script)]
    server = {"command": sys.executable, "args": arguments, **more}
    return {"tools": {"mcp": {"box": server}}, "agent": {"planning": False}}


async def test_tools_come_to_turns_with_their_files_and_go_with_a_notice(tmp_path: Path) -> None:
    picture = {"type": "image", "data": base64.b64encode(PNG).decode(), "mimeType": "image/png"}
    script = with_results(draw={"content": [{"type": "text", "text": "drawn"}, picture]}, die="exit")
    async with (
        OpenAIServer() as model,
        parley(tmp_path, model.url, settings(tmp_path, script)) as server,
        client(server.ws_url) as user,
    ):
        lost = await user.until("notice")
        back = await user.until("notice")
        model.queue(calls(("box__draw", {})), text("Here."))
        frames = await user.turn("draw")

        assert [lost["code"], back["code"]] == ["mcp_server_lost", "mcp_server_back"]
        assert [lost["level"], back["level"]] == ["warning", "info"]
        assert "box__draw" in model.requests[0].tool_names
        [result] = [frame for frame in frames if frame["type"] == "tool_result"]
        assert result["content"].startswith("drawn\n[image]")
        [media] = [frame for frame in frames if frame["type"] == "media"]
        async with aiohttp.ClientSession() as http, http.get(server.url + media["url"]) as answer:
            assert await answer.read() == PNG

        model.queue(calls(("box__die", {})), text("Gone."))
        frames = await user.turn("die")
        [result] = [frame for frame in frames if frame["type"] == "tool_result"]
        assert result["is_error"]
        assert "was lost during the call" in result["content"]
        notices = [frame["code"] for frame in user.frames if frame["type"] == "notice"]
        while notices[2:] != ["mcp_server_lost", "mcp_server_back"]:
            notices.append((await user.until("notice"))["code"])


async def test_instructions_of_a_server_stand_in_the_system_prompt_while_it_is_there(tmp_path: Path) -> None:
    script = {**with_results(die="exit"), "instructions": "Call die last."}
    async with (
        OpenAIServer() as model,
        parley(tmp_path, model.url, settings(tmp_path, script, instructions=True)) as server,
        client(server.ws_url) as user,
    ):
        await user.until("notice")
        await user.until("notice")
        model.queue(calls(("box__die", {})), text("Gone."))
        await user.turn("die")

        assert "tools whose names begin with box__:\nCall die last." in model.requests[0].contents[0]


async def test_a_tool_that_hangs_ends_by_its_own_limit(tmp_path: Path) -> None:
    script = with_results(hang="hang")
    async with (
        OpenAIServer() as model,
        parley(tmp_path, model.url, settings(tmp_path, script, timeout_s=0.05)) as server,
        client(server.ws_url) as user,
    ):
        await user.until("notice")
        await user.until("notice")
        model.queue(calls(("box__hang", {})), text("No."))
        frames = await user.turn("hang")

        [result] = [frame for frame in frames if frame["type"] == "tool_result"]
        assert result["content"] == "box__hang took longer than 0.05 s and was stopped"


async def test_servers_that_cannot_be_had_keep_nobody_from_starting_and_end_with_us(tmp_path: Path) -> None:
    servers = {
        "no-program": {"command": "no-such-program-anywhere"},
        "nobody": {"url": "http://127.0.0.1:9/mcp"},
        "off": {"command": "no-such-program-either", "enabled": False},
        "silent": {"command": sys.executable, "args": ["-c", "import time; time.sleep(600)"]},
    }
    async with (
        OpenAIServer() as model,
        parley(tmp_path, model.url, {"tools": {"mcp": servers}}) as server,
        client(server.ws_url) as user,
    ):
        model.queue(text("<no_tool>Hello."))
        frames = await user.turn("hi")
        told = [frame["message"] for frame in user.frames if frame["type"] == "notice"]
        while len(told) < 2:  # before we came, or later
            told.append((await user.until("notice"))["message"])

    assert frames[-1]["reason"] == "completed"
    assert sorted(name for name in servers if any(f"server {name} " in message for message in told)) == [
        "no-program",
        "nobody",
    ]
    assert children_of(os.getpid(), "time.sleep(600)") == []


async def test_who_comes_later_is_told_what_is_missing(tmp_path: Path) -> None:
    servers = {"nobody": {"url": "http://127.0.0.1:9/mcp"}}
    async with OpenAIServer() as model, parley(tmp_path, model.url, {"tools": {"mcp": servers}}) as server:
        async with client(server.ws_url) as first:
            await first.until("notice")
        async with client(server.ws_url) as second:
            assert (await second.receive())["code"] == "mcp_server_lost"
