"""Test calls: whether a gate answers as a gate has to."""

from typing import Any

import pytest

from server.hooks.process.process_hook import gate_problem
from server.hooks.stages import Stage


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
    assert gate_problem(stage, reply) is None


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
    assert why in (gate_problem(stage, reply) or "")
