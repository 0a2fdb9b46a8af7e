"""What a round's batch of tool calls brings to the conversation and to the user."""

import json
from typing import Any

from server.agent.agent_client import TurnOptions
from server.hooks.layers import TurnLayers
from server.hooks.types import Invocation, ToolOutcome
from server.llm.types import Finished, ToolCall
from server.media.store import MediaItem
from tests.agent.hooked import with_hooks
from tests.agent.scene import agent_for, listed, notices, play, tool
from tests.hooks.fakes import FACTS, hook, layers_of
from tests.support.scripted_model import ScriptedModel, call, say


class FakeStore:
    async def register(self, reference: str, *, user_id: str, session_id: str, name: str | None = None) -> MediaItem:
        return MediaItem(ref="media://1", url="/media/1", content_type="image/png", name="a.png", size=3)

    async def open_image(self, ref: str) -> tuple[str, bytes]:
        return "image/png", b"png"


async def test_the_model_sees_a_picture_of_a_result_behind_all_results() -> None:
    drawing = hook(before_tool={"action": "respond", "result": {"for_llm": "Drawn.", "media": ["data:x"]}})
    model = ScriptedModel([call("alpha", "beta"), say("Nice.")])
    layers = TurnLayers(facts=FACTS, members=layers_of(drawing).members, media=FakeStore())

    chunks = await play(agent_for(model, planning=False), options=TurnOptions(layers=layers))

    roles = [role for role, _ in model.contents(1)]
    assert roles == ["system", "user", "assistant", "tool", "tool", "user", "system"]
    pictures = model.contents(1)[5][1]
    assert pictures[1]["image_url"]["url"] == "data:image/png;base64,cG5n"
    assert [chunk.media.name for chunk in chunks if chunk.media] == ["a.png", "a.png"]


async def test_a_model_that_sees_nothing_is_told_of_each_picture_and_the_user_once() -> None:
    drawing = hook(before_tool={"action": "respond", "result": {"for_llm": "Drawn.", "media": ["data:x"]}})
    model = ScriptedModel([call("alpha"), call("alpha"), say("Nice.")], sees_images=False)
    layers = TurnLayers(facts=FACTS, members=layers_of(drawing).members, media=FakeStore())

    chunks = await play(agent_for(model, planning=False), options=TurnOptions(layers=layers))

    assert sum("[image]" in str(content) for _, content in model.contents(2)) == 2
    assert notices(chunks) == ["image_unseen"]


async def test_ids_that_a_hook_gives_twice_are_parted() -> None:
    twice = [{"id": "x", "function": {"name": "alpha", "arguments": "{}"}}] * 2
    change = hook(after_llm=lambda p: {"response": {"tool_calls": twice}} if p["response"]["tool_calls"] else {})
    model = ScriptedModel([[ToolCall("c", "beta", "{}"), Finished("tool_calls")], say("Done.")])

    chunks = await play(agent_for(model, [tool("alpha"), tool("beta")], planning=False), options=with_hooks(change))

    assert [chunk.tool_call.id for chunk in chunks if chunk.tool_call] == ["x", "x_2"]


class Secretive:
    """A policy that lets everything pass and hides the key."""

    async def before(self, call: Invocation) -> Invocation:
        return call

    async def after(self, call: Invocation, outcome: ToolOutcome) -> ToolOutcome:
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
