"""hook_tools/reply_checks.py: what a reply does, and what is odd about it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hook_tools.reply_checks import check_own_tool, check_reply, check_speed
from hook_tools.sample_calls import ORDER, SampleCall, sample_call_of, sample_calls
from server.hooks.stages import STAGES, Stage
from server.llm.language_model import ToolSpec

KEYS = """action reason request response call result approved tool arguments for_llm content messages tools options model
hook_result tool_calls function name role media allow args decision""".split()
ACTIONS = ["continue", "modify", "respond", "deny_tool", "abort_turn", "hard_abort", "allow"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from([*ACTIONS, ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=10,
)

TOOL = {"type": "function", "function": {"name": "get_weather", "description": "", "parameters": {"type": "object"}}}


def first(stage: Stage) -> SampleCall:
    return sample_calls(stage)[0]


@pytest.mark.parametrize(
    ("stage", "reply", "outcome"),
    [
        ("before_llm", {}, "changes nothing"),
        ("before_llm", {"request": {"tools": [TOOL]}}, "changes the tools (adds get_weather)"),
        ("before_llm", {"request": {"tools": []}}, "changes the tools"),
        ("before_llm", {"request": {"model": "o", "options": {"top_p": 1}}}, "changes model, options"),
        ("before_llm", {"action": "abort_turn", "reason": "no more"}, "abort_turn: no more"),
        ("before_llm", {"action": "hard_abort"}, "hard_abort"),
        ("after_llm", {"response": {"response": {"content": "x", "tool_calls": []}}}, "changes content"),
        ("before_tool", {"call": {"tool": "x", "arguments": {}}}, "changes the tool, the arguments"),
        ("before_tool", {"action": "respond", "result": {"for_llm": "done"}}, "responds: done"),
        ("before_tool", {"action": "deny_tool", "reason": "no"}, "denies: no"),
        ("before_tool", {"result": {"for_llm": "x"}}, "changes the proposed result"),
        ("approve_tool", {"approved": True}, "approves"),
        ("approve_tool", {"approved": False, "reason": "r" * 100}, f"refuses: {'r' * 59}…"),
        ("after_tool", {"result": {"result": {"for_llm": "x"}}}, "changes the result"),
    ],
)
def test_what_a_reply_does_is_said(stage: Stage, reply: dict[str, Any], outcome: str) -> None:
    assert check_reply(first(stage), reply).outcome == outcome


@pytest.mark.parametrize(
    ("stage", "reply", "words"),
    [
        ("approve_tool", {}, '"approved" is missing'),
        ("approve_tool", {"allow": True}, '"allow" is not known'),
        ("approve_tool", {"action": "continue"}, '"approved" is missing'),
        ("approve_tool", {"approved": "true"}, '"approved" must be true or false, got a string'),
        ("before_tool", {"args": {}}, 'changed arguments belong in "call"'),
        ("before_tool", {"decision": {"action": "respond"}}, "the action belongs at the top level"),
        ("before_tool", {"action": "deny_tool", "message": "no"}, 'an explanation is called "reason"'),
        ("before_tool", {"action": "deny"}, 'did you mean "deny_tool"?'),
        ("before_tool", {"action": "Continue"}, 'did you mean "continue"?'),
        ("before_tool", {"action": "respond"}, '"respond" came without a "result"'),
        ("after_llm", {"action": "redact"}, 'unsupported action "redact"'),
        ("after_tool", {"result": {"result": {"for_lm": "x"}}}, 'did you mean "for_llm"?'),
        ("before_llm", {"tools": []}, '{"action": "modify", "request": {"tools": …}}'),
        ("after_llm", {"content": "x"}, '"response": {"response": {"content": …}}'),
        ("after_llm", {"response": {"choices": []}}, 'the change belongs in "response.response"'),
        ("before_tool", {"arguments": {}}, '"call": {"arguments": …}'),
        ("before_tool", {"action": "respond", "for_llm": "x"}, '"result": {"for_llm": …}'),
        ("after_tool", {"for_llm": "x"}, '"result": {"result": {"for_llm": …}}'),
        ("after_tool", {"result": {"content": "x"}}, 'the change belongs in "result.result"'),
    ],
)
def test_what_the_server_would_complain_of_is_a_problem(stage: Stage, reply: dict[str, Any], words: str) -> None:
    findings = check_reply(first(stage), reply).findings

    assert words in " ".join(finding.text for finding in findings)
    assert {finding.level for finding in findings} == {"problem"}


@pytest.mark.parametrize(
    ("stage", "reply", "words"),
    [
        ("after_llm", {"response": {"content": "x"}}, "“response.response”"),
        ("after_tool", {"result": {"for_llm": "x"}}, "“result.result”"),
        ("before_llm", {"request": {"tools": [TOOL]}}, "“request” leaves out model, messages, options"),
        ("before_tool", {"call": {"arguments": {}}}, "“call” leaves out tool"),
    ],
)
def test_what_only_another_host_would_lose_is_a_hint(stage: Stage, reply: dict[str, Any], words: str) -> None:
    [hint] = check_reply(first(stage), reply).findings

    assert hint.level == "hint"
    assert words in hint.text


def test_a_tool_that_a_hook_brought_along_is_to_be_answered_by_it() -> None:
    [tool] = check_reply(first("before_llm"), {"request": {"tools": [TOOL]}}).added

    assert tool.name == "get_weather"
    assert check_own_tool(tool.name, {"action": "respond", "result": {"for_llm": "x"}}) == []
    assert "does not respond for get_weather" in check_own_tool(tool.name, {"action": "continue"})[0].text


def test_a_call_of_such_a_tool_has_arguments_that_fit_its_schema() -> None:
    properties = {"city": {"type": "string"}, "days": {"type": "integer"}, "unit": {"enum": ["C", "F"]}, "any": {}}
    tool = ToolSpec(name="x", description="", parameters={"type": "object", "properties": properties})

    assert sample_call_of(tool).params["arguments"] == {"city": "example", "days": 1, "unit": "C", "any": "example"}


@pytest.mark.parametrize(("ms", "level"), [(699, None), (701, "hint"), (2600, "problem")])
def test_a_slow_reply_is_told_of(ms: float, level: str | None) -> None:
    assert [finding.level for finding in check_speed(ms, 5.0)] == ([level] if level else [])


def test_every_stage_has_its_scenes() -> None:
    assert set(ORDER) == set(STAGES)
    for stage in STAGES:
        assert len(sample_calls(stage)) >= 4
        for sample in sample_calls(stage):
            assert sample.params["meta"]["TurnID"] == "turn-1"


@given(st.sampled_from(ORDER), st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4))
def test_every_reply_is_judged(stage: Stage, reply: dict[str, Any]) -> None:
    for sample in sample_calls(stage)[:3]:
        check = check_reply(sample, reply)
        assert not check.outcome.endswith(" ")
        assert all(finding.text for finding in check.findings)
