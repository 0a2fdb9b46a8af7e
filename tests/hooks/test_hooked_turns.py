"""Hooks over a whole server, as a client sees them: files, words for the user, redaction, aborts, a human's yes."""

import base64
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession

from tests.hooks.serving import entry, only, said, scripted, serving
from tests.support.client import kinds
from tests.support.openai_script import calls, text

CALL = calls(("current_time", {"timezone": "Asia/Tokyo"}))
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PICTURE = f"data:image/png;name=dot.png;base64,{base64.b64encode(PNG).decode()}"


def responding(**result: Any) -> dict[str, Any]:
    return scripted({"before_tool": {"action": "respond", "result": {"for_llm": "Drawn.", **result}}})


async def test_a_picture_is_shown_to_the_user_and_seen_by_the_model(tmp_path: Path) -> None:
    painter = responding(for_user="Here it is.", media=[PICTURE])
    async with serving(tmp_path, {"painter": painter}, respond_policy="any") as scene:
        frames = await scene.turn(CALL, text("Nice."))
        shown = only(frames, "media")
        async with ClientSession() as http, http.get(scene.server.url + shown["url"]) as answer:
            assert await answer.read() == PNG

        second = scene.model.requests[1].messages
    assert (shown["content_type"], shown["name"], shown["size"]) == ("image/png", "dot.png", len(PNG))
    assert only(frames, "tool_result")["for_user"] == "Here it is."
    assert only(frames, "tool_result")["ending"] == "answered"
    assert kinds(frames).index("media") == kinds(frames).index("tool_result") + 1
    seen = [part for message in second if isinstance(message["content"], list) for part in message["content"]]
    assert [part["type"] for part in seen] == ["text", "image_url"]
    assert said(frames) == "Nice."


async def test_an_answer_that_handles_all_ends_the_turn_without_another_call(tmp_path: Path) -> None:
    painter = responding(media=[PICTURE], response_handled=True)
    async with serving(tmp_path, {"painter": painter}, respond_policy="any") as scene:
        frames = await scene.turn(CALL)

        assert len(scene.model.requests) == 1
    assert (frames[-1]["reason"], said(frames)) == ("completed", "")
    assert "notice" not in kinds(frames)
    assert only(frames, "media")["name"] == "dot.png"


async def test_a_redactor_of_replies_lets_no_secret_out(tmp_path: Path) -> None:
    redactor = scripted({"after_llm": {"action": "modify", "response": {"content": "[redacted]"}}})
    async with serving(tmp_path, {"redactor": redactor}) as scene:
        frames = await scene.turn(text("The key is ", "sk-123."))

    assert said(frames) == "[redacted]"
    assert "sk-123" not in str(frames)


async def test_a_call_that_ran_is_shown_as_run_where_after_tool_ends_the_turn(tmp_path: Path) -> None:
    stopper = scripted({"after_tool": {"action": "abort_turn", "reason": "enough"}})
    async with serving(tmp_path, {"stopper": stopper}) as scene:
        frames = await scene.turn(CALL)

    result = only(frames, "tool_result")
    assert (result["is_error"], result["content"]) == (
        False,
        "It ran. A hook then ended the turn, so its result was not used.",
    )
    assert frames[-1]["reason"] == "aborted"


@pytest.mark.parametrize(("action", "rollback"), [("abort_turn", None), ("hard_abort", True)])
async def test_an_abort_in_mid_call_reaches_the_client_with_its_reason(
    tmp_path: Path, action: str, rollback: bool | None
) -> None:
    async with serving(tmp_path, {"judge": scripted({"before_tool": {"action": action, "reason": "enough"}})}) as scene:
        frames = await scene.turn(CALL)
        later = await scene.turn(text("Fine."), text="again") if rollback else None

    end = frames[-1]
    assert (end["reason"], end["message"], end.get("rollback")) == ("aborted", "enough", rollback)
    assert only(frames, "tool_result")["content"] == "not finished: a hook ended the turn"
    assert later is None or later[-1]["reason"] == "completed"


async def test_a_builtin_asks_the_human_and_edited_arguments_run(tmp_path: Path) -> None:
    asking = {"ask_human": {"enabled": True, "config": {"tools": ["current_*"], "permissions": []}}}
    async with serving(tmp_path, {}, builtins=asking) as scene:
        scene.model.queue(CALL, text("Done."))
        await scene.client.chat("what time is it?")
        request = await scene.client.until("approval_request")
        await scene.client.send("approval", id=request["id"], approved=True, arguments={"timezone": "Europe/Berlin"})
        result = await scene.client.until("tool_result")
        await scene.client.until("turn_end")

        scene.model.queue(CALL, text("Done."))
        await scene.client.chat("and now?")
        request = await scene.client.until("approval_request")
        await scene.client.send("approval", id=request["id"], approved=False)
        refused = await scene.client.until("tool_result")
        await scene.client.until("turn_end")

    assert (request["tool"], request["origin"]) == ("current_time", "ask_human")
    assert "Europe/Berlin" in result["content"]
    assert result["arguments"] == {"timezone": "Europe/Berlin"}
    assert "refused" in refused["content"]
    assert request["call_id"] == refused["id"]


async def test_the_trace_shows_each_hook_s_change(tmp_path: Path) -> None:
    weather = entry("weather", intercept=["before_llm", "before_tool"])
    async with serving(tmp_path, {"weather": weather}) as scene:
        await scene.client.send("configure", trace=True)
        frames = await scene.turn(calls(("get_weather", {"city": "北京"})), text("Sunny."))

    changed = [frame["data"] for frame in frames if frame["type"] == "trace" and frame["event"] == "hook_changed"]
    assert [(data["stage"], data["action"]) for data in changed] == [
        ("before_llm", "modify"),
        ("before_tool", "respond"),
        ("before_llm", "modify"),
    ]
    assert changed[0]["changes"]["tools"]["added"][0]["function"]["name"] == "get_weather"


async def test_interrupting_a_turn_that_waits_for_a_hook_ends_it_at_once(tmp_path: Path) -> None:
    silent = scripted({"before_tool": "silence"})
    async with serving(tmp_path, {"silent": silent}) as scene:
        scene.model.queue(CALL)
        await scene.client.chat("hi")
        await scene.client.until("tool_call")
        await scene.client.send("interrupt")
        end = await scene.client.until("turn_end")

    assert end["reason"] == "interrupted"
