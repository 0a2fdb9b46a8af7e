"""The planning round: who decides that tools are needed, and what of its reply the user gets."""

import pytest

from server.agent.chunks import NoticeGiven
from server.agent.prompts import FULL
from tests.agent.scene import SYSTEM, USER, agent_for, given, notices, play, texts, told
from tests.support.scripted_model import ScriptedModel, call, say, think


def first_step(said: str) -> tuple[str, str]:
    return "system", FULL.first_step_prompt(said)


async def test_a_reply_without_a_tag_is_the_answer() -> None:
    model = ScriptedModel([say("Hello", " there.")])

    chunks = await play(agent_for(model))

    assert len(model.requests) == 1
    assert told(chunks) == [("model_request",), ("text", "Hello"), ("text", " there."), ("usage",), ("reply_end",)]


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        (["<no_tool>Hello", " there.</no_tool>"], "Hello there."),
        (["I would write <need_tool> if I needed one."], "I would write <need_tool> if I needed one."),
    ],
    ids=["behind no_tool", "with a tag later on"],
)
async def test_a_reply_that_does_not_begin_with_need_tool_is_the_answer(reply: list[str], answer: str) -> None:
    model = ScriptedModel([say(*reply)])

    chunks = await play(agent_for(model))

    assert len(model.requests) == 1
    assert texts(chunks) == answer


@pytest.mark.parametrize("reply", ["<need_tool>", "<need_tool></need_tool>", " \n<NEED_TOOL> ", "", " \n", "<no_tool>"])
async def test_an_empty_reply_or_a_bare_tag_asks_for_tools(reply: str) -> None:
    model = ScriptedModel([say(reply), say("Noon.")])

    chunks = await play(agent_for(model))

    assert [r.purpose for r in model.requests] == ["planning", "round"]
    assert model.contents(1) == [SYSTEM, USER, first_step("")]
    assert texts(chunks) == "Noon.", "no separator before the first words"


async def test_an_acknowledgement_is_spoken_and_quoted_but_not_appended() -> None:
    model = ScriptedModel([say("<need_tool>Let me", "\n look that up."), call("alpha"), say("Noon.")])

    chunks = await play(agent_for(model))

    assert model.contents(1) == [SYSTEM, USER, first_step("Let me look that up.")]
    assert "“Let me look that up.”" in model.contents(1)[-1][1]
    assert model.contents(2)[:3] == [SYSTEM, USER, ("assistant", "")]
    assert told(chunks)[:6] == [
        ("model_request",),
        ("text", "Let me"),
        ("text", "\n look that up."),
        ("usage",),
        ("reply_end",),
        ("model_request",),
    ]
    assert texts(chunks) == "Let me\n look that up.\n\nNoon."


async def test_replies_of_one_turn_are_parted_by_an_empty_line() -> None:
    model = ScriptedModel([say("<need_tool>One."), call("alpha", text="Two."), call("beta"), say("Th", "ree.")])

    chunks = await play(agent_for(model))

    assert texts(chunks) == "One.\n\nTwo.\n\nThree."
    assert [chunk for chunk in told(chunks) if chunk[0] in ("text", "reply_end")] == [
        ("text", "One."),
        ("reply_end",),
        ("text", "\n\n"),
        ("text", "Two."),
        ("reply_end",),
        ("text", "\n\n"),
        ("text", "Th"),
        ("text", "ree."),
        ("reply_end",),
    ]


async def test_a_tag_in_the_loop_is_text() -> None:
    model = ScriptedModel([say("<need_tool>Noon.")])

    chunks = await play(agent_for(model, planning=False))

    assert texts(chunks) == "<need_tool>Noon."


async def test_planning_false_goes_straight_to_the_loop() -> None:
    model = ScriptedModel([say("Noon.")])

    await play(agent_for(model, planning=False))

    assert [r.purpose for r in model.requests] == ["round"]
    assert model.contents(0) == [SYSTEM, USER, first_step("")]


async def test_a_head_that_never_decides_is_shown_at_the_end() -> None:
    model = ScriptedModel([say("```")])

    chunks = await play(agent_for(model))

    assert texts(chunks) == "```"
    assert told(chunks)[-1] == ("reply_end",)


async def test_reasoning_is_told_apart_and_never_spoken() -> None:
    model = ScriptedModel([[*think("Which", " tool?"), *say("<need_tool>Wait.")], [*think("Hm."), *say("Noon.")]])

    chunks = await play(agent_for(model))

    assert told(chunks) == [
        ("model_request",),
        ("reasoning", "Which"),
        ("reasoning", " tool?"),
        ("text", "Wait."),
        ("usage",),
        ("reply_end",),
        ("model_request",),
        ("reasoning", "Hm."),
        ("text", "\n\n"),
        ("text", "Noon."),
        ("usage",),
        ("reply_end",),
    ]
    assert model.contents(1) == [SYSTEM, USER, first_step("Wait.")]


async def test_the_tag_is_looked_for_behind_a_think_block() -> None:
    model = ScriptedModel([say("<think>Is <no_tool> right?</think>\n\n<need_tool>Wait."), say("Noon.")])

    chunks = await play(agent_for(model))

    assert [r.purpose for r in model.requests] == ["planning", "round"]
    assert ("reasoning", "Is <no_tool> right?") in told(chunks)
    assert texts(chunks) == "Wait.\n\nNoon."


async def test_a_think_block_in_the_loop_is_not_stored_with_the_call() -> None:
    model = ScriptedModel([call("alpha", text="<think>Hm.</think>Wait."), say("<think>", "So.", "</think>", "Noon.")])

    chunks = await play(agent_for(model, planning=False))

    assert model.contents(1)[2] == ("assistant", "Wait.")
    assert texts(chunks) == "Wait.\n\nNoon."
    assert [c for c in told(chunks) if c[0] == "reasoning"] == [("reasoning", "Hm."), ("reasoning", "So.")]


async def test_a_think_block_that_never_ends_leaves_an_empty_reply() -> None:
    model = ScriptedModel([say("<think>Hm, </th")])

    chunks = await play(agent_for(model), enable_tools=False)

    assert told(chunks) == [
        ("model_request",),
        ("reasoning", "Hm, "),
        ("usage",),
        ("reasoning", "</th"),
        ("notice", "reply_empty"),
    ]


async def test_text_that_only_looks_like_a_think_block_is_shown_at_the_end() -> None:
    model = ScriptedModel([say(" <th")])

    chunks = await play(agent_for(model), enable_tools=False)

    assert texts(chunks) == "<th"


@pytest.mark.parametrize("reply", [[], [""], [" ", "\n"]])
async def test_a_turn_that_said_nothing_says_so(reply: list[str]) -> None:
    model = ScriptedModel([say(*reply)])

    chunks = await play(agent_for(model), enable_tools=False)

    assert given(chunks) == [NoticeGiven("reply_empty", "warning", "the model gave an empty reply; try again")]
    assert told(chunks)[-1] == ("notice", "reply_empty")
    assert not [chunk for chunk in chunks if chunk.reply_end]


async def test_a_turn_that_only_used_tools_says_that_its_reply_was_empty() -> None:
    model = ScriptedModel([call("alpha"), say("")])

    chunks = await play(agent_for(model, planning=False))

    assert notices(chunks) == ["reply_empty"]


async def test_white_space_beside_a_tool_call_is_no_reply() -> None:
    model = ScriptedModel([say("<need_tool>Wait."), call("alpha", text="\n\n"), say("Noon.")])

    chunks = await play(agent_for(model))

    assert texts(chunks) == "Wait.\n\nNoon."


async def test_a_reply_cut_off_at_its_limit_says_so() -> None:
    model = ScriptedModel([say("Once upon", reason="length")])

    chunks = await play(agent_for(model), enable_tools=False)

    assert told(chunks) == [
        ("model_request",),
        ("text", "Once upon"),
        ("usage",),
        ("notice", "reply_cut"),
        ("reply_end",),
    ]
    assert given(chunks) == [NoticeGiven("reply_cut", "warning", "the model's reply was cut off at its token limit")]


async def test_each_call_reports_its_usage() -> None:
    model = ScriptedModel([say("<need_tool>Wait."), say("Noon.")])

    chunks = await play(agent_for(model))

    used = [chunk.usage for chunk in chunks if chunk.usage]
    assert [(u.input_tokens, u.output_tokens) for u in used] == [(10, 2), (10, 2)]
