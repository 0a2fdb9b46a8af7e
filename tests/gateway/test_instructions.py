"""What the model of a real server is sent when a client gives instructions or limits the reply."""

import asyncio
import sys
from pathlib import Path

from tests.skills_engine.folders import entry, make_skill
from tests.support.client import client
from tests.support.openai_script import calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.parley import parley

OPERATOR = {"agent": {"planning": False, "system_prompt": "You work for the operator."}}


async def test_the_model_reads_them_behind_the_operator_s_prompt_and_hooks_still_speak(
    tmp_path: Path, model: OpenAIServer
) -> None:
    make_skill(tmp_path / "skills", "host", entry("greet"))
    async with parley(tmp_path, model.url, OPERATOR) as server, client(server.ws_url) as user:
        await user.send("configure", instructions="Rhyme.", language="en")
        model.queue(text("Hi."), text("Hi."))
        await user.turn()
        await user.turn(instructions=None)

    told, plain = (request.messages for request in model.requests)
    assert told[0]["role"] == "system"
    assert told[0]["content"].startswith("You work for the operator.\n\n")
    assert told[0]["content"] == plain[0]["content"] + "\n\nRhyme."
    assert "Text of greet." in [message["content"] for message in told]
    assert told[1:] == plain[1:]


async def test_the_command_line_gives_both(tmp_path: Path, model: OpenAIServer) -> None:
    async with parley(tmp_path, model.url, OPERATOR) as server:
        model.queue(text("Hi."))
        command = [
            "-m",
            "server.talk",
            server.ws_url,
            "--say",
            "Hello",
            "--instructions",
            "Rhyme.",
            "--max-tokens",
            "60",
        ]
        talk = await asyncio.create_subprocess_exec(sys.executable, *command, stdout=asyncio.subprocess.DEVNULL)
        assert await talk.wait() == 0

    assert model.requests[-1].messages[0]["content"].endswith("\n\nRhyme.")
    assert model.requests[-1].body["max_tokens"] == 60


async def test_every_call_of_a_turn_keeps_to_the_client_s_limit_and_none_to_more_than_the_operator_s(
    tmp_path: Path, model: OpenAIServer
) -> None:
    llm = {"provider": "openai", "base_url": model.url, "model": "scripted", "max_tokens": 100}
    async with parley(tmp_path, model.url, {"llm": llm}) as server, client(server.ws_url) as user:
        await user.send("configure", max_tokens=60)
        model.queue(text("<need_tool>Wait."), calls(("current_time", {})), text("Now."), text("Hi."), text("Hi."))
        await user.turn()
        await user.turn(max_tokens=None)
        await user.turn(max_tokens=5000)

    assert [request.body["max_tokens"] for request in model.requests] == [60, 60, 60, 100, 100]
