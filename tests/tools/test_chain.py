"""The chain with hooks and policy in it: order, names, refusals, what others are shown."""

import asyncio
import json
from typing import Any

import pytest

from server.errors import ToolError
from server.hooks.builtin_hooks import BuiltinHook
from server.hooks.stages import StageContext
from server.llm.language_model import ToolCall, ToolSpec
from server.toolguard import Permission
from server.tools.registry import Tool
from server.tools.tool_calls import ToolInvocation, ToolOutcome
from tests.hooks.fakes import Reply, hook, layers_of
from tests.tools.chain_scene import FakePolicy, batch, call, count, events, executor_for, observer, tool

# --- order


async def test_a_call_passes_every_stage_in_the_order_of_the_drawing() -> None:
    order: list[str] = []

    def note(name: str, reply: Reply) -> Reply:
        def answer(_params: dict[str, Any]) -> Any:
            order.append(name)
            return reply

        return answer

    def judge(invocation: ToolInvocation) -> ToolInvocation:
        order.append(f"policy {invocation.name} {invocation.arguments}")
        return invocation

    async def run(arguments: dict[str, Any]) -> str:
        order.append("run")
        return "done"

    hooked = hook(
        before_tool=note("before_tool", {"call": {"tool": "other", "arguments": {"n": 2}}}),
        approve_tool=note("approve_tool", {"approved": True}),
        after_tool=note("after_tool", {}),
    )
    policy = FakePolicy(judge)

    await executor_for(layers_of(hooked, policy=policy), tool("count"), tool("other", run)).run(call())

    assert order == ["before_tool", "policy other {'n': 2}", "approve_tool", "run", "after_tool"]
    assert [outcome.ending for _, outcome in policy.after_calls] == ["ran"]


async def test_the_renamed_tool_is_the_one_that_is_checked_and_runs() -> None:
    renamed = hook(before_tool={"call": {"tool": "other", "arguments": {"n": "five"}}})

    outcome = await executor_for(layers_of(renamed)).run(call())

    assert outcome.name == "other"
    assert outcome.content.startswith("the arguments do not fit other: n: 'five' is not of type 'integer'")


async def test_a_name_that_no_tool_has_does_not_stand_beside_the_result() -> None:
    outcome = await executor_for(layers_of(hook(before_tool={"call": {"tool": "no such; thing"}}))).run(call())

    assert outcome.name == "count"
    assert outcome.content == "there is no tool no such; thing; there are: count, other"


async def test_arguments_that_ran_are_told_where_they_are_not_the_model_s() -> None:
    same = await executor_for(layers_of(hook(before_tool={}))).run(call(1))
    other = await executor_for(layers_of(hook(before_tool={"call": {"arguments": {"n": 2}}}))).run(call(1))

    assert same.arguments is None
    assert (other.arguments, other.content) == ({"n": 2}, "n is 2")


@pytest.mark.parametrize(
    "reply",
    [{"tool": "other"}, {"arguments": {"n": 13}}, {"arguments": {"n": "five"}}],
    ids=["same arguments", "denied", "do not fit"],
)
async def test_arguments_that_did_not_run_or_are_the_model_s_are_not_told(reply: dict[str, Any]) -> None:
    hooked = hook(before_tool={"call": reply}, approve_tool=lambda p: {"approved": p["arguments"]["n"] != 13})

    outcome = await executor_for(layers_of(hooked)).run(call(1))

    assert outcome.arguments is None


async def test_calls_pass_the_gates_one_at_a_time_in_call_order_and_run_side_by_side() -> None:
    started: list[int] = []
    both = asyncio.Event()

    async def meet(arguments: dict[str, Any]) -> str:
        started.append(arguments["n"])
        if len(started) == 2:
            both.set()
        await both.wait()
        return str(arguments["n"])

    approver = hook(approve_tool={"approved": True})
    outcomes = await batch(
        executor_for(layers_of(approver), tool("count", meet), parallel="always"), call(1), call(2, "c2")
    )

    assert [params["arguments"]["n"] for _, params, _ in approver.asked] == [1, 2]
    assert [outcome.content for outcome in outcomes] == ["1", "2"]


# --- refusals


async def test_a_hook_in_this_process_knows_what_the_call_may_touch() -> None:
    seen: list[Permission] = []

    class Looking:
        async def before_tool(self, ask: ToolInvocation, at: StageContext) -> None:
            seen.append(ask.permission)

    looking = BuiltinHook("looking", Looking())
    executor = executor_for(layers_of(looking), tool("count", permission="READ"))
    await batch(executor, call(), call(name="nobody's", call_id="c2"))

    assert seen == ["READ", "EXTERNAL"]


async def test_a_denied_call_never_runs_and_the_model_reads_why() -> None:
    ran: list[Any] = []

    async def run(arguments: dict[str, Any]) -> str:
        ran.append(arguments)
        return ""

    policy = FakePolicy()
    layers = layers_of(hook(before_tool={"action": "deny_tool", "reason": "no"}), policy=policy)
    outcome = await executor_for(layers, tool("count", run)).run(call())

    assert (outcome.content, outcome.is_error) == ("Tool execution denied by hook: no", True)
    assert (ran, policy.before_calls) == ([], [])
    assert [outcome.ending for _, outcome in policy.after_calls] == ["denied"]


async def test_a_policy_s_refusal_asks_no_approver() -> None:
    approver = hook(approve_tool={"approved": True})
    refusal = ToolOutcome(id="c1", name="count", content="policy says no", is_error=True, ending="denied")

    outcome = await executor_for(layers_of(approver, policy=FakePolicy(lambda _: refusal))).run(call())

    assert outcome.content == "policy says no"
    assert approver.asked == []


@pytest.mark.parametrize(
    ("made", "ending"),
    [(ToolCall("c1", "count", "{"), "skipped"), (ToolCall("c1", "nope", "{}"), "skipped"), (call("x"), "skipped")],
)
async def test_policy_hears_of_every_outcome(made: ToolCall, ending: str) -> None:
    policy = FakePolicy()

    await executor_for(layers_of(policy=policy)).run(made)

    assert [outcome.ending for _, outcome in policy.after_calls] == [ending]


async def test_arguments_that_are_no_object_never_reach_hooks_or_tools() -> None:
    hooked = hook(before_tool={})
    anything = Tool(spec=ToolSpec(name="any", description="", parameters={}), run=count)

    outcome = await executor_for(layers_of(hooked), anything).run(ToolCall("c1", "any", "[1]"))

    assert outcome.content == "the arguments do not fit any: an object is expected"
    assert hooked.asked == []


async def test_a_failing_tool_is_shown_to_after_tool_and_told_as_failed() -> None:
    async def fail(arguments: dict[str, Any]) -> str:
        raise ToolError("not on a Sunday")

    after = hook(after_tool={"result": {"for_llm": "try tomorrow"}})
    policy = FakePolicy()
    outcome = await executor_for(layers_of(after, policy=policy), tool("count", fail)).run(call())

    assert after.params("after_tool")["result"]["for_llm"] == "not on a Sunday"
    assert (outcome.content, outcome.is_error, outcome.ending) == ("try tomorrow", True, "failed")


# --- what others see


async def test_a_redaction_reaches_the_model_and_arguments_are_shown_concealed() -> None:
    rewrite = hook(before_tool={"call": {"arguments": {"n": 1, "key": "secret"}}}, after_tool={})
    loose = Tool(spec=ToolSpec(name="count", description="", parameters={}), run=_echo)

    outcome = await executor_for(layers_of(rewrite, policy=FakePolicy()), loose).run(call())

    assert outcome.content == '{"n": 1, "key": "[redacted]"}'
    assert outcome.arguments == {"n": 1, "key": "…"}


async def test_a_refusal_quotes_no_secret_where_there_is_a_policy() -> None:
    policy = FakePolicy()

    outcome = await executor_for(layers_of(policy=policy)).run(call("secret"))

    assert outcome.content == "the arguments do not fit count: n: '…' is not of type 'integer'"
    assert "secret" not in policy.after_calls[0][1].content


async def _echo(arguments: dict[str, Any]) -> str:
    return json.dumps(arguments)


async def test_what_hooks_make_longer_is_cut_to_size_all_the_same() -> None:
    long = hook(after_tool={"result": {"for_llm": "x" * 1000, "for_user": "y" * 1000}})

    outcome = await executor_for(layers_of(long)).run(call())

    assert outcome.content.endswith("(truncated, 1 lines left)")
    assert len(outcome.for_user) < 350


async def test_observers_hear_of_start_end_and_skip_with_concealed_arguments() -> None:
    watching = observer("*")
    denier = hook("denier", before_tool=lambda p: {"action": "deny_tool"} if p["arguments"]["n"] == 2 else {})
    loose = Tool(spec=ToolSpec(name="count", description="", parameters={}), run=count)
    executor = executor_for(layers_of(watching, denier, policy=FakePolicy()), loose)

    await executor.run(ToolCall("c1", "count", '{"n": 1, "key": "secret"}'))
    await executor.run(call(2))

    start, end, skip = events(watching)
    assert start == ("agent.tool.exec_start", {"Tool": "count", "Arguments": {"n": 1, "key": "…"}})
    assert end[0] == "agent.tool.exec_end"
    assert end[1] | {"Duration": 0} == {
        "Tool": "count", "Duration": 0, "ForLLMLen": 6, "ForUserLen": 0, "IsError": False, "Async": False,
    }  # fmt: skip
    assert skip == ("agent.tool.exec_skipped", {"Tool": "count", "Reason": "Tool execution denied by hook"})
