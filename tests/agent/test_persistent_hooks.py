"""Persistent hooks: yielded in their place, accumulating, bounded, pinned."""

import pytest

from server.agent.agent_client import TurnOptions
from server.agent.chunks import NoticeGiven
from server.agent.prompts import FULL
from skills_engine.hook_entries import TIMINGS
from tests.agent.scene import SYSTEM, USER, agent_for, given, hook, notices, play, told
from tests.support.scripted_model import ScriptedModel, call, say

AGENT_LOOP = ("system", FULL.agent_loop)


@pytest.mark.rule("L1-29")
async def test_every_persistent_hook_is_yielded_in_its_place() -> None:
    model = ScriptedModel([say("<need_tool>Wait."), call("alpha", "beta"), say("Noon.")])
    hooks = [hook(timing, persistent=True) for timing in TIMINGS]
    passing = [hook(timing, f"passing {timing}") for timing in TIMINGS]

    chunks = await play(agent_for(model), [*hooks, *passing])

    order = [c for c in told(chunks) if c[0] in ("hook", "model_request", "text", "tool_call", "tool_result")]
    assert order == [
        ("hook", "after_user_input"),
        ("hook", "before_planning"),
        ("model_request",),
        ("text", "Wait."),
        ("hook", "before_each_agent"),
        ("hook", "before_first_agent"),
        ("model_request",),
        ("tool_call", "c1", "alpha", {}),
        ("tool_call", "c2", "beta", {}),
        ("tool_result", "c1", "alpha ran"),
        ("tool_result", "c2", "beta ran"),
        ("hook", "after_tool_call"),
        ("hook", "after_tool_call"),
        ("hook", "before_each_agent"),
        ("model_request",),
        ("text", "\n\n"),
        ("text", "Noon."),
    ]


@pytest.mark.rule("L1-29")
async def test_a_hook_chunk_holds_what_the_client_must_keep() -> None:
    model = ScriptedModel([say("Hi.")])

    chunks = await play(agent_for(model), [hook("after_user_input", "h", role="user", persistent=True)])

    assert chunks[0].hook == {
        "name": "h",
        "role": "user",
        "content": "[h]",
        "skill": "diary",
        "timing": "after_user_input",
    }


async def test_persistent_hooks_stay_in_the_list_for_the_rest_of_the_turn() -> None:
    model = ScriptedModel([say("<need_tool>"), call("alpha"), say("Noon.")])
    hooks = [hook(timing, persistent=True) for timing in TIMINGS]

    await play(agent_for(model), hooks)

    assert model.contents(2) == [
        SYSTEM,
        USER,
        ("system", "[after_user_input]"),
        ("system", "[before_planning]"),
        ("system", "[before_each_agent]"),
        ("system", "[before_first_agent]"),
        ("assistant", ""),
        ("tool", "alpha ran"),
        ("system", "[after_tool_call]"),
        ("system", "[before_each_agent]"),
        AGENT_LOOP,
    ]


@pytest.mark.rule("L1-30")
async def test_the_next_request_carries_the_old_copy_and_a_new_one_while_the_skill_is_on() -> None:
    model = ScriptedModel([say("Hi."), say("Hi again.")])
    agent = agent_for(model)
    mood = hook("after_user_input", "mood", persistent=True)
    history = [
        {"role": "user", "content": "Hello"},
        {"role": "system", "content": "[mood]", "_hook": "mood", "_skill": "diary"},
        {"role": "assistant", "content": "Hi."},
        {"role": "user", "content": "What time is it?"},
    ]

    with_skill = await play(agent, [mood], messages=history, enable_tools=False)
    without = await play(agent, [], messages=history, enable_tools=False)

    kept = [SYSTEM, ("user", "Hello"), ("system", "[mood]"), ("assistant", "Hi."), USER]
    assert model.contents(0) == [*kept, ("system", "[mood]")]
    assert model.contents(1) == kept
    assert ("hook", "mood") in told(with_skill)
    assert not [chunk for chunk in without if chunk.hook]


@pytest.mark.rule("L1-30")
async def test_beyond_the_limit_persistent_hooks_are_not_injected_and_one_notice_says_so() -> None:
    model = ScriptedModel([say("<need_tool>"), call("alpha", "beta", "alpha"), say("Noon.")])
    hooks = [
        hook("after_user_input", "a", persistent=True),
        hook("after_tool_call", "b", persistent=True),
        hook("after_tool_call", "passing"),
    ]

    chunks = await play(agent_for(model), hooks, options=TurnOptions(max_persistent=2))

    assert [chunk.hook["name"] for chunk in chunks if chunk.hook] == ["a", "b"]
    assert model.contents(2)[-5:] == [("system", "[b]"), *[("system", "[passing]")] * 3, AGENT_LOOP]
    text = "the limit of persistent hooks for one turn is reached; further ones are not injected"
    assert given(chunks) == [NoticeGiven("hook_limit_reached", "warning", text)]
    assert told(chunks)[10:13] == [("tool_result", "c3", "alpha ran"), ("hook", "b"), ("notice", "hook_limit_reached")]


@pytest.mark.rule("L1-30")
async def test_a_turn_may_inject_64_persistent_hooks_if_nothing_else_is_said() -> None:
    model = ScriptedModel([say("Hi.")])
    hooks = [hook("after_user_input", f"h{number}", persistent=True) for number in range(65)]

    chunks = await play(agent_for(model), hooks, enable_tools=False)

    assert len([chunk for chunk in chunks if chunk.hook]) == 64
    assert notices(chunks) == ["hook_limit_reached"]


@pytest.mark.rule("L1-31")
async def test_a_turn_keeps_the_hooks_it_started_with() -> None:
    model = ScriptedModel([say("<need_tool>"), call("alpha"), say("Noon.")])
    hooks = [hook("before_each_agent", "old")]

    stream = agent_for(model).chat_stream([{"role": "user", "content": "Hi"}], hooks, True)
    async for _ in stream:
        hooks[:] = [hook("before_each_agent", "new")]

    assert ("system", "[old]") in model.contents(1)
    assert ("system", "[old]") in model.contents(2)
    assert ("system", "[new]") not in model.contents(2)


async def test_the_client_s_messages_are_never_changed() -> None:
    model = ScriptedModel([call("alpha"), say("Noon.")])
    messages = [{"role": "system", "content": "[x]", "_hook": "x"}, {"role": "user", "content": "Hi"}]
    before = [dict(message) for message in messages]

    await play(agent_for(model, planning=False), [hook("after_user_input")], messages=messages)

    assert messages == before
