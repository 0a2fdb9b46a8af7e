"""What conditions see of tool calls behind a real server: how each ended, with which arguments and which result (L1-42)."""

from pathlib import Path
from typing import Any

import pytest

from tests.skills_engine.folders import entry, make_skill
from tests.support.client import client
from tests.support.openai_script import calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.parley import parley

pytestmark = pytest.mark.rule("L1-42")

TOKYO = ("current_time", {"timezone": "Asia/Tokyo"})
ENDS = [entry(end, timing="after_tool_call", when={"tool_status": [end]}) for end in ("ok", "error", "refused")]


def ask_human(**config: Any) -> dict[str, Any]:
    return {"builtins": {"ask_human": {"enabled": True, "config": {"tools": ["*"], **config}}}}


async def fired(
    folder: Path,
    call: tuple[str, Any],
    *hooks: dict[str, Any],
    policy: dict[str, Any] | None = None,
    answer: dict[str, Any] | None = None,
) -> set[str]:
    """Let the model make the call, and a human give the answer if one is asked; return the hooks that it then reads."""
    make_skill(folder / "skills", "watch", *hooks)
    settings = {"agent": {"planning": False}, "hooks": policy or {}}
    async with (
        OpenAIServer() as model,
        parley(folder, model.url, settings) as server,
        client(server.ws_url) as me,
    ):
        model.queue(calls(call), text("Done."))
        await me.chat()
        if answer is not None:
            request = await me.until("approval_request")
            await me.send("approval", id=request["id"], **answer)
        await me.until("turn_end")
        contents = [str(message["content"]) for message in model.requests[1].messages]
    return {content[8:-1] for content in contents if content.startswith("Text of ")}


@pytest.mark.parametrize(
    ("call", "policy", "answer", "end"),
    [
        (TOKYO, None, None, "ok"),
        (("no_such_tool", {}), None, None, "error"),
        (("current_time", {"timezone": 7}), None, None, "error"),
        (("current_time", {"timezone": "Nowhere/Town"}), None, None, "error"),
        (TOKYO, ask_human(), {"approved": True}, "ok"),
        (TOKYO, ask_human(), {"approved": True, "arguments": {"timezone": 7}}, "error"),
        (TOKYO, ask_human(), {"approved": False}, "refused"),
        (TOKYO, ask_human(timeout_s=0.05), None, "refused"),
    ],
)
async def test_a_call_ends_as_its_stages_ended_it(
    tmp_path: Path, call: tuple[str, Any], policy: dict[str, Any] | None, answer: dict[str, Any] | None, end: str
) -> None:
    assert await fired(tmp_path, call, *ENDS, policy=policy, answer=answer) == {end}


async def test_the_arguments_are_those_that_ran_and_the_result_is_what_the_model_reads(tmp_path: Path) -> None:
    edited = {"approved": True, "arguments": {"timezone": "Europe/Paris"}}

    found = await fired(
        tmp_path,
        TOKYO,
        entry("asked", timing="after_tool_call", when={"tool_args": {"timezone": ["Tokyo"]}}),
        entry("ran", timing="after_tool_call", when={"tool_args": {"timezone": ["Paris"]}, "tool_result": ["Paris"]}),
        policy=ask_human(),
        answer=edited,
    )

    assert found == {"ran"}


async def test_the_arguments_of_a_refused_call_are_those_that_were_asked_for(tmp_path: Path) -> None:
    asked = entry("asked", timing="after_tool_call", when={"tool_args": {"timezone": ["Tokyo"]}, "tool_result": ["no"]})

    found = await fired(tmp_path, TOKYO, asked, policy=ask_human(), answer={"approved": False, "reason": "no"})

    assert found == {"asked"}
