"""The facts of a turn, as conditions of hooks see them behind a real server."""

from pathlib import Path
from typing import Any

import pytest

from tests.skills_engine.folders import entry, make_skill, write_hooks_json
from tests.support.client import client
from tests.support.openai_script import calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.parley import parley


async def read_by_turn(
    folder: Path, turns: list[dict[str, Any]], *hooks: dict[str, Any], settings: dict[str, Any] | None = None
) -> list[list[str]]:
    """Send turns to a server with these hooks; return which of them the model read in each."""
    make_skill(folder / "skills", "tutor", *hooks)
    async with OpenAIServer() as model, parley(folder, model.url, settings) as server:
        async with client(server.ws_url) as user:
            for turn in turns:
                model.queue(text("Yes."))
                await user.send("configure", language=turn.pop("language", None))
                await user.turn(**turn)
        contents = [[str(message["content"]) for message in request.messages] for request in model.requests]
    return [
        [content.removeprefix("Text of ").rstrip(".") for content in read if content.startswith("Text of ")]
        for read in contents
    ]


@pytest.mark.rule("L1-42")
async def test_conditions_see_the_turn_as_the_client_sent_it(tmp_path: Path) -> None:
    history = [
        {"role": "user", "content": "refund"},
        {"role": "user", "content": "refund", "_hook": "old", "_skill": "tutor"},
        {"role": "system", "content": "refund"},  # demoted, or not: no word of the user's
        {"role": "assistant", "content": "Yes."},
    ]

    assert await read_by_turn(
        tmp_path,
        [{"text": "refund"}, {"text": "hi", "history": history, "language": "de-CH"}],
        entry("now", when={"user_text": ["refund"]}),
        entry("before", when={"user_text": ["refund"], "scan_turns": 2, "turn": 2}),
        entry("german", when={"language": ["de"]}),
        entry("text", when={"channel": "text", "skills": ["tutor"], "model": ["scripted"]}),
        entry("other", when={"any": [{"channel": "voice"}, {"user": ["*"]}, {"skills": ["asleep"]}]}),
        settings={"security": {"client_system_messages": "demote"}},
    ) == [["now", "text"], ["before", "german", "text"]]


@pytest.mark.rule("L1-47")
async def test_hooks_cost_at_most_what_the_configuration_allows(tmp_path: Path) -> None:
    found = await read_by_turn(
        tmp_path,
        [{"text": "hi"}],
        entry("low"),
        entry("high", priority=1),
        settings={"skills": {"hook_tokens": 4}},
    )

    assert found == [["high"]]


@pytest.mark.rule("L1-56")
async def test_a_client_that_may_not_instruct_is_told_once_that_context_stays_out_of_texts(tmp_path: Path) -> None:
    make_skill(tmp_path / "skills", "shop", {"text": "Plan: <{{context.plan}}>", "vars": True})
    settings = {"security": {"client_instructions": "deny"}, "agent": {"planning": False}}
    async with OpenAIServer() as model, parley(tmp_path, model.url, settings) as server, client(server.ws_url) as user:
        model.respond = lambda _request: text("Yes.")
        contexts: list[Any] = [{}, {"plan": "pro"}, {"plan": "pro"}]
        turns = [await user.turn(context=context) for context in contexts]

    codes = [[frame["code"] for frame in frames if frame["type"] == "notice"] for frames in turns]
    assert codes == [[], ["context_not_in_texts"], []]
    assert all("Plan: <>" in [message["content"] for message in request.messages] for request in model.requests)


@pytest.mark.rule("L1-50")
async def test_a_set_that_has_no_room_is_told_once_a_turn(tmp_path: Path) -> None:
    names = [f"v{number}" for number in range(16)]
    changes = [{"name": name, "timing": "after_user_input", "set": {name: "中" * 200}} for name in names]
    folder = make_skill(tmp_path / "skills", "tutor")
    write_hooks_json(folder, {"variables": dict.fromkeys(names, ""), "hooks": changes})
    async with OpenAIServer() as model, parley(tmp_path, model.url) as server, client(server.ws_url) as user:
        model.queue(text("Yes."))
        await user.send("configure", trace=True)
        frames = await user.turn()

    assert [frame["code"] for frame in frames if frame["type"] == "notice"] == ["variables_full"]
    assert len(frames[-1]["state"].encode()) < 16 * 1024
    kept_out = [one["code"] for frame in frames if frame.get("event") == "not_fired" for one in frame["data"]["hooks"]]
    assert set(kept_out) == {"variables_full"}


@pytest.mark.rule("L1-56")
async def test_the_clock_of_the_tool_is_the_users(tmp_path: Path) -> None:
    settings = {"agent": {"planning": False}}
    async with OpenAIServer() as model, parley(tmp_path, model.url, settings) as server, client(server.ws_url) as user:
        model.queue(calls(("current_time", {})), text("It is noon."))
        frames = await user.turn(context={"timezone": "Asia/Tokyo"})

    [result] = [frame["content"] for frame in frames if frame["type"] == "tool_result"]
    assert "UTC+09:00" in result
