"""The facts of a turn, as conditions of hooks see them behind a real server."""

from pathlib import Path
from typing import Any

import pytest

from tests.skills_engine.folders import entry, make_skill
from tests.support.client import client
from tests.support.openai_script import text
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
