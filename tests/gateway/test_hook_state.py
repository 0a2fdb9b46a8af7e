"""The state of hooks between a client and real servers (L1-45)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from clients.talk.client import TalkClient
from tests.skills_engine.folders import entry, make_skill
from tests.support.client import Frame, client
from tests.support.openai_script import Gate, HttpError, text
from tests.support.openai_server import OpenAIServer
from tests.support.parley import parley
from tests.support.server_process import ServerProcess, endpoint, running_together

pytestmark = pytest.mark.rule("L1-45")

GREETING = "Text of greet."
NO_PLANNING = {"agent": {"planning": False}}


def is_greeted(model: OpenAIServer) -> bool:
    """Whether the last call of the model read the greeting."""
    return GREETING in [message["content"] for message in model.requests[-1].messages]


async def test_a_hook_fires_once_in_a_conversation_whatever_the_end_of_its_turn(
    tmp_path: Path, model: OpenAIServer
) -> None:
    make_skill(tmp_path / "skills", "host", entry("greet", once="conversation"))
    gate = Gate()
    async with parley(tmp_path, model.url, NO_PLANNING) as server, client(server.ws_url) as user:
        model.queue(text("Hel", gate, "lo."))
        await user.chat()
        await user.until("text")
        await user.send("interrupt")
        cut = await user.until("turn_end")
        gate.open()
        assert (cut["reason"], is_greeted(model)) == ("interrupted", True)

        async def turn(**fields: Any) -> tuple[str, bool]:
            end = (await user.turn(**fields))[-1]
            return end["state"], is_greeted(model)

        model.queue(HttpError(status=401), text("Hi."), text("Hi."))
        failed, after_failed = await turn(state=cut["state"])
        state, again = await turn(state=failed)
        _, without = await turn()

    assert (after_failed, again, without) == (False, False, True)
    assert len({cut["state"], failed, state}) == 3, "each turn has counted"


async def test_the_inspector_says_of_a_turn_that_was_cut_why_hooks_stayed_out(
    tmp_path: Path, model: OpenAIServer
) -> None:
    make_skill(
        tmp_path / "skills",
        "host",
        entry("spoken", when={"not": {"channel": "text"}}),
        entry("fires"),
        entry("later", timing="after_tool_call"),
    )
    make_skill(tmp_path / "skills", "asleep", entry("dreams"))
    gate = Gate()
    async with parley(tmp_path, model.url, NO_PLANNING) as server, client(server.ws_url) as user:
        await user.send("configure", trace=True)
        model.queue(text("Hel", gate, "lo."))
        await user.chat(skills=["host"])
        await user.until("text")
        await user.send("interrupt")
        await user.until("turn_end")
        gate.open()

    [told] = [frame["data"]["hooks"] for frame in user.frames if frame.get("event") == "not_fired"]
    assert [(item["skill"], item["hook"], item["reason"], item.get("path")) for item in told] == [
        ("host", "spoken", "its condition does not hold: when.not.channel", "when.not.channel"),
        ("host", "later", "no tool ran", None),
        ("asleep", "dreams", "the skill is switched off", None),
    ]


async def test_the_command_line_client_carries_it_along(tmp_path: Path, model: OpenAIServer) -> None:
    make_skill(tmp_path / "skills", "host", entry("greet", once="conversation"))
    greeted = []
    async with parley(tmp_path, model.url, NO_PLANNING) as server:
        talk = await TalkClient.connect(server.ws_url, token=None, show=lambda _: None, output=None)
        running = asyncio.create_task(talk.run())
        for _ in range(2):
            model.queue(text("Hi."))
            await talk.say("Hello")
            await talk.quiet()
            greeted.append(is_greeted(model))
        await talk.close()
        await running

    assert greeted == [True, False]


@pytest.mark.slow
async def test_any_server_with_the_same_key_goes_on_from_a_state(tmp_path: Path, model: OpenAIServer) -> None:
    make_skill(tmp_path / "skills", "host", entry("greet", once="conversation"))
    settings = {**NO_PLANNING, "skills": {"dir": str(tmp_path / "skills")}}
    own_key = tmp_path / "own"
    own_key.write_text("a key that nobody else has, long enough\n")
    own_key.chmod(0o600)
    servers = []
    for name, key in (("one", "shared"), ("two", "shared"), ("stranger", "own")):
        (tmp_path / name).mkdir()
        security = {"security": {"secret_file": str(tmp_path / key)}}
        servers.append(ServerProcess(tmp_path / name, environ=endpoint(model.url), settings={**settings, **security}))
    state: str | None = None

    async def turn(server: ServerProcess) -> list[Frame]:
        model.queue(text("Hi."))
        async with client(server.ws_url) as user:
            return await user.turn(state=state)

    greeted, frames = [], list[Frame]()
    with running_together(servers):
        for server in servers:
            frames = await turn(server)
            state = frames[-1]["state"]
            greeted.append(is_greeted(model))

    assert greeted == [True, False, True]
    assert [frame["code"] for frame in frames if frame["type"] == "notice"] == ["state_invalid"]
