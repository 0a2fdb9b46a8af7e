"""Order, chaining, short circuits, and the reference's failure table."""

from dataclasses import replace
from typing import Any

import pytest

from server import config
from server.agent.messages import find_violation
from server.hooks.builtin_hooks import BuiltinHook
from server.hooks.pipeline import EditedArguments, HookPipeline
from server.hooks.stages import (
    ApproverVerdict,
    Deny,
    HookCallFailed,
    LlmAnswer,
    LlmCall,
    Respond,
    StageContext,
    ToolRan,
)
from server.llm.language_model import ToolSpec
from server.tools.tool_calls import ToolAnswer, ToolInvocation, TurnAborted
from tests.hooks.fakes import (
    FakeHook,
    at,
    down,
    failed,
    guard,
    guard_at,
    hook,
    pipeline_of,
    timed_out,
)

ASK = ToolInvocation(name="echo", arguments={"text": "hi"})


ANSWER = LlmAnswer(model="m", content="Hello.")
RAN = ToolRan(name="echo", arguments={}, answer=ToolAnswer(for_llm="hi"))


async def without_hunter2(value: object) -> object:
    return str(value).replace("hunter2", "[REDACTED]")


def call(*tools: str) -> LlmCall:
    specs = [ToolSpec(name=name, description="", parameters={}) for name in tools]
    return LlmCall(model="m", messages=[{"role": "user", "content": "hi"}], tools=specs)


def legal(_messages: Any) -> None:
    """Every list is fine."""


async def rewrite(pipeline: HookPipeline, request: LlmCall, *registered: str) -> LlmCall:
    return await pipeline.before_llm(request, registered=registered, check=legal)


# --- order


class Marker:
    """An in-process hook that appends its name to the text."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def after_llm(self, answer: LlmAnswer, at: StageContext) -> LlmAnswer:
        return LlmAnswer(model=answer.model, content=f"{answer.content} {self.name}")


def marker(name: str, priority: int = 0) -> FakeHook:
    return hook(
        name, priority=priority, after_llm=lambda sent: {"response": {"content": f"{sent['response']['content']} {name}"}}
    )  # fmt: skip


def builtin(name: str, own: object, priority: int = 0) -> BuiltinHook:
    return BuiltinHook(name, own, priority=priority)


async def test_in_process_before_process_then_priority_then_name_byte_by_byte() -> None:
    pipeline = pipeline_of(
        marker("b"),
        marker("ä"),
        marker("a", 5),
        marker("z", -10),
        marker("B"),
        builtin("late", Marker("late"), 100),
        builtin("early", Marker("early"), 99),
    )

    answer = await pipeline.after_llm(ANSWER)

    assert answer.content == "Hello. early late z B b ä a"


async def test_each_hook_sees_what_the_one_before_it_returned() -> None:
    first = hook("first", priority=1, before_tool={"call": {"tool": "renamed", "arguments": {"n": 2**70}}})
    second = hook("second", priority=2, before_tool={})

    result = await pipeline_of(second, first).before_tool(ASK)

    assert second.params("before_tool")["tool"] == "renamed"
    assert second.params("before_tool")["arguments"] == {"n": 2**70}
    assert result == ToolInvocation(name="renamed", arguments={"n": 2**70})


async def test_a_hook_is_asked_only_at_its_own_stages() -> None:
    only = hook(before_tool={})
    pipeline = pipeline_of(only)

    await pipeline.after_tool(RAN)
    await pipeline.approve_tool(ASK)

    assert only.asked == []


async def test_with_pair_stages_one_stage_turns_on_both_as_on_the_reference_host() -> None:
    paired = FakeHook(
        "paired",
        {"after_tool": {"result": {"for_llm": "bye"}}},
        config.ProcessHookSettings(intercept=["before_tool"], pair_stages=True),
    )

    assert (await pipeline_of(paired).after_tool(RAN)).for_llm == "bye"


# --- short circuits


@pytest.mark.parametrize(
    ("reply", "result"),
    [
        ({"action": "respond", "result": {"for_llm": "42"}}, Respond(hook="b", answer=ToolAnswer(for_llm="42"))),
        ({"action": "deny_tool"}, Deny(reason="Tool execution denied by hook")),
        ({"action": "deny_tool", "reason": "no"}, Deny(reason="Tool execution denied by hook: no")),
    ],
)
async def test_the_first_decision_ends_the_chain(reply: dict[str, Any], result: object) -> None:
    last = hook("c", before_tool={"call": {"tool": "never"}})
    pipeline = pipeline_of(hook("a", before_tool={"call": {"tool": "renamed"}}), hook("b", before_tool=reply), last)

    assert await pipeline.before_tool(ASK) == result
    assert last.asked == []


@pytest.mark.parametrize("is_hard", [False, True])
@pytest.mark.parametrize("stage", ["before_llm", "after_llm", "before_tool", "after_tool"])
async def test_an_abort_ends_the_turn_at_every_stage(stage: str, is_hard: bool) -> None:
    reply = {"action": "hard_abort" if is_hard else "abort_turn", "reason": "enough"}
    last = at(stage, {}, "b")
    pipeline = pipeline_of(at(stage, reply, "a"), last)

    with pytest.raises(TurnAborted, match="enough") as aborted:
        await ask_at(pipeline, stage)

    assert aborted.value.rollback is is_hard
    assert last.asked == []


async def test_the_reason_of_an_abort_tells_no_secret_where_secrets_are_concealed() -> None:
    saw = hook("a", before_tool={"action": "abort_turn", "reason": "saw hunter2"})
    pipeline = pipeline_of(saw, conceal=without_hunter2)
    with pytest.raises(TurnAborted) as aborted:
        await pipeline.before_tool(ASK)

    assert aborted.value.reason == "saw [REDACTED]"


async def test_an_abort_without_a_reason_names_the_hook() -> None:
    with pytest.raises(TurnAborted, match='the hook "a" ended the turn'):
        await pipeline_of(hook("a", after_llm={"action": "abort_turn"})).after_llm(ANSWER)


async def test_a_reason_without_end_does_not_reach_the_client_whole() -> None:
    with pytest.raises(TurnAborted) as aborted:
        await pipeline_of(hook("a", before_tool={"action": "abort_turn", "reason": "no " * 10_000})).before_tool(ASK)

    assert aborted.value.reason.endswith("… (30000 characters)")
    assert len(aborted.value.reason) < 3000


async def ask_at(pipeline: HookPipeline, stage: str) -> object:
    match stage:
        case "before_llm":
            return await rewrite(pipeline, call())
        case "after_llm":
            return await pipeline.after_llm(ANSWER)
        case "before_tool":
            return await pipeline.before_tool(ASK)
        case "after_tool":
            return await pipeline.after_tool(RAN)
    return await pipeline.approve_tool(ASK)


# --- the failure table

FAILURES = [failed(), timed_out(), down(), ValueError("a defect of ours"), {"action": 5}]
UNCHANGED: dict[str, object] = {"before_llm": call(), "after_llm": ANSWER, "before_tool": ASK, "after_tool": RAN.answer}


@pytest.mark.parametrize("failure", FAILURES, ids=str)
@pytest.mark.parametrize("stage", UNCHANGED)
async def test_an_open_interceptor_that_fails_is_skipped_and_the_next_one_asked(stage: str, failure: Any) -> None:
    last = at(stage, {}, "b")

    result = await ask_at(pipeline_of(at(stage, failure, "a"), last), stage)

    assert result == UNCHANGED[stage]
    assert len(last.asked) == 1


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (failed(), 'tool approval hook "a" failed'),
        (timed_out(), 'tool approval hook "a" timed out'),
        (down(), 'tool approval hook "a" failed'),
        (ValueError("a defect of ours"), 'tool approval hook "a" failed'),
        ({"approved": "true"}, 'tool approval hook "a" failed'),
        ({}, ""),
        ({"approved": False}, ""),
        ({"approved": False, "reason": "not today"}, "not today"),
        ({"allow": True}, ""),
        ({"action": "continue"}, ""),
    ],
    ids=str,
)
async def test_an_approver_that_does_not_approve_denies_whatever_its_setting(failure: Any, reason: str) -> None:
    last = hook("b", approve_tool={"approved": True})
    denied = "Tool execution denied by approval hook" + (f": {reason}" if reason else "")

    result = await pipeline_of(hook("a", approve_tool=failure), last).approve_tool(ASK)

    assert result == Deny(reason=denied)
    assert last.asked == []


@pytest.mark.parametrize(
    "failure",
    [
        *FAILURES,
        {"action": "deny"},
        {"action": "Deny_Tool"},
        {"actoin": "x"},
        {"actoin": "deny_tool", "reason": "no"},
        {"action": "modify", "arguments": {}},
        {"call": {"argument": {}}},
    ],
    ids=str,
)
async def test_a_guard_that_fails_or_is_not_understood_denies_the_call(failure: Any) -> None:
    result = await pipeline_of(guard(before_tool=failure)).before_tool(ASK)

    assert isinstance(result, Deny)
    assert result.reason.startswith('Tool execution denied by hook: hook "guard" ')


@pytest.mark.parametrize("ask", [hook, guard])
async def test_a_hook_that_refuses_in_claude_codes_words_does_not_fail_open(ask: Any) -> None:
    blocks = {"decision": "block", "reason": "never"}

    assert await pipeline_of(ask(before_tool=blocks)).before_tool(ASK) == Deny(
        reason="Tool execution denied by hook: never"
    )
    assert (await pipeline_of(ask(after_tool=blocks)).after_tool(RAN)).is_error
    with pytest.raises(TurnAborted):
        await pipeline_of(ask(after_llm=blocks)).after_llm(LlmAnswer(model="m", content="x"))


async def test_a_guard_that_denies_is_heard_whatever_else_it_says() -> None:
    reply = {"action": "deny_tool", "reason": "never", "message": "really"}

    result = await pipeline_of(guard(before_tool=reply)).before_tool(ASK)

    assert result == Deny(reason="Tool execution denied by hook: never")


@pytest.mark.parametrize("failure", [*FAILURES, {"action": "redact"}, {"result": {"text": "x"}}], ids=str)
async def test_a_guard_of_results_that_fails_withholds_the_result(failure: Any) -> None:
    answer = await pipeline_of(guard(after_tool=failure)).after_tool(RAN)

    assert answer.is_error
    assert "withheld" in answer.for_llm
    assert "hi" not in answer.for_llm.split()


@pytest.mark.parametrize("stage", ["before_llm", "after_llm"])
@pytest.mark.parametrize("failure", [*FAILURES, {"action": "redact"}, {"action": "modify"}], ids=str)
async def test_a_guard_of_model_calls_that_fails_ends_the_turn(stage: str, failure: Any) -> None:
    with pytest.raises(TurnAborted, match='hook "guard"'):
        await ask_at(pipeline_of(guard_at(stage, failure)), stage)


async def test_all_must_approve_and_every_approver_is_asked_the_same() -> None:
    first, second = (hook(name, approve_tool={"approved": True}) for name in "ab")

    assert await pipeline_of(first, second).approve_tool(ASK) is None
    assert first.params("approve_tool") == second.params("approve_tool")


async def test_with_no_approver_a_call_is_approved() -> None:
    assert await pipeline_of().approve_tool(ASK) is None


class Editor:
    async def approve_tool(self, call: ToolInvocation, at: StageContext) -> ApproverVerdict:
        return ApproverVerdict(approved=True, arguments={"text": "edited"})


async def test_edited_arguments_come_back_and_the_editor_is_not_asked_again() -> None:
    editor = builtin("editor", Editor())
    pipeline = pipeline_of(editor, hook(approve_tool={"approved": True}))

    edited = await pipeline.approve_tool(ASK)

    assert edited == EditedArguments(editor=editor, call=ToolInvocation(name="echo", arguments={"text": "edited"}))
    assert await pipeline.approve_tool(edited.call, editor=editor) is None


async def test_another_hook_with_the_editor_s_name_is_asked_all_the_same() -> None:
    editor, namesake = builtin("editor", Editor()), hook("editor", approve_tool={"approved": False})

    result = await pipeline_of(editor, namesake).approve_tool(ASK, editor=editor)

    assert isinstance(result, Deny)


# --- limits in time


@pytest.mark.parametrize(
    ("stage", "timeout_ms", "limit_s"), [("before_tool", None, 5), ("approve_tool", None, 60), ("before_tool", 250, 0.25)]
)  # fmt: skip
async def test_each_hook_has_its_own_full_limit(stage: str, timeout_ms: int | None, limit_s: float) -> None:
    answers = {"before_tool": {}, "approve_tool": {"approved": True}}
    limited = FakeHook("a", answers, config.ProcessHookSettings(intercept=[stage], timeout_ms=timeout_ms))

    await ask_at(pipeline_of(limited), stage)

    assert limited.asked[0][2] == limit_s


# --- before_llm


async def test_a_list_of_messages_that_no_provider_would_take_is_put_back_and_the_hook_named() -> None:
    broken = hook(before_llm={"request": {"messages": [{"role": "tool", "content": "x"}], "model": "n"}})
    request = call()

    result = await pipeline_of(broken).before_llm(request, registered=(), check=lambda _: "it limps")

    assert result.messages is request.messages
    assert result.model == "n"
    assert "its change of the messages is discarded: it limps" in broken.warnings[0]


def offering(*names: str) -> dict[str, Any]:
    return {"request": {"tools": [{"type": "function", "function": {"name": name}} for name in names]}}


async def test_a_tool_belongs_to_the_hook_that_added_it_and_no_other() -> None:
    pipeline = pipeline_of(
        hook("a", before_llm=offering("bash", "mine")), hook("b", before_llm=offering("bash", "mine", "his"))
    )

    await rewrite(pipeline, call("bash"), "bash")

    assert [pipeline.injector(name) for name in ("mine", "his", "bash")] == ["a", "b", None]


async def test_a_registered_tool_that_was_taken_away_first_is_never_a_hook_s_own() -> None:
    pipeline = pipeline_of(
        hook("a", before_llm={"request": {"tools": []}}), hook("b", before_llm=offering("bash", "hidden"))
    )

    await rewrite(pipeline, call("bash"), "bash", "hidden")

    assert pipeline.injector("bash") is None
    assert pipeline.injector("hidden") is None


# --- what the inspector is told


async def test_each_change_and_each_failure_is_reported() -> None:
    pipeline = pipeline_of(
        hook("a", before_tool={"call": {"tool": "other"}}),
        hook("b", before_tool=timed_out()),
        hook("c", before_tool={}),
        is_traced=True,
    )

    await pipeline.before_tool(ASK)
    changed, broken = pipeline.take_reports()

    assert (changed.event, broken.event) == ("hook_changed", "hook_failed")
    assert changed.data | {"ms": 0} == {
        "stage": "before_tool",
        "hook": "a",
        "ms": 0,
        "action": "modify",
        "changes": {"name": {"before": "echo", "after": "other"}},
    }
    assert (broken.data["kind"], broken.data["effect"]) == ("timed_out", "skipped")
    assert pipeline.take_reports() == []


async def test_messages_that_are_put_back_are_reported_as_discarded() -> None:
    given = [{"role": "tool", "content": "x"}]
    pipeline = pipeline_of(hook("a", before_llm={"action": "modify", "request": {"messages": given}}), is_traced=True)

    await pipeline.before_llm(call(), registered=(), check=find_violation)

    [report] = pipeline.take_reports()
    assert report.data["discarded"] == {"messages": "message 0 is a result without an open call"}
    assert {"index": 0, "after": given[0]}.items() <= report.data["changes"]["messages"][0].items()


@pytest.mark.parametrize("reply", [{"action": "redact"}, {"action": "modify"}, {"allow": True}], ids=str)
async def test_a_reply_that_is_not_understood_is_reported_as_ignored(reply: dict[str, Any]) -> None:
    a = hook("a", before_tool=reply)
    pipeline = pipeline_of(a, is_traced=True)

    assert await pipeline.before_tool(ASK) is ASK
    [report] = pipeline.take_reports()
    assert (report.event, report.data["action"], report.data["changes"]) == ("hook_changed", "ignored", {})
    assert report.data["discarded"] == {"reply": a.warnings[0]}


async def test_secrets_are_taken_out_of_what_is_reported() -> None:
    async def conceal(value: Any) -> Any:
        return dict.fromkeys(value, "…")

    pipeline = pipeline_of(hook(before_tool={"call": {"arguments": {"key": "sk-1"}}}), is_traced=True, conceal=conceal)
    await pipeline.before_tool(ASK)

    [report] = pipeline.take_reports()
    assert "sk-1" not in str(report)


async def test_without_a_trace_nothing_is_kept() -> None:
    pipeline = pipeline_of(hook(before_tool={"call": {"tool": "other"}}))

    await pipeline.before_tool(ASK)

    assert pipeline.take_reports() == []


async def test_a_failure_is_logged_with_what_came_of_it(caplog: pytest.LogCaptureFixture) -> None:
    await pipeline_of(hook("a", before_tool=HookCallFailed("down", "it died"))).before_tool(ASK)

    assert "hook a at before_tool: down (skipped): it died" in caplog.text


class Quoting:
    async def before_tool(self, call: ToolInvocation, at: StageContext) -> None:
        raise ValueError(f"cannot open {call.arguments}")


class Unaskable(BuiltinHook):
    async def ask(self, stage: Any, value: Any, at: StageContext, limit_s: float) -> Any:
        raise ValueError(f"cannot open {value.arguments}")


@pytest.mark.parametrize("kind", [BuiltinHook, Unaskable])
async def test_the_log_tells_where_a_hook_failed_without_the_secrets_it_quotes(
    kind: type[BuiltinHook], caplog: pytest.LogCaptureFixture
) -> None:
    pipeline = pipeline_of(kind("own", Quoting()), conceal=without_hunter2, is_traced=True)

    await pipeline.before_tool(replace(ASK, arguments={"text": "hunter2"}))

    assert "ValueError: cannot open {'text': '[REDACTED]'}" in caplog.text
    assert "test_pipeline.py" in caplog.text
    assert "hunter2" not in caplog.text + str(pipeline.take_reports())


async def test_the_log_repeats_what_a_process_says_of_a_failure_without_its_secrets(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pipeline = pipeline_of(hook("a", before_tool=failed("no hunter2")), conceal=without_hunter2, is_traced=True)

    await pipeline.before_tool(ASK)

    assert "hook a at before_tool: failed (skipped): no [REDACTED]" in caplog.text
    assert "hunter2" not in caplog.text + str(pipeline.take_reports())
