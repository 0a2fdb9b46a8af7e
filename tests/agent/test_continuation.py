"""Turns that go on with results of the client's own tools, and those that leave calls to it."""

from dataclasses import replace
from typing import Any

import pytest

from server.agent.agent_client import TurnOptions
from server.agent.prompts import FULL
from server.llm.language_model import Message
from server.tools.client_tools import ClientTool, client_tools
from server.tools.tool_calls import ToolAnswer, TurnAborted
from server.wire.frames import ToolItem
from skills_engine import HookFacts
from skills_engine.hook_entries import TIMINGS, Timing
from tests.agent.hooked import with_hooks
from tests.agent.scene import QUESTION, SYSTEM, USER, agent_for, hook, notices, play, told
from tests.hooks.fakes import FakeHook
from tests.hooks.fakes import hook as process_hook
from tests.support.scripted_model import ScriptedModel, call, say

AGENT_LOOP = ("system", FULL.agent_loop)


class Announced:
    """A client that keeps what it is to run after the turn, and answers what it is asked within it."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, Any]] = []

    async def ask(self, call_id: str, name: str, arguments: dict[str, Any]) -> ToolAnswer:
        return ToolAnswer(for_llm=f"{name} at the client: {call_id} {arguments}")

    def announce(self, call_id: str, name: str, arguments: dict[str, Any]) -> None:
        self.calls.append((call_id, name, arguments))


def seats(client: Announced | None = None) -> list[ClientTool]:
    """The tool of a client; of a client that is given, for after the turn."""
    schema = {"type": "object", "properties": {"row": {"type": "integer"}}}
    items = [ToolItem(name="find_seat", parameters=schema)]
    return client_tools(items, client or Announced(), are_left_open=client is not None)


def calling(*names: str, **arguments: str) -> Message:
    """The assistant's message with the calls `c1`, `c2`, …"""
    calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": arguments.get(name, "{}")}}
        for n, name in enumerate(names, 1)
    ]
    return {"role": "assistant", "content": "One moment.", "tool_calls": calls}


def result(number: int, text: Any) -> Message:
    return {"role": "tool", "tool_call_id": f"c{number}", "content": text}


@pytest.mark.rule("L1-34")
async def test_a_continuation_reads_these_messages_and_goes_on_in_rounds_from_one() -> None:
    model = ScriptedModel([call("alpha"), say("7C.")])
    messages = [*QUESTION, calling("alpha", "find_seat"), result(1, "noon"), result(2, "7C is free")]
    hooks = [hook(timing) for timing in TIMINGS]

    chunks = await play(agent_for(model), hooks, messages=messages, options=TurnOptions(client_tools=seats()))

    answered = [("assistant", "One moment."), ("tool", "noon"), ("tool", "7C is free")]
    start = [SYSTEM, USER, *answered, ("system", "[after_user_input]")]
    after, each = ("system", "[after_tool_call]"), ("system", "[before_each_agent]")
    first = ("system", "[before_first_agent]")
    assert model.contents(0) == [*start, after, after, each, first, AGENT_LOOP]
    assert model.contents(1) == [*start, first, ("assistant", ""), ("tool", "alpha ran"), after, each, AGENT_LOOP]
    assert [request.purpose for request in model.requests] == ["round", "round"]
    assert [each for each in told(chunks) if each[0].startswith("tool")] == [
        ("tool_call", "c1_2", "alpha", {}),  # c1 is taken in the history
        ("tool_result", "c1_2", "alpha ran"),
    ]


@pytest.mark.rule("L1-34")
@pytest.mark.parametrize(
    ("when", "fires"),
    [
        ({"tool": ["find_*"], "tool_status": ["ok"], "tool_result": ["7C"]}, True),
        ({"tool": ["alpha"]}, False),
        ({"round": {"max": 1}}, True),
        ({"round": {"min": 2}}, False),
    ],
)
@pytest.mark.parametrize("timing", ["after_tool_call", "before_each_agent"])
async def test_conditions_see_the_answered_calls_in_round_one(timing: Timing, when: object, fires: bool) -> None:
    model = ScriptedModel([say("7C.")])
    options = TurnOptions(client_tools=seats(), facts=HookFacts(user_messages=("What time is it?",)))
    messages = [*QUESTION, calling("find_seat"), result(1, "7C is free")]

    await play(agent_for(model), [hook(timing, when=when)], messages=messages, options=options)

    assert (("system", f"[{timing}]") in model.contents(0)) is fires


async def test_without_tools_a_continuation_is_one_call_and_its_hooks_fire_all_the_same() -> None:
    model = ScriptedModel([say("7C.")])
    messages = [*QUESTION, calling("find_seat"), result(1, "7C is free")]

    await play(agent_for(model), [hook("after_tool_call")], messages=messages, enable_tools=False)

    assert model.contents(0)[-2:] == [("tool", "7C is free"), ("system", "[after_tool_call]")]
    assert model.requests[0].purpose == "direct"


async def test_unanswered_calls_are_left_out_and_only_32_answers_count() -> None:
    model = ScriptedModel([say("7C.")])
    asked = calling(*["find_seat"] * 50)
    messages = [*QUESTION, asked, *(result(n, f"seat {n}") for n in range(2, 51))]

    chunks = await play(
        agent_for(model), [hook("after_tool_call")], messages=messages, options=TurnOptions(client_tools=seats())
    )

    assert notices(chunks) == ["tool_messages_unpaired"]
    assert [call["id"] for call in model.messages(0)[2]["tool_calls"]] == [f"c{n}" for n in range(2, 51)]
    assert model.contents(0).count(("system", "[after_tool_call]")) == 32


async def test_hooks_see_and_change_outputs_of_the_client_s_tools_alone() -> None:
    def shouting(params: dict[str, Any]) -> dict[str, Any]:
        return {"result": {"for_llm": params["result"]["for_llm"].upper()}}

    watching = process_hook(after_tool=shouting)
    model = ScriptedModel([say("7C.")])
    parts = [{"type": "text", "text": "7c is free"}]
    messages = [*QUESTION, calling("alpha", "find_seat"), result(1, "noon"), result(2, parts)]

    await play(agent_for(model), messages=messages, options=replace(with_hooks(watching), client_tools=seats()))

    assert [method for method, *_ in watching.asked] == ["hook.after_tool"]
    assert watching.params("after_tool")["tool"] == "find_seat"
    assert [content for role, content in model.contents(0) if role == "tool"] == ["noon", "7C IS FREE"]


async def test_results_that_a_turn_goes_on_with_are_cut_to_the_context() -> None:
    model = ScriptedModel([say("7C.")], context_tokens=4000)
    messages = [*QUESTION, calling("find_seat"), result(1, "a free seat\n" * 5000)]

    await play(agent_for(model), messages=messages, options=TurnOptions(client_tools=seats()))

    (sent,) = (content for role, content in model.contents(0) if role == "tool")
    assert len(sent) < 10_000
    assert "truncated" in sent


@pytest.mark.parametrize("hooks", [[], [process_hook(after_tool={})]], ids=["side by side", "one by one"])
async def test_the_server_s_part_of_a_batch_runs_before_the_client_hears_of_its_own(hooks: list[FakeHook]) -> None:
    client = Announced()
    model = ScriptedModel([call("find_seat", "alpha", "find_seat", row=7)])
    options = replace(with_hooks(*hooks), client_tools=seats(client))

    chunks = await play(agent_for(model, planning=False), [hook("after_tool_call", persistent=True)], options=options)

    results = [chunk.tool_result for chunk in chunks if chunk.tool_result]
    assert [(each.id, each.ending, each.content) for each in results] == [
        ("c1", "open", ""),
        ("c2", "ran", "alpha ran"),
        ("c3", "open", ""),
    ]
    assert client.calls == [("c1", "find_seat", {"row": 7}), ("c3", "find_seat", {"row": 7})]
    assert len(model.requests) == 1
    assert [chunk for chunk in chunks if chunk.hook or chunk.notice] == []


async def test_a_hook_that_ends_the_turn_keeps_open_calls_from_the_client() -> None:
    ending = process_hook(after_tool={"action": "abort_turn", "reason": "enough"})
    client = Announced()
    model = ScriptedModel([call("find_seat", "alpha")])
    options = replace(with_hooks(ending), client_tools=seats(client))

    with pytest.raises(TurnAborted, match="enough"):
        await play(agent_for(model, planning=False), options=options)

    assert client.calls == []


async def test_where_every_call_of_the_client_was_refused_the_loop_goes_on() -> None:
    client = Announced()
    model = ScriptedModel([call("find_seat", row="seven"), say("Sorry.")])
    options = TurnOptions(client_tools=seats(client))

    chunks = await play(agent_for(model, planning=False), [hook("after_tool_call")], options=options)

    assert client.calls == []
    assert [chunk.tool_result.ending for chunk in chunks if chunk.tool_result] == ["skipped"]
    assert ("system", "[after_tool_call]") in model.contents(1)


async def test_a_hook_that_answers_for_the_client_s_tool_spares_the_client() -> None:
    answering = process_hook(before_tool={"action": "respond", "result": {"for_llm": "7C"}})
    client = Announced()
    model = ScriptedModel([call("find_seat"), say("7C.")])
    options = replace(with_hooks(answering), client_tools=seats(client))

    chunks = await play(agent_for(model, planning=False), options=options)

    assert client.calls == []
    assert [chunk.tool_result.ending for chunk in chunks if chunk.tool_result] == ["answered"]
