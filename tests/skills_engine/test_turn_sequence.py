"""Reasons why hooks stayed out of a whole turn, as its sequence gives them."""

from typing import Any

import pytest

from skills_engine import CallFacts, HookFacts, HookInfo, HookManager, HookState
from skills_engine.turn_sequence import TurnSequence
from tests.skills_engine.test_firing import NEVER, hook, when

pytestmark = pytest.mark.rule("L1-41")


def reasons(hooks: list[HookInfo], *, batches: list[list[CallFacts]] | None = None, **facts: Any) -> dict[str, str]:
    """Play a turn with these batches of calls (None: it needs no tools); return why hooks stayed out."""
    limit = facts.pop("max_persistent", None)
    sequence = TurnSequence(HookManager([], hooks, max_persistent=limit, facts=HookFacts(**facts)))
    sequence.start()
    sequence.begin_planning("plan")
    sequence.end_planning()
    for batch in [] if batches is None else [*batches, []]:
        sequence.begin_round("step")
        if batch:
            sequence.end_batch(batch)
        sequence.end_round()
    sequence.end_loop()
    return {silent.hook.name: silent.reason for silent in sequence.silent_hooks()}


def test_each_reason_is_a_sentence_for_the_author() -> None:
    before = HookManager([], [hook("once", once="conversation"), hook("cools", sticky=1, cooldown=2)])
    before.inject("after_user_input")
    assert before.state is not None

    assert reasons(
        [
            hook("off", enabled=False),
            hook("tools", requires_tools=("a", "b*")),
            hook("once", once="conversation"),
            hook("cools", sticky=1, cooldown=2),
            hook("when", when=when({"not": {"channel": "text"}})),
            hook("group", group="tone"),
            hook("winner", group="tone", priority=1),
            hook("dear", content="x" * 100),
            hook("kept", persistent=True),
        ],
        state=HookState(2, before.state.firings),
        hook_tokens=3,
        max_persistent=0,
    ) == {
        "off": "it is switched off: enabled is false",
        "tools": "the turn has not all of the tools that it requires: a, b*",
        "once": "once a conversation: it has fired already",
        "cools": "cooldown: it fired less than 4 turns ago",
        "when": "its condition does not hold: when.not.channel",
        "group": "another hook of the group tone was put in",
        "dear": "there was no room for it in skills.hook_tokens",
        "kept": "the turn's limit of persistent hooks was reached",
    }


def test_a_timing_that_was_not_reached_says_so() -> None:
    hooks = [hook("loop", "before_each_agent"), hook("after", "after_tool_call", when=NEVER)]

    assert set(reasons(hooks).values()) == {"not reached: no agent loop"}
    assert reasons(hooks, batches=[]) == {"after": "no tool ran"}


def test_the_last_reason_counts_but_for_calls_of_other_tools() -> None:
    failed = when({"tool_status": ["error"], "round": 2})
    hooks = [hook("x", "after_tool_call", when=failed, tool_filter=frozenset({"a"}))]
    a, b = CallFacts(name="a", status="error"), CallFacts(name="b")

    assert reasons(hooks, batches=[[a], [CallFacts(name="a"), b]]) == {
        "x": "its condition does not hold: when.tool_status"
    }
    assert reasons(hooks, batches=[[b]]) == {"x": "tool_filter names none of: b"}
    assert reasons(hooks, batches=[[b], [a]]) == {}


def test_what_fired_once_is_not_silent() -> None:
    rounds = [hook("first", "before_each_agent", when=when({"round": 1}))]

    assert reasons(rounds, batches=[[CallFacts(name="a")]]) == {}
