"""What the trace says of costs: tokens of hooks, and how much of a prompt is the same as in the call before."""

from dataclasses import replace
from itertools import count
from typing import Any

from server.agent.agent_client import TurnOptions
from server.agent.chunks import LLMChunk
from server.agent.costs import CostMeter
from server.agent.prompts import FULL
from server.config import LlmSettings
from server.errors import ProviderUnreachable
from server.llm.language_model import LateSystem
from server.wire.frames import TurnSettings
from skills_engine import HookInfo
from skills_engine.token_estimate import estimate_tokens
from tests.agent.hooked import with_hooks
from tests.agent.scene import QUESTION, agent_for, hook, listed, play, traces
from tests.hooks.fakes import hook as process_hook
from tests.support.scripted_model import ScriptedModel, call, say


def on() -> TurnOptions:
    """Options with a meter of their own, which knows no call yet."""
    return TurnOptions(settings=TurnSettings(trace=True))


ANSWERED = [*QUESTION, {"role": "assistant", "content": "Noon."}, {"role": "user", "content": "And now?"}]


def worded(text: str, **keys: Any) -> HookInfo:
    return replace(hook("after_user_input", "mood", **keys), content=text)


def common_parts(chunks: list[LLMChunk]) -> list[dict[str, Any] | None]:
    return [data["common"] for _, data in traces(chunks, "model_call")]


MOOD = {"skill": "diary", "hook": "mood"}


def ended_by(chunks: list[LLMChunk]) -> list[str | None]:
    """The hook that ended the common part of each call but the first."""
    found = [common["ended_by"] for common in common_parts(chunks) if common]
    return [hook and hook["hook"] for hook in found]


def agent_in(mode: LateSystem, *replies: str) -> Any:
    model = ScriptedModel([say(reply) for reply in replies])
    return agent_for(model, llm=LlmSettings(late_system=mode), system_prompt="s" * 400)


async def test_messages_of_hooks_say_what_they_cost() -> None:
    model = ScriptedModel([say("Hi.")])
    history = [{"role": "system", "content": "x" * 9, "_hook": "old", "_skill": "diary"}, *QUESTION]
    hooks = [worded("y" * 8), worded("z" * 400_000, persistent=True)]

    chunks = await play(agent_for(model), hooks, messages=history, enable_tools=False, options=on())

    costs = [(message["origin"].get("hook"), message.get("tokens")) for message in listed(chunks)]
    assert costs == [(None, None), ("old", 3), (None, None), ("mood", 2), ("mood", 100_000)]


async def test_a_call_says_what_it_costs_and_what_is_the_same_as_before() -> None:
    model = ScriptedModel([call("alpha"), say("Noon.")])
    hooks = [hook("before_each_agent", "each"), hook("before_first_agent", "first")]

    chunks = await play(agent_for(model, planning=False, system_prompt="s" * 400), hooks, options=on())

    first, second = (data for _, data in traces(chunks, "model_call"))
    assert first["common"] is None
    assert first["tokens"] == 100 + 5 + 2 + 3 + estimate_tokens(FULL.first_step)
    assert second["common"] == {
        "tokens": 106,
        "share": round(106 / second["tokens"], 3),
        "ended_by": {"skill": "diary", "hook": "each"},
        "lost_tokens": 3,  # `first` stands behind `each`, which moved
        "hooks": [],
    }


async def test_planning_ends_the_common_part_with_its_hooks_and_its_prompt() -> None:
    turn = [say("<need_tool>"), say("Noon.")]

    without = await play(agent_for(ScriptedModel(turn)), [hook("before_each_agent")], options=on())
    with_hook = await play(agent_for(ScriptedModel(turn)), [hook("before_planning")], options=on())

    assert (ended_by(without), ended_by(with_hook)) == ([None], ["before_planning"])


async def test_a_call_that_is_tried_again_is_the_same_to_its_end() -> None:
    model = ScriptedModel([[ProviderUnreachable("down", retry_after_ms=1)], say("Noon.")])

    chunks = await play(agent_for(model), [worded("Be calm.")], enable_tools=False, options=on())

    [first, again] = common_parts(chunks)
    assert (first, again and again["share"], ended_by(chunks)) == (None, 1.0, [None])


async def test_the_first_call_of_a_turn_is_compared_with_the_last_one_of_the_turn_before() -> None:
    agent, options = agent_in("native", "Noon.", "One."), on()

    await play(agent, [worded("Be calm.")], enable_tools=False, options=options)
    chunks = await play(agent, [worded("Be calm.")], messages=ANSWERED, enable_tools=False, options=options)

    [common] = common_parts(chunks)
    assert common is not None
    assert (common["tokens"], common["ended_by"], common["lost_tokens"]) == (
        105,
        MOOD,
        0,
    )


async def test_without_trace_nothing_is_compared() -> None:
    agent, meter = agent_in("native", "Noon.", "One."), CostMeter()

    await play(agent, enable_tools=False, options=TurnOptions(costs=meter))
    chunks = await play(agent, enable_tools=False, options=replace(on(), costs=meter))

    assert common_parts(chunks) == [None]


async def test_where_hooks_join_the_head_a_hook_that_changes_costs_the_conversation() -> None:
    agent, options = agent_in("merge", "Noon.", "One."), on()

    await play(agent, [worded("It is 14:05.")], enable_tools=False, options=options)
    chunks = await play(agent, [worded("It is 14:06.")], messages=ANSWERED, enable_tools=False, options=options)

    [common] = common_parts(chunks)
    assert common is not None
    assert (common["ended_by"], common["lost_tokens"]) == (MOOD, 5)
    assert common["tokens"] == 104, "the system prompt, and the beginning of the hook"


async def test_where_hooks_are_wrapped_an_old_copy_differs_from_turn_to_turn() -> None:
    """The lines around it hold a mark that is new in every turn."""
    kept = {"role": "system", "content": "Be calm.", "_hook": "mood", "_skill": "diary"}
    history = [kept, *ANSWERED]
    agent, options = agent_in("user", "Noon.", "One."), on()

    await play(agent, messages=[QUESTION[0], *history[:2]], enable_tools=False, options=options)
    chunks = await play(agent, messages=[QUESTION[0], *history], enable_tools=False, options=options)

    assert ended_by(chunks) == ["mood"]


async def test_a_picture_that_is_replaced_is_a_difference() -> None:
    def asked(data: str) -> list[dict[str, Any]]:
        parts = [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}]
        return [{"role": "user", "content": parts}, *ANSWERED[1:]]

    agent, options = agent_in("native", "A cat.", "A dog.", "A dog."), on()
    shares = []
    for data in ("aaaa", "bbbb", "bbbb"):
        chunks = await play(agent, messages=asked(data), enable_tools=False, options=options)
        shares += [common and common["tokens"] for common in common_parts(chunks)]

    assert shares == [None, 100, 100 + 3 + 2 + 3]


async def test_a_process_hook_that_writes_the_time_at_the_head_costs_everything() -> None:
    minutes = count()

    def clock(params: dict[str, Any]) -> dict[str, Any]:
        message = {"role": "system", "content": f"{next(minutes)} minutes have gone."}
        return {"request": {"messages": [message, *params["messages"]]}}

    model = ScriptedModel([call("alpha"), say("Noon.")])
    options = with_hooks(process_hook(before_llm=clock), trace=True)

    chunks = await play(agent_for(model, planning=False, system_prompt="s" * 400), options=options)

    [first, second] = common_parts(chunks)
    assert first is None
    assert second == {
        "tokens": 0,
        "share": 0,
        "ended_by": {"skill": None, "hook": None},
        "lost_tokens": 105,
        "hooks": [],
    }
