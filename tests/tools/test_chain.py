"""The chain with hooks and policy in it: order, names, respond, edits, aborts, what others are shown."""

import asyncio
import copy
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from server import config
from server.errors import ToolError
from server.hooks.interception.members import BuiltinMember
from server.hooks.interception.stages import Abort, LlmCall, Moment, ToolAnswer, ToolAsk, ToolRan, Verdict
from server.hooks.layers import TurnHooks, TurnLayers
from server.hooks.types import Invocation, Permission, ToolOutcome, TurnAborted
from server.llm.types import ToolCall, ToolSpec
from server.media.references import MediaError
from server.media.store import MediaItem
from server.tools.executor import ToolExecutor
from server.tools.registry import Run, Tool, ToolRegistry
from tests.hooks.fakes import FakeChannel, Reply, down, guarded, hook, layers_of

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


async def count(arguments: dict[str, Any]) -> str:
    return f"n is {arguments['n']}"


def tool(name: str, run: Run = count, permission: Permission = "WRITE") -> Tool:
    return Tool(spec=ToolSpec(name=name, description="", parameters=SCHEMA), run=run, permission=permission)


def executor_for(layers: TurnLayers, *tools: Tool) -> ToolExecutor:
    """With the tools `count` and `other`, if none are given."""
    registry = ToolRegistry(tools or (tool("count"), tool("other")))
    return ToolExecutor(registry, config.Tools(max_result_bytes=300), hooks=TurnHooks(layers))


def call(n: Any = 1, call_id: str = "c1", name: str = "count") -> ToolCall:
    return ToolCall(call_id, name, json.dumps({"n": n}))


async def batch(executor: ToolExecutor, *calls: ToolCall) -> list[ToolOutcome]:
    return [outcome async for outcome in executor.run_batch(calls)]


@dataclass
class FakePolicy:
    """Writes down what it is asked; `judge` decides."""

    judge: Callable[[Invocation], Invocation | ToolOutcome] = lambda call: call
    before_calls: list[Invocation] = field(default_factory=list)
    after_calls: list[tuple[Invocation, ToolOutcome]] = field(default_factory=list)

    async def before(self, call: Invocation) -> Invocation | ToolOutcome:
        self.before_calls.append(call)
        return self.judge(call)

    async def after(self, call: Invocation, outcome: ToolOutcome) -> ToolOutcome:
        self.after_calls.append((call, outcome))
        return replace(outcome, content=outcome.content.replace("secret", "[redacted]"))

    async def conceal(self, value: Any) -> Any:
        text = json.dumps(value)
        return json.loads(text.replace("secret", "…")) if "secret" in text else value


# --- order


async def test_a_call_passes_every_stage_in_the_order_of_the_drawing() -> None:
    order: list[str] = []

    def note(name: str, reply: Reply) -> Reply:
        def answer(_params: dict[str, Any]) -> Any:
            order.append(name)
            return reply

        return answer

    def judge(invocation: Invocation) -> Invocation:
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
    outcomes = await batch(executor_for(layers_of(approver), tool("count", meet)), call(1), call(2, "c2"))

    assert [params["arguments"]["n"] for _, params, _ in approver.asked] == [1, 2]
    assert [outcome.content for outcome in outcomes] == ["1", "2"]


# --- refusals


async def test_a_hook_in_this_process_knows_what_the_call_may_touch() -> None:
    seen: list[Permission] = []

    class Looking:
        async def before_tool(self, ask: ToolAsk, at: Moment) -> None:
            seen.append(ask.permission)

    looking = BuiltinMember("looking", Looking(), config.HookDefaults())
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

    assert outcome.content == "the arguments do not fit any: an object is wanted"
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


async def _echo(arguments: dict[str, Any]) -> str:
    return json.dumps(arguments)


async def test_what_hooks_make_longer_is_cut_to_size_all_the_same() -> None:
    long = hook(after_tool={"result": {"for_llm": "x" * 1000, "for_user": "y" * 1000}})

    outcome = await executor_for(layers_of(long)).run(call())

    assert outcome.content.endswith("(truncated, 1 lines left)")
    assert len(outcome.for_user) < 350


def observer(*kinds: str) -> FakeChannel:
    return FakeChannel(settings=config.ProcessHook(observe=list(kinds)))


def events(channel: FakeChannel) -> list[tuple[str, Any]]:
    return [(params["kind"], params["payload"]) for _, params in channel.told]


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


# --- respond

RESPOND = {"action": "respond", "result": {"for_llm": "42", "for_user": "forty-two"}}


async def offer(executor_hooks: TurnHooks, name: str) -> None:
    """Let the hooks of a turn bring their tools along."""
    request = LlmCall(model="m", messages=[{"role": "user", "content": "hi"}])
    await executor_hooks.pipeline.before_llm(request, registered=["count", "other"], check=lambda _: None)
    assert executor_hooks.pipeline.injector(name)


def injecting(name: str = "mine") -> Reply:
    tools = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}}]
    return lambda p: {"request": {"tools": [*p["tools"], *tools]}}


async def respond(
    *hooks: FakeChannel, made: ToolCall, injected: str | None = None, **more: Any
) -> tuple[ToolOutcome, FakePolicy]:
    policy = FakePolicy(more.pop("judge", lambda call: call))
    turn = TurnHooks(layers_of(*hooks, policy=policy, **more))
    if injected:
        await offer(turn, injected)
    registry = ToolRegistry([tool("count"), tool("other")])
    return await ToolExecutor(registry, config.Tools(), hooks=turn).run(made), policy


async def test_observers_hear_of_an_answer_as_of_a_tool_that_took_no_time() -> None:
    watching = observer("tool_exec_start", "tool_exec_end")
    answering = hook(before_tool=RESPOND)

    await executor_for(layers_of(watching, answering, respond_policy="any")).run(call())

    (start, called), (end, ended) = events(watching)
    assert (start, called) == ("agent.tool.exec_start", {"Tool": "count", "Arguments": {"n": 1}})
    assert (end, ended["Duration"], ended["ForLLMLen"], ended["ForUserLen"]) == ("agent.tool.exec_end", 0, 2, 9)


async def test_a_hook_answers_for_its_own_tool_without_anybody_s_leave() -> None:
    own = hook(before_llm=injecting(), before_tool=RESPOND, after_tool={"result": {"for_llm": "changed"}})
    refuser = hook("refuser", approve_tool={"approved": False})

    outcome, policy = await respond(own, refuser, made=call("no integer", name="mine"), injected="mine")

    assert (outcome.name, outcome.content, outcome.for_user) == ("mine", "42", "forty-two")
    assert (outcome.ending, outcome.is_error) == ("answered", False)
    assert (policy.before_calls, refuser.asked) == ([], [])
    assert [outcome.ending for _, outcome in policy.after_calls] == ["answered"]


@pytest.mark.parametrize("name", ["count", "somebody_s", "unknown"])
async def test_an_answer_for_another_tool_needs_policy_and_approval(name: str) -> None:
    stranger = hook("a stranger", before_tool=RESPOND)
    owner = hook("owner", before_llm=injecting("somebody_s"))
    approver = hook("approver", approve_tool={"approved": True})

    outcome, policy = await respond(stranger, owner, approver, made=call(name=name), injected="somebody_s")
    refused, _ = await respond(
        stranger, owner, hook("refuser", approve_tool={"approved": False}), made=call(name=name), injected="somebody_s"
    )

    assert (outcome.content, outcome.ending) == ("42", "answered")
    assert [judged.name for judged in policy.before_calls] == [name]
    assert approver.params("approve_tool")["tool"] == name
    assert refused.content == "Tool execution denied by approval hook"


async def test_an_answer_for_a_registered_tool_has_to_fit_its_schema() -> None:
    outcome, _ = await respond(hook(before_tool=RESPOND), made=call("five"))

    assert outcome.content.startswith("the arguments do not fit count")


async def test_a_call_that_was_renamed_before_it_was_answered_is_judged_as_the_model_made_it() -> None:
    renamer = hook("a", priority=1, before_tool={"call": {"tool": "mine", "arguments": {"n": 7}}})
    own = hook("b", priority=2, before_llm=injecting(), before_tool=RESPOND)
    approver = hook("c", approve_tool={"approved": True})

    outcome, policy = await respond(renamer, own, approver, made=call(1), injected="mine")

    assert approver.params("approve_tool")["tool"] == "count"
    assert policy.before_calls[0].arguments == {"n": 1}
    assert (outcome.name, outcome.arguments) == ("count", None)


async def test_with_respond_policy_any_a_hook_may_answer_for_every_tool() -> None:
    refuser = hook("refuser", approve_tool={"approved": False})

    outcome, policy = await respond(hook(before_tool=RESPOND), refuser, made=call("x"), respond_policy="any")

    assert outcome.content == "42"
    assert policy.before_calls == []


async def test_a_tool_whose_hook_gives_no_result_says_whose_it_is() -> None:
    own = hook("weather", before_llm=injecting())

    outcome, _ = await respond(own, made=call(name="mine"), injected="mine")

    assert outcome.content == "mine did not run: the hook weather, whose tool it is, gave no result"


async def test_what_is_silent_is_not_shown_to_the_user() -> None:
    result = {"for_llm": "42", "for_user": "x", "silent": True, "response_handled": True}
    outcome, _ = await respond(hook(before_tool={"action": "respond", "result": result}), made=call())

    assert (outcome.for_user, outcome.is_handled) == ("", True)


# --- media


class FakeStore:
    async def register(self, reference: str, *, user_id: str, session_id: str, name: str | None = None) -> MediaItem:
        if not reference.startswith("data:"):
            raise MediaError(f"{reference} is nowhere")
        assert (user_id, session_id) == ("ann", "s1")
        return MediaItem(ref="media://1", url="/media/1", content_type="image/png", name="a.png", size=3)

    async def open_image(self, ref: str) -> tuple[str, bytes]:
        raise MediaError("not asked for here")


def showing(*media: str, is_handled: bool = False) -> FakeChannel:
    result = {"for_llm": "Drawn.", "media": list(media), "response_handled": is_handled}
    return hook(before_tool={"action": "respond", "result": result})


async def test_files_of_a_result_are_registered_and_named_to_the_model() -> None:
    outcome, _ = await respond(showing("data:image/png;base64,AA"), made=call(), media=FakeStore())

    assert [item.ref for item in outcome.media] == ["media://1"]
    assert outcome.content == "Drawn.\n[file: a.png, image/png, media://1]"


async def test_a_file_that_cannot_be_shown_is_told_and_the_rest_stands() -> None:
    outcome, _ = await respond(showing("/etc/passwd", "data:x"), made=call(), media=FakeStore())

    assert len(outcome.media) == 1
    assert "(attachment not available: /etc/passwd is nowhere)" in outcome.content
    assert not outcome.is_error


async def test_what_could_not_be_delivered_is_not_handled() -> None:
    outcome, _ = await respond(showing("/etc/passwd", is_handled=True), made=call(), media=FakeStore())

    assert outcome.content == "failed to deliver attachment: /etc/passwd is nowhere"
    assert (outcome.is_error, outcome.is_handled) == (True, False)


async def test_a_tool_s_own_files_go_the_same_way() -> None:
    async def draw(arguments: dict[str, Any]) -> ToolAnswer:
        return ToolAnswer(for_llm="Drawn.", media=("data:x",))

    outcome = await executor_for(layers_of(media=FakeStore()), tool("count", draw)).run(call())

    assert [item.name for item in outcome.media] == ["a.png"]


# --- humans who edit


class Editor:
    """Changes `n` to the next of its numbers each time it is asked."""

    def __init__(self, *numbers: Any) -> None:
        self._numbers = list(numbers)

    async def approve_tool(self, ask: ToolAsk, at: Moment) -> Verdict:
        arguments = {"n": self._numbers.pop(0)} if self._numbers else None
        return Verdict(approved=True, arguments=arguments)


def editor(name: str, *numbers: Any) -> BuiltinMember:
    return BuiltinMember(name, Editor(*numbers), config.HookDefaults())


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
    def judge(invocation: Invocation) -> Invocation | ToolOutcome:
        refusal = ToolOutcome(id="c1", name="count", content="five is too much", is_error=True, ending="denied")
        return refusal if invocation.arguments["n"] == 5 else invocation

    outcome = await executor_for(layers_of(editor("e", 5), policy=FakePolicy(judge))).run(call(1))

    assert outcome.content == "five is too much"


async def test_two_who_go_on_editing_come_to_an_end() -> None:
    outcome = await executor_for(layers_of(editor("a", *range(2, 90, 2)), editor("b", *range(3, 90, 2)))).run(call(1))

    assert "changed too often" in outcome.content


async def test_arguments_that_policy_changes_are_checked_and_run() -> None:
    def judge(invocation: Invocation) -> Invocation:
        return replace(invocation, arguments={"n": 9})

    outcome = await executor_for(layers_of(policy=FakePolicy(judge))).run(call(1))

    assert (outcome.content, outcome.arguments) == ("n is 9", {"n": 9})


# --- turns that stop


async def test_an_abort_stops_what_runs_and_policy_hears_of_every_call() -> None:
    async def wait(arguments: dict[str, Any]) -> str:
        await asyncio.Event().wait()
        return ""

    aborter = hook(before_tool=lambda p: {"action": "abort_turn"} if p["arguments"]["n"] == 2 else {})
    policy = FakePolicy()
    executor = executor_for(layers_of(aborter, policy=policy), tool("count", wait))

    with pytest.raises(TurnAborted):
        await batch(executor, call(1), call(2, "c2"), call(3, "c3"))

    assert [(judged.id, outcome.ending) for judged, outcome in policy.after_calls] == [
        ("c1", "skipped"), ("c2", "skipped"), ("c3", "skipped"),
    ]  # fmt: skip
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_an_abort_after_one_tool_does_not_wait_for_the_others() -> None:
    async def run(arguments: dict[str, Any]) -> str:
        if arguments["n"] == 1:
            await asyncio.Event().wait()
        return ""

    aborter = hook(after_tool={"action": "hard_abort", "reason": "stop"})

    with pytest.raises(TurnAborted, match="stop") as aborted:
        await batch(executor_for(layers_of(aborter), tool("count", run)), call(1), call(2, "c2"))

    assert aborted.value.rollback


class Waiting:
    """An approver who never answers to the call 2, and says when he was asked."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def approve_tool(self, ask: ToolAsk, at: Moment) -> Verdict:
        if ask.arguments["n"] == 2:
            self.asked.set()
            await asyncio.Event().wait()
        return Verdict(approved=True)


async def test_an_abort_does_not_wait_for_the_gates_of_the_next_call_and_none_runs_after_it() -> None:
    waiting, ran = Waiting(), list[int]()

    class Aborter:
        async def after_tool(self, result: ToolRan, at: Moment) -> Abort:
            await waiting.asked.wait()
            return Abort(reason="stop")

    async def run(arguments: dict[str, Any]) -> str:
        ran.append(arguments["n"])
        return ""

    members = [BuiltinMember(type(each).__name__, each, config.HookDefaults()) for each in (waiting, Aborter())]
    executor = executor_for(layers_of(*members), tool("count", run))

    with pytest.raises(TurnAborted, match="stop"):
        await batch(executor, call(1), call(2, "c2"), call(3, "c3"))

    assert ran == [1]
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_batch_that_is_cancelled_while_a_later_call_is_judged_leaves_nothing() -> None:
    waiting = Waiting()
    executor = executor_for(layers_of(BuiltinMember("waiting", waiting, config.HookDefaults())))
    running = asyncio.create_task(batch(executor, call(1), call(2, "c2")))
    await waiting.asked.wait()

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_cancelled_batch_abandons_hooks_and_tells_policy() -> None:
    asked = asyncio.Event()

    class Silent:
        async def approve_tool(self, ask: ToolAsk, at: Moment) -> Verdict:
            asked.set()
            await asyncio.Event().wait()
            raise AssertionError

    policy = FakePolicy()
    silent = BuiltinMember("silent", Silent(), config.HookDefaults())
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
