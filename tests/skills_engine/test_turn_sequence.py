"""Reasons why hooks stayed out of a whole turn, as its sequence gives them."""

from typing import Any

import pytest

from skills_engine import CallFacts, HookFacts, HookInfo, HookManager, HookState, Timing
from skills_engine.hook_manager import Message
from skills_engine.turn_sequence import TurnSequence
from tests.skills_engine.test_firing import LARGE, NEVER, hook, when

pytestmark = pytest.mark.rule("L1-41")


def reasons(
    hooks: list[HookInfo],
    *,
    batches: list[list[CallFacts]] | None = None,
    max_persistent: int | None = None,
    **facts: Any,
) -> dict[str, str]:
    """Play a turn with these batches of calls (None: it needs no tools); return why hooks stayed out."""
    sequence = TurnSequence(HookManager([], hooks, max_persistent=max_persistent, facts=HookFacts(**facts)))
    sequence.start()
    sequence.begin_planning("plan")
    sequence.end_planning()
    for batch in [] if batches is None else [*batches, []]:
        sequence.begin_round("step")
        if batch:
            sequence.end_batch(batch)
        sequence.end_round()
    sequence.end_loop()
    silent_hooks = sequence.silent_hooks()
    assert all(silent.path == silent.reason.partition("does not hold: ")[2] for silent in silent_hooks)
    return {silent.hook.name: silent.reason for silent in silent_hooks}


def test_each_reason_is_a_sentence_for_the_author() -> None:
    before = HookManager(
        [], [hook("once", once="conversation"), hook("cools", sticky=1, cooldown=2), hook("brief", cooldown=2)]
    )
    before.inject("after_user_input")
    assert before.state is not None

    assert reasons(
        [
            hook("off", enabled=False),
            hook("tools", requires_tools=("a", "b*")),
            hook("once", once="conversation"),
            hook("cools", sticky=1, cooldown=2),
            hook("brief", cooldown=2),
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
        "cools": "cooldown: after it fired, it stays out for this many turns: 2",
        "brief": "cooldown: after it fired, it stays out for this many turns: 2",
        "when": "its condition does not hold: when.not.channel",
        "group": "another hook of the group tone was put in",
        "dear": "there was no room for it in skills.hook_tokens",
        "kept": "the turn's limit of persistent hooks was reached",
    }


def test_a_timing_that_was_not_reached_says_so() -> None:
    hooks = [hook("loop", "before_each_agent"), hook("after", "after_tool_call", when=NEVER)]

    assert set(reasons(hooks).values()) == {"not reached: no agent loop"}
    assert reasons(hooks, batches=[]) == {"after": "no tool ran"}


def test_each_reason_of_a_hook_is_told_once_in_the_order_of_the_turn() -> None:
    hooks = [
        hook("dear", "before_each_agent", content="x" * 40, group="tone"),
        hook("later", "before_each_agent", group="tone", priority=1, when=when({"round": {"min": 2}})),
        hook("first", "before_each_agent", once="turn", priority=1),
    ]
    sequence = TurnSequence(HookManager([], hooks, facts=HookFacts(hook_tokens=5)))
    for _ in range(4):
        sequence.begin_round("step")

    assert [(silent.hook.name, silent.code, silent.has_fired) for silent in sequence.silent_hooks()] == [
        ("dear", "budget", False),
        ("dear", "group", False),
        ("later", "when", True),
        ("first", "once", True),
    ]


def test_calls_of_other_tools_are_no_reason_beside_one_of_its_own() -> None:
    failed = when({"tool_status": ["error"], "round": 2})
    hooks = [hook("x", "after_tool_call", when=failed, tool_filter=frozenset({"a"}))]
    a, b = CallFacts(name="a", status="error"), CallFacts(name="b")

    assert reasons(hooks, batches=[[CallFacts(name="a"), b], [b]]) == {
        "x": "its condition does not hold: when.tool_status"
    }
    assert reasons(hooks, batches=[[b]]) == {"x": "tool_filter names none of: b"}
    assert reasons(hooks, batches=[[b], [a]]) == {}


def test_a_turn_without_a_planning_round_says_so() -> None:
    sequence = TurnSequence(HookManager([], [hook("plan", "before_planning")]))
    sequence.start()

    assert [(silent.hook.name, silent.reason) for silent in sequence.silent_hooks()] == [
        ("plan", "not reached: no planning round")
    ]


def test_tools_that_ran_are_named_in_their_order_with_the_one_that_was_meant() -> None:
    hooks = [
        hook("near", "after_tool_call", tool_filter=frozenset({"read_fil", "zzz"})),
        hook("far", "after_tool_call", tool_filter=frozenset({"read_fxxe"})),
        hook("none", "after_tool_call", tool_filter=frozenset()),
    ]
    ran = "tool_filter names none of: shop, read_file"

    assert reasons(hooks, batches=[[CallFacts(name="shop")], [CallFacts(name="read_file")]]) == {
        "near": f"{ran} (did you mean read_file?)",
        "far": ran,
        "none": ran,
    }


@pytest.mark.rule("L1-12", "L1-25", "L1-26")
def test_each_step_puts_in_and_takes_out_what_is_its_own() -> None:
    timings: tuple[Timing, ...] = (
        "after_user_input",
        "before_planning",
        "before_first_agent",
        "before_each_agent",
        "after_tool_call",
    )
    messages: list[Message] = []
    sequence = TurnSequence(HookManager(messages, [hook(timing, timing) for timing in timings]))
    seen = []
    assert sequence.prompt is None

    def look() -> None:
        seen.append([message["content"] for message in messages])
        assert sequence.prompt is None or sequence.prompt is messages[-1]

    sequence.start()
    sequence.begin_planning("plan")
    look()
    sequence.end_planning()
    look()
    for _ in range(2):
        sequence.begin_round("step")
        look()
        sequence.end_round()
        sequence.end_batch([CallFacts(name="a"), CallFacts(name="b")])
        look()
    sequence.end_loop()
    look()

    always, each, first, after = "after_user_input", "before_each_agent", "before_first_agent", "after_tool_call"
    assert seen == [
        [always, "before_planning", "plan"],
        [always],
        [always, each, first, "step"],
        [always, each, first, after, after],
        [always, first, after, after, each, "step"],
        [always, first, each, after, after],
        [always, each],
    ]


def test_persistent_hooks_are_returned_by_the_step_that_put_them_in() -> None:
    timings: tuple[Timing, ...] = ("before_planning", "before_each_agent", "before_first_agent", "after_tool_call")
    hooks = [hook(timing, timing, persistent=True) for timing in timings]
    hooks.append(hook("of-a-batch", "before_each_agent", persistent=True, when=when({"tool": ["b"]})))
    hooks.append(hook("of-round-1", "before_first_agent", persistent=True, when=when({"round": 1})))
    sequence = TurnSequence(HookManager([], hooks))
    calls = [CallFacts(name="a"), CallFacts(name="b")]

    steps = [sequence.start(), sequence.begin_planning("plan"), sequence.begin_round("step")]
    steps += [sequence.end_batch(calls), sequence.begin_round("step")]

    assert [[frame["name"] for frame in frames] for frames in steps] == [
        [],
        ["before_planning"],
        ["before_each_agent", "before_first_agent", "of-round-1"],
        ["after_tool_call", "after_tool_call"],
        ["before_each_agent", "of-a-batch"],
    ]


@pytest.mark.rule("L1-43")
@pytest.mark.parametrize(
    ("hooks", "condition", "said", "results", "number"),
    [
        (40, {"user_text": [LARGE], "scan_turns": 20}, (4000,) * 20, (0,), 1),
        (2, {"user_text": [LARGE], "scan_turns": 2}, (4000, 30, 20), (0,), 0),
        (2, {"user_text": [LARGE], "scan_turns": 2}, (4000, 30, 21), (0,), 1),
        (9, {"user_text": ["now"], "scan_turns": 20}, (4000,) * 20, (4000,), 0),
        (1, {"tool_result": [LARGE]}, (4000,), (48, 48), 0),
        (1, {"tool_result": [LARGE]}, (), (48, 49), 2),
        (1, {"not": {"tool_args": {"a": [LARGE], "b": [LARGE]}}}, (), (23, 24), 2),
    ],
)
def test_texts_below_4_kib_are_searched_before_a_step_that_may_search_more_than_200_000_in_sum(
    hooks: int, condition: dict[str, Any], said: tuple[int, ...], results: tuple[int, ...], number: int
) -> None:
    asking = [hook(f"{one}", "after_tool_call", when=when(condition)) for one in range(hooks)]
    facts = HookFacts(user_messages=tuple("x" * length for length in said))
    calls = [CallFacts(name="a", result="x" * length) for length in results]

    assert len([*TurnSequence(HookManager([], asking, facts=facts)).searches("after_tool_call", calls=calls)]) == number
