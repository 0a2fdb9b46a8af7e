"""A turn that is cancelled or closed leaves nothing behind, and the next starts clean (L1-32)."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from server.agent.agent_client import AgentClient
from server.agent.chunks import LLMChunk
from server.errors import ProviderRateLimited, ProviderUnreachable
from skills_engine.hook_entries import TIMINGS
from tests.agent.scene import QUESTION, agent_for, hook, play, texts, tool, until
from tests.support.scripted_model import ScriptedModel, call, say

pytestmark = pytest.mark.rule("L1-32")

HOOKS = [hook(timing, persistent=persistent) for timing in TIMINGS for persistent in (False, True)]


class Sleeper:
    """A tool that waits for ever, and says whether it was stopped."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.stopped = 0

    async def run(self, arguments: dict[str, Any]) -> str:
        self.started.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)  # unwinding may take its time
            self.stopped += 1
        raise AssertionError("nothing wakes it")


class Scene:
    """A model and a turn that gets stuck; `is_stuck` says when."""

    def __init__(self, *answers: Any) -> None:
        self.sleeper = Sleeper()
        self.model = ScriptedModel(answers)
        self.agent: AgentClient = agent_for(self.model, [tool("sleeper", self.sleeper.run), tool("alpha")])
        self.chunks: list[LLMChunk] = []

    async def read(self) -> None:
        async for chunk in self.agent.chat_stream(QUESTION, HOOKS, True):
            self.chunks.append(chunk)

    async def run_until(self, is_stuck: Callable[[], bool]) -> "asyncio.Task[None]":
        turn = asyncio.create_task(self.read(), name="turn")
        await until(is_stuck)
        return turn

    async def assert_clean(self) -> None:
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert self.model.closed == len(self.model.requests), "every stream is closed"
        self.model.answers = [say("Fine.")]
        assert texts(await play(self.agent)) == "Fine."
        assert len(self.model.requests[-1].messages) == 3, "system prompt, question, planning prompt"


async def cancel(turn: "asyncio.Task[None]") -> None:
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn


async def test_cancelled_while_the_planning_call_says_nothing() -> None:
    scene = Scene([asyncio.Event()])
    turn = await scene.run_until(lambda: len(scene.model.requests) == 1)

    await cancel(turn)

    assert scene.model.closed == 1
    await scene.assert_clean()


async def test_cancelled_in_the_middle_of_the_text() -> None:
    scene = Scene(say("<need_tool>"), [*say("Hel")[:1], asyncio.Event()])
    turn = await scene.run_until(lambda: texts(scene.chunks) == "Hel")

    await cancel(turn)

    await scene.assert_clean()


async def test_cancelled_while_tools_run() -> None:
    scene = Scene(say("<need_tool>"), call("alpha", "sleeper", "sleeper"))
    turn = await scene.run_until(scene.sleeper.started.is_set)

    await cancel(turn)

    assert scene.sleeper.stopped == 2
    await scene.assert_clean()


@pytest.mark.parametrize("error", [ProviderUnreachable("down"), ProviderRateLimited("busy", retry_after_ms=5000)])
async def test_cancelled_while_it_waits_to_try_again(error: Exception) -> None:
    scene = Scene([error])
    turn = await scene.run_until(lambda: scene.model.closed == 1)

    await cancel(turn)

    assert len(scene.model.requests) == 1
    await scene.assert_clean()


async def test_closed_behind_any_chunk() -> None:
    for stop_after in range(1, 100):
        scene = Scene(say("<need_tool>Wait."), call("alpha", "alpha"), say("No", "on."))
        stream = scene.agent.chat_stream(QUESTION, HOOKS, True)
        async for chunk in stream:
            scene.chunks.append(chunk)
            if len(scene.chunks) == stop_after:
                break
        else:
            assert stop_after > 20
            return
        await stream.aclose()
        await scene.assert_clean()
    raise AssertionError("the turn never ended")


async def test_closed_while_tools_run() -> None:
    scene = Scene(say("<need_tool>"), call("alpha", "sleeper"))
    stream = scene.agent.chat_stream(QUESTION, HOOKS, True)
    async for chunk in stream:
        if chunk.tool_result:
            break

    await stream.aclose()

    assert scene.sleeper.stopped == 1
    await scene.assert_clean()


async def test_a_turn_that_fails_leaves_nothing_behind() -> None:
    scene = Scene(say("<need_tool>"), call("alpha"), [*say("Hel")[:1], ProviderUnreachable("gone")])

    with pytest.raises(ProviderUnreachable):
        await scene.read()

    await scene.assert_clean()


async def test_turns_run_side_by_side_without_mixing() -> None:
    events = [asyncio.Event() for _ in range(3)]
    model = ScriptedModel([[event, *say(f"Reply {number}.")] for number, event in enumerate(events)])
    agent = agent_for(model)
    turns = [
        asyncio.create_task(play(agent, messages=[{"role": "user", "content": f"Question {n}"}])) for n in range(3)
    ]
    await until(lambda: len(model.requests) == 3)
    for event in reversed(events):
        event.set()

    replies = [texts(await turn) for turn in turns]

    assert replies == ["Reply 0.", "Reply 1.", "Reply 2."]
    assert [model.contents(number)[1] for number in range(3)] == [("user", f"Question {n}") for n in range(3)]
