"""Process hooks around the model's calls: what they may rewrite, when, and what waits for them."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from server import config
from server.agent.agent_client import TurnOptions
from server.agent.chunks import LLMChunk
from server.agent.stream_gate import PIECE_CHARS
from server.config import Llm as LlmSettings
from server.errors import ProviderUnreachable
from server.hooks.channel import STAGES, Stage
from server.hooks.layers import TurnLayers
from server.hooks.types import Invocation, ToolOutcome, TurnAborted
from server.llm.types import Finished, Message, ToolCall
from server.media.store import MediaItem
from tests.agent.scene import QUESTION, agent_for, notices, play, texts, told, tool, traces
from tests.hooks.fakes import FACTS, FakeChannel, at, guard_at, hook, layers_of
from tests.support.scripted_model import ScriptedModel, call, say

PLANNED = "<need_tool>Let me look."


def with_hooks(*hooks: FakeChannel, trace: bool = False, **more: Any) -> TurnOptions:
    return TurnOptions(layers=layers_of(*hooks, **more), trace=trace)


def adding(*names: str) -> Callable[[dict[str, Any]], Mapping[str, Any]]:
    def add(params: dict[str, Any]) -> Mapping[str, Any]:
        tools = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in names]
        return {"action": "modify", "request": {"tools": [*params["tools"], *tools]}}

    return add


def saying(text: str) -> Callable[[dict[str, Any]], Mapping[str, Any]]:
    """A before_llm that adds a message at the end."""
    return lambda params: {"request": {"messages": [*params["messages"], {"role": "user", "content": text}]}}


def shouting(params: dict[str, Any]) -> Mapping[str, Any]:
    return {"response": {"response": {"content": params["response"]["content"].upper()}}}


# --- before_llm


async def test_it_is_asked_for_planning_every_round_and_the_last_call() -> None:
    seen = hook(before_llm={})
    model = ScriptedModel([say(PLANNED), call("alpha"), call("alpha"), say("Done.")])

    await play(agent_for(model, max_rounds=2), options=with_hooks(seen))

    assert [params["meta"]["Iteration"] for _, params, _ in seen.asked] == [0, 1, 2, 3]
    assert [len(params["tools"]) for _, params, _ in seen.asked] == [2, 2, 2, 2]


async def test_it_is_asked_once_however_often_the_call_is_tried() -> None:
    seen = hook(before_llm=saying("psst"))
    model = ScriptedModel([[ProviderUnreachable("gone")], say("Hello.")])

    await play(agent_for(model), enable_tools=False, options=with_hooks(seen))

    assert len(seen.asked) == 1
    assert [messages[-1] for messages in map(model.contents, range(2))] == [("user", "psst")] * 2


async def test_a_rewritten_list_serves_that_call_only() -> None:
    replies = map(saying, "abc")

    def add(params: dict[str, Any]) -> Mapping[str, Any]:
        return next(replies)(params)

    seen = hook(before_llm=add)
    model = ScriptedModel([say(PLANNED), call("alpha"), say("Done.")])

    await play(agent_for(model), options=with_hooks(seen))

    assert [model.contents(n)[-1] for n in range(3)] == [("user", "a"), ("user", "b"), ("user", "c")]
    assert all(("user", "a") not in model.contents(n) for n in (1, 2))


async def test_the_hook_gets_a_copy_and_cannot_write_into_the_turn() -> None:
    def spoil(params: dict[str, Any]) -> Mapping[str, Any]:
        params["messages"][0]["content"] = "spoilt"
        return {}

    model = ScriptedModel([say("Hello.")])

    await play(agent_for(model), enable_tools=False, options=with_hooks(hook(before_llm=spoil)))

    assert ("system", "spoilt") not in model.contents(0)


async def test_a_system_message_that_a_hook_puts_last_is_sent_in_the_role_the_model_takes() -> None:
    late = hook(before_llm=lambda p: {"request": {"messages": [*p["messages"], {"role": "system", "content": "Be brief."}]}})  # fmt: skip
    model = ScriptedModel([say("Hello.")])
    agent = agent_for(model, llm=LlmSettings(late_system="user"))

    await play(agent, enable_tools=False, options=with_hooks(late))

    roles = [role for role, _ in model.contents(0)]
    assert roles == ["system", "user"]
    assert "Be brief." in model.contents(0)[-1][1]


async def test_an_illegal_list_is_not_sent_and_the_hook_is_named() -> None:
    broken = hook(before_llm={"request": {"messages": [{"role": "tool", "content": "x", "tool_call_id": "nope"}]}})
    model = ScriptedModel([say("Hello.")])

    await play(agent_for(model), enable_tools=False, options=with_hooks(broken))

    assert model.contents(0)[-1] == ("user", "What time is it?")
    assert "is the result of no open call" in broken.warnings[0]


@pytest.mark.parametrize("edited", [2, 3], ids=["call", "result"])
async def test_a_result_goes_with_its_call_where_a_hook_wrote_one_of_them_anew(edited: int) -> None:
    asked = {"id": "c1", "type": "function", "function": {"name": "alpha", "arguments": "{}"}}
    old: list[Message] = [
        {"role": "user", "content": "Then? " * 117},
        {"role": "assistant", "content": "", "tool_calls": [asked]},
        {"role": "tool", "tool_call_id": "c1", "content": "long " * 40},
        {"role": "assistant", "content": "So."},
    ]

    def edit(params: dict[str, Any]) -> Mapping[str, Any]:
        params["messages"][edited]["content"] = "edited " * 80
        return {"request": {"messages": params["messages"]}}

    model = ScriptedModel([say("Hello.")], context_tokens=600)

    chunks = await play(
        agent_for(model), messages=[*old, *QUESTION], enable_tools=False, options=with_hooks(hook(before_llm=edit))
    )

    assert texts(chunks) == "Hello."
    assert model.contents(0)[-1] == ("user", "What time is it?")


async def test_tools_that_are_added_join_the_planning_prompt_by_name_and_the_rounds_in_full() -> None:
    model = ScriptedModel([say(PLANNED), say("Done.")])

    await play(agent_for(model), options=with_hooks(hook(before_llm=adding("get_weather"))))

    planning, first = model.requests
    assert "alpha, beta, get_weather" in model.contents(0)[-1][1]
    assert (planning.tools, list(planning.tool_names)) == ((), ["alpha", "beta", "get_weather"])
    assert [spec.name for spec in first.tools] == ["alpha", "beta", "get_weather"]


async def test_a_planning_prompt_that_a_hook_wrote_anew_stays_the_hook_s() -> None:
    def rewrite(params: dict[str, Any]) -> Mapping[str, Any]:
        return {"request": {**adding("mine")(params)["request"], "messages": [{"role": "user", "content": "mine"}]}}

    model = ScriptedModel([say("Hello.")])

    await play(agent_for(model), options=with_hooks(hook(before_llm=rewrite)))

    assert model.contents(0) == [("user", "mine")]


async def test_a_hook_may_bring_the_only_tools_there_are() -> None:
    own = hook(before_llm=adding("mine"), before_tool={"action": "respond", "result": {"for_llm": "42"}})
    model = ScriptedModel([say(PLANNED), call("mine"), say("It is 42.")])

    chunks = await play(agent_for(model, []), options=with_hooks(own))

    assert ("tool", "42") in model.contents(2)
    assert texts(chunks) == "Let me look.\n\nIt is 42."


async def test_where_tools_are_off_a_hook_cannot_turn_them_on() -> None:
    model = ScriptedModel([say("Hello.")])

    await play(agent_for(model), enable_tools=False, options=with_hooks(hook(before_llm=adding("mine"))))

    assert model.requests[0].tools == ()


async def test_model_and_options_that_were_changed_go_with_the_call() -> None:
    change = hook(before_llm={"request": {"model": "other", "options": {"temperature": 0, "top_p": 1}}})
    model = ScriptedModel([say("Hello.")])
    agent = agent_for(model, llm=LlmSettings(late_system="native", options={"temperature": 1, "seed": 7}, max_tokens=9))

    await play(agent, enable_tools=False, options=with_hooks(change))

    assert change.params("before_llm")["options"] == {"max_tokens": 9, "temperature": 1, "seed": 7}
    assert (model.requests[0].model, model.requests[0].options) == ("other", {"temperature": 0, "top_p": 1})


async def test_a_hook_that_makes_the_call_shorter_may_save_it() -> None:
    shorter = hook(before_llm=lambda p: {"request": {"messages": p["messages"][-1:]}})
    history = [{"role": "user", "content": "x" * 600}]
    model = ScriptedModel([say("Hello.")])
    agent = agent_for(model, llm=LlmSettings(late_system="native", context_tokens=60, max_tokens=10))
    agent._settings = config.Agent(planning=False, system_prompt="s" * 300)

    chunks = await play(agent, messages=[*history, {"role": "user", "content": "hi"}], enable_tools=False, options=with_hooks(shorter))  # fmt: skip

    assert model.contents(0) == [("user", "hi")]
    assert texts(chunks) == "Hello."


# --- after_llm and the gate


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

    asked = [(p["response"]["content"], len(p["response"]["tool_calls"])) for _, p, _ in seen.asked]
    assert asked == [("One.", 0), ("Two.", 0), ("Th", 1), ("End.", 0)]


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
    model = ScriptedModel([[ProviderUnreachable("gone")]] * 3)

    with pytest.raises(ProviderUnreachable):
        await play(agent_for(model), enable_tools=False, options=with_hooks(seen))

    assert seen.asked == []


async def test_a_hook_sees_no_tags_and_no_reasoning_in_the_content() -> None:
    seen = hook(after_llm={})
    model = ScriptedModel([say("<think>hm</think><no_tool>Noon.")])

    await play(agent_for(model), options=with_hooks(seen))

    assert seen.params("after_llm")["response"]["content"] == "Noon."


# --- ends of turns


@pytest.mark.parametrize("is_hard", [False, True])
@pytest.mark.parametrize("stage", ["before_llm", "after_llm", "before_tool", "after_tool"])
async def test_an_abort_ends_the_turn_wherever_it_comes(stage: str, is_hard: bool) -> None:
    model = ScriptedModel([call("alpha"), say("never")])
    aborting = at(stage, {"action": "hard_abort" if is_hard else "abort_turn", "reason": "enough"})

    with pytest.raises(TurnAborted, match="enough") as aborted:
        await play(agent_for(model, planning=False), options=with_hooks(aborting))

    assert aborted.value.rollback is is_hard
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_guard_of_replies_that_fails_lets_nothing_be_said() -> None:
    guard = guard_at("after_llm", ValueError("broken"))
    chunks: list[LLMChunk] = []
    stream = agent_for(ScriptedModel([say("A secret.")])).chat_stream(QUESTION, [], False, options=with_hooks(guard))

    with pytest.raises(TurnAborted):
        while True:
            chunks.append(await anext(stream))

    assert chunks
    assert texts(chunks) == ""


async def test_answers_that_say_all_is_done_end_the_turn_without_another_call() -> None:
    done = hook(before_tool={"action": "respond", "result": {"for_llm": "sent", "response_handled": True}})
    model = ScriptedModel([call("alpha", "beta")])

    chunks = await play(agent_for(model, planning=False), options=with_hooks(done))

    assert len(model.requests) == 1
    assert notices(chunks) == []


async def test_one_call_that_is_not_handled_lets_the_model_go_on() -> None:
    done = hook(
        before_tool=lambda p: (
            {"action": "respond", "result": {"for_llm": "sent", "response_handled": True}}
            if p["tool"] == "alpha"
            else {}
        )
    )
    model = ScriptedModel([call("alpha", "beta"), say("Done.")])

    await play(agent_for(model, planning=False), options=with_hooks(done))

    assert len(model.requests) == 2


# --- media


class FakeStore:
    async def register(self, reference: str, *, user_id: str, session_id: str, name: str | None = None) -> MediaItem:
        return MediaItem(ref="media://1", url="/media/1", content_type="image/png", name="a.png", size=3)

    async def open_image(self, ref: str) -> tuple[str, bytes]:
        return "image/png", b"png"


async def test_the_model_sees_a_picture_of_a_result_behind_all_results() -> None:
    drawing = hook(before_tool={"action": "respond", "result": {"for_llm": "Drawn.", "media": ["data:x"]}})
    model = ScriptedModel([call("alpha", "beta"), say("Nice.")])
    layers = TurnLayers(facts=FACTS, members=layers_of(drawing).members, media=FakeStore())

    chunks = await play(agent_for(model, planning=False), options=TurnOptions(layers=layers))

    roles = [role for role, _ in model.contents(1)]
    assert roles == ["system", "user", "assistant", "tool", "tool", "user", "system"]
    pictures = model.contents(1)[5][1]
    assert pictures[1]["image_url"]["url"] == "data:image/png;base64,cG5n"
    assert [chunk.media.name for chunk in chunks if chunk.media] == ["a.png", "a.png"]


async def test_a_model_that_sees_nothing_is_told_of_each_picture_and_the_user_once() -> None:
    drawing = hook(before_tool={"action": "respond", "result": {"for_llm": "Drawn.", "media": ["data:x"]}})
    model = ScriptedModel([call("alpha"), call("alpha"), say("Nice.")], sees_images=False)
    layers = TurnLayers(facts=FACTS, members=layers_of(drawing).members, media=FakeStore())

    chunks = await play(agent_for(model, planning=False), options=TurnOptions(layers=layers))

    assert sum("[image]" in str(content) for _, content in model.contents(2)) == 2
    assert notices(chunks) == ["image_unseen"]


# --- what others are told


async def test_observers_hear_of_a_turn_in_the_reference_s_order() -> None:
    watching = FakeChannel(settings=config.ProcessHook(observe=["*"]))
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
    watching = FakeChannel(settings=config.ProcessHook(observe=["llm_retry", "error", "turn_end"]))
    model = ScriptedModel([[ProviderUnreachable("gone")]] * 3)

    with pytest.raises(ProviderUnreachable):
        await play(agent_for(model), enable_tools=False, options=with_hooks(watching))

    kinds = [params["kind"] for _, params in watching.told]
    assert kinds == ["agent.llm.retry", "agent.llm.retry", "agent.error", "agent.turn.end"]
    assert watching.told[-1][1]["payload"]["Status"] == "error"


async def test_observers_hear_of_a_defect_of_ours_as_an_error_without_its_words() -> None:
    watching = FakeChannel(settings=config.ProcessHook(observe=["error", "turn_end"]))

    with pytest.raises(ValueError, match="private"):
        await play(agent_for(ScriptedModel([[ValueError("private")]])), options=with_hooks(watching))

    failed, end = (params["payload"] for _, params in watching.told)
    assert (failed, end["Status"]) == ({"Stage": "llm", "Message": "ValueError"}, "error")


async def test_the_trace_shows_what_each_hook_changed_and_messages_it_wrote() -> None:
    model = ScriptedModel([say("Hello.")])
    options = with_hooks(hook("adder", before_llm=saying("psst"), after_llm=shouting), trace=True)

    chunks = await play(agent_for(model), enable_tools=False, options=options)

    rewritten, answered = [data for _, data in traces(chunks, "hook_changed")]
    assert (rewritten["hook"], rewritten["stage"], rewritten["call"]) == ("adder", "before_llm", 1)
    assert rewritten["changes"]["messages"] == [{"index": 2, "after": {"role": "user", "content": "psst"}}]
    assert answered["changes"] == {"content": {"before": "Hello.", "after": "HELLO."}}
    written = [m for _, data in traces(chunks, "messages") for m in data["messages"] if m["content"] == "psst"]
    assert [message["origin"] for message in written] == [{"kind": "process_hook"}]


class Secretive:
    """A policy that lets everything pass and hides the key."""

    async def before(self, call: Invocation) -> Invocation:
        return call

    async def after(self, call: Invocation, outcome: ToolOutcome) -> ToolOutcome:
        return outcome

    async def conceal(self, value: Any) -> Any:
        return {**value, "key": "…"} if isinstance(value, dict) and "key" in value else value


async def test_arguments_that_hold_a_secret_are_hidden_from_wire_and_trace_but_not_from_the_model() -> None:
    model = ScriptedModel([call("alpha", key="sk-1"), say("Done.")])

    chunks = await play(agent_for(model, planning=False), options=with_hooks(policy=Secretive(), trace=True))

    assert [chunk.tool_call.arguments for chunk in chunks if chunk.tool_call] == [{"key": "…"}]
    assert "sk-1" not in str(chunks)
    assert "sk-1" in str(model.messages(1))


async def test_the_trace_shows_which_hook_ended_the_turn() -> None:
    options = with_hooks(hook("judge", before_llm={"action": "abort_turn", "reason": "enough"}), trace=True)
    chunks: list[LLMChunk] = []
    stream = agent_for(ScriptedModel()).chat_stream(QUESTION, [], False, options=options)

    with pytest.raises(TurnAborted):
        while True:
            chunks.append(await anext(stream))

    [(_, data)] = traces(chunks, "hook_changed")
    assert (data["hook"], data["action"], data["changes"]) == ("judge", "abort_turn", {"reason": {"after": "enough"}})


@pytest.mark.parametrize("stage", STAGES)
async def test_closing_the_turn_while_a_hook_is_asked_leaves_nothing_behind(stage: Stage) -> None:
    asked = asyncio.Event()

    class Silent(FakeChannel):
        async def request(self, method: str, params: Mapping[str, Any], *, limit_s: float) -> Mapping[str, Any]:
            asked.set()
            await asyncio.Event().wait()
            raise AssertionError

    silent = Silent(settings=config.ProcessHook(intercept=[stage]))
    model = ScriptedModel([call("alpha")])
    playing = asyncio.create_task(play(agent_for(model, planning=False), options=with_hooks(silent)))
    await asked.wait()

    playing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await playing

    assert len(model.requests) == model.closed == (0 if stage == "before_llm" else 1)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_ids_that_a_hook_gives_twice_are_parted() -> None:
    twice = [{"id": "x", "function": {"name": "alpha", "arguments": "{}"}}] * 2
    change = hook(after_llm=lambda p: {"response": {"tool_calls": twice}} if p["response"]["tool_calls"] else {})
    model = ScriptedModel([[ToolCall("c", "beta", "{}"), Finished("tool_calls")], say("Done.")])

    chunks = await play(agent_for(model, [tool("alpha"), tool("beta")], planning=False), options=with_hooks(change))

    assert [chunk.tool_call.id for chunk in chunks if chunk.tool_call] == ["x", "x_2"]
