"""Turns that are aborted or cancelled while tool calls are under way."""

import asyncio
import copy
from typing import Any

import pytest

from server.hooks.builtin_hooks import BuiltinHook
from server.hooks.stages import Abort, ApproverVerdict, Hook, StageContext, ToolRan
from server.tools.tool_calls import ToolInvocation, TurnAborted
from tests.hooks.fakes import down, guarded, hook, layers_of
from tests.tools.chain_scene import FakePolicy, batch, call, events, executor_for, observer, tool


class Approver:
    """Approves everything."""

    async def approve_tool(self, ask: ToolInvocation, at: StageContext) -> ApproverVerdict:
        return ApproverVerdict(approved=True)


class Guard:
    """A process hook that remembers what a call read when it judges the next one."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.hook = hook(before_tool=self.before, approve_tool=self.approve, after_tool=self.after)
        self._has_read = False

    def before(self, params: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(f"before {params['arguments']['n']}")
        return {"action": "deny_tool", "reason": "a secret was read"} if self._has_read else {}

    def approve(self, params: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(f"approve {params['arguments']['n']}")
        return {"approved": True}

    def after(self, params: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(f"after {params['arguments']['n']}")
        self._has_read = True
        return {}


@pytest.mark.parametrize("parallel", ["auto", "never"])
async def test_a_process_hook_judges_a_call_by_what_the_one_before_it_read(parallel: Any) -> None:
    guard = Guard()
    executor = executor_for(layers_of(guard.hook), parallel=parallel)

    first, second = await batch(executor, call(1), call(2, "c2"))

    assert (first.ending, second.ending) == ("ran", "denied")
    assert guard.asked == ["before 1", "approve 1", "after 1", "before 2"]


@pytest.mark.parametrize(
    ("parallel", "hooks", "is_parallel"),
    [
        ("auto", [hook(before_llm={})], True),
        ("auto", [BuiltinHook("builtin", Approver())], True),
        ("auto", [hook(after_tool={})], False),
        ("always", [hook(after_tool={})], True),
        ("never", [], False),
    ],
)
async def test_other_calls_run_side_by_side(parallel: Any, hooks: list[Hook], is_parallel: bool) -> None:
    running, most = set[int](), list[int]()

    async def run(arguments: dict[str, Any]) -> str:
        running.add(arguments["n"])
        await asyncio.sleep(0.01)
        most.append(len(running))
        running.discard(arguments["n"])
        return ""

    await batch(executor_for(layers_of(*hooks), tool("count", run), parallel=parallel), call(1), call(2, "c2"))

    assert max(most) == (2 if is_parallel else 1)


async def test_an_abort_stops_what_runs_and_policy_hears_of_every_call() -> None:
    async def wait(arguments: dict[str, Any]) -> str:
        await asyncio.Event().wait()
        return ""

    aborter = hook(before_tool=lambda p: {"action": "abort_turn"} if p["arguments"]["n"] == 2 else {})
    policy = FakePolicy()
    executor = executor_for(layers_of(aborter, policy=policy), tool("count", wait), parallel="always")

    with pytest.raises(TurnAborted):
        await batch(executor, call(1), call(2, "c2"), call(3, "c3"))

    assert [(judged.id, outcome.ending) for judged, outcome in policy.after_calls] == [
        ("c1", "skipped"), ("c2", "skipped"), ("c3", "skipped"),
    ]  # fmt: skip
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_call_that_ran_is_recorded_so_where_after_tool_ends_the_turn() -> None:
    aborter = hook(after_tool={"action": "abort_turn", "reason": "stop"})
    policy, watcher = FakePolicy(), observer("*")
    executor = executor_for(layers_of(aborter, watcher, policy=policy))

    with pytest.raises(TurnAborted, match="stop") as aborted:
        await batch(executor, call(1), call(2, "c2"))

    assert [(outcome.id, outcome.ending) for outcome in aborted.value.outcomes] == [("c1", "ran")]
    assert aborted.value.outcomes[0].content == "It ran. A hook then ended the turn, so its result was not used."
    assert [(judged.id, outcome.ending) for judged, outcome in policy.after_calls] == [("c1", "ran"), ("c2", "skipped")]
    told = [kind for kind, _ in events(watcher)]
    assert told == ["agent.tool.exec_start", "agent.error", "agent.tool.exec_end", "agent.tool.exec_skipped"]


async def test_an_abort_after_one_tool_does_not_wait_for_the_others() -> None:
    async def run(arguments: dict[str, Any]) -> str:
        if arguments["n"] == 1:
            await asyncio.Event().wait()
        return ""

    aborter = hook(after_tool={"action": "hard_abort", "reason": "stop"})

    with pytest.raises(TurnAborted, match="stop") as aborted:
        await batch(executor_for(layers_of(aborter), tool("count", run), parallel="always"), call(1), call(2, "c2"))

    assert aborted.value.rollback


class Waiting:
    """An approver who never answers to the call 2, and says when he was asked."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def approve_tool(self, ask: ToolInvocation, at: StageContext) -> ApproverVerdict:
        if ask.arguments["n"] == 2:
            self.asked.set()
            await asyncio.Event().wait()
        return ApproverVerdict(approved=True)


async def test_an_abort_does_not_wait_for_the_gates_of_the_next_call_and_none_runs_after_it() -> None:
    waiting, ran = Waiting(), list[int]()

    class Aborter:
        async def after_tool(self, result: ToolRan, at: StageContext) -> Abort:
            await waiting.asked.wait()
            return Abort(reason="stop")

    async def run(arguments: dict[str, Any]) -> str:
        ran.append(arguments["n"])
        return ""

    members = [BuiltinHook(type(each).__name__, each) for each in (waiting, Aborter())]
    executor = executor_for(layers_of(*members), tool("count", run))

    with pytest.raises(TurnAborted, match="stop"):
        await batch(executor, call(1), call(2, "c2"), call(3, "c3"))

    assert ran == [1]
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_batch_that_is_cancelled_while_a_later_call_is_judged_leaves_nothing() -> None:
    waiting = Waiting()
    executor = executor_for(layers_of(BuiltinHook("waiting", waiting)))
    running = asyncio.create_task(batch(executor, call(1), call(2, "c2")))
    await waiting.asked.wait()

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_cancelled_batch_abandons_hooks_and_tells_policy() -> None:
    asked = asyncio.Event()

    class Silent:
        async def approve_tool(self, ask: ToolInvocation, at: StageContext) -> ApproverVerdict:
            asked.set()
            await asyncio.Event().wait()
            raise AssertionError

    policy = FakePolicy()
    silent = BuiltinHook("silent", Silent())
    running = asyncio.create_task(batch(executor_for(layers_of(silent, policy=policy)), call()))
    await asked.wait()

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert [outcome.ending for _, outcome in policy.after_calls] == ["skipped"]


async def test_a_guard_that_is_down_lets_no_call_pass() -> None:
    ran: list[Any] = []

    async def run(arguments: dict[str, Any]) -> str:
        ran.append(copy.copy(arguments))
        return ""

    for stage in ("before_tool", "approve_tool"):
        outcome = await executor_for(layers_of(guarded("g", "closed", 0, {stage: down()})), tool("count", run)).run(
            call()
        )
        assert outcome.ending == "denied"
    assert ran == []
