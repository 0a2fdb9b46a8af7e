"""Skills that speak first, between real servers and clients (L1-49)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from clients.talk.client import TalkClient
from tests.skills_engine.folders import entry, make_skill, write_hooks_json
from tests.support.client import Frame, client
from tests.support.openai_script import Gate, text
from tests.support.openai_server import OpenAIServer
from tests.support.parley import parley
from tests.support.server_process import ServerProcess, endpoint
from tests.support.waiting import until

pytestmark = pytest.mark.rule("L1-49")

NO_PLANNING = {"agent": {"planning": False}}


def host(root: Path, *triggers: dict[str, Any]) -> Path:
    """Make a skill with these triggers and a hook."""
    folder = make_skill(root / "skills", "host", entry("hint"))
    (folder / "hooks" / "nudge.md").write_text("Say something.")
    entries = [{"file": "nudge.md", **trigger} for trigger in triggers]
    write_hooks_json(folder, {"hooks": [entry("hint")], "triggers": entries})
    return root / "skills"


@asynccontextmanager
async def talking(url: str, shown: list[Frame]) -> AsyncIterator[TalkClient]:
    talk = await TalkClient.connect(url, token=None, show=shown.append, output=None)
    running = asyncio.create_task(talk.run())
    yield talk
    await talk.close()
    await running


def count(shown: list[Frame], kind: str) -> int:
    return sum(frame["type"] == kind for frame in shown)


@pytest.mark.slow
async def test_a_server_greets_and_breaks_a_silence(tmp_path: Path, model: OpenAIServer) -> None:
    skills = host(tmp_path, {"name": "welcome", "on": "connect"}, {"name": "go-on", "on": "idle", "after_s": 1})
    settings = {**NO_PLANNING, "skills": {"dir": str(skills)}}
    model.queue(text("Good morning."), text("Still there?"))
    async with (
        ServerProcess(tmp_path, environ=endpoint(model.url), settings=settings) as server,
        client(server.ws_url) as user,
    ):
        await user.send("configure", nudges=True, enable_tools=False)
        greeting = await user.until("nudge")
        await user.send("chat", nudge=greeting["id"], messages=[])
        await user.until("turn_end")
        silence = await user.until("nudge")
        await user.send("chat", nudge=silence["id"], messages=[{"role": "assistant", "content": "Good morning."}])
        await user.until("turn_end")

    assert (greeting["name"], silence["name"]) == ("welcome", "go-on")
    assert [frame["trigger"] for frame in user.frames if frame["type"] == "turn_start"] == ["nudge", "nudge"]
    first, second = ([message["content"] for message in request.messages[1:]] for request in model.requests)
    assert first == ["Text of hint.", "Say something."]
    assert second == ["Good morning.", "Text of hint.", "Say something."]


async def test_the_command_line_client_is_greeted_once(tmp_path: Path, model: OpenAIServer) -> None:
    host(tmp_path, {"name": "welcome", "on": "connect"})
    shown: list[Frame] = []
    model.queue(text("Good morning."), text("Hi."))
    async with parley(tmp_path, model.url, NO_PLANNING) as server, talking(server.ws_url, shown) as talk:
        await talk.configure(nudges=True)
        await until(lambda: count(shown, "turn_end") == 1)
        await talk.say("Hello")
        await talk.quiet()
        await talk.configure(nudges=False)
        await talk.configure(nudges=True)
        await talk.say("Again")

    assert [message["content"] for message in talk.history.messages][:3] == ["Good morning.", "Hello", "Hi."]
    assert sum(frame.get("trigger") == "nudge" for frame in shown) == 1
    assert not any(frame["type"] == "nudge" for frame in shown)


async def test_the_command_line_client_breaks_no_silence_while_it_waits_for_an_answer(
    tmp_path: Path, model: OpenAIServer
) -> None:
    host(tmp_path, {"name": "go-on", "on": "idle", "after_s": 1, "max": 1})
    shown: list[Frame] = []
    gate = Gate()
    model.queue(text("Well", gate, "."), text("Still there?"))
    async with parley(tmp_path, model.url, NO_PLANNING) as server, talking(server.ws_url, shown) as talk:
        await talk.configure(nudges=True)
        await talk.say("Hello")
        await until(lambda: count(shown, "text") > 0)
        gate.open()
        await until(lambda: count(shown, "turn_end") == 2)

    assert [message["content"] for message in talk.history.messages] == ["Hello", "Well.", "Still there?"]
