"""How process hooks end a turn, and what is left then."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from server import config
from server.agent.chunks import LLMChunk
from server.hooks.stages import STAGES, Stage
from server.tools.tool_calls import TurnAborted
from tests.agent.hooked import with_hooks
from tests.agent.scene import QUESTION, agent_for, notices, play, texts
from tests.hooks.fakes import FakeHook, at, guard_at, hook
from tests.support.scripted_model import ScriptedModel, call, say


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


@pytest.mark.parametrize("stage", STAGES)
async def test_closing_the_turn_while_a_hook_is_asked_leaves_nothing_behind(stage: Stage) -> None:
    asked = asyncio.Event()

    class Silent(FakeHook):
        async def request(self, method: str, params: Mapping[str, Any], *, limit_s: float) -> Mapping[str, Any]:
            asked.set()
            await asyncio.Event().wait()
            raise AssertionError

    silent = Silent(settings=config.ProcessHookSettings(intercept=[stage]))
    model = ScriptedModel([call("alpha")])
    playing = asyncio.create_task(play(agent_for(model, planning=False), options=with_hooks(silent)))
    await asked.wait()

    playing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await playing

    assert len(model.requests) == model.closed == (0 if stage == "before_llm" else 1)
    assert asyncio.all_tasks() == {asyncio.current_task()}
