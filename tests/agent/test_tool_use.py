"""What a round's batch of tool calls brings to the conversation and to the user."""

import base64
import json
from collections.abc import Mapping
from typing import Any

from server.agent.agent_client import TurnOptions
from server.llm.language_model import Finished, ToolCall
from server.media.references import MediaError
from server.media.store import MediaItem, MediaStore
from server.tools.tool_calls import ToolInvocation, ToolOutcome
from tests.agent.hooked import with_hooks
from tests.agent.scene import agent_for, listed, notices, play, tool, traces
from tests.hooks.fakes import FakeHook, hook
from tests.support.scripted_model import ScriptedModel, Step, call, say


class FakeStore(MediaStore):
    """Takes anything for a file of that name."""

    def __init__(self) -> None: ...

    async def register(self, reference: str, *, user_id: str, session_id: str, name: str | None = None) -> MediaItem:
        kind = "text/plain" if reference.endswith(".txt") else "image/png"
        return MediaItem(ref=f"media://{reference}", url="/media/1", content_type=kind, name=reference, size=3)

    async def open_image(self, ref: str) -> tuple[str, bytes]:
        if "broken" in ref:
            raise MediaError("no picture")
        return "image/png", ref.encode()


def drawing(*files: str, is_handled: bool = False) -> Mapping[str, Any]:
    """What a hook says in the place of a tool that draws these."""
    result = {"for_llm": "Drawn.", "media": list(files), "response_handled": is_handled}
    return {"action": "respond", "result": result}


def with_media(*hooks: FakeHook) -> TurnOptions:
    return with_hooks(*hooks, media=FakeStore())


def url_of(file: str) -> str:
    return f"data:image/png;base64,{base64.b64encode(f'media://{file}'.encode()).decode()}"


async def test_the_user_is_told_what_ran_and_what_came_of_it() -> None:
    change = hook(
        before_tool={"call": {"arguments": {"n": 2}}}, after_tool={"result": {"for_llm": "two", "for_user": "Two!"}}
    )
    model = ScriptedModel([call("alpha", n=1), say("Done.")])

    chunks = await play(agent_for(model, planning=False), options=with_hooks(change, trace=True))

    [(at, finished)] = [(at, chunk.tool_result) for at, chunk in enumerate(chunks) if chunk.tool_result]
    assert (finished.content, finished.is_error) == ("two", False)
    assert (finished.arguments, finished.for_user) == ({"n": 2}, "Two!")
    assert len(traces(chunks[:at], "hook_changed")) == 2


async def test_a_model_is_told_which_calls_were_refused_for_the_rest_of_the_turn() -> None:
    def deny_alpha(params: dict[str, Any]) -> Mapping[str, Any]:
        return {"action": "deny_tool", "reason": "no"} if params["tool"] == "alpha" else {}

    model = ScriptedModel([call("alpha", "beta"), call("beta"), say("Done.")])

    await play(agent_for(model, planning=False), options=with_hooks(hook(before_tool=deny_alpha)))

    first, *later = [request.denied for request in model.requests]
    assert not first
    [refused] = [m["tool_call_id"] for m in model.requests[1].messages if "denied by hook" in (m["content"] or "")]
    assert later == [{refused}, {refused}]


async def test_the_model_sees_a_picture_of_a_result_behind_all_results() -> None:
    draws = hook(before_tool=drawing("a.png"))
    model = ScriptedModel([call("alpha", "beta"), say("Nice.")])

    chunks = await play(agent_for(model, planning=False), options=with_media(draws))

    roles = [role for role, _ in model.contents(1)]
    assert roles == ["system", "user", "assistant", "tool", "tool", "user", "system"]
    picture = {"type": "image_url", "image_url": {"url": url_of("a.png")}}
    note = {"type": "text", "text": "[Loaded image from tool result above]"}
    assert model.contents(1)[5][1] == [note, picture, picture]
    assert [chunk.media.name for chunk in chunks if chunk.media] == ["a.png", "a.png"]


async def test_the_model_sees_only_pictures_that_can_be_opened_and_that_it_has_to_speak_of() -> None:
    def draw(params: dict[str, Any]) -> Mapping[str, Any]:
        if params["tool"] == "alpha":
            return drawing("handled.png", is_handled=True)
        return drawing("notes.txt", "broken.png", "b.png")

    model = ScriptedModel([call("alpha", "beta"), say("Nice.")])

    chunks = await play(agent_for(model, planning=False), options=with_media(hook(before_tool=draw)))

    [seen] = [content for _, content in model.contents(1) if isinstance(content, list)]
    assert [part["image_url"]["url"] for part in seen if part["type"] == "image_url"] == [url_of("b.png")]
    shown = [chunk.media.name for chunk in chunks if chunk.media]
    assert shown == ["handled.png", "notes.txt", "broken.png", "b.png"]


async def test_without_a_picture_to_see_nothing_stands_behind_the_results() -> None:
    model = ScriptedModel([call("alpha"), say("Nice.")])

    await play(agent_for(model, planning=False), options=with_media(hook(before_tool=drawing("notes.txt"))))

    assert [role for role, _ in model.contents(1)] == ["system", "user", "assistant", "tool", "system"]


async def test_a_model_that_sees_nothing_is_told_of_each_picture_and_the_user_once() -> None:
    model = ScriptedModel([call("alpha"), call("alpha"), say("Nice.")], sees_images=False)

    chunks = await play(agent_for(model, planning=False), options=with_media(hook(before_tool=drawing("a.png"))))

    assert sum("[image]" in str(content) for _, content in model.contents(2)) == 2
    assert notices(chunks) == ["image_unseen"]


async def test_ids_that_come_again_or_not_at_all_are_made_the_turn_s_own() -> None:
    bare: list[Step] = [
        ToolCall("", "alpha", "{}"),
        ToolCall("", "alpha", "{}"),
        ToolCall("", "alpha", "{}"),
        Finished("stop"),
    ]
    model = ScriptedModel([bare, call("alpha"), call("alpha"), say("Done.")])

    chunks = await play(agent_for(model, planning=False))

    ids = [chunk.tool_call.id for chunk in chunks if chunk.tool_call]
    assert ids == ["call", "call_2", "call_3", "c1", "c1_2"]
    assert [chunk.tool_result.id for chunk in chunks if chunk.tool_result] == ids


async def test_ids_that_a_hook_gives_twice_are_parted() -> None:
    twice = [{"id": "x", "function": {"name": "alpha", "arguments": "{}"}}] * 2
    change = hook(after_llm=lambda p: {"response": {"tool_calls": twice}} if p["response"]["tool_calls"] else {})
    model = ScriptedModel([[ToolCall("c", "beta", "{}"), Finished("tool_calls")], say("Done.")])

    chunks = await play(agent_for(model, [tool("alpha"), tool("beta")], planning=False), options=with_hooks(change))

    assert [chunk.tool_call.id for chunk in chunks if chunk.tool_call] == ["x", "x_2"]


class Secretive:
    """A policy that lets everything pass and hides the key."""

    async def before(self, call: ToolInvocation) -> ToolInvocation:
        return call

    async def after(self, call: ToolInvocation, outcome: ToolOutcome) -> ToolOutcome:
        return outcome

    async def conceal(self, value: Any) -> Any:
        return {**value, "key": "…"} if isinstance(value, dict) and "key" in value else value


async def test_arguments_that_hold_a_secret_are_hidden_from_wire_and_trace_but_not_from_the_model() -> None:
    model = ScriptedModel([call("alpha", key="sk-1"), say("Done.")])

    chunks = await play(agent_for(model, planning=False), options=with_hooks(policy=Secretive(), trace=True))

    assert [chunk.tool_call.arguments for chunk in chunks if chunk.tool_call] == [{"key": "…"}]
    assert "sk-1" not in str(chunks)
    [asked] = [message["tool_calls"] for message in listed(chunks) if message.get("tool_calls")]
    assert json.loads(asked[0]["function"]["arguments"]) == {"key": "…"}
    assert "sk-1" in str(model.messages(1))
