"""What process hooks are sent: names, casing, and that nothing which a script looks for is missing."""

import json
from typing import Any

import pytest

from server.hooks.hook_params import TRACE_PATHS, stage_params
from server.hooks.stages import STAGES, LlmAnswer, LlmCall, Stage, StageContext, StageValue, ToolRan
from server.llm.language_model import ToolCall, ToolSpec, Usage
from server.tools.tool_calls import ToolAnswer, ToolInvocation
from tests.hooks.fakes import FACTS

AT = StageContext(facts=FACTS, iteration=2)
VALUES: dict[Stage, StageValue] = {
    "before_llm": LlmCall(
        model="m",
        messages=[{"role": "user", "content": "hi"}],
        tools=[ToolSpec(name="echo", description="echo text", parameters={"type": "object"})],
        options={"temperature": 0.7},
    ),
    "after_llm": LlmAnswer(
        model="m", content="Hello.", tool_calls=(ToolCall("c1", "echo", '{"text": "a"}'),), usage=Usage(3, 4)
    ),
    "before_tool": ToolInvocation(name="echo", arguments={}),
    "approve_tool": ToolInvocation(name="echo", arguments={"n": 2**70}),
    "after_tool": ToolRan(name="echo", arguments={}, answer=ToolAnswer(for_llm="hi"), duration_ms=1.5),
}


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_says_whose_turn_it_is_at_the_top_in_meta_and_in_context(stage: Stage) -> None:
    sent = stage_params(stage, VALUES[stage], AT)

    assert sent["meta"] == {
        "AgentID": "parley",
        "TurnID": "t1",
        "ParentTurnID": "",
        "SessionKey": "s1",
        "Iteration": 2,
        "TracePath": TRACE_PATHS[stage],
        "Source": "runTurn",
    }
    assert (sent["channel"], sent["chat_id"]) == ("parley", "c1")
    assert sent["context"]["inbound"]["sender_id"] == "ann"
    assert sent["context"].keys() - {"user_text", "origins"} == {"inbound", "route", "scope"}
    json.dumps(sent)


def body(stage: Stage) -> dict[str, Any]:
    sent = stage_params(stage, VALUES[stage], AT)
    return {key: value for key, value in sent.items() if key not in ("meta", "channel", "chat_id", "context")}


def test_a_model_call_is_sent_whole() -> None:
    assert body("before_llm") == {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [
            {
                "type": "function",
                "function": {"name": "echo", "description": "echo text", "parameters": {"type": "object"}},
            }
        ],
        "options": {"temperature": 0.7},
        "graceful_terminal": False,
    }


def test_an_answer_has_its_role_and_its_calls_with_name_and_arguments() -> None:
    sent = body("after_llm")["response"]

    assert sent["role"] == "assistant"
    assert sent["tool_calls"] == [
        {"id": "c1", "type": "function", "function": {"name": "echo", "arguments": '{"text": "a"}'}}
    ]
    assert sent["usage"] == {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}


def test_a_call_has_arguments_even_if_they_are_none_and_great_numbers_stay_exact() -> None:
    assert body("before_tool") == {"tool": "echo", "arguments": {}}
    assert body("approve_tool") == {"tool": "echo", "arguments": {"n": 2**70}}


def test_a_proposed_result_travels_to_later_hooks_but_not_to_approvers() -> None:
    proposed = ToolInvocation(name="echo", arguments={}, answer=ToolAnswer(for_llm="42"))

    assert stage_params("before_tool", proposed, AT)["hook_result"]["for_llm"] == "42"
    assert "hook_result" not in stage_params("approve_tool", proposed, AT)


def test_a_result_is_sent_with_every_field_and_its_time_in_whole_nanoseconds() -> None:
    assert body("after_tool") == {
        "tool": "echo",
        "arguments": {},
        "result": {
            "for_llm": "hi",
            "for_user": "",
            "silent": False,
            "is_error": False,
            "async": False,
            "media": [],
            "artifact_tags": [],
            "response_handled": False,
        },
        "duration": 1_500_000,
    }


def test_a_model_call_names_the_user_s_words_and_where_each_message_comes_from() -> None:
    mine, yours = {"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}
    kinds = {id(mine): "system", id(yours): "user"}
    call = LlmCall(
        model="m", messages=[mine, yours], question="hi", origin_of=lambda message: {"kind": kinds[id(message)]}
    )

    context = stage_params("before_llm", call, AT)["context"]

    assert (context["user_text"], context["origins"]) == ("hi", [{"kind": "system"}, {"kind": "user"}])


def test_a_message_s_pictures_stand_beside_its_text() -> None:
    parts = [
        {"type": "text", "text": "Look:"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
    ]
    call = LlmCall(model="m", messages=[{"role": "user", "content": parts}])

    assert stage_params("before_llm", call, AT)["messages"] == [
        {"role": "user", "content": "Look:", "media": ["data:image/png;base64,AA"]}
    ]


def test_tool_messages_keep_what_pairs_them() -> None:
    asked = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "echo", "arguments": "{}"}}]}  # fmt: skip
    answered = {"role": "tool", "content": "hi", "tool_call_id": "c1", "name": "echo"}

    sent = stage_params("before_llm", LlmCall(model="m", messages=[asked, answered]), AT)["messages"]

    assert sent == [{**asked, "content": ""}, answered]
