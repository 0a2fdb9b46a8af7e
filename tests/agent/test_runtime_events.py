"""What observers are told of a turn, to the letter."""

from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from server import config
from server.agent.agent_client import TurnOptions
from server.agent.chunks import LLMChunk
from server.agent.reply import ModelReply
from server.agent.turn_context import RuntimeEvents
from server.errors import Closed, ContextTooLong, ImageRefused, ProviderUnreachable
from server.hooks.layers import TurnHooks, TurnLayers
from server.llm.language_model import Message, ModelRequest, ReasoningDelta, ToolCall
from server.tools.tool_calls import ToolOutcome, TurnAborted
from server.wire.frames import TurnSettings
from tests.agent.hooked import PLANNED, with_hooks
from tests.agent.scene import QUESTION, agent_for, play, tool
from tests.hooks.fakes import FACTS, FakeHook, hook, layers_of
from tests.support.scripted_model import ScriptedModel, call, say


def observed(*kinds: str) -> tuple[FakeHook, TurnHooks]:
    """A turn's hooks, observers of these kinds, and what they are told."""
    channel = FakeHook("observer", settings=config.ProcessHookSettings(observe=list(kinds)))
    return channel, TurnHooks(layers_of(channel))


class Observer:
    """A turn's options with one observer of these kinds, and what it was told."""

    def __init__(self, *kinds: str, others: tuple[FakeHook, ...] = (), **more: Any) -> None:
        self._channel = FakeHook("observer", settings=config.ProcessHookSettings(observe=list(kinds)))
        facts = replace(FACTS, user_message="")  # as of a client that leaves it to the conversation
        self.options = TurnOptions(layers=TurnLayers(facts=facts, hooks=[self._channel, *others], **more))

    @property
    def heard(self) -> list[tuple[str, dict[str, Any]]]:
        """Severity and payload of each event."""
        return [(event["severity"], event["payload"]) for _, event in self._channel.told]

    @property
    def rounds(self) -> list[int]:
        return [event["attrs"].get("iteration", 0) for _, event in self._channel.told]


async def test_a_turn_starts_with_its_question_and_the_pictures_that_came_with_it() -> None:
    observer = Observer("turn_start")
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    seen: Message = {"role": "user", "content": [picture]}
    new: Message = {"role": "user", "content": [{"type": "text", "text": "And here?"}, picture, picture]}
    asked = [*QUESTION, seen, new]

    await play(agent_for(ScriptedModel([say("Noon.")])), messages=asked, enable_tools=False, options=observer.options)

    assert observer.heard == [("info", {"UserMessage": "And here?", "MediaCount": 2})]


async def test_a_call_is_told_with_the_settings_it_has() -> None:
    observer = Observer("llm_request")
    llm = config.LlmSettings(late_system="native", max_tokens=64, options={"temperature": 0.5})

    await play(agent_for(ScriptedModel([say("Noon.")]), llm=llm), enable_tools=False, options=observer.options)

    payload = {"Model": "scripted", "MessagesCount": 2, "ToolsCount": 0, "MaxTokens": 64, "Temperature": 0.5}
    assert observer.heard == [("info", payload)]


async def test_a_direct_answer_is_round_1_and_planning_is_none() -> None:
    direct, planned = Observer("llm_request"), Observer("llm_request")

    await play(agent_for(ScriptedModel([say("Noon.")])), enable_tools=False, options=direct.options)
    await play(agent_for(ScriptedModel([say("<need_tool>"), call("alpha"), say("Noon.")])), options=planned.options)

    assert (direct.rounds, planned.rounds) == ([1], [0, 1, 2])


async def test_a_turn_ends_with_what_was_done_and_said() -> None:
    async def fail(_: dict[str, Any]) -> str:
        raise RuntimeError("no clock")

    observer = Observer("turn_end")
    model = ScriptedModel([call("alpha", "beta"), say("Noon.")])

    await play(agent_for(model, [tool("alpha", fail), tool("beta")], planning=False), options=observer.options)

    [(severity, payload)] = observer.heard
    assert severity == "info"
    assert (payload["Status"], payload["Iterations"], payload["UserMessage"]) == ("completed", 2, "What time is it?")
    assert (payload["FinalContent"], payload["FinalContentLen"], payload["ToolKinds"]) == (
        "Noon.",
        5,
        ["alpha", "beta"],
    )
    assert [(ran["name"], ran["success"]) for ran in payload["ToolExecutions"]] == [("alpha", False), ("beta", True)]


async def test_a_turn_that_fails_says_what_failed() -> None:
    observer = Observer("error", "turn_end")

    with pytest.raises(ImageRefused):
        await play(agent_for(ScriptedModel([[ImageRefused("no pictures")]])), options=observer.options)

    assert observer.heard[0] == ("error", {"Stage": "llm", "Message": "no pictures"})
    assert (observer.heard[1][0], observer.heard[1][1]["Status"]) == ("error", "error")


@pytest.mark.parametrize(
    ("action", "status", "severity"), [("abort_turn", "error", "error"), ("hard_abort", "aborted", "warn")]
)
async def test_a_turn_that_a_hook_ends_was_aborted_only_if_it_leaves_nothing(
    action: str, status: str, severity: str
) -> None:
    observer = Observer("turn_end", others=(hook(before_llm={"action": action, "reason": "enough"}),))

    with pytest.raises(TurnAborted):
        await play(agent_for(ScriptedModel()), enable_tools=False, options=observer.options)

    assert [(level, payload["Status"]) for level, payload in observer.heard] == [(severity, status)]


async def test_a_turn_that_is_left_was_aborted() -> None:
    observer = Observer("turn_end")
    turn = agent_for(ScriptedModel([say("Noon.")])).chat_stream(QUESTION, [], False, options=observer.options)

    async with aclosing(turn):
        await anext(turn)

    assert [(level, payload["Status"]) for level, payload in observer.heard] == [("warn", "aborted")]


async def test_a_turn_whose_channel_is_closed_was_aborted_and_has_not_failed() -> None:
    class Gone:
        async def put(self, *chunks: LLMChunk) -> None:
            raise Closed("the client has left")

    observer = Observer("turn_end", "error")

    with pytest.raises(Closed):
        agent = agent_for(ScriptedModel([say("Noon.")]))
        options = replace(observer.options, settings=TurnSettings(enable_tools=False))
        await agent.answer(QUESTION, [], out=Gone(), options=options)

    assert [(level, payload["Status"]) for level, payload in observer.heard] == [("warn", "aborted")]


async def test_a_retry_says_what_went_wrong_and_how_long_it_waits() -> None:
    observer = Observer("llm_retry")
    model = ScriptedModel([[ProviderUnreachable("gone", retry_after_ms=1)], say("Noon.")])

    await play(agent_for(model), enable_tools=False, options=observer.options)

    error = {"Attempt": 1, "MaxRetries": 2, "Reason": "provider_unreachable", "Error": "gone", "Backoff": 1_000_000}
    assert observer.heard == [("warn", error)]


async def test_what_is_left_out_of_a_conversation_is_told_with_the_reason() -> None:
    observer = Observer("context_compress")
    old: list[Message] = [{"role": role, "content": "x" * 300} for _ in range(4) for role in ("user", "assistant")]
    model = ScriptedModel([[ContextTooLong("long", limit_tokens=800)], say("Noon.")])

    agent = agent_for(model)
    for _ in range(2):
        model.answers.append(say("Noon."))
        await play(agent, messages=[*old, *QUESTION], enable_tools=False, options=observer.options)

    left_out = {"DroppedMessages": 4, "RemainingMessages": 6}
    assert observer.heard == [
        ("warn", {"Reason": "llm_retry", **left_out}),
        ("warn", {"Reason": "proactive_budget", **left_out}),
    ]


@pytest.mark.parametrize("gate", ["off", "full"])
async def test_it_is_said_when_the_next_thing_waits_for_hooks(gate: config.StreamGate) -> None:
    asked = hook(before_llm={}, after_llm={})
    observer = Observer("turn_end", others=(asked,), stream_gate=gate)

    chunks = await play(agent_for(ScriptedModel([say("Noon.")])), enable_tools=False, options=observer.options)

    told = ["held" if chunk.held else "request" for chunk in chunks if chunk.held or chunk.model_request]
    assert told == (["held", "request"] if gate == "off" else ["held", "request", "held"])
    assert [params["model"] for _, params, _ in asked.asked] == ["scripted", "scripted"]


async def test_observers_hear_of_a_turn_in_the_reference_s_order() -> None:
    watching = FakeHook(settings=config.ProcessHookSettings(observe=["*"]))
    model = ScriptedModel([say(PLANNED), call("alpha"), say("Done.")])

    await play(agent_for(model), options=with_hooks(watching))

    assert [params["kind"].removeprefix("agent.") for _, params in watching.told] == [
        "turn.start",
        "llm.request",
        "llm.response",
        "llm.request",
        "llm.response",
        "tool.exec_start",
        "tool.exec_end",
        "llm.request",
        "llm.response",
        "turn.end",
    ]
    start, request, end = watching.told[0][1], watching.told[3][1], watching.told[-1][1]
    assert start["payload"] == {"UserMessage": "What time is it?", "MediaCount": 0}
    assert request["payload"]["ToolsCount"] == 2
    assert (end["payload"]["Status"], end["payload"]["FinalContent"]) == ("completed", "Done.")
    assert end["payload"]["ToolExecutions"] == [{"name": "alpha", "success": True}]


async def test_observers_hear_of_retries_errors_and_how_a_turn_ended() -> None:
    watching = FakeHook(settings=config.ProcessHookSettings(observe=["llm_retry", "error", "turn_end"]))
    model = ScriptedModel([[ProviderUnreachable("gone", retry_after_ms=1)]] * 3)

    with pytest.raises(ProviderUnreachable):
        await play(agent_for(model), enable_tools=False, options=with_hooks(watching))

    kinds = [params["kind"] for _, params in watching.told]
    assert kinds == ["agent.llm.retry", "agent.llm.retry", "agent.error", "agent.turn.end"]
    assert watching.told[-1][1]["payload"]["Status"] == "error"


async def test_observers_hear_of_a_defect_of_ours_as_an_error_without_its_words() -> None:
    watching = FakeHook(settings=config.ProcessHookSettings(observe=["error", "turn_end"]))

    with pytest.raises(ValueError, match="private"):
        await play(agent_for(ScriptedModel([[ValueError("private")]])), options=with_hooks(watching))

    failed, end = (params["payload"] for _, params in watching.told)
    assert (failed, end["Status"]) == ({"Stage": "llm", "Message": "ValueError"}, "error")


def test_the_end_of_a_turn_is_told_to_the_letter() -> None:
    ticks = iter([2.0, 3.5])
    channel, hooks = observed("turn_end")
    events = RuntimeEvents(hooks, clock_s=lambda: next(ticks))
    reply = ModelReply()
    events.turn_start("asked", [])
    for content in ("Let me look.", ""):
        reply.content = content
        events.llm_response(reply)
    events.begin_round(3)
    for outcome in [
        ToolOutcome(id="c1", name="beta", content="x" * 300, is_error=True),
        ToolOutcome(id="c2", name="alpha", content="fine"),
        ToolOutcome(id="c3", name="beta", content="fine"),
    ]:
        events.tool_ran(outcome)

    events.turn_end("completed")

    [(_, event)] = channel.told
    assert (event["kind"], event["correlation"]) == ("agent.turn.end", {"trace_id": "turn"})
    assert event["payload"] == {
        "Status": "completed",
        "Workspace": "",
        "Iterations": 3,
        "Duration": 1_500_000_000,
        "FinalContentLen": 12,
        "UserMessage": "What time is it?",
        "FinalContent": "Let me look.",
        "ActiveSkills": None,
        "AttemptedSkills": None,
        "FinalSuccessfulPath": None,
        "SkillContextSnapshots": None,
        "ToolKinds": ["alpha", "beta"],
        "ToolExecutions": [
            {"name": "beta", "success": False, "error_summary": "x" * 200},
            {"name": "alpha", "success": True},
            {"name": "beta", "success": True},
        ],
    }


def test_a_turn_in_which_nothing_was_said_and_nothing_ran_ends_so() -> None:
    channel, hooks = observed("turn_end")

    RuntimeEvents(hooks).turn_end("completed")

    [(_, event)] = channel.told
    facts = event["payload"]
    assert (facts["FinalContent"], facts["ToolKinds"], facts["ToolExecutions"]) == ("", None, None)
    assert facts["UserMessage"] == "What time is it?"


def test_a_turn_without_messages_starts_too() -> None:
    channel, hooks = observed("turn_start")

    RuntimeEvents(hooks).turn_start("asked", [])

    [(_, event)] = channel.told
    assert (event["kind"], event["correlation"]) == ("agent.turn.start", {"trace_id": "turn"})
    assert event["payload"] == {"UserMessage": "What time is it?", "MediaCount": 0}


def test_a_call_that_a_hook_rewrote_is_told_as_it_is_sent() -> None:
    channel, hooks = observed("llm_request")
    request = ModelRequest(
        messages=QUESTION, model="other", options={"max_tokens": 5, "temperature": 1}, tools=[tool("alpha").spec]
    )

    RuntimeEvents(hooks).llm_request(
        request, model="scripted", max_tokens=9, options={"temperature": 0, "max_tokens": 7}
    )

    [(_, event)] = channel.told
    assert (event["kind"], event["correlation"]) == ("agent.llm.request", {"trace_id": "turn.llm.request"})
    payload = {"Model": "other", "MessagesCount": 1, "ToolsCount": 1, "MaxTokens": 5, "Temperature": 1}
    assert event["payload"] == payload


def test_what_nobody_has_set_is_told_as_zero() -> None:
    channel, hooks = observed("llm_request")

    RuntimeEvents(hooks).llm_request(ModelRequest(messages=()), model="scripted", max_tokens=None, options={})

    payload = {"Model": "scripted", "MessagesCount": 0, "ToolsCount": 0, "MaxTokens": 0, "Temperature": 0}
    assert [event["payload"] for _, event in channel.told] == [payload]


def test_an_answer_is_told_by_its_size() -> None:
    channel, hooks = observed("llm_response")
    reply = ModelReply()
    for delta in (ReasoningDelta("Hm."), ToolCall("c1", "alpha", "{}"), ToolCall("c2", "alpha", "{}")):
        list(reply.read(delta))
    reply.content = "Let me look."

    RuntimeEvents(hooks).llm_response(reply)

    [(_, event)] = channel.told
    assert (event["kind"], event["severity"]) == ("agent.llm.response", "info")
    assert event["correlation"] == {"trace_id": "turn.llm.response"}
    assert event["payload"] == {"ContentLen": 12, "ToolCalls": 2, "HasReasoning": True}


def test_a_retry_and_what_is_left_out_belong_to_their_traces() -> None:
    channel, hooks = observed("llm_retry", "context_compress", "error")
    events = RuntimeEvents(hooks)

    events.llm_retry(attempt=2, most=3, code="busy", error="wait", wait_s=1.5)
    events.compressed(dropped=1, remaining=2, is_retry=False)
    events.failed("llm", "gone")

    assert [(event["kind"], event["correlation"]["trace_id"]) for _, event in channel.told] == [
        ("agent.llm.retry", "turn.llm.retry"),
        ("agent.context.compress", "turn"),
        ("agent.error", "turn"),
    ]
    assert channel.told[0][1]["payload"]["Backoff"] == 1_500_000_000
