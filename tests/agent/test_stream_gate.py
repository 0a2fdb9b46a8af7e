"""How much of a reply waits for after_llm, and what that makes of it."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from server import config
from server.agent.chunks import NoticeGiven
from server.agent.reply import PIECE_CHARS
from server.errors import ProviderUnreachable
from tests.agent.hooked import shouting, with_hooks
from tests.agent.scene import QUESTION, agent_for, given, notices, play, texts, told
from tests.hooks.fakes import Reply, hook
from tests.support.scripted_model import ScriptedModel, call, say


@pytest.mark.parametrize(
    ("stream_gate", "shown", "later"),
    [
        (None, ["LET ME LOOK. NOW."], "LET ME LOOK. NOW."),
        ("full", ["LET ME LOOK. NOW."], "LET ME LOOK. NOW."),
        ("sentence", ["LET ME LOOK.", " NOW."], "LET ME LOOK. NOW."),
        ("off", ["Let me", " look. Now."], "LET ME LOOK. NOW."),
    ],
)
async def test_how_much_of_a_reply_waits_for_the_hooks_is_the_gate_s_to_say(
    stream_gate: config.StreamGate | None, shown: list[str], later: str
) -> None:
    model = ScriptedModel([say("<need_tool>Let me ", "look. Now."), say("")])
    options = with_hooks(hook(after_llm=shouting), stream_gate=stream_gate)

    chunks = await play(agent_for(model), options=options)

    assert [chunk.text for chunk in chunks if chunk.text] == shown
    assert f"“{later}”" in model.contents(1)[-1][1]
    assert ("reply_changed_late" in notices(chunks)) is (stream_gate == "off")


async def test_a_long_reply_that_was_held_comes_in_pieces_and_others_run_in_between() -> None:
    long = "word " * 400
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            beats += 1
            await asyncio.sleep(0)

    beating = asyncio.create_task(beat())
    options = with_hooks(hook(after_llm={}), stream_gate="full")
    stream = agent_for(ScriptedModel([say(long)])).chat_stream(QUESTION, [], False, options=options)
    pieces = [(chunk.text, beats) async for chunk in stream if chunk.text is not None]
    beating.cancel()

    texts_, at = zip(*pieces, strict=True)
    assert "".join(texts_) == long
    assert max(map(len, texts_)) == PIECE_CHARS
    assert len(set(at)) == len(pieces) == 4


async def test_without_a_hook_of_after_llm_nothing_waits() -> None:
    model = ScriptedModel([say("One ", "two.")])

    chunks = await play(agent_for(model), enable_tools=False, options=with_hooks(hook(before_tool={})))

    assert told(chunks)[1:3] == [("text", "One "), ("text", "two.")]


async def test_in_a_gate_of_sentences_each_is_asked_about_once_and_the_calls_with_the_last() -> None:
    seen = hook(after_llm={})
    model = ScriptedModel([call("alpha", text="One. Two. Th"), say("End.")])

    await play(agent_for(model, planning=False), options=with_hooks(seen, stream_gate="sentence"))

    answers = [params["response"] for _, params, _ in seen.asked]
    assert [(answer["content"], len(answer["tool_calls"]), answer["finish_reason"]) for answer in answers] == [
        ("One.", 0, ""),
        ("Two.", 0, ""),
        ("Th", 1, "tool_calls"),
        ("End.", 0, "stop"),
    ]
    assert ["usage" in answer for answer in answers] == [False, False, True, True]
    assert {params["model"] for _, params, _ in seen.asked} == {"scripted"}


async def test_in_a_gate_of_sentences_white_space_is_kept_and_goes_with_a_sentence_that_is_dropped() -> None:
    def edit(params: dict[str, Any]) -> Mapping[str, Any]:
        sentence = params["response"]["content"]
        return {"response": {"content": {"One.": "1.", "Two.": "", "Five.": ""}.get(sentence, sentence)}}

    model = ScriptedModel([say("One.\n\nTwo. Three.\nFour. Five.")])

    chunks = await play(
        agent_for(model), enable_tools=False, options=with_hooks(hook(after_llm=edit), stream_gate="sentence")
    )

    assert texts(chunks) == "1. Three.\nFour."


@pytest.mark.parametrize("is_changed", [False, True])
async def test_a_change_that_comes_too_late_to_be_said_is_told(is_changed: bool) -> None:
    answer: Reply = shouting if is_changed else {}
    chunks = await play(
        agent_for(ScriptedModel([say("Noon.")])),
        enable_tools=False,
        options=with_hooks(hook(after_llm=answer), stream_gate="off"),
    )

    text = "a hook changed a reply that had already been shown; only later steps see the change"
    assert given(chunks) == ([NoticeGiven("reply_changed_late", "info", text)] if is_changed else [])
    assert told(chunks)[-1 - is_changed] == ("reply_end",)


async def test_a_hook_may_change_and_drop_the_calls_of_a_reply() -> None:
    change = hook(
        after_llm=lambda p: (
            {"response": {"tool_calls": [{"id": "x", "function": {"name": "beta", "arguments": "{}"}}]}}
            if p["response"]["tool_calls"]
            else {}
        )
    )
    drop = hook(after_llm={"response": {"tool_calls": []}})

    changed = ScriptedModel([call("alpha"), say("Done.")])
    await play(agent_for(changed, planning=False), options=with_hooks(change))
    dropped = ScriptedModel([call("alpha", text="Well.")])
    await play(agent_for(dropped, planning=False), options=with_hooks(drop))

    assert ("tool", "beta ran") in changed.contents(1)
    assert len(dropped.requests) == 1


async def test_a_reply_that_a_hook_takes_back_whole_is_not_said() -> None:
    model = ScriptedModel([say("A secret.")])

    chunks = await play(
        agent_for(model), enable_tools=False, options=with_hooks(hook(after_llm={"response": {"content": ""}}))
    )

    assert texts(chunks) == ""


async def test_a_failed_call_is_not_shown_to_after_llm() -> None:
    seen = hook(after_llm={})
    model = ScriptedModel([[ProviderUnreachable("gone", retry_after_ms=1)]] * 3)

    with pytest.raises(ProviderUnreachable):
        await play(agent_for(model), enable_tools=False, options=with_hooks(seen))

    assert seen.asked == []


async def test_a_hook_sees_no_tags_and_no_reasoning_in_the_content() -> None:
    seen = hook(after_llm={})
    model = ScriptedModel([say("<think>hm</think><no_tool>Noon.")])

    await play(agent_for(model), options=with_hooks(seen))

    assert seen.params("after_llm")["response"]["content"] == "Noon."
