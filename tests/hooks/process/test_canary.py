"""server/hooks/process/canary.py: whether a gate answers as a gate has to."""

from typing import Any

import pytest

from server.hooks.channel import STAGES, Stage
from server.hooks.process import canary


@pytest.mark.parametrize("stage", STAGES)
def test_a_canary_call_is_like_any_other_and_about_something_that_there_is_not(stage: Stage) -> None:
    params = canary.params(stage)

    assert params["meta"]["TurnID"] == "parley_canary"
    assert params.get("tool", params.get("model")) == "parley_canary"


@pytest.mark.parametrize(
    ("stage", "reply"),
    [
        ("approve_tool", {"approved": True}),
        ("approve_tool", {"Approved": False, "reason": "who are you?"}),
        ("before_tool", {}),
        ("before_tool", {"action": "deny_tool"}),
        ("after_llm", {"action": "modify", "response": {"response": {"content": "x"}}}),
        ("before_llm", {"action": "abort_turn"}),
    ],
)
def test_whatever_it_decides_a_gate_is_armed(stage: Stage, reply: dict[str, Any]) -> None:
    assert canary.problem(stage, reply) is None


@pytest.mark.parametrize(
    ("stage", "reply", "why"),
    [
        ("approve_tool", {}, '"approved" is missing'),
        ("approve_tool", {"allow": True}, '"approved" is missing'),
        ("approve_tool", {"approved": "true"}, "approved"),
        ("before_tool", {"action": "allow"}, 'unsupported action "allow"'),
        ("after_tool", {"action": "respond"}, 'unsupported action "respond"'),
        ("before_tool", {"decision": {"action": "deny_tool"}}, "decision"),
    ],
)
def test_a_reply_in_another_dialect_leaves_the_gate_unarmed(stage: Stage, reply: dict[str, Any], why: str) -> None:
    assert why in (canary.problem(stage, reply) or "")
