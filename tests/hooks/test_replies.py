"""What replies mean: the reference's table of actions and stages, merging, dialects, keys in any case."""

from dataclasses import replace
from typing import Any

import pytest

from server.hooks.hook_params import stage_params
from server.hooks.replies import read_reply
from server.hooks.reply_objects import ParsedReply, ReplyUnusable
from server.hooks.stages import (
    STAGES,
    Abort,
    ApproverVerdict,
    Deny,
    LlmAnswer,
    LlmCall,
    Respond,
    Stage,
    StageContext,
    StageValue,
    ToolRan,
)
from server.llm.language_model import Message, ToolCall, ToolSpec
from server.tools.tool_calls import ToolAnswer, ToolInvocation
from tests.hooks.fakes import FACTS

ECHO = ToolSpec(name="echo", description="echo text", parameters={"type": "object"})
LLM = LlmCall(
    model="m",
    messages=[{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hi"}],
    tools=[ECHO],
    options={"temperature": 0.7, "max_tokens": 9},
)
ANSWER = LlmAnswer(model="m", content="Hello.", tool_calls=(ToolCall("c1", "echo", '{"text": "a"}'),))
ASK = ToolInvocation(name="echo", arguments={"text": "hi"})
RAN = ToolRan(
    name="echo",
    arguments={"text": "hi"},
    answer=ToolAnswer(for_llm="hi", for_user="shown", is_error=True, media=("media://1",)),
)
VALUES: dict[Stage, StageValue] = {
    "before_llm": LLM,
    "after_llm": ANSWER,
    "before_tool": ASK,
    "after_tool": RAN,
    "approve_tool": ASK,
}
INTERCEPTORS = [stage for stage in STAGES if stage != "approve_tool"]
# a change that each stage understands, and what comes of it
CHANGES: dict[Stage, tuple[dict[str, Any], StageValue]] = {
    "before_llm": ({"request": {"model": "n"}}, LlmCall(model="n", messages=LLM.messages, tools=[ECHO], options=LLM.options)),
    "after_llm": ({"response": {"response": {"content": "Bye."}}}, LlmAnswer(model="m", content="Bye.", tool_calls=ANSWER.tool_calls)),
    "before_tool": ({"call": {"tool": "other"}}, ToolInvocation(name="other", arguments={"text": "hi"})),
    "after_tool": (
        {"result": {"result": {"for_llm": "bye"}}},
        ToolRan(
            name="echo",
            arguments={"text": "hi"},
            answer=ToolAnswer(for_llm="bye", for_user="shown", is_error=True, media=("media://1",)),
        ),
    ),
}  # fmt: skip


def read(stage: Stage, reply: dict[str, Any]) -> ParsedReply:
    return read_reply(stage, reply, VALUES[stage])


# --- actions × stages


@pytest.mark.parametrize("stage", INTERCEPTORS)
@pytest.mark.parametrize("action", ["continue", "modify", "", None, "(none)"])
def test_continue_modify_and_no_action_apply_what_the_reply_carries(stage: Stage, action: str | None) -> None:
    reply, changed = CHANGES[stage]
    head = {} if action == "(none)" else {"action": action}

    reading = read(stage, {**head, **reply})

    assert reading.result == changed
    assert reading.warnings == []


@pytest.mark.parametrize("stage", INTERCEPTORS)
@pytest.mark.parametrize("action", ["continue", "modify", ""])
def test_without_an_object_nothing_changes(stage: Stage, action: str) -> None:
    assert read(stage, {"action": action}).result is None
    assert read(stage, {}).result is None


@pytest.mark.parametrize("stage", INTERCEPTORS)
@pytest.mark.parametrize(("action", "is_hard"), [("abort_turn", False), ("hard_abort", True)])
def test_every_interceptor_may_end_the_turn(stage: Stage, action: str, is_hard: bool) -> None:
    assert read(stage, {"action": action, "reason": "enough"}).result == Abort(reason="enough", is_hard=is_hard)


def test_only_before_tool_may_deny_and_respond() -> None:
    assert read("before_tool", {"action": "deny_tool", "reason": "no"}).result == Deny(reason="no")
    answered = read("before_tool", {"action": "respond", "result": {"for_llm": "42"}})
    assert answered.result == Respond(answer=ToolAnswer(for_llm="42"))


@pytest.mark.parametrize("stage", INTERCEPTORS)
@pytest.mark.parametrize("action", ["respond", "deny_tool", "Continue", "allow", "deny", "redact", "MODIFY"])
def test_an_action_that_is_none_here_is_named_and_what_came_with_it_ignored(stage: Stage, action: str) -> None:
    if stage == "before_tool" and action in ("respond", "deny_tool"):
        return
    reading = read(stage, {"action": action, **CHANGES[stage][0]})

    assert reading.result is None
    assert reading.is_doubtful
    assert f'unsupported action "{action}" for stage {stage}' in reading.warnings[0]


def test_a_slip_of_the_pen_is_told_what_was_meant() -> None:
    assert 'did you mean "deny_tool"?' in read("before_tool", {"action": "deny_tol"}).warnings[0]


def test_a_respond_without_a_result_runs_the_tool_and_says_so() -> None:
    reading = read("before_tool", {"action": "respond"})

    assert reading.result is None
    assert reading.is_doubtful
    assert '"respond" came without a "result"' in reading.warnings[0]


def test_a_result_may_come_inside_the_call_and_travels_on_with_any_action() -> None:
    inside = read("before_tool", {"action": "respond", "call": {"hook_result": {"for_llm": "42"}}})
    assert inside.result == Respond(answer=ToolAnswer(for_llm="42"))

    travelling = read("before_tool", {"action": "continue", "result": {"for_llm": "42"}})
    assert travelling.result == ToolInvocation(name="echo", arguments={"text": "hi"}, answer=ToolAnswer(for_llm="42"))


# --- approval


@pytest.mark.parametrize(
    ("reply", "approved", "doubt"),
    [
        ({"approved": True}, True, False),
        ({"approved": False, "reason": "no"}, False, False),
        ({"APPROVED": True}, True, False),
        ({}, False, True),
        ({"approved": None}, False, True),
        ({"action": "continue"}, False, True),
        ({"action": "abort_turn"}, False, True),
        ({"allow": True}, False, True),
        ({"decision": {"action": "approve"}}, False, True),
    ],
)
def test_only_an_approved_that_is_true_approves(reply: dict[str, Any], approved: bool, doubt: bool) -> None:
    reading = read("approve_tool", reply)

    assert isinstance(reading.result, ApproverVerdict)
    assert reading.result.approved is approved
    assert reading.is_doubtful is doubt
    assert bool(reading.warnings) is doubt


# --- foreign dialects (reference 13.4)


@pytest.mark.parametrize(
    ("stage", "reply", "hint"),
    [
        ("approve_tool", {"allow": True}, '{"approved": true}'),
        ("before_tool", {"allow": False}, '{"action": "deny_tool"}'),
        ("before_llm", {"continue": True}, '{"action": "abort_turn"}'),
        ("before_tool", {"args": {"text": "x"}}, '"call": {"arguments": {…}}'),
        ("before_tool", {"decision": {"action": "respond"}, "hook_result": {"for_llm": "x"}}, "the action belongs at the top level"),
        ("before_tool", {"action": "deny_tool", "message": "never"}, 'an explanation is called "reason"'),
    ],
)  # fmt: skip
def test_a_foreign_dialect_is_named_with_the_cure_and_changes_nothing(stage: Stage, reply: dict[str, Any], hint: str) -> None:  # fmt: skip
    reading = read(stage, reply)

    assert any(hint in warning for warning in reading.warnings)
    assert reading.is_doubtful or "action" in reply
    assert reading.result in (None, Deny(reason=""), ApproverVerdict(approved=False))


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ({"decision": "block", "reason": "not here"}, "not here"),
        ({"decision": "block"}, ""),
        ({"decision": "deny"}, ""),
        ({"decision": {"action": "deny_tool"}}, ""),
        ({"action": "continue", "decision": "block"}, ""),
        ({"continue": False, "stopReason": "stop"}, "stop"),
        ({"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no"}}, "no"),
        ({"hookSpecificOutput": {"permissionDecision": "ask"}}, ""),
        ({"allow": False}, ""),
        ({"approved": False}, ""),
        ({"decision": "Block"}, ""),
        ({"Decision": "BLOCK", "Reason": "no"}, "no"),
        ({"Allow": False}, ""),
        ({"continue": "false"}, ""),
        ({"decision": {"action": "abort_turn"}}, ""),
        ({"decision": {"action": "hard_abort"}}, ""),
        ({"hookSpecificOutput": {"decision": {"behavior": "deny", "message": "no"}}}, "no"),
        ({"permissionDecision": "allow", "hookSpecificOutput": {"permissionDecision": "deny"}}, ""),
        ({"action": "continue", "continue": False}, ""),
        ({"action": "modify", "call": {"tool": "other"}, "hookSpecificOutput": {"permissionDecision": "deny"}}, ""),
    ],
    ids=str,
)
def test_a_refusal_in_other_words_refuses_and_is_told_deny_tool(reply: dict[str, Any], reason: str) -> None:
    reading = read("before_tool", reply)

    assert reading.result == Deny(reason=reason)
    assert reading.is_doubtful
    assert any('"deny_tool"' in warning for warning in reading.warnings)


@pytest.mark.parametrize(
    "reply",
    [
        {"decision": "approve"},
        {"decision": {"action": "respond"}},
        {"continue": True},
        {"hookSpecificOutput": {"permissionDecision": "allow"}},
        {"hookSpecificOutput": []},
    ],
    ids=str,
)
def test_other_words_that_refuse_nothing_change_nothing(reply: dict[str, Any]) -> None:
    assert read("before_tool", reply).result is None
    assert read("approve_tool", reply).result == ApproverVerdict(approved=False)


@pytest.mark.parametrize(
    "beside",
    [{"approved": True}, {"approved": False}, {"continue": True}, {"decision": "approve"}, {"message": "fine"}],
    ids=str,
)
def test_an_action_decides_whatever_other_hosts_keys_stand_beside_it(beside: dict[str, Any]) -> None:
    reading = read("before_tool", {"action": "continue", **beside})

    assert (reading.result, reading.is_doubtful) == (None, False)
    assert len(reading.warnings) == 1


def test_a_change_under_another_hosts_key_is_in_doubt_beside_an_action() -> None:
    assert read("before_tool", {"action": "continue", "args": {"text": "x"}}).is_doubtful


def test_a_misspelt_key_is_told_its_right_name() -> None:
    reading = read("before_tool", {"action": "deny_tool", "raeson": "no"})

    assert reading.warnings == ['before_tool: "raeson" is not known; did you mean "reason"?']


def test_a_reply_of_which_nothing_is_understood_is_doubtful() -> None:
    assert read("before_tool", {"actoin": "deny_tool"}).is_doubtful
    assert not read("before_tool", {"action": "continue", "note": "mine"}).is_doubtful
    assert not read("before_tool", {"action": None}).is_doubtful


@pytest.mark.parametrize(
    ("stage", "reply"),
    [
        ("before_tool", {"acton": "deny_tool", "reason": "no"}),
        ("before_tool", {"action": "modify", "call": {"argument": {"text": "x"}}}),
        ("before_tool", {"action": "modify", "call": {"parameters": {"text": "x"}}}),
        ("before_tool", {"action": "modify", "request": {"arguments": {"text": "x"}}}),
        ("before_llm", {"action": "modify", "request": {"message": []}}),
        ("after_llm", {"action": "modify", "content": "x"}),
        ("after_llm", {"action": "modify", "response": {"text": "x"}}),
        ("after_llm", {"action": "modify", "response": {"response": {"text": "x"}}}),
        ("after_tool", {"action": "modify", "result": {"output": "x"}}),
        ("after_tool", {"action": "modify"}),
    ],
)
def test_a_change_or_a_denial_that_was_not_understood_is_doubtful(stage: Stage, reply: dict[str, Any]) -> None:
    reading = read(stage, reply)

    assert reading.is_doubtful
    assert reading.warnings
    assert reading.result is None


# --- wrong types


@pytest.mark.parametrize(
    ("stage", "reply"),
    [
        ("approve_tool", {"approved": "true"}),
        ("approve_tool", {"approved": 1}),
        ("before_tool", {"action": 5}),
        ("before_tool", {"call": []}),
        ("before_tool", {"call": {"arguments": "x"}}),
        ("before_tool", {"action": "respond", "result": {"is_error": "no"}}),
        ("before_llm", {"request": {"messages": [1]}}),
        ("before_llm", {"request": {"messages": [{"role": "user", "content": 5}]}}),
        ("before_llm", {"request": {"tools": {}}}),
        ("after_llm", {"response": {"response": {"content": ["x"]}}}),
        ("after_tool", {"result": {"result": {"media": [1]}}}),
    ],
)
def test_a_known_field_of_the_wrong_type_spoils_the_whole_reply(stage: Stage, reply: dict[str, Any]) -> None:
    with pytest.raises(ReplyUnusable, match='"'):
        read(stage, reply)


def test_null_counts_as_absent() -> None:
    reply = {"action": None, "reason": None, "call": {"tool": None, "arguments": None}}

    assert read("before_tool", reply).result is None


def test_keys_are_understood_in_any_case() -> None:
    reply = {"ACTION": "respond", "Result": {"For_LLM": "42", "SILENT": True}}

    assert read("before_tool", reply).result == Respond(answer=ToolAnswer(for_llm="42", is_silent=True))


def test_arguments_keep_their_own_keys_and_great_numbers() -> None:
    arguments = {"Text": 2**70, "tool": "x", "args": [1.5, None]}

    changed = read("before_tool", {"call": {"arguments": arguments}}).result

    assert changed == ToolInvocation(name="echo", arguments=arguments)


# --- merging, nested and flat


def test_what_a_call_leaves_out_stays() -> None:
    assert read("before_tool", {"call": {"arguments": {"text": "x"}}}).result == ToolInvocation(
        name="echo", arguments={"text": "x"}
    )
    assert read("before_tool", {"call": {"tool": ""}}).result is None  # fmt: skip


def test_what_a_request_leaves_out_stays() -> None:
    changed = read("before_llm", {"request": {"options": {"temperature": 0}}}).result

    assert isinstance(changed, LlmCall)
    assert changed.options == {"temperature": 0, "max_tokens": 9}
    assert (changed.messages, changed.tools) == (LLM.messages, LLM.tools)


@pytest.mark.parametrize("stage", INTERCEPTORS)
def test_a_hook_that_sends_back_what_it_was_sent_changes_nothing(stage: Stage) -> None:
    key = {"before_llm": "request", "after_llm": "response", "before_tool": "call", "after_tool": "result"}[stage]
    sent = stage_params(stage, VALUES[stage], StageContext(facts=FACTS))

    reading = read(stage, {"action": "modify", key: sent})

    assert (reading.result, reading.warnings, reading.is_doubtful) == (None, [], False)


def test_an_echo_of_the_whole_request_changes_nothing() -> None:
    echo = {
        "model": "m",
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hi"}],
        "tools": [{"type": "function", "function": {"name": "echo", "description": "echo text", "parameters": {"type": "object"}}}],
        "options": {"temperature": 0.7, "max_tokens": 9},
        "meta": {},
        "channel": "c",
        "chat_id": "1",
        "context": {},
        "graceful_terminal": False,
    }  # fmt: skip

    reading = read("before_llm", {"action": "modify", "request": echo})

    assert reading.result is None
    assert reading.warnings == []


def test_messages_that_come_back_as_they_were_are_the_turn_s_own() -> None:
    inserted = {"role": "user", "content": "new"}
    given = [{"role": "system", "content": "Be kind."}, inserted, {"role": "user", "content": "hi"}]

    changed = read("before_llm", {"request": {"messages": given}}).result

    assert isinstance(changed, LlmCall)
    assert changed.messages[0] is LLM.messages[0]
    assert changed.messages[1] == inserted
    assert changed.messages[2] is LLM.messages[1]


def test_each_of_the_turn_s_own_messages_is_known_again_once_in_any_order() -> None:
    same = {"role": "user", "content": "hi"}
    before = [{"role": "system", "content": "Be kind."}, dict(same), dict(same), {"role": "assistant", "content": "x"}]
    given = [before[3], same, before[0], {}, same, same]

    reading = read_reply("before_llm", {"request": {"messages": given}}, LlmCall(model="m", messages=before))

    assert isinstance(reading.result, LlmCall)
    assert [next((n for n, own in enumerate(before) if own is m), None) for m in reading.result.messages] == [
        3, 1, 0, None, 2, None,
    ]  # fmt: skip


def test_a_request_without_messages_keeps_those_there_were() -> None:
    reading = read("before_llm", {"request": {"messages": []}})

    assert reading.result is None
    assert "they stay unchanged" in reading.warnings[0]


def test_a_list_of_tools_that_is_empty_takes_them_all_away() -> None:
    changed = read("before_llm", {"request": {"tools": []}}).result

    assert isinstance(changed, LlmCall)
    assert changed.tools == []


def test_a_tool_that_no_model_takes_is_left_out_and_named() -> None:
    tools = [{"type": "function", "function": {"name": "übel bash;"}}, {"function": {"name": "fine"}}]

    reading = read("before_llm", {"request": {"tools": tools}})

    assert isinstance(reading.result, LlmCall)
    assert [tool.name for tool in reading.result.tools] == ["fine"]
    assert reading.result.tools[0].parameters == {"type": "object", "properties": {}}
    assert "no name that models accept" in reading.warnings[0]


@pytest.mark.parametrize("reply", [{"response": {"response": {"content": "x"}}}, {"response": {"content": "x"}}])
def test_a_reply_may_be_changed_nested_and_flat(reply: dict[str, Any]) -> None:
    changed = read("after_llm", reply).result

    assert changed == LlmAnswer(model="m", content="x", tool_calls=ANSWER.tool_calls)


@pytest.mark.parametrize(
    "reply",
    [
        {"result": {"tool": "echo", "arguments": {}, "duration": 5, "result": {"for_llm": "x"}}},
        {"result": {"for_llm": "x"}},
        {"result": {"For_LLM": "x"}},
    ],
)
def test_a_result_may_be_changed_nested_and_flat(reply: dict[str, Any]) -> None:
    changed = read("after_tool", reply).result

    assert isinstance(changed, ToolRan)
    assert changed.answer == ToolAnswer(for_llm="x", for_user="shown", is_error=True, media=("media://1",))


def test_a_change_that_stands_nowhere_is_named() -> None:
    assert '"result.result"' in read("after_tool", {"result": {"tool": "echo"}}).warnings[0]


def test_an_echoed_call_keeps_the_name_and_arguments_that_it_leaves_out() -> None:
    changed = read("after_llm", {"response": {"response": {"content": "x", "tool_calls": [{"id": "c1"}]}}}).result

    assert isinstance(changed, LlmAnswer)
    assert changed.tool_calls == ANSWER.tool_calls


def test_a_call_without_a_name_is_left_out_and_named() -> None:
    reading = read(
        "after_llm",
        {"response": {"tool_calls": [{"id": "c7"}, {"id": "c8", "function": {"name": "no name"}}, {"id": "c1"}]}},
    )

    assert reading.result is None  # only the known one is left
    assert "function.name" in reading.warnings[0]


def test_calls_of_a_message_that_a_hook_wrote_anew_keep_what_it_leaves_out() -> None:
    asked: dict[str, Any] = {"id": "c1", "type": "function", "function": {"name": "echo", "arguments": '{"text": "a"}'}}
    before: list[Message] = [
        {"role": "assistant", "content": "", "tool_calls": [asked]},
        {"role": "tool", "tool_call_id": "c1", "content": "a"},
    ]
    shorter = [{"role": "assistant", "content": "Well.", "tool_calls": [{"id": "c1"}, {"id": "c2"}]}, before[1]]

    changed = read_reply("before_llm", {"request": {"messages": shorter}}, replace(LLM, messages=before)).result

    assert isinstance(changed, LlmCall)
    assert changed.messages[0] == {"role": "assistant", "content": "Well.", "tool_calls": [asked]}


def test_calls_may_be_dropped_and_written_with_arguments_as_an_object() -> None:
    calls = [{"id": "c9", "function": {"name": "echo", "arguments": {"text": "ü"}}}]

    changed = read("after_llm", {"response": {"tool_calls": calls}}).result
    dropped = read("after_llm", {"response": {"tool_calls": []}}).result

    assert isinstance(changed, LlmAnswer)
    assert changed.tool_calls == (ToolCall("c9", "echo", '{"text": "ü"}'),)
    assert isinstance(dropped, LlmAnswer)
    assert dropped.tool_calls == ()


@pytest.mark.parametrize("refusal", [{"decision": "block"}, {"continue": False}, {"allow": False}], ids=str)
def test_an_approver_that_also_refuses_does_not_approve(refusal: dict[str, Any]) -> None:
    assert read("approve_tool", {"approved": True, **refusal}).result == ApproverVerdict(approved=False)
