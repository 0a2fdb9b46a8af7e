"""What the inspector is told of a turn."""

import json
from typing import Any

import msgspec
import pytest

from server.agent import trace
from server.agent.agent_client import TurnOptions
from server.agent.chunks import LLMChunk
from server.agent.prompts import FULL
from server.agent.trace import MAX_FRAME_BYTES
from server.config import Llm as LlmSettings
from server.errors import ProviderUnreachable, RoleRefused
from server.llm.types import Finished, Message, TextDelta, Usage
from server.wire import codec
from server.wire.frames import Trace
from skills_engine.hooks_config import TIMINGS
from tests.agent.scene import QUESTION, agent_for, hook, notices, play, told, tool, traces
from tests.support.scripted_model import ScriptedModel, call, say

ON = TurnOptions(trace=True)


def listed(chunks: list[LLMChunk]) -> list[dict[str, Any]]:
    """The messages of all `messages` events, in order."""
    return [message for _, data in traces(chunks, "messages") for message in data["messages"]]


def model_calls(chunks: list[LLMChunk]) -> list[dict[str, Any]]:
    return [data for _, data in traces(chunks, "model_call")]


async def test_without_trace_nothing_is_told() -> None:
    model = ScriptedModel([say("<need_tool>"), call("alpha"), say("Noon.")])

    chunks = await play(agent_for(model), [hook(timing) for timing in TIMINGS])

    assert traces(chunks) == []


async def test_a_turn_tells_its_events_in_this_order() -> None:
    model = ScriptedModel([say("<need_tool>"), call("alpha"), say("Noon.")])
    hooks = [hook(timing) for timing in TIMINGS]

    chunks = await play(agent_for(model), hooks, options=ON)

    told_of = [(event, data.get("hook") or data.get("call")) for event, data in traces(chunks)]
    assert told_of == [
        ("messages", None),
        ("injected", "after_user_input"),
        ("injected", "before_planning"),
        ("model_call", 1),
        ("model_done", 1),
        ("removed", "before_planning"),
        ("messages", None),
        ("injected", "before_each_agent"),
        ("injected", "before_first_agent"),
        ("model_call", 2),
        ("model_done", 2),
        ("removed", "before_each_agent"),
        ("messages", None),
        ("injected", "after_tool_call"),
        ("injected", "before_each_agent"),
        ("model_call", 3),
        ("model_done", 3),
        ("removed", "before_first_agent"),
        ("removed", "after_tool_call"),
    ]


async def test_before_each_agent_of_the_last_round_stays_to_the_end_of_the_turn() -> None:
    """Seed 004 §7: it is taken out before the next round, and here none comes."""
    model = ScriptedModel([say("Noon.")])

    chunks = await play(agent_for(model, planning=False), [hook("before_each_agent")], options=ON)

    assert traces(chunks, "removed") == []


async def test_a_call_is_told_right_before_it_is_made_and_right_after_it_ended() -> None:
    model = ScriptedModel([say("Hi.")])

    chunks = await play(agent_for(model), options=ON)

    assert told(chunks) == [
        ("trace", "messages"),
        ("trace", "model_call"),
        ("model_request",),
        ("text", "Hi."),
        ("usage",),
        ("trace", "model_done"),
        ("reply_end",),
    ]


async def test_every_message_is_told_once_with_its_origin() -> None:
    model = ScriptedModel([say("<need_tool>Wait."), call("alpha"), say("Noon.")])
    history = [
        {"role": "user", "content": "Hello"},
        {"role": "system", "content": "[mood]", "_hook": "mood", "_skill": "diary"},
        {"role": "assistant", "content": "Hi."},
        *QUESTION,
    ]
    hooks = [hook("after_user_input", "mood", persistent=True), hook("before_first_agent", role="user")]

    chunks = await play(agent_for(model), hooks, messages=history, options=ON)

    messages = listed(chunks)
    assert [m["id"] for m in messages] == [f"m{number}" for number in range(len(messages))]
    assert [(m["role"], m["content"], m["origin"]) for m in messages] == [
        ("system", "You are a test.", {"kind": "system"}),
        ("user", "Hello", {"kind": "history"}),
        ("system", "[mood]", {"kind": "hook", "hook": "mood", "skill": "diary", "persistent": True}),
        ("assistant", "Hi.", {"kind": "history"}),
        ("user", "What time is it?", {"kind": "user"}),
        (
            "system",
            "[mood]",
            {"kind": "hook", "hook": "mood", "skill": "diary", "timing": "after_user_input", "persistent": True},
        ),
        ("system", FULL.planning_prompt(["alpha", "beta"]), {"kind": "prompt", "name": "planning_prompt"}),
        (
            "user",
            "[before_first_agent]",
            {"kind": "hook", "hook": "before_first_agent", "skill": "diary", "timing": "before_first_agent"},
        ),
        ("system", FULL.first_step_prompt("Wait."), {"kind": "prompt", "name": "first_step_prompt"}),
        ("assistant", "", {"kind": "turn"}),
        ("tool", "alpha ran", {"kind": "turn"}),
        ("system", FULL.agent_loop, {"kind": "prompt", "name": "agent_loop_prompt"}),
    ]
    fired = [data["hook"] for _, data in traces(chunks, "injected")]
    assert fired == ["mood", "before_first_agent"], "not the one that came with the history"
    assert messages[9]["tool_calls"][0]["id"] == messages[10]["tool_call_id"] == "c1"
    assert [data["messages"] for data in model_calls(chunks)] == [
        [f"m{number}" for number in range(7)],
        ["m0", "m1", "m2", "m3", "m4", "m5", "m7", "m8"],
        ["m0", "m1", "m2", "m3", "m4", "m5", "m7", "m9", "m10", "m11"],
    ]


async def test_the_last_prompt_is_an_agent_loop_prompt() -> None:
    model = ScriptedModel([call("alpha"), say("Noon.")])

    chunks = await play(agent_for(model, planning=False, max_rounds=1), options=ON)

    assert (listed(chunks)[-1]["content"], listed(chunks)[-1]["origin"]) == (
        FULL.last_step,
        {"kind": "prompt", "name": "agent_loop_prompt"},
    )


async def test_a_model_call_tells_how_it_is_made() -> None:
    model = ScriptedModel([say("<need_tool>"), call("alpha"), say("Noon."), say("Hi.")])
    agent = agent_for(model, max_rounds=1)

    chunks = await play(agent, options=ON)
    direct = await play(agent, enable_tools=False, options=ON)

    same = {"attempt": 1, "sent_roles": {}, "trimmed": [], "late_system": "native"}
    tools = ["alpha", "beta"]
    calls = [{k: v for k, v in data.items() if k != "messages"} for data in model_calls(chunks) + model_calls(direct)]
    assert calls == [
        {**same, "call": 1, "purpose": "planning", "round": None, "tools": [], "tool_choice": "auto"},
        {**same, "call": 2, "purpose": "round", "round": 1, "tools": tools, "tool_choice": "auto"},
        {**same, "call": 3, "purpose": "last", "round": 2, "tools": tools, "tool_choice": "none"},
        {**same, "call": 1, "purpose": "direct", "round": None, "tools": [], "tool_choice": "auto"},
    ]


async def test_a_call_that_is_tried_again_keeps_its_number() -> None:
    model = ScriptedModel([[ProviderUnreachable("down", retry_after_ms=1)], say("<need_tool>"), say("Noon.")])

    chunks = await play(agent_for(model), options=ON)

    assert [(data["call"], data["attempt"]) for data in model_calls(chunks)] == [(1, 1), (1, 2), (2, 1)]
    assert [data["call"] for _, data in traces(chunks, "model_done")] == [1, 2]
    assert len(listed(chunks)) == 4, "no message is told twice"


async def test_sent_roles_names_the_messages_that_are_sent_in_another_role() -> None:
    model = ScriptedModel([[RoleRefused("only first")], say("Hi.")])
    agent = agent_for(model, llm=LlmSettings())

    chunks = await play(agent, [hook("after_user_input")], enable_tools=False, options=ON)

    assert [(data["late_system"], data["sent_roles"]) for data in model_calls(chunks)] == [
        ("native", {}),
        ("user", {"m2": "user"}),
    ]


async def test_what_is_left_out_is_told_and_not_listed_as_sent() -> None:
    model = ScriptedModel([say("Hi.")], context_tokens=100)
    old = [{"role": "user", "content": "x" * 300}, {"role": "assistant", "content": "Hi."}]

    chunks = await play(agent_for(model), messages=[*old, *QUESTION], enable_tools=False, options=ON)

    [data] = model_calls(chunks)
    assert (data["trimmed"], data["messages"]) == (["m1", "m2"], ["m0", "m3"])
    assert len(listed(chunks)) == 4


async def test_injected_and_removed_name_hook_and_message() -> None:
    model = ScriptedModel([say("Hi.")])
    hooks = [hook("before_planning"), hook("after_user_input", "mood", persistent=True)]

    chunks = await play(agent_for(model), hooks, options=ON)

    mood = {"skill": "diary", "hook": "mood", "timing": "after_user_input", "message": "m2", "persistent": True}
    planning = {**mood, "hook": "before_planning", "timing": "before_planning", "message": "m3", "persistent": False}
    assert [data for _, data in traces(chunks, "injected")] == [mood, planning]
    assert [data for _, data in traces(chunks, "removed")] == [planning]


async def test_model_done_tells_usage_and_times() -> None:
    model = ScriptedModel([[TextDelta("Hi."), Finished("length", Usage(10, 2, 5))]])

    chunks = await play(agent_for(model), options=ON)

    [(_, data)] = traces(chunks, "model_done")
    first_token_ms, total_ms = data.pop("first_token_ms"), data.pop("total_ms")
    assert 0 < first_token_ms <= total_ms < 60_000
    assert data == {
        "call": 1,
        "finish": "length",
        "usage": {"input_tokens": 10, "output_tokens": 2, "cached_tokens": 5},
    }
    assert notices(chunks) == ["reply_cut"]


# --- what did not fire, and why -----------------------------------------------------------------------------------


async def reasons(model: ScriptedModel, *, max_persistent: int = 64, **keys: Any) -> dict[str, str]:
    """Which of these hooks did not fire."""
    hooks = [
        *(hook(timing) for timing in TIMINGS),
        hook("after_tool_call", "filtered", tool_filter=["beta"]),
        hook("after_user_input", "kept", persistent=True),
    ]
    options = TurnOptions(trace=True, max_persistent=max_persistent)
    enable_tools = keys.pop("enable_tools", True)
    chunks = await play(agent_for(model, **keys), hooks, enable_tools=enable_tools, options=options)
    found = [item for _, data in traces(chunks, "not_fired") for item in data["hooks"]]
    assert all((item["skill"], item["timing"] in TIMINGS) == ("diary", True) for item in found)
    return {item["hook"]: item["reason"] for item in found}


async def test_in_a_turn_without_tools_the_loop_and_planning_were_not_reached() -> None:
    no_loop = "not reached: no agent loop"

    assert await reasons(ScriptedModel([say("Hi.")]), enable_tools=False) == {
        "before_planning": "not reached: no planning round",
        "before_first_agent": no_loop,
        "before_each_agent": no_loop,
        "after_tool_call": no_loop,
        "filtered": no_loop,
    }


async def test_in_a_turn_that_was_answered_at_once_the_loop_was_not_reached() -> None:
    found = await reasons(ScriptedModel([say("Hi.")]))

    assert found == dict.fromkeys(
        ["before_first_agent", "before_each_agent", "after_tool_call", "filtered"], "not reached: no agent loop"
    )


async def test_without_planning_the_planning_round_was_not_reached() -> None:
    assert await reasons(ScriptedModel([say("Hi.")]), planning=False) == {
        "before_planning": "not reached: no planning round",
        "after_tool_call": "no tool ran",
        "filtered": "no tool ran",
    }


async def test_a_filter_that_names_none_of_the_tools_that_ran_says_so() -> None:
    model = ScriptedModel([say("<need_tool>"), call("alpha", "alpha", "gamma"), say("Hi.")])

    assert await reasons(model) == {"filtered": "tool_filter names none of: alpha, gamma"}


async def test_the_tools_of_all_rounds_are_named() -> None:
    model = ScriptedModel([say("<need_tool>"), call("alpha"), call("gamma"), say("Hi.")])

    assert await reasons(model) == {"filtered": "tool_filter names none of: alpha, gamma"}


async def test_a_hook_that_the_limit_kept_out_says_so() -> None:
    model = ScriptedModel([say("<need_tool>"), call("beta"), say("Hi.")])

    assert await reasons(model, max_persistent=0) == {"kept": "the turn's limit of persistent hooks was reached"}


async def test_a_hook_that_the_limit_kept_out_says_so_at_every_timing() -> None:
    model = ScriptedModel([say("<need_tool>"), call("beta"), say("Hi.")])
    hooks = [*(hook(timing, persistent=True) for timing in TIMINGS)]
    hooks.append(hook("after_tool_call", "filtered", persistent=True, tool_filter=["beta"]))

    chunks = await play(agent_for(model), hooks, options=TurnOptions(trace=True, max_persistent=0))

    [(_, data)] = traces(chunks, "not_fired")
    assert [item["hook"] for item in data["hooks"]] == [*TIMINGS, "filtered"]
    assert {item["reason"] for item in data["hooks"]} == {"the turn's limit of persistent hooks was reached"}


async def test_when_every_hook_fired_nothing_is_said() -> None:
    model = ScriptedModel([say("<need_tool>"), call("beta"), say("Hi.")])

    assert await reasons(model) == {}


# --- the size of frames -------------------------------------------------------------------------------------------


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
