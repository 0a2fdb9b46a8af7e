"""What conditions see of a real turn, and what the inspector says of hooks that stay out."""

import asyncio
import threading
from typing import Any

import pytest

from server.agent.agent_client import TurnOptions
from server.errors import ToolError
from server.wire.frames import TurnSettings
from skills_engine import HookFacts, HookInfo
from skills_engine.conditions.condition import Condition, Moment, TextSearch, Verdict
from skills_engine.hook_entries import TIMINGS
from tests.agent.scene import agent_for, hook, play, tool, until
from tests.support.scripted_model import ScriptedModel, call, say


async def fail(_: dict[str, Any]) -> str:
    raise ToolError("no such order")


def texts(model: ScriptedModel, number: int) -> list[str]:
    """Return the hooks that this call read."""
    contents = [str(message["content"]) for message in model.requests[number].messages]
    return [text.strip("[]") for text in contents if text.startswith("[")]


async def read_by(
    hooks: list[HookInfo], *, facts: HookFacts | None = None, enable_tools: bool = True
) -> list[list[str]]:
    """Play a turn of two batches, of which the second call fails; return the hooks that each call read."""
    model = ScriptedModel([say("<need_tool>"), call("alpha", "broken"), call("beta"), say("Done.")])
    tools = [tool("alpha"), tool("beta"), tool("broken", fail)]
    options = TurnOptions(facts=facts or HookFacts())
    await play(agent_for(model, tools), hooks, options=options, enable_tools=enable_tools)
    return [texts(model, number) for number in range(len(model.requests))]


@pytest.mark.rule("L1-42")
async def test_a_hook_follows_the_call_whose_end_it_asks_for() -> None:
    hooks = [
        hook("after_tool_call", "failed", when={"tool_status": ["error"], "tool_result": ["no such order"]}),
        hook("after_tool_call", "ran", when={"tool": ["alpha", "beta"], "tool_status": ["ok"], "round": 1}),
        hook("before_each_agent", "again", when={"tool": ["broken"], "tool_status": ["error"]}),
        hook("before_each_agent", "late", when={"round": {"min": 3}}),
        hook("before_first_agent", "first", when={"round": 1}),
    ]

    assert await read_by(hooks) == [
        [],
        ["first"],
        ["first", "ran", "failed", "again"],
        ["first", "late"],
    ]


class Asked:
    """A condition that never holds, and notes by timing in which threads it is asked."""

    def __init__(self, timing: str, threads: list[tuple[str, str]]) -> None:
        self._timing = timing
        self._threads = threads

    def verdict(self, moment: Moment) -> Verdict:
        self._threads.append((self._timing, threading.current_thread().name.rstrip("_01")))
        return False, "when"


@pytest.mark.rule("L1-43")
@pytest.mark.parametrize(
    ("length", "steps", "before_each"),
    [(4096, 0, []), (4097, 0, ["conditions"]), (998, 100, []), (998, 201, ["conditions"])],
)
async def test_what_takes_long_is_searched_in_a_thread_before_each_injection(
    length: int, steps: int, before_each: list[str]
) -> None:
    threads: list[tuple[str, str]] = []
    hooks = [
        HookInfo(timing, "a.md", timing, "system", False, "", "diary", when=condition)
        for timing in TIMINGS
        for condition in [Condition("", Asked(timing, threads), [TextSearch(2, [], steps)])]
    ]

    await read_by(hooks, facts=HookFacts(user_messages=("x" * length, "hi")))

    asked = {timing: [thread for name, thread in threads if name == timing] for timing in TIMINGS}
    each = [*before_each, "MainThread"]
    assert asked == {
        "after_user_input": each,
        "before_planning": each,
        "before_first_agent": each,
        "before_each_agent": each * 3,
        "after_tool_call": [*before_each * 2, *["MainThread"] * 2, *each],
    }


class Blocked:
    """A condition that decides when it is let go."""

    def __init__(self) -> None:
        self.is_asked = threading.Event()
        self.go = threading.Event()
        self.has_decided = False

    def verdict(self, moment: Moment) -> Verdict:
        self.is_asked.set()
        self.go.wait(timeout=10)
        self.has_decided = True
        return False, "when"


@pytest.mark.rule("L1-32", "L1-43")
async def test_a_turn_that_is_cancelled_does_not_wait_for_what_is_searched() -> None:
    blocked = Blocked()
    one = HookInfo("a", "a.md", "after_user_input", "system", False, "", "diary", when=Condition("", blocked))
    turn = asyncio.create_task(read_by([one], facts=HookFacts(user_messages=("x" * 5000,))))

    await until(blocked.is_asked.is_set)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    has_waited = blocked.has_decided
    blocked.go.set()

    assert not has_waited


@pytest.mark.rule("L1-41")
@pytest.mark.rule("L1-42")
async def test_model_and_tools_are_those_of_the_turn() -> None:
    asks = [
        hook("after_user_input", "model", when={"model": ["script*"]}),
        hook("after_user_input", "cloud", when={"model": ["cloud"]}),
        hook("after_user_input", "local", when={"model": ["local"]}),
        HookInfo("tools", "a.md", "after_user_input", "system", False, "[tools]", "diary", requires_tools=("al*",)),
    ]

    [planning, *_] = await read_by(asks)
    [only] = await read_by(asks, enable_tools=False)

    assert planning == ["model", "local", "tools"]
    assert only == ["model", "local"]


@pytest.mark.rule("L1-41")
async def test_the_inspector_names_reason_and_path_of_what_did_not_fire() -> None:
    model = ScriptedModel([say("<need_tool>"), call("alpha"), say("Hi.")])
    hooks = [
        hook("after_user_input", "text-only", when={"not": {"channel": "text"}}),
        hook("after_tool_call", "failed", when={"tool_status": ["error"]}),
        hook("after_tool_call", "other", tool_filter=["beta"]),
        hook("before_each_agent", "fires", when={}),
        HookInfo("off", "a.md", "before_planning", "system", False, "[off]", "diary", enabled=False),
    ]

    chunks = await play(agent_for(model), hooks, options=TurnOptions(settings=TurnSettings(trace=True)))

    [data] = [chunk.trace.data for chunk in chunks if chunk.trace and chunk.trace.event == "not_fired"]
    assert [(item["hook"], item["reason"], item.get("path")) for item in data["hooks"]] == [
        ("text-only", "its condition does not hold: when.not.channel", "when.not.channel"),
        ("failed", "its condition does not hold: when.tool_status", "when.tool_status"),
        ("other", "tool_filter names none of: alpha", None),
        ("off", "it is switched off: enabled is false", None),
    ]
    assert [(item["code"], item["detail"]) for item in data["hooks"]] == [
        ("when", "when.not.channel"),
        ("when", "when.tool_status"),
        ("tool_filter", "alpha"),
        ("enabled", ""),
    ]
