"""Tools of the command-line client: files, commands, and whole runs before a real server."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from clients.talk.tools import MAX_OUTPUT_BYTES, LocalTools, ToolFileError
from tests.support.openai_script import calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.parley import parley
from tests.support.waiting import is_alive, until


def tool_file(folder: Path, code: str, **fields: Any) -> Path:
    """A file that describes the tool `lamp`, whose command is this Python code."""
    path = folder / "lamp.json"
    path.write_text(json.dumps({"name": "lamp", "command": [sys.executable, "-c", code], **fields}))
    return path


async def test_a_command_reads_the_arguments_and_what_it_prints_is_the_output(tmp_path: Path) -> None:
    tools = LocalTools([tool_file(tmp_path, "import sys; print(sys.stdin.read(), end='')", description="A lamp.")])

    assert await tools.run("lamp", {"on": True}) == ('{"on": true}', False)
    assert tools.descriptions == [{"name": "lamp", "description": "A lamp."}]


@pytest.mark.parametrize(
    ("code", "output"), [("print('no lamp', end=''); raise SystemExit(3)", "no lamp"), ("import os; os.abort()", "")]
)
async def test_a_command_that_fails_gives_an_error(tmp_path: Path, code: str, output: str) -> None:
    assert await LocalTools([tool_file(tmp_path, code)]).run("lamp", {}) == (output, True)


async def test_a_command_that_is_not_there_and_an_unknown_tool_give_errors(tmp_path: Path) -> None:
    tools = LocalTools([tool_file(tmp_path, "", command=["/nowhere/lamp"])])

    for name, problem in (("lamp", "cannot be run"), ("fan", "has no tool fan")):
        output, is_error = await tools.run(name, {})
        assert (problem in output, is_error) == (True, True)


async def test_an_endless_output_is_cut_and_its_command_ended(tmp_path: Path) -> None:
    output, _ = await LocalTools([tool_file(tmp_path, "while True: print('x' * 1000)")]).run("lamp", {})

    assert len(output) == MAX_OUTPUT_BYTES


async def test_cancelling_ends_the_command(tmp_path: Path) -> None:
    started = tmp_path / "started"
    code = f"import os, time; open({str(started)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    running = asyncio.create_task(LocalTools([tool_file(tmp_path, code)]).run("lamp", {}))
    await until(lambda: started.exists() and started.read_text() != "")
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)

    assert not is_alive(int(started.read_text()))


@pytest.mark.parametrize(
    "content",
    ["", "[]", '{"name": "lamp"}', '{"name": "lamp", "command": "lamp.py"}', '{"name": 5, "command": ["lamp.py"]}'],
)
def test_a_file_that_describes_no_tool_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "lamp.json"
    path.write_text(content)

    with pytest.raises(ToolFileError, match=r"lamp\.json"):
        LocalTools([path])


@pytest.mark.slow
async def test_the_command_line_offers_its_tools_and_runs_them(tmp_path: Path) -> None:
    file = tool_file(tmp_path, "print('the lamp is on')")
    options = ["--say", "Light, please.", "--tool", str(file), "--tool-choice", "lamp"]
    async with OpenAIServer() as model, parley(tmp_path, model.url) as server:
        model.queue(calls(("lamp", {})), text("It is on."))
        talk = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "server.talk", server.ws_url, *options, stdout=asyncio.subprocess.PIPE
        )
        printed, _ = await talk.communicate()

    assert talk.returncode == 0
    assert b"It is on." in printed
    assert model.requests[0].body["tool_choice"]["function"] == {"name": "lamp"}
    assert "the lamp is on" in model.requests[1].contents[-2]
