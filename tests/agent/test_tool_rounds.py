"""Rounds that use tools: the order of calls, results and the hooks behind them."""

import asyncio
from typing import Any

import pytest

from server.agent.prompts import FULL
from server.errors import ToolError
from server.llm.language_model import Finished, ToolCall
from tests.agent.scene import SYSTEM, USER, agent_for, hook, play, texts, told, tool
from tests.support.scripted_model import ScriptedModel, call, say

FIRST_STEP = ("system", FULL.first_step_prompt(""))
AGENT_LOOP = ("system", FULL.agent_loop)


async def test_call_and_results_are_appended_as_the_model_made_them() -> None:
    model = ScriptedModel([call("alpha", "beta", text="Both.", zone="Asia/Tokyo"), say("Noon.")])

    await play(agent_for(model, planning=False))

    assert model.messages(1)[2:5] == [
        {
            "role": "assistant",
            "content": "Both.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "alpha", "arguments": '{"zone": "Asia/Tokyo"}'}},
                {"id": "c2", "type": "function", "function": {"name": "beta", "arguments": '{"zone": "Asia/Tokyo"}'}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "name": "alpha", "content": "alpha ran"},
        {"role": "tool", "tool_call_id": "c2", "name": "beta", "content": "beta ran"},
    ]


@pytest.mark.rule("L1-26")
async def test_two_calls_of_one_tool_give_two_copies_of_its_hook() -> None:
    model = ScriptedModel([call("alpha", "beta", "alpha"), say("Noon.")])
    hooks = [hook("after_tool_call", "one", tool_filter=["alpha"]), hook("after_tool_call", "all")]

    await play(agent_for(model, planning=False), hooks)

    assert model.contents(1)[6:] == [
        ("system", "[one]"),
        ("system", "[all]"),
        ("system", "[all]"),
        ("system", "[one]"),
        ("system", "[all]"),
        AGENT_LOOP,
    ]


@pytest.mark.rule("L1-26")
async def test_results_and_hooks_stand_in_call_order_whatever_finished_first() -> None:
    beta_is_done = asyncio.Event()
    finished: list[str] = []

    async def alpha(arguments: dict[str, Any]) -> str:
        await beta_is_done.wait()
        finished.append("alpha")
        return "slow"

    async def beta(arguments: dict[str, Any]) -> str:
        finished.append("beta")
        beta_is_done.set()
        return "quick"

    model = ScriptedModel([call("alpha", "beta"), say("Noon.")])
    hooks = [hook("after_tool_call", f"after {name}", tool_filter=[name]) for name in ("beta", "alpha")]

    chunks = await play(agent_for(model, [tool("alpha", alpha), tool("beta", beta)], planning=False), hooks)

    assert finished == ["beta", "alpha"]
    assert model.contents(1)[3:] == [
        ("tool", "slow"),
        ("tool", "quick"),
        ("system", "[after alpha]"),
        ("system", "[after beta]"),
        AGENT_LOOP,
    ]
    assert [chunk for chunk in told(chunks) if chunk[0].startswith("tool")] == [
        ("tool_call", "c1", "alpha", {}),
        ("tool_call", "c2", "beta", {}),
        ("tool_result", "c1", "slow"),
        ("tool_result", "c2", "quick"),
    ]


@pytest.mark.rule("L1-27")
async def test_hooks_follow_results_and_errors_alike() -> None:
    async def refuse(arguments: dict[str, Any]) -> str:
        raise ToolError("not today")

    async def crash(arguments: dict[str, Any]) -> str:
        raise RuntimeError("a secret inside")

    tools = [tool("refuses", refuse), tool("crashes", crash)]
    model = ScriptedModel([call("refuses", "crashes", "unknown"), say("Noon.")])
    names = ("refuses", "crashes", "unknown")
    hooks = [hook("after_tool_call", f"after {name}", tool_filter=[name]) for name in names]

    chunks = await play(agent_for(model, tools, planning=False), hooks)

    assert model.contents(1)[3:] == [
        ("tool", "not today"),
        ("tool", "crashes failed: RuntimeError"),
        ("tool", "there is no tool unknown; there are: refuses, crashes"),
        ("system", "[after refuses]"),
        ("system", "[after crashes]"),
        ("system", "[after unknown]"),
        AGENT_LOOP,
    ]
    results = [chunk.tool_result for chunk in chunks if chunk.tool_result]
    assert [(r.id, r.name, r.is_error) for r in results] == [(f"c{n}", name, True) for n, name in enumerate(names, 1)]


@pytest.mark.rule("L1-27")
async def test_the_last_batch_s_hooks_go_also_when_none_follows_this_batch() -> None:
    model = ScriptedModel([call("alpha"), call("beta"), say("Noon.")])

    await play(agent_for(model, planning=False), [hook("after_tool_call", tool_filter=["alpha"])])

    assert ("system", "[after_tool_call]") in model.contents(1)
    assert ("system", "[after_tool_call]") not in model.contents(2)


@pytest.mark.rule("L1-28")
async def test_nothing_stands_between_a_call_and_its_results() -> None:
    model = ScriptedModel([call("alpha", "beta"), call("alpha"), say("Noon.")])
    hooks = [hook(timing, persistent=True) for timing in ("after_tool_call", "before_each_agent")]

    await play(agent_for(model, planning=False), hooks)

    roles = [role for role, _ in model.contents(2)]
    assert roles == [
        *("system", "user", "system"),
        *("assistant", "tool", "tool", "system", "system", "system"),
        *("assistant", "tool", "system", "system", "system"),
    ]


async def test_a_result_tells_how_long_the_tool_took() -> None:
    model = ScriptedModel([call("alpha"), say("Noon.")])

    chunks = await play(agent_for(model, planning=False))

    [result] = [chunk.tool_result for chunk in chunks if chunk.tool_result]
    assert (result.name, result.is_error) == ("alpha", False)
    assert result.duration_ms >= 0


async def test_calls_without_an_id_or_with_one_used_before_get_their_own() -> None:
    calls = [ToolCall(call_id, "alpha", "{}") for call_id in ("", "x", "x", "call", "x", "")]
    model = ScriptedModel([[*calls, Finished("tool_calls")], [calls[1], Finished("tool_calls")], say("Noon.")])

    chunks = await play(agent_for(model, planning=False))

    ids = ["call", "x", "x_2", "call_2", "x_3", "call_3", "x_4"]
    assert [chunk.tool_call.id for chunk in chunks if chunk.tool_call] == ids
    assert [chunk.tool_result.id for chunk in chunks if chunk.tool_result] == ids
    assert [m["tool_call_id"] for m in model.messages(2) if m["role"] == "tool"] == ids


async def test_the_ids_of_one_turn_are_free_again_in_the_next() -> None:
    model = ScriptedModel([call("alpha"), say("Noon."), call("alpha"), say("One.")])
    agent = agent_for(model, planning=False)

    await play(agent)
    chunks = await play(agent)

    assert [chunk.tool_call.id for chunk in chunks if chunk.tool_call] == ["c1"]


@pytest.mark.parametrize(("written", "shown", "sent"), [("", {}, "{}"), ("{oh", "{oh", "{}"), ("[1]", [1], "{}")])
async def test_arguments_that_are_no_object_are_shown_as_they_are_and_sent_as_an_empty_one(
    written: str, shown: Any, sent: str
) -> None:
    model = ScriptedModel([[ToolCall("c1", "alpha", written), Finished("tool_calls")], say("Noon.")])

    chunks = await play(agent_for(model, planning=False))

    assert [chunk.tool_call.arguments for chunk in chunks if chunk.tool_call] == [shown]
    assert model.messages(1)[2]["tool_calls"][0]["function"]["arguments"] == sent


async def test_calls_in_a_planning_reply_or_without_tools_are_ignored() -> None:
    model = ScriptedModel([call("alpha", text="<need_tool>Wait."), say("Noon."), call("alpha", text="Hi.")])
    agent = agent_for(model)

    chunks = [*await play(agent), *await play(agent, enable_tools=False)]

    assert not [chunk for chunk in chunks if chunk.tool_call]
    assert texts(chunks) == "Wait.\n\nNoon.Hi."
    assert model.contents(2) == [SYSTEM, USER]
