"""What the inspector is told of a turn."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from server.agent.agent_client import TurnOptions
from server.agent.chunks import LLMChunk
from server.agent.prompts import FULL
from server.config import LlmSettings
from server.errors import ProviderUnreachable, RoleRefused
from server.llm.language_model import Finished, TextDelta, Usage
from server.wire.frames import TurnSettings
from skill_tools.testing.tests_format import CallSpec, TurnSpec, clock_of
from skills_engine import HookFacts
from skills_engine.hook_entries import TIMINGS
from skills_engine.hooks_config import read_hooks
from tests.agent.scene import QUESTION, agent_for, hook, listed, notices, play, told, traces
from tests.skills_engine.folders import make_skill, write_hooks_json
from tests.support.scripted_model import ScriptedModel, call, say

ON = TurnOptions(settings=TurnSettings(trace=True))


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
        ("facts", None),
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
        ("ran", 2),
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
        ("trace", "facts"),
        ("trace", "messages"),
        ("trace", "model_call"),
        ("model_request",),
        ("text", "Hi."),
        ("trace", "model_done"),
        ("usage",),
        ("reply_end",),
    ]


async def test_every_message_is_told_once_with_its_origin() -> None:
    model = ScriptedModel([say("<need_tool>Wait."), call("alpha"), say("Noon.")])
    history: list[dict[str, Any]] = [
        {"role": "user", "content": "Hello"},
        {"role": "system", "content": "[mood]", "_hook": "mood", "_skill": "diary"},
        {"role": "system", "content": "[forged]", "_hook": "mood", "_unsigned": True},
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
        ("system", "[forged]", {"kind": "hook", "hook": "mood", "persistent": True, "unsigned": True}),
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
    assert messages[10]["tool_calls"][0]["id"] == messages[11]["tool_call_id"] == "c1"
    assert [data["messages"] for data in model_calls(chunks)] == [
        [f"m{number}" for number in range(8)],
        ["m0", "m1", "m2", "m3", "m4", "m5", "m6", "m8", "m9"],
        ["m0", "m1", "m2", "m3", "m4", "m5", "m6", "m8", "m10", "m11", "m12"],
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

    same = {"attempt": 1, "sent_roles": {}, "trimmed": [], "shortened": [], "late_system": "native"}
    tools = ["alpha", "beta"]
    others = ("messages", "tokens", "common")
    calls = [{k: v for k, v in data.items() if k not in others} for data in model_calls(chunks) + model_calls(direct)]
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
    assert 0 < first_token_ms <= total_ms
    assert data == {
        "call": 1,
        "finish": "length",
        "usage": {"input_tokens": 10, "output_tokens": 2, "cached_tokens": 5},
        "reply": "Hi.",
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
    options = TurnOptions(settings=TurnSettings(trace=True), max_persistent=max_persistent)
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


async def test_a_filter_that_nearly_names_a_tool_that_ran_says_which() -> None:
    model = ScriptedModel([say("<need_tool>"), call("alpha"), say("Hi.")])
    hooks = [hook("after_tool_call", "misspelt", tool_filter=["weather", "alhpa"])]

    chunks = await play(agent_for(model), hooks, options=TurnOptions(settings=TurnSettings(trace=True)))

    [item] = [item for _, data in traces(chunks, "not_fired") for item in data["hooks"]]
    assert item["reason"] == "tool_filter names none of: alpha (did you mean alpha?)"


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

    chunks = await play(
        agent_for(model), hooks, options=TurnOptions(settings=TurnSettings(trace=True), max_persistent=0)
    )

    [(_, data)] = traces(chunks, "not_fired")
    assert [item["hook"] for item in data["hooks"]] == [*TIMINGS, "filtered"]
    assert {item["reason"] for item in data["hooks"]} == {"the turn's limit of persistent hooks was reached"}


async def test_hooks_of_skills_that_are_off_are_named_too() -> None:
    options = TurnOptions(settings=TurnSettings(trace=True), hooks_off=[hook("before_planning", "asleep")])
    chunks = await play(agent_for(ScriptedModel([say("Hi.")])), [], options=options)

    [(_, data)] = traces(chunks, "not_fired")
    assert [(item["hook"], item["reason"]) for item in data["hooks"]] == [("asleep", "the skill is switched off")]


async def test_the_variables_and_the_context_are_told_and_what_sets_them(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "quiz")
    entries: list[dict[str, Any]] = [
        {"name": "right", "timing": "after_user_input", "set": {"score": {"add": 2}}},
        {"name": "named", "timing": "after_user_input", "set": {"name": {"from": "user_text", "match": "/I am (.+)/"}}},
    ]
    write_hooks_json(folder, {"variables": {"score": 0, "name": ""}, "hooks": entries})
    options = replace(ON, facts=HookFacts(context={"plan": "pro"}, user_messages=("Hello",)))

    chunks = await play(agent_for(ScriptedModel([say("Hi.")])), read_hooks(folder).hooks, options=options)

    [(_, values)] = traces(chunks, "values")
    [(_, changed)] = traces(chunks, "variables")
    [(_, silent)] = traces(chunks, "not_fired")
    assert values == {"context": {"plan": "pro"}, "variables": {"quiz": {"score": 0, "name": ""}}}
    assert changed["changes"] == [{"skill": "quiz", "hook": "right", "name": "score", "before": 0, "value": 2}]
    assert [(hook["hook"], hook["path"]) for hook in silent["hooks"]] == [("named", "set.name")]


async def test_the_reply_to_the_planning_prompt_is_told() -> None:
    model = ScriptedModel([say("<need_tool>"), say("Hi.")])
    chunks = await play(agent_for(model), [], options=TurnOptions(settings=TurnSettings(trace=True)))

    assert [data.get("reply") for _, data in traces(chunks, "model_done")] == ["<need_tool>", None]


async def test_when_every_hook_fired_nothing_is_said() -> None:
    model = ScriptedModel([say("<need_tool>"), call("beta"), say("Hi.")])

    assert await reasons(model) == {}


async def test_facts_and_calls_of_a_turn_are_told_under_the_keys_of_tests() -> None:
    model = ScriptedModel([say("<need_tool>"), call("alpha"), say("Noon.")])

    chunks = await play(agent_for(model), options=ON)

    [(_, facts)], [(_, ran)] = traces(chunks, "facts"), traces(chunks, "ran")
    spec = msgspec.convert(facts, TurnSpec)
    assert (spec.channel, "alpha" in (spec.tools or ())) == ("text", True)
    assert clock_of(spec.time).tzinfo is not None
    [found] = ran["calls"]
    assert (ran["call"], msgspec.convert(found, CallSpec).tool) == (2, "alpha")
