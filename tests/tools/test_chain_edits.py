"""Arguments that a human or the policy changes on the way."""

from dataclasses import replace
from typing import Any

from server.hooks.builtin_hooks import BuiltinHook
from server.hooks.stages import ApproverVerdict, StageContext
from server.tools.tool_calls import ToolInvocation, ToolOutcome
from tests.hooks.fakes import hook, layers_of
from tests.tools.chain_scene import FakePolicy, call, executor_for


class Editor:
    """Changes `n` to the next of its numbers each time it is asked."""

    def __init__(self, *numbers: Any) -> None:
        self._numbers = list(numbers)

    async def approve_tool(self, ask: ToolInvocation, at: StageContext) -> ApproverVerdict:
        arguments = {"n": self._numbers.pop(0)} if self._numbers else None
        return ApproverVerdict(approved=True, arguments=arguments)


def editor(name: str, *numbers: Any) -> BuiltinHook:
    return BuiltinHook(name, Editor(*numbers))


async def test_edited_arguments_pass_schema_policy_and_the_other_approvers_again() -> None:
    approver = hook(approve_tool={"approved": True})
    policy = FakePolicy()

    outcome = await executor_for(layers_of(editor("e", 5), approver, policy=policy)).run(call(1))

    assert (outcome.content, outcome.arguments) == ("n is 5", {"n": 5})
    assert [judged.arguments for judged in policy.before_calls] == [{"n": 1}, {"n": 5}]
    assert [params["arguments"] for _, params, _ in approver.asked] == [{"n": 5}]


async def test_an_edit_that_does_not_fit_the_schema_does_not_run() -> None:
    outcome = await executor_for(layers_of(editor("e", "five"))).run(call(1))

    assert outcome.content.startswith("the arguments do not fit count")


async def test_an_edit_that_policy_forbids_does_not_run() -> None:
    def judge(invocation: ToolInvocation) -> ToolInvocation | ToolOutcome:
        refusal = ToolOutcome(id="c1", name="count", content="five is too much", is_error=True, ending="denied")
        return refusal if invocation.arguments["n"] == 5 else invocation

    outcome = await executor_for(layers_of(editor("e", 5), policy=FakePolicy(judge))).run(call(1))

    assert outcome.content == "five is too much"


async def test_two_who_go_on_editing_come_to_an_end() -> None:
    outcome = await executor_for(layers_of(editor("a", *range(2, 90, 2)), editor("b", *range(3, 90, 2)))).run(call(1))

    assert "changed too often" in outcome.content


async def test_arguments_that_policy_changes_are_checked_and_run() -> None:
    def judge(invocation: ToolInvocation) -> ToolInvocation:
        return replace(invocation, arguments={"n": 9})

    outcome = await executor_for(layers_of(policy=FakePolicy(judge))).run(call(1))

    assert (outcome.content, outcome.arguments) == ("n is 9", {"n": 9})
