"""A conversation too long for the model: what is left out, said and remembered."""

from collections.abc import Mapping
from typing import Any

import pytest

from server.agent.agent_client import TurnOptions
from server.agent.chunks import NoticeGiven
from server.agent.prompt_fit import estimate_tokens, estimate_tools
from server.config import LlmSettings
from server.errors import ContextTooLong, ProviderRateLimited
from server.tools.registry import Tool
from server.wire.frames import TurnSettings
from tests.agent.scene import agent_for, given, listed, notices, play, texts, told, tool, traces
from tests.hooks.fakes import hook, layers_of
from tests.support.scripted_model import ScriptedModel, call, say

OLD = [
    *({"role": role, "content": f"{number} {'x' * 300}"} for number in range(4) for role in ("user", "assistant")),
    {"role": "user", "content": "What time is it?"},
]


def numbers(model: ScriptedModel, index: int) -> list[str]:
    """Which of OLD's messages a call read."""
    return [content[0] for role, content in model.contents(index) if content[-1] == "x"]


async def test_a_history_that_fits_is_sent_whole() -> None:
    model = ScriptedModel([say("Hi.")], context_tokens=100_000)

    chunks = await play(agent_for(model), messages=OLD, enable_tools=False)

    assert numbers(model, 0) == ["0", "0", "1", "1", "2", "2", "3", "3"]
    assert notices(chunks) == []


async def test_of_a_history_too_long_the_oldest_turns_are_left_out_and_one_notice_says_so() -> None:
    model = ScriptedModel([say("<need_tool>Wait."), call("alpha"), say("Noon.")], context_tokens=1000)

    chunks = await play(agent_for(model), messages=OLD)

    assert numbers(model, 0) == ["2", "2", "3", "3"]
    assert told(chunks)[:2] == [("notice", "history_trimmed"), ("model_request",)]
    text = "the conversation no longer fits the model: its 4 oldest messages were left out"
    assert given(chunks) == [NoticeGiven("history_trimmed", "info", text)]


@pytest.mark.parametrize(
    ("llm", "kept"),
    [
        ({"context_tokens": 1000}, ["1", "1", "2", "2", "3", "3"]),  # 750 for the prompt
        ({"context_tokens": 1000, "max_tokens": 600}, ["3", "3"]),  # 400
        ({"context_tokens": 1000, "max_tokens": 1}, ["0", "0", "1", "1", "2", "2", "3", "3"]),  # 999
    ],
)
async def test_the_prompt_may_have_what_the_reply_leaves(llm: dict[str, int], kept: list[str]) -> None:
    model = ScriptedModel([say("Hi.")], context_tokens=10)

    await play(agent_for(model, llm=LlmSettings(**llm)), messages=OLD, enable_tools=False)  # type: ignore[arg-type]  # a table of two int fields

    assert numbers(model, 0) == kept


async def test_what_cannot_fit_ends_the_turn_before_it_is_sent() -> None:
    model = ScriptedModel([], context_tokens=20)

    with pytest.raises(
        ContextTooLong,
        match=r"^the message and what must go with it do not fit the context of scripted \(15 tokens for the prompt\); shorten it or use a model with a larger context$",
    ):
        await play(agent_for(model), messages=OLD)

    assert model.requests == []


async def test_a_context_too_long_is_trimmed_tried_once_more_and_remembered() -> None:
    model = ScriptedModel([[ContextTooLong("long", limit_tokens=800)], say("Hi."), say("Hi.")])
    agent = agent_for(model)

    first = await play(agent, messages=OLD, enable_tools=False)
    second = await play(agent, messages=OLD, enable_tools=False)

    assert numbers(model, 0) == ["0", "0", "1", "1", "2", "2", "3", "3"]
    assert numbers(model, 1) == numbers(model, 2) == ["2", "2", "3", "3"]
    assert notices(first) == notices(second) == ["history_trimmed"]


async def test_a_limit_that_the_endpoint_does_not_tell_is_three_quarters_of_what_was_refused(
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = ScriptedModel([[ContextTooLong("long")], say("Hi.")])

    await play(agent_for(model, planning=False), messages=OLD)

    refused = sum(map(estimate_tokens, model.messages(0))) + estimate_tools(model.requests[0].tools)
    assert refused == 998
    assert caplog.messages == ["the context was too long; the turn's prompts are limited to 748 tokens"]
    assert numbers(model, 1) == ["2", "2", "3", "3"]


async def test_a_limit_larger_than_what_was_refused_is_not_believed() -> None:
    model = ScriptedModel([[ContextTooLong("long", limit_tokens=100_000)], say("Hi.")])

    await play(agent_for(model), messages=OLD, enable_tools=False)

    assert numbers(model, 1) == ["2", "2", "3", "3"]


@pytest.mark.parametrize("limit_tokens", [None, 100_000])
async def test_one_turns_picture_does_not_shorten_the_turns_of_others(limit_tokens: int | None) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    too_long = ContextTooLong("long", limit_tokens=limit_tokens)
    model = ScriptedModel([[too_long], say("Hi.")])
    agent = agent_for(model)

    with pytest.raises(ContextTooLong):
        await play(agent, messages=[{"role": "user", "content": [picture]}], enable_tools=False)
    await play(agent, messages=[*OLD[:-1] * 4, OLD[-1]], enable_tools=False)

    assert len(numbers(model, 1)) == 4 * len(OLD[:-1])


@pytest.mark.parametrize(("limit_tokens", "kept_to"), [(50, 37), (None, 89)])
async def test_what_is_learnt_is_whole_tokens_and_holds_for_the_next_turn(
    limit_tokens: int | None, kept_to: int
) -> None:
    model = ScriptedModel([[ContextTooLong("long", limit_tokens=limit_tokens)]])
    agent = agent_for(model)

    for _ in range(2):
        with pytest.raises(ContextTooLong, match=rf"\({kept_to} tokens for the prompt\)"):
            await play(agent, messages=OLD[:1], enable_tools=False)

    assert len(model.requests) == 1


async def test_a_length_that_was_no_hindrance_before_may_be_learnt_at_the_second_try() -> None:
    model = ScriptedModel([[ProviderRateLimited("busy", retry_after_ms=0)], [ContextTooLong("long")], say("Hi.")])

    await play(agent_for(model), messages=OLD, enable_tools=False)

    assert len(numbers(model, 2)) < len(numbers(model, 1))


async def test_a_limit_learnt_from_one_call_of_a_turn_may_be_corrected_by_the_next() -> None:
    model = ScriptedModel([[ContextTooLong("long")], call("alpha"), [ContextTooLong("still")], say("Hi.")])

    await play(agent_for(model, planning=False), messages=OLD)

    assert len(model.messages(3)) < len(model.messages(2))


@pytest.mark.parametrize(("words", "kept"), [("psst", "123"), ("y" * 400, "23")])
async def test_what_is_left_out_before_and_behind_a_hook_is_said(words: str, kept: str) -> None:
    def add(params: dict[str, Any]) -> Mapping[str, Any]:
        return {"request": {"messages": [*params["messages"], {"role": "user", "content": words}]}}

    model = ScriptedModel([say("Hi.")], context_tokens=900)
    options = TurnOptions(settings=TurnSettings(trace=True), layers=layers_of(hook(before_llm=add)))

    chunks = await play(agent_for(model), messages=OLD, enable_tools=False, options=options)

    assert numbers(model, 0)[::2] == list(kept)
    assert model.contents(0)[-1] == ("user", words)
    [notice] = given(chunks)
    assert f"its {8 - 2 * len(kept)} oldest messages were left out" in notice.message


async def test_a_second_refusal_for_length_ends_the_turn() -> None:
    model = ScriptedModel([[ContextTooLong("long", limit_tokens=600)], [ContextTooLong("still")]])

    with pytest.raises(ContextTooLong, match="still"):
        await play(agent_for(model), messages=OLD)

    assert len(model.requests) == 2


async def test_a_known_limit_may_be_corrected_once_a_call() -> None:
    model = ScriptedModel(
        [[ContextTooLong("long", limit_tokens=900)], say("Hi."), [ContextTooLong("long")], say("Hi.")]
    )
    agent = agent_for(model)

    await play(agent, messages=OLD, enable_tools=False)
    await play(agent, messages=OLD, enable_tools=False)

    assert len(numbers(model, 2)) > len(numbers(model, 3))


@pytest.mark.parametrize("is_compact", [False, True])
async def test_the_tools_count_in_the_context_of_a_model_that_is_sent_them(is_compact: bool) -> None:
    model = ScriptedModel([say("Hi."), say("Hi.")], context_tokens=1200, is_compact=is_compact)

    await play(agent_for(model), messages=OLD, enable_tools=False)
    await play(agent_for(model, planning=False), messages=OLD)

    assert (len(numbers(model, 0)) > len(numbers(model, 1))) is not is_compact


def answering(name: str, text: str) -> Tool:
    async def run(arguments: dict[str, Any]) -> str:
        return text

    return tool(name, run)


def results(model: ScriptedModel, index: int) -> list[str]:
    return [content for role, content in model.contents(index) if role == "tool"]


LINES = "".join(f"line {number}\n" for number in range(1000))


async def test_a_tool_result_that_does_not_fit_is_cut_and_the_turn_goes_on() -> None:
    model = ScriptedModel([call("long"), say("Line 3.")], context_tokens=1000)

    chunks = await play(agent_for(model, [answering("long", LINES)], planning=False))

    [result] = results(model, 1)
    kept, note = result[: result.rindex("\n")], result[result.rindex("\n") + 1 :]
    assert LINES.startswith(kept)
    assert note == f"(truncated, {1000 - kept.count(chr(10)) - 1} lines left)"
    sent = sum(map(estimate_tokens, model.messages(1))) + estimate_tools(model.requests[1].tools)
    assert 700 < sent <= 750
    assert texts(chunks) == "Line 3."


async def test_the_results_of_a_batch_are_counted_together_and_short_ones_stay_whole() -> None:
    tools = [answering("a", LINES), answering("b", "short"), answering("c", LINES)]
    model = ScriptedModel([call("a", "b", "c"), say("Line 3.")], context_tokens=1500)

    await play(agent_for(model, tools, planning=False))

    first, short, last = results(model, 1)
    assert (first, short) == (last, "short")
    assert "lines left" in first
    sent = sum(map(estimate_tokens, model.messages(1))) + estimate_tools(model.requests[1].tools)
    assert 1060 < sent <= 1125


async def test_a_result_that_an_endpoint_refuses_for_length_is_cut() -> None:
    model = ScriptedModel([call("long"), [ContextTooLong("long", limit_tokens=900)], say("Line 3.")])

    chunks = await play(agent_for(model, [answering("long", LINES)], planning=False))

    assert "lines left" in results(model, 2)[0]
    assert texts(chunks) == "Line 3."


async def test_many_rounds_of_results_leave_out_the_oldest_rounds_and_the_turn_goes_on() -> None:
    arguments = "y" * 600  # which nothing cuts
    rounds = [call("long", text=str(number), why=arguments) for number in range(4)]
    model = ScriptedModel([*rounds, say("Line 3.")], context_tokens=1000)

    chunks = await play(agent_for(model, [answering("long", LINES)], planning=False))

    kept = [content for role, content in model.contents(4) if role == "assistant"]
    assert kept == ["2", "3"]
    assert texts(chunks).endswith("Line 3.")


async def test_the_trace_shows_what_the_model_read_before_and_after_a_result_was_cut() -> None:
    model = ScriptedModel([call("first"), call("second"), say("Line 3.")], context_tokens=2000)
    tools = [answering("first", LINES[:3000]), answering("second", LINES[:3000])]

    chunks = await play(agent_for(model, tools, planning=False), options=TurnOptions(settings=TurnSettings(trace=True)))

    shown = {message["id"]: message["content"] for message in listed(chunks)}
    calls = [data for _, data in traces(chunks, "model_call")]
    for index, data in enumerate(calls):
        read = [shown[number] for number in data["messages"]]
        assert read == [content for _, content in model.contents(index)]
    assert [len(data["shortened"]) for data in calls] == [0, 0, 2]
    assert set(calls[2]["shortened"]) < set(calls[2]["messages"])
