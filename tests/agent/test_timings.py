"""The five timings: what each model call of a turn reads, message by message."""

import pytest

from server.agent.chunks import NoticeGiven
from server.agent.prompts import FULL
from skills_engine.hook_entries import TIMINGS
from tests.agent.scene import SYSTEM, USER, agent_for, given, hook, play, told
from tests.support.scripted_model import ScriptedModel, call, say

PLANNING = ("system", FULL.planning_prompt(["alpha", "beta"]))
FIRST_STEP = ("system", FULL.first_step_prompt(""))
AGENT_LOOP = ("system", FULL.agent_loop)
ALL_TIMINGS = [hook(timing) for timing in TIMINGS]


def asked(content: str = "") -> tuple[str, str]:
    return "assistant", content


async def test_each_call_of_a_turn_reads_exactly_these_messages() -> None:
    model = ScriptedModel([say("<need_tool>"), call("alpha"), call("beta", text="And now."), say("Noon.")])

    chunks = await play(agent_for(model), ALL_TIMINGS)

    always = [SYSTEM, USER, ("system", "[after_user_input]")]
    each, first = ("system", "[before_each_agent]"), ("system", "[before_first_agent]")
    after = ("system", "[after_tool_call]")
    ran_alpha = [asked(), ("tool", "alpha ran")]
    ran_beta = [asked("And now."), ("tool", "beta ran")]
    assert model.contents(0) == [*always, ("system", "[before_planning]"), PLANNING]
    assert model.contents(1) == [*always, each, first, FIRST_STEP]
    assert model.contents(2) == [*always, first, *ran_alpha, after, each, AGENT_LOOP]
    assert model.contents(3) == [*always, first, *ran_alpha, *ran_beta, after, each, AGENT_LOOP]
    assert len(model.requests) == 4
    assert told(chunks) == [
        ("model_request",),
        ("usage",),
        ("model_request",),
        ("usage",),
        ("tool_call", "c1", "alpha", {}),
        ("tool_result", "c1", "alpha ran"),
        ("model_request",),
        ("text", "And now."),
        ("usage",),
        ("reply_end",),
        ("tool_call", "c1_2", "beta", {}),
        ("tool_result", "c1_2", "beta ran"),
        ("model_request",),
        ("text", "\n\n"),
        ("text", "Noon."),
        ("usage",),
        ("reply_end",),
    ]


async def test_each_call_says_its_purpose_and_its_tools() -> None:
    model = ScriptedModel([say("<need_tool>"), call("alpha"), say("Noon.")])

    await play(agent_for(model))

    assert [r.purpose for r in model.requests] == ["planning", "round", "round"]
    assert [[tool.name for tool in r.tools] for r in model.requests] == [[], ["alpha", "beta"], ["alpha", "beta"]]
    assert [list(r.tool_names) for r in model.requests] == [["alpha", "beta"], [], []]
    assert [r.tool_choice for r in model.requests] == ["auto", "auto", "auto"]


@pytest.mark.rule("L1-20")
async def test_after_user_input_is_read_by_every_call_of_the_turn() -> None:
    model = ScriptedModel([say("<need_tool>"), call("alpha"), say("Noon.")])

    await play(agent_for(model), [hook("after_user_input")])

    for number in range(3):
        assert model.contents(number)[2] == ("system", "[after_user_input]")


@pytest.mark.rule("L1-20")
@pytest.mark.parametrize(("tools", "enable_tools"), [([], True), (None, False)])
async def test_a_turn_without_tools_is_one_call_that_reads_after_user_input_alone(
    tools: list[object] | None, enable_tools: bool
) -> None:
    model = ScriptedModel([say("Hel", "lo.")])

    chunks = await play(agent_for(model, [] if tools == [] else None), ALL_TIMINGS, enable_tools=enable_tools)

    assert model.contents(0) == [SYSTEM, USER, ("system", "[after_user_input]")]
    assert model.requests[0].purpose == "direct"
    assert model.requests[0].tools == ()
    assert told(chunks) == [("model_request",), ("text", "Hel"), ("text", "lo."), ("usage",), ("reply_end",)]


async def test_a_turn_without_tools_shows_tags_as_text() -> None:
    model = ScriptedModel([say("<need_tool>Hello.")])

    chunks = await play(agent_for(model), enable_tools=False)

    assert told(chunks)[1] == ("text", "<need_tool>Hello.")


@pytest.mark.rule("L1-21")
async def test_before_planning_is_read_by_the_planning_call_only() -> None:
    model = ScriptedModel([say("<need_tool>"), call("alpha"), say("Noon.")])

    await play(agent_for(model), [hook("before_planning")])

    assert ("system", "[before_planning]") in model.contents(0)
    assert model.contents(1) == [SYSTEM, USER, FIRST_STEP]
    assert model.contents(2) == [SYSTEM, USER, asked(), ("tool", "alpha ran"), AGENT_LOOP]


@pytest.mark.rule("L1-21")
async def test_without_planning_before_planning_never_fires() -> None:
    model = ScriptedModel([say("Noon.")])

    await play(agent_for(model, planning=False), ALL_TIMINGS)

    assert model.contents(0) == [
        SYSTEM,
        USER,
        ("system", "[after_user_input]"),
        ("system", "[before_each_agent]"),
        ("system", "[before_first_agent]"),
        FIRST_STEP,
    ]


@pytest.mark.rule("L1-22")
async def test_before_each_agent_is_fresh_in_every_round() -> None:
    model = ScriptedModel([call("alpha"), call("alpha"), say("Noon.")])

    await play(agent_for(model, planning=False), [hook("before_each_agent")])

    for number in range(3):
        contents = model.contents(number)
        assert contents.count(("system", "[before_each_agent]")) == 1
        assert contents[-2] == ("system", "[before_each_agent]"), "behind all that happened since"


@pytest.mark.rule("L1-23")
async def test_before_first_agent_is_injected_once_and_read_by_all_rounds() -> None:
    model = ScriptedModel([call("alpha"), call("alpha"), say("Noon.")])

    await play(agent_for(model, planning=False), [hook("before_first_agent")])

    for number in range(3):
        assert model.contents(number)[2] == ("system", "[before_first_agent]")
        assert model.contents(number).count(("system", "[before_first_agent]")) == 1


@pytest.mark.rule("L1-24")
async def test_after_tool_call_is_read_in_the_next_round_and_gone_in_the_one_after_it() -> None:
    model = ScriptedModel([call("alpha"), call("beta"), say("Noon.")])
    hooks = [hook("after_tool_call", f"after {name}", tool_filter=[name]) for name in ("alpha", "beta")]

    await play(agent_for(model, planning=False), hooks)

    ran_alpha = [asked(), ("tool", "alpha ran")]
    ran_beta = [asked(), ("tool", "beta ran")]
    assert model.contents(0) == [SYSTEM, USER, FIRST_STEP]
    assert model.contents(1) == [SYSTEM, USER, *ran_alpha, ("system", "[after alpha]"), AGENT_LOOP]
    assert model.contents(2) == [SYSTEM, USER, *ran_alpha, *ran_beta, ("system", "[after beta]"), AGENT_LOOP]


@pytest.mark.rule("L1-25")
async def test_in_round_1_each_stands_before_first_and_both_before_the_step_prompt() -> None:
    model = ScriptedModel([say("Noon.")])

    await play(agent_for(model, planning=False), [hook("before_first_agent"), hook("before_each_agent")])

    assert model.contents(0)[2:] == [("system", "[before_each_agent]"), ("system", "[before_first_agent]"), FIRST_STEP]


async def test_a_hook_speaks_in_the_role_it_declares() -> None:
    model = ScriptedModel([say("Noon.")])

    await play(agent_for(model), [hook("after_user_input", role="user")], enable_tools=False)

    assert model.contents(0) == [SYSTEM, USER, ("user", "[after_user_input]")]


@pytest.mark.rule("L1-16")
async def test_nothing_but_the_openai_keys_reaches_the_model() -> None:
    model = ScriptedModel([call("alpha"), say("Noon.")])
    remembered = {"role": "user", "content": "[old]", "_hook": "old", "_skill": "diary", "_at": 1}
    hooks = [hook(timing, persistent=True) for timing in TIMINGS]

    await play(agent_for(model, planning=False), hooks, messages=[remembered, {"role": "user", "content": "Hi"}])

    assert model.messages(0)[1] == {"role": "user", "content": "[old]"}
    known = {"role", "content", "tool_calls", "tool_call_id", "name"}
    assert all(message.keys() <= known for request in model.requests for message in request.messages)


@pytest.mark.rule("L1-33")
async def test_after_max_rounds_one_last_round_may_not_call_tools() -> None:
    model = ScriptedModel([call("alpha"), call("alpha"), call("alpha", text="Noon, I think.")])

    chunks = await play(agent_for(model, planning=False, max_rounds=2), ALL_TIMINGS)

    assert [r.purpose for r in model.requests] == ["round", "round", "last"]
    assert [r.tool_choice for r in model.requests] == ["auto", "auto", "none"]
    assert [[tool.name for tool in r.tools] for r in model.requests] == [["alpha", "beta"]] * 3
    ran = [asked(), ("tool", "alpha ran")]
    assert model.contents(2)[3:] == [
        ("system", "[before_first_agent]"),
        *ran,
        *ran,
        ("system", "[after_tool_call]"),
        ("system", "[before_each_agent]"),
        ("system", FULL.last_step),
    ]
    assert told(chunks)[-6:] == [
        ("tool_result", "c1_2", "alpha ran"),
        ("notice", "max_rounds_reached"),
        ("model_request",),
        ("text", "Noon, I think."),
        ("usage",),
        ("reply_end",),
    ]
    text = "the limit of 2 rounds of tool calls is reached; answering with what is known"
    assert given(chunks) == [NoticeGiven("max_rounds_reached", "warning", text)]


@pytest.mark.rule("L1-33")
async def test_a_turn_that_ends_within_max_rounds_hears_of_no_limit() -> None:
    model = ScriptedModel([call("alpha"), say("Noon.")])

    chunks = await play(agent_for(model, planning=False, max_rounds=2))

    assert [r.purpose for r in model.requests] == ["round", "round"]
    assert given(chunks) == []
