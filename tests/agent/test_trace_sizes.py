"""How large the frames of a trace may become."""

import json
from typing import Any

import msgspec
import pytest

from server.agent import trace
from server.agent.agent_client import TurnOptions
from server.agent.chunks import LLMChunk
from server.agent.trace import MAX_FRAME_BYTES
from server.llm.language_model import Message
from server.wire import codec
from server.wire.frames import Trace, TurnSettings
from tests.agent.scene import QUESTION, agent_for, hook, listed, play, tool, traces
from tests.support.scripted_model import ScriptedModel, call, say

ON = TurnOptions(settings=TurnSettings(trace=True))


def sizes(chunks: list[LLMChunk]) -> list[int]:
    """Bytes on the wire of every trace frame."""
    return [len(codec.encode(Trace(turn_id="t" * 64, event=event, data=data))) for event, data in traces(chunks)]


@pytest.mark.parametrize("text", ["x", "语", "\x01", "😀", '"'])
async def test_no_frame_passes_256_kib_and_a_longer_content_is_cut(text: str) -> None:
    async def flood(arguments: dict[str, Any]) -> str:
        return text * 400_000

    model = ScriptedModel([call("flood", "flood"), say("Noon.")])
    history = [
        *({"role": "user", "content": text * length} for length in (48_000, 30_000, 10_000, 400_000)),
        *({"role": "assistant", "content": text * 1000} for _ in range(400)),
        *QUESTION,
    ]

    chunks = await play(agent_for(model, [tool("flood", flood)], planning=False), messages=history, options=ON)

    assert max(sizes(chunks)) <= MAX_FRAME_BYTES
    messages = listed(chunks)
    assert len(messages) == len({m["id"] for m in messages}) == 1 + len(history) + 5
    assert messages[4]["content"] == text * 24_000
    assert messages[4]["cut"] is True
    assert messages[5] == {"id": "m5", "role": "assistant", "content": text * 1000, "origin": {"kind": "history"}}
    results = [m for m in messages if m["role"] == "tool"]
    assert [(m["tool_call_id"], m["cut"]) for m in results] == [("c1", True), ("c2", True)]


async def test_arguments_too_long_for_a_frame_are_left_out() -> None:
    model = ScriptedModel([call("alpha", text="Look.", note="x" * 300_000), say("Noon.")])

    chunks = await play(agent_for(model, planning=False), options=ON)

    assert max(sizes(chunks)) <= MAX_FRAME_BYTES
    [asked] = [m for m in listed(chunks) if m["role"] == "assistant"]
    assert asked == {"id": "m3", "role": "assistant", "content": "Look.", "cut": True, "origin": {"kind": "turn"}}


async def test_arguments_that_fit_stay_beside_a_content_that_is_cut() -> None:
    model = ScriptedModel([call("alpha", text="y" * 70_000, note="x" * 70_000), say("Noon.")])

    chunks = await play(agent_for(model, planning=False), options=ON)

    [asked] = [m for m in listed(chunks) if m["role"] == "assistant"]
    assert (len(asked["content"]), asked["cut"], len(asked["tool_calls"])) == (24_000, True, 1)


async def test_a_message_of_64_kib_is_not_cut() -> None:
    model = ScriptedModel([say("Hi."), say("Hi.")])
    told_as = {"id": "m1", "role": "user", "content": "", "origin": {"kind": "user"}}
    content = "x" * ((64 << 10) - len(json.dumps(told_as)))

    fits = await play(agent_for(model), messages=[{"role": "user", "content": content}], options=ON)
    longer = await play(agent_for(model), messages=[{"role": "user", "content": content + "x"}], options=ON)

    assert listed(fits)[1] == {**told_as, "content": content}
    assert listed(longer)[1] == {**told_as, "content": "x" * 24_000, "cut": True}


async def test_arguments_stay_while_a_frame_has_room() -> None:
    model = ScriptedModel([say("Hi."), say("Hi.")])
    told_as = {"id": "m1", "role": "assistant", "content": "", "tool_calls": asked(""), "origin": {"kind": "history"}}
    room = MAX_FRAME_BYTES - 1024 - len(json.dumps({**told_as, "cut": True}))

    fits = await play(agent_for(model), messages=[*called("x" * room), *QUESTION], options=ON)
    longer = await play(agent_for(model), messages=[*called("x" * (room + 1)), *QUESTION], options=ON)

    assert listed(fits)[1] == {**told_as, "tool_calls": asked("x" * room), "cut": True}
    assert listed(longer)[1] == {
        "id": "m1",
        "role": "assistant",
        "content": "",
        "cut": True,
        "origin": told_as["origin"],
    }
    assert max(sizes(fits)) <= MAX_FRAME_BYTES


def asked(arguments: str) -> list[dict[str, Any]]:
    return [{"id": "c1", "type": "function", "function": {"name": "alpha", "arguments": arguments}}]


def called(arguments: str) -> list[Message]:
    """A call and its result."""
    return [
        {"role": "assistant", "content": "", "tool_calls": asked(arguments)},
        {"role": "tool", "tool_call_id": "c1", "content": "ran"},
    ]


async def test_hooks_that_did_not_fire_are_told_in_several_frames_if_they_are_many() -> None:
    model = ScriptedModel([say("Hi.")])
    hooks = [hook("before_each_agent", f"{'语' * 100}{number}") for number in range(1000)]

    chunks = await play(agent_for(model), hooks, options=ON)

    assert max(sizes(chunks)) <= MAX_FRAME_BYTES
    found = [item["hook"] for _, data in traces(chunks, "not_fired") for item in data["hooks"]]
    assert found == [h.name for h in hooks]


def test_a_frame_is_filled_to_its_last_byte() -> None:
    def item(costs_bytes: int) -> dict[str, Any]:
        return {"a": "x" * (costs_bytes - len('{"a": ""}, '))}

    room = MAX_FRAME_BYTES - 1024
    half, rest, one_more = item(room // 2), item(room - room // 2), item(room - room // 2 + 1)

    assert list(trace._batches([half, rest, half, rest])) == [[half, rest], [half, rest]]
    assert list(trace._batches([half, one_more])) == [[half], [one_more]]
    assert list(trace._batches([item(room + 1), half])) == [[item(room + 1)], [half]]
    assert list(trace._batches([])) == []


async def test_pictures_are_told_without_their_data() -> None:
    model = ScriptedModel([say("Hi.")])
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    content = [{"type": "text", "text": "What is it?"}, picture]

    chunks = await play(agent_for(model), messages=[{"role": "user", "content": content}], options=ON)

    assert listed(chunks)[1]["content"] == "What is it?\n[image]"
    assert model.messages(0)[1]["content"] == content


async def test_a_message_without_content_is_told_with_an_empty_one() -> None:
    model = ScriptedModel([say("Hi.")])
    asked = {"id": "c1", "type": "function", "function": {"name": "alpha", "arguments": "{}"}}
    history: list[Message] = [
        {"role": "assistant", "content": None, "tool_calls": [asked]},
        {"role": "tool", "tool_call_id": "c1", "content": "ran"},
        *QUESTION,
    ]

    chunks = await play(agent_for(model), messages=history, options=ON)

    assert listed(chunks)[1] == {
        "id": "m1",
        "role": "assistant",
        "content": "",
        "tool_calls": [asked],
        "origin": {"kind": "history"},
    }
    assert msgspec.json.encode(listed(chunks))
