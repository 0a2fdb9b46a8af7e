"""One model call: what is tried again, what is learned from a refusal, what is said about it."""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest

from server.agent import model_call
from server.agent.chunks import ChunkChannel, LLMChunk, NoticeGiven, streamed
from server.agent.costs import CostMeter
from server.agent.messages import Conversation
from server.agent.model_call import EndpointMemory, IllegalMessages, ModelCalls
from server.agent.prompts import FULL
from server.agent.trace import Tracer
from server.agent.turn_context import RuntimeEvents, TurnContext
from server.config import LlmSettings
from server.errors import (
    ContextTooLong,
    ModelMissing,
    ProviderAuth,
    ProviderError,
    ProviderProtocol,
    ProviderRateLimited,
    ProviderTimeout,
    ProviderUnreachable,
    RoleRefused,
)
from server.hooks.layers import NO_LAYERS, TurnHooks
from server.llm.language_model import LateSystem, ModelEvent, ModelRequest, ReasoningDelta
from tests.agent.scene import QUESTION, SYSTEM, USER, agent_for, given, hook, notices, play, texts, told, traces, until
from tests.support.scripted_model import ScriptedModel, Step, call, say

AUTO = LlmSettings(late_system="auto")


def soon(kind: type[ProviderError]) -> ProviderError:
    """The error, to be tried again after a millisecond."""
    return kind("busy", retry_after_ms=1)


# --- trying again -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [ProviderUnreachable, ProviderTimeout, ProviderRateLimited])
@pytest.mark.rule("L1-32")
async def test_a_call_that_failed_before_its_first_token_is_sent_again_as_it_was(kind: type[ProviderError]) -> None:
    model = ScriptedModel([say("<need_tool>"), [soon(kind)], [soon(kind)], call("alpha"), say("Noon.")])
    hooks = [hook("before_each_agent", persistent=True), hook("before_first_agent"), hook("after_tool_call")]

    chunks = await play(agent_for(model), hooks)

    assert model.requests[1] == model.requests[2] == model.requests[3]
    assert [chunk for chunk in told(chunks) if chunk[0] in ("hook", "model_request", "text")] == [
        ("model_request",),
        ("hook", "before_each_agent"),
        ("model_request",),
        ("model_request",),
        ("model_request",),
        ("hook", "before_each_agent"),
        ("model_request",),
        ("text", "Noon."),
    ]


async def test_a_call_is_tried_three_times() -> None:
    model = ScriptedModel([[soon(ProviderUnreachable)]] * 3)

    with pytest.raises(ProviderUnreachable):
        await play(agent_for(model))

    assert len(model.requests) == 3
    assert model.closed == 3


@pytest.mark.parametrize("kind", [ProviderAuth, ProviderProtocol, ModelMissing])
async def test_an_error_that_would_come_again_is_not_tried_again(kind: type[ProviderError]) -> None:
    model = ScriptedModel([[soon(kind)]])

    with pytest.raises(kind):
        await play(agent_for(model))

    assert len(model.requests) == 1


@pytest.mark.parametrize("answered", [say("Hel")[:1], call("alpha")[:1]])
@pytest.mark.rule("L1-32")
async def test_nothing_is_sent_again_behind_the_first_event(answered: list[Step]) -> None:
    model = ScriptedModel([[*answered, soon(ProviderUnreachable)]])

    with pytest.raises(ProviderUnreachable):
        await play(agent_for(model, planning=False))

    assert len(model.requests) == 1


async def test_text_before_a_break_was_yielded() -> None:
    model = ScriptedModel([[*say("Hel")[:1], ProviderUnreachable("gone")]])
    stream = agent_for(model).chat_stream([{"role": "user", "content": "Hi"}], [], False)

    assert told([await anext(stream), await anext(stream)]) == [("model_request",), ("text", "Hel")]
    with pytest.raises(ProviderUnreachable):
        await anext(stream)


async def test_a_wait_of_more_than_five_seconds_is_left_to_the_client() -> None:
    model = ScriptedModel([[ProviderRateLimited("busy", retry_after_ms=5001)]])

    with pytest.raises(ProviderRateLimited) as caught:
        await play(agent_for(model))

    assert len(model.requests) == 1
    assert caught.value.retry_after_ms == 5001


@pytest.mark.parametrize(
    ("error", "attempt", "wait_s"),
    [
        (ProviderUnreachable("down"), 1, 0.3),
        (ProviderUnreachable("down"), 2, 0.9),
        (ProviderRateLimited("busy", retry_after_ms=5000), 1, 5.0),
        (ProviderRateLimited("busy", retry_after_ms=0), 2, 0.0),
        (RoleRefused("no"), 1, 0.0),
        (ContextTooLong("long"), 2, 0.0),
    ],
)
def test_the_wait_is_what_the_endpoint_says_or_grows_by_three(
    error: ProviderError, attempt: int, wait_s: float
) -> None:
    assert model_call._wait_s(error, attempt) == pytest.approx(wait_s)


async def test_exactly_five_seconds_are_waited() -> None:
    model = ScriptedModel([[ProviderRateLimited("busy", retry_after_ms=5000)], say("Hi.")])
    stream = agent_for(model).chat_stream([{"role": "user", "content": "Hi"}], [], False)

    assert told([await anext(stream)]) == [("model_request",)]
    waits = asyncio.ensure_future(anext(stream))
    await until(lambda: model.closed == 1)

    assert not waits.done(), "it waits, and does not raise"
    waits.cancel()
    await asyncio.wait([waits])
    await stream.aclose()


# --- what the provider is told, and what is measured --------------------------------------------------------------


async def test_the_provider_is_told_the_question_alone_whatever_is_joined_to_it() -> None:
    model = ScriptedModel([say("Hi.")], late_system="user")

    await play(agent_for(model, llm=AUTO), LATE, enable_tools=False)

    assert mark_of(model, 0)
    assert model.requests[0].question == "What time is it?"


class Ticking(ScriptedModel):
    """Gives one event a second."""

    now_s = 100.0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        async with aclosing(super().stream(request)) as events:
            async for event in events:
                self.now_s += 1
                yield event


@pytest.mark.parametrize(
    ("answer", "first_token_ms", "total_ms"),
    [
        ([ReasoningDelta("Hm."), *say("Hi", ".")], 2000, 4000),
        (call("alpha"), 1000, 2000),
        (say(), None, 1000),
    ],
)
async def test_the_first_token_is_the_first_text_or_call_and_no_reasoning(
    answer: list[Step], first_token_ms: float | None, total_ms: float
) -> None:
    model = Ticking([answer])
    conversation = Conversation("Be brief.", QUESTION)
    turn_hooks = TurnHooks(NO_LAYERS)

    async def make_the_call(out: ChunkChannel) -> None:
        context = TurnContext(
            out=out,
            conversation=conversation,
            hooks=turn_hooks,
            tracer=Tracer(conversation, turn_hooks, is_on=True, costs=CostMeter()),
            events=RuntimeEvents(turn_hooks),
        )
        calls = ModelCalls(model, AUTO, EndpointMemory(), context, clock_s=lambda: model.now_s)
        async for _ in calls.call(ModelRequest()):
            pass

    chunks = [chunk async for chunk in streamed(make_the_call)]

    [(_, done)] = traces(chunks, "model_done")
    assert (done["first_token_ms"], done["total_ms"]) == (first_token_ms, total_ms)


# --- roles --------------------------------------------------------------------------------------------------------


LATE = [hook("after_user_input")]
WRAPPED = re.compile(
    r"What time is it\?\n\n\[Instruction from the system ([0-9a-f]{16}), not the user’s words\]\n"
    r"\[after_user_input\]\n\[End of the instruction \1\]"
)
AS_IT_IS = [SYSTEM, USER, ("system", "[after_user_input]")]


def mark_of(model: ScriptedModel, call: int) -> str:
    """The value around the instruction, which is sent in the user's role."""
    first, (role, content) = model.contents(call)
    found = WRAPPED.fullmatch(content)
    assert (first, role) == (SYSTEM, "user")
    assert found
    return found[1]


async def test_auto_sends_native_and_after_a_refusal_as_user_for_good() -> None:
    model = ScriptedModel([[RoleRefused("only first")], say("Hi."), say("Again.")])
    agent = agent_for(model, llm=AUTO)

    first = await play(agent, LATE, enable_tools=False)
    second = await play(agent, LATE, enable_tools=False)

    assert model.contents(0) == AS_IT_IS
    marks = [mark_of(model, number) for number in (1, 2)]
    assert marks[0] != marks[1], "who has seen the mark of one turn must not be able to write that of the next"
    assert told(first)[:3] == [("model_request",), ("notice", "late_system_as_user"), ("model_request",)]
    assert notices(second) == []
    text = (
        "scripted accepts no system message inside a conversation; such messages are now sent as wrapped user messages"
    )
    assert given(first) == [NoticeGiven("late_system_as_user", "info", text)]


@pytest.mark.parametrize(
    "answers",
    [[[RoleRefused("only first")], [RoleRefused("nor user")]], [[*say("Hi")[:1], RoleRefused("only first")]]],
    ids=["of the user role too", "behind the first token"],
)
async def test_a_refusal_that_another_role_does_not_cure_ends_the_turn(answers: list[Any]) -> None:
    model = ScriptedModel(answers)

    with pytest.raises(RoleRefused):
        await play(agent_for(model, llm=AUTO), LATE)

    assert len(model.requests) == len(answers)


@pytest.mark.parametrize(
    ("llm", "own", "host"),
    [
        (LlmSettings(late_system="native"), None, "model.test"),
        (AUTO, "native", "model.test"),
        (AUTO, None, "api.openai.com"),
    ],
)
async def test_a_mode_that_was_chosen_or_belongs_to_the_host_is_not_changed(
    llm: LlmSettings, own: LateSystem | None, host: str
) -> None:
    model = ScriptedModel([[RoleRefused("only first")]], late_system=own, host=host)

    with pytest.raises(RoleRefused):
        await play(agent_for(model, llm=llm), LATE)

    assert len(model.requests) == 1


async def test_the_mode_that_the_model_needs_is_used_at_once() -> None:
    model = ScriptedModel([say("Hi.")], late_system="user")

    await play(agent_for(model, llm=AUTO), LATE, enable_tools=False)

    assert mark_of(model, 0)


async def test_the_configured_mode_goes_over_what_the_model_needs() -> None:
    model = ScriptedModel([say("Hi.")], late_system="user")

    await play(agent_for(model, llm=LlmSettings(late_system="merge")), LATE, enable_tools=False)

    assert model.contents(0) == [("system", f"{SYSTEM[1]}\n\n[after_user_input]"), USER]


# --- legality -----------------------------------------------------------------------------------------------------


async def test_an_illegal_list_is_never_sent() -> None:
    model = ScriptedModel([say("Hi.")])

    with pytest.raises(IllegalMessages, match="message 1 has the unknown role 'developer'"):
        await play(
            agent_for(model), messages=[{"role": "developer", "content": "x"}, {"role": "user", "content": "Hi"}]
        )

    assert model.requests == []


async def test_unpaired_tool_messages_of_the_history_are_left_out_with_a_notice() -> None:
    model = ScriptedModel([say("Hi.")])
    orphan = {"role": "tool", "tool_call_id": "x", "content": "lost"}

    chunks = await play(agent_for(model), LATE, messages=[orphan, {"role": "user", "content": "What time is it?"}])

    assert model.contents(0) == [*AS_IT_IS, ("system", FULL.planning_prompt(["alpha", "beta"]))]
    assert told(chunks)[0] == ("notice", "tool_messages_unpaired")
    text = "1 tool call(s) or result(s) without their counterpart were left out of the history"
    assert given(chunks) == [NoticeGiven("tool_messages_unpaired", "warning", text)]
    assert texts(chunks) == "Hi."


async def test_a_reply_is_over_with_its_last_event_whatever_still_comes_of_the_stream() -> None:
    stream = agent_for(ScriptedModel([[*say("Noon."), asyncio.Event()]])).chat_stream(QUESTION, [], False)
    chunks: list[LLMChunk] = []

    async with aclosing(stream):
        while not chunks or not chunks[-1].reply_end:
            chunks.append(await anext(stream))

    assert texts(chunks) == "Noon."
