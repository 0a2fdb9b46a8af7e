"""Tools that run at the client, from its `configure` to the model of a real server, and back."""

from pathlib import Path
from typing import Any

from tests.skills_engine.folders import entry, make_skill
from tests.support.client import Client, Frame, client, kinds
from tests.support.openai_script import HttpError, Stream, calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.parley import Parley, parley

SEATS: Frame = {
    "name": "find_seat",
    "description": "Find a free seat.",
    "parameters": {"type": "object", "properties": {"row": {"type": "integer"}}, "required": ["row"]},
}
ROW_7: Stream = calls(("find_seat", {"row": 7}))
CONFIRMED = {"hooks": {"pre_tool_use": [{"type": "dangerous_confirmation", "config": {"always": ["find_seat"]}}]}}
SCANNED = {"hooks": {"post_tool_use": [{"type": "security_scan"}]}}
SECRET = "AKIAIOSFODNN7EXAMPLE"


async def answered_turn(user: Client, output: str = "7C is free.", **fields: Any) -> list[Frame]:
    """A turn whose client answers each call with the same output; `fields`: of its `chat`."""
    await user.chat("Is there a seat in row 7?", **fields)
    start = len(user.frames)
    while (frame := await user.until("client_tool_call", "turn_end"))["type"] == "client_tool_call":
        await user.send("tool_output", id=frame["id"], content=output)
    return user.frames[start:]


async def test_the_client_runs_its_tool_and_the_model_reads_the_output(model: OpenAIServer, server: Parley) -> None:
    model.queue(ROW_7, text("Yes, 7C."))
    async with client(server.ws_url) as user:
        await user.send("configure", tools=[SEATS])
        frames = await answered_turn(user)

    asked = next(frame for frame in frames if frame["type"] == "client_tool_call")
    assert asked["arguments"] == {"row": 7}
    call, result = (frame for frame in frames if frame["type"] in ("tool_call", "tool_result"))
    assert call == {**asked, "type": "tool_call"}
    assert (result["content"], result["is_error"], "ending" in result) == ("7C is free.", False, False)
    assert frames[-1]["reason"] == "completed"
    first, second = model.requests
    assert first.body["tools"][-1]["function"] == SEATS
    assert first.tool_names[:-1] == server.app.tools.current.names
    assert second.messages[-2]["content"] == "7C is free."


async def test_a_batch_left_open_ends_the_turn_and_the_next_goes_on_with_its_outputs(
    tmp_path: Path, model: OpenAIServer
) -> None:
    make_skill(tmp_path / "skills", "host", entry("greet"), entry("comment", timing="after_tool_call"))
    question = {"role": "user", "content": "Is there a seat in row 7 now?"}
    batch = calls(("current_time", {}), ("find_seat", {"row": 7}), say="One moment.")
    async with parley(tmp_path, model.url) as server, client(server.ws_url) as user:
        await user.send("configure", tools=[SEATS], client_tools="end")
        model.queue(text("<need_tool>"), batch)
        frames = await user.turn(question["content"])
        results = [frame for frame in frames if frame["type"] == "tool_result"]
        called = [
            {"id": each["id"], "type": "function", "function": {"name": each["name"], "arguments": "{}"}}
            for each in results
        ]
        outputs = [results[0]["content"], "7C is free."]
        answers = [
            {"role": "tool", "tool_call_id": each["id"], "content": output}
            for each, output in zip(results, outputs, strict=True)
        ]
        said = {"role": "assistant", "content": "One moment.", "tool_calls": called}
        model.queue(text("Yes, 7C."))
        await user.send("chat", messages=[question, said, *answers])
        end = await user.until("turn_end")

    assert [(each["name"], each.get("ending")) for each in results] == [("current_time", None), ("find_seat", "open")]
    assert kinds(frames)[-2:] == ["client_tool_call", "turn_end"]
    assert [frames[-1]["reason"], end["reason"]] == ["completed", "completed"]
    assert len(model.requests) == 3, "the model was asked before the client had answered, or planned again"
    contents = model.requests[2].contents
    assert contents[1:5] == [question["content"], "One moment.", *outputs]
    assert contents[5:8] == ["Text of greet.", "Text of comment.", "Text of comment."]


async def test_an_approval_is_asked_before_the_client_is(tmp_path: Path, model: OpenAIServer) -> None:
    settings = {**CONFIRMED, "agent": {"planning": False}}
    async with parley(tmp_path, model.url, settings) as server, client(server.ws_url) as user:
        await user.send("configure", tools=[SEATS])
        model.queue(ROW_7, text("Then not."))
        await user.chat("Is there a seat in row 7?")
        question = await user.until("approval_request")
        await user.send("approval", id=question["id"], approved=False)
        await user.until("turn_end")

    assert question["permission"] == "EXTERNAL"
    assert "client_tool_call" not in kinds(user.frames)
    assert next(frame for frame in user.frames if frame["type"] == "tool_result")["ending"] == "denied"


async def test_secrets_in_an_output_are_redacted_in_both_ways(tmp_path: Path, model: OpenAIServer) -> None:
    settings = {**SCANNED, "agent": {"planning": False}}
    async with parley(tmp_path, model.url, settings) as server, client(server.ws_url) as user:
        await user.send("configure", tools=[SEATS])
        model.queue(ROW_7, text("Well."), text("Well."))
        await answered_turn(user, f"the key is {SECRET}")
        called = {"id": "c1", "function": {"name": "find_seat", "arguments": '{"row": 7}'}}
        await user.send(
            "chat",
            messages=[
                {"role": "user", "content": "And?"},
                {"role": "assistant", "tool_calls": [called]},
                {"role": "tool", "tool_call_id": "c1", "content": f"the key is {SECRET}"},
            ],
        )
        await user.until("turn_end")

    for request in model.requests[1:]:
        assert SECRET not in str(request.messages)
        assert "the key is" in str(request.messages)


async def test_a_choice_of_tools_is_made_in_the_first_round_alone(model: OpenAIServer, tmp_path: Path) -> None:
    async with parley(tmp_path, model.url) as server, client(server.ws_url) as user:
        await user.send("configure", tools=[SEATS], tool_choice={"name": "find_seat"})
        model.queue(ROW_7, text("Yes."), text("Hello."))
        await answered_turn(user)
        await user.turn(tool_choice="none")

    named = {"type": "function", "function": {"name": "find_seat"}}
    assert [request.body.get("tool_choice") for request in model.requests] == [named, "auto", None]
    assert "tool_choice_ignored" not in [frame.get("code") for frame in user.frames]


async def test_an_endpoint_that_can_force_no_call_is_asked_without_and_remembered(
    model: OpenAIServer, server: Parley
) -> None:
    refusal = HttpError(status=400, body={"error": {"message": "this model does not support tool_choice `required`"}})
    async with client(server.ws_url) as user:
        model.queue(refusal, text("Hi."), text("Hi."))
        for _ in range(2):
            frames = await user.turn(tool_choice="required")
            assert [frame["code"] for frame in frames if frame["type"] == "notice"] == ["tool_choice_ignored"]

    assert [request.body["tool_choice"] for request in model.requests] == ["required", "auto", "auto"]
