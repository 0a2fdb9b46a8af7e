"""Which hooks an injection puts in, in which order, and why others stay out (L1-41, L1-44 to L1-47)."""

from collections.abc import Sequence
from typing import Any

import pytest

from skills_engine import CallFacts, HookFacts, HookInfo, HookManager, HookState, Timing
from skills_engine.conditions.condition import MAX_LOOP_WORK, Condition
from skills_engine.conditions.firing import TurnMemory
from skills_engine.conditions.when_entry import read_when
from skills_engine.diagnostics import Report


def when(value: object) -> Condition:
    condition = read_when(value, "$.when", Report("", ""))
    assert condition is not None
    return condition


NEVER = when({"any": []})
LARGE = f"/x|{'a' * 1995}/"
"""An expression of 2,000 steps."""
ASKED = when({"user_text": ["now"]})


def hook(name: str, timing: Timing = "after_user_input", *, skill: str = "skill", **fields: Any) -> HookInfo:
    values: dict[str, Any] = {"role": "system", "persistent": False, "content": name} | fields
    return HookInfo(name=name, file="a.md", timing=timing, skill=skill, **values)


class Turn:
    """One turn of which the list of messages and the reasons are looked at."""

    def __init__(self, hooks: Sequence[HookInfo], *, max_persistent: int | None = None, **facts: Any) -> None:
        self.messages: list[dict[str, Any]] = []
        self.manager = HookManager(self.messages, hooks, max_persistent=max_persistent, facts=HookFacts(**facts))

    def inject(self, timing: Timing = "after_user_input", **facts: Any) -> list[str]:
        """Return what this injection put in."""
        before = len(self.messages)
        self.manager.inject(timing, **facts)
        return [message["content"] for message in self.messages[before:]]

    @property
    def reasons(self) -> list[tuple[str, str]]:
        return [(item.hook.name, item.path or item.reason) for item in self.manager.not_fired]


@pytest.mark.rule("L1-41")
def test_the_first_that_says_no_is_the_reason() -> None:
    keys = {
        "tool_filter": frozenset({"b"}),
        "requires_tools": ("c",),
        "once": "turn",
        "when": NEVER,
        "persistent": True,
    }
    hooks = []
    for name, key in [("off", "enabled"), *((key, key) for key in keys), ("fits", "")]:
        rest = list(keys)[list(keys).index(key) :] if key in keys else [] if name == "fits" else list(keys)
        fields: dict[str, Any] = {key: keys[key] for key in rest} | ({"enabled": False} if name == "off" else {})
        hooks.append(hook(name, "after_tool_call", **fields))
    turn = Turn(hooks, max_persistent=0, tools=frozenset({"a"}))

    assert turn.inject("after_tool_call", tool_name="a") == ["fits"]
    assert turn.reasons == [
        ("off", "enabled"),
        ("tool_filter", "tool_filter"),
        ("requires_tools", "requires_tools"),
        ("once", "when.any"),
        ("when", "when.any"),
        ("persistent", "persistent"),
    ]
    assert {item.timing for item in turn.manager.not_fired} == {"after_tool_call"}
    assert [item.reason for item in turn.manager.not_fired][-2:] == ["when", "persistent"]


@pytest.mark.rule("L1-41", "L1-43")
def test_hooks_and_turns_do_not_multiply_what_an_injection_searches() -> None:
    hooks = [
        hook("nine", when=when({"user_text": [LARGE], "scan_turns": 9})),
        hook("not nine", when=when({"not": {"user_text": [LARGE], "scan_turns": 9}})),
        hook("ten", when=when({"user_text": [f"{LARGE}i"]})),
        hook("eleven", when=when({"not": {"user_text": ["/x/"]}})),
        hook("words", when=when({"user_text": ["now", "/x/"]})),
        hook("turn", when=when({"any": [{"turn": 9}, {"user_text": ["/x/"]}]})),
    ]
    turn = Turn(hooks, user_messages=tuple(f"now {number}".ljust(2000) for number in range(9)))

    assert [turn.inject(), turn.inject()] == [["not nine", "words", "turn"]] * 2
    assert turn.reasons == [("nine", "when.user_text"), ("ten", "when.user_text"), ("eleven", "search_limit")]


@pytest.mark.rule("L1-43")
def test_a_condition_is_counted_for_each_call_of_the_batch_also_where_one_is_enough() -> None:
    hooks = [
        hook("six", "before_each_agent", when=when({"any": [{"tool_result": [LARGE]}]})),
        hook("twelve", "before_each_agent", when=when({"tool_result": [f"{LARGE}i"]})),
    ]
    turn = Turn(hooks)

    calls = [CallFacts(name="a", result=f"{number}x".ljust(2000)) for number in range(6)]
    assert turn.inject("before_each_agent", calls=calls) == ["six"]
    assert turn.reasons == [("twelve", "search_limit")]


@pytest.mark.rule("L1-43")
def test_what_was_searched_before_an_injection_is_counted_and_changes_nothing() -> None:
    call = CallFacts(name="a", result="now".ljust(5000))
    hooks = [
        hook(
            f"{number}",
            "after_tool_call",
            when=when({"tool_result": [LARGE.replace("x", chr(ord("k") + number))]}),
            once="turn",
        )
        for number in range(11)
    ]
    fresh, searched = Turn(hooks), Turn(hooks)

    searched.manager.search("after_tool_call", call, (), 1).run()

    assert (searched.messages, searched.reasons) == ([], [])
    assert searched.inject("after_tool_call", call=call) == fresh.inject("after_tool_call", call=call)
    assert searched.reasons == fresh.reasons
    assert fresh.reasons[-1] == ("10", "search_limit")


@pytest.mark.rule("L1-43")
def test_an_injection_looks_at_the_texts_that_were_searched_before_it() -> None:
    memory, call = TurnMemory(HookFacts(user_messages=("now",)), {}), CallFacts(name="a", arguments={"b": 1})
    before, now = (memory.moment("after_tool_call", call, (), 1) for _ in range(2))

    assert before.turn.searched("now") is now.turn.searched("now")
    assert before.call is now.call is call


@pytest.mark.parametrize(
    ("said", "arguments", "result", "is_long"),
    [
        ("é" * 2048, {"b": "x" * 4000}, "x" * 4096, False),
        ("é" * 2049, {}, "", True),
        ("", {"b": ["x" * 4096]}, "", True),
        ("", {}, "x" * 4097, True),
    ],
)
def test_texts_above_4_kib_are_long(said: str, arguments: dict[str, Any], result: str, is_long: bool) -> None:
    hooks = [hook("a", "before_each_agent", when=ASKED), hook("b", "before_planning")]
    manager = Turn(hooks, user_messages=(said, "hi")).manager
    calls = [CallFacts(name="a", arguments=arguments, result=result)]

    assert (manager.search("before_each_agent", None, calls, 1).max_work > MAX_LOOP_WORK) == is_long
    assert not manager.search("before_planning", None, calls, 1).max_work, "no condition looks at them"


@pytest.mark.rule("L1-41")
def test_reasons_are_those_of_the_last_injection() -> None:
    turn = Turn([hook("off", enabled=False)])

    assert turn.reasons == []
    turn.inject()
    assert turn.reasons == [("off", "enabled")]
    turn.inject("before_planning")
    assert turn.reasons == []


@pytest.mark.rule("L1-41")
@pytest.mark.parametrize(("required", "does_fire"), [(("a", "b__*"), True), (("a", "c"), False), (("?",), True)])
def test_every_required_tool_must_be_there(required: tuple[str, ...], does_fire: bool) -> None:
    turn = Turn([hook("x", requires_tools=required)], tools=frozenset({"a", "b__c"}))

    assert turn.inject() == (["x"] if does_fire else [])


@pytest.mark.rule("L1-41")
def test_of_a_turn_of_which_nothing_is_known_no_tool_is_there() -> None:
    messages: list[dict[str, Any]] = []
    HookManager(messages, [hook("x", requires_tools=("*",)), hook("y")]).inject("after_user_input")

    assert [message["content"] for message in messages] == ["y"]


@pytest.mark.rule("L1-41")
def test_each_call_of_a_batch_is_an_injection_of_its_own() -> None:
    failed = hook("failed", "after_tool_call", when=when({"tool_status": ["error"]}))
    turn = Turn([failed])

    assert turn.inject("after_tool_call", call=CallFacts(name="a")) == []
    assert turn.reasons == [("failed", "when.tool_status")]
    assert turn.inject("after_tool_call", tool_name="a", call=CallFacts(name="a", status="error")) == ["failed"]


# -- once, cooldown, sticky ---------------------------------------------------------------------------------------------


@pytest.mark.rule("L1-44")
def test_once_a_turn_is_one_injection_in_a_turn() -> None:
    hooks = [hook("a", "after_tool_call", once="turn")]
    turn = Turn(hooks)

    assert [turn.inject("after_tool_call", tool_name="x") for _ in range(3)] == [["a"], [], []]
    assert turn.reasons == [("a", "once")]
    assert turn.manager.state is None
    assert Turn(hooks).inject("after_tool_call", tool_name="x") == ["a"]


def conversation(hooks: Sequence[HookInfo], words: Sequence[str], *, injections: int = 1) -> list[str]:
    """Play a turn for each text, with the state carried on; return what each put in, or why not."""
    state, seen = HookState(), []
    for text in words:
        turn = Turn(hooks, user_messages=(text,), state=state)
        put_in = [name for _ in range(injections) for name in turn.inject()]
        seen.append(" ".join(put_in) or turn.reasons[0][1])
        assert turn.manager.state is not None
        state = turn.manager.state
    return seen


@pytest.mark.rule("L1-44")
@pytest.mark.parametrize(
    ("fields", "words", "seen"),
    [
        ({"once": "conversation"}, "no now now", "when.user_text x once"),
        ({"cooldown": 2}, "now now now now now", "x cooldown cooldown x cooldown"),
        ({"cooldown": 1}, "now no no now now", "x cooldown when.user_text x cooldown"),
        ({"sticky": 2}, "now no no no now", "x x x when.user_text x"),
        ({"sticky": 1, "cooldown": 1}, "now now now now", "x x cooldown x"),
        ({"sticky": 1, "once": "conversation"}, "now no now now", "x x once once"),
        ({"sticky": 1, "cooldown": 1, "once": "conversation"}, "now no now now now", "x x once once once"),
    ],
)
def test_turns_are_counted_from_the_last_one_in_which_it_fired_of_itself(
    fields: dict[str, Any], words: str, seen: str
) -> None:
    assert conversation([hook("x", when=ASKED, **fields)], words.split()) == seen.split()


@pytest.mark.rule("L1-44")
def test_in_the_turn_in_which_it_fired_it_fires_as_if_nothing_stood_there() -> None:
    x = hook("x", when=ASKED, once="conversation", cooldown=3)

    assert conversation([x], ["now", "now"], injections=3) == ["x x x", "once"]


@pytest.mark.rule("L1-44")
def test_a_sticky_hook_asks_what_stands_before_its_memory() -> None:
    state = HookState().next([], {})
    fired = Turn([hook("x", sticky=5)], state=state)
    fired.inject()
    after = fired.manager.state
    assert after is not None

    assert Turn([hook("x", sticky=5, enabled=False, when=NEVER)], state=after).inject() == []
    assert Turn([hook("x", sticky=5, requires_tools=("t",))], state=after).inject() == []
    assert Turn([hook("x", sticky=5, when=NEVER)], state=after).inject() == ["x"]
    assert Turn([hook("x", sticky=5, when=NEVER, skill="other")], state=after).inject() == []


@pytest.mark.rule("L1-44")
@pytest.mark.parametrize(
    ("facts", "others"),
    [({"max_persistent": 0}, []), ({"hook_tokens": 0}, []), ({}, [hook("y", priority=1, group="g")])],
)
def test_a_hook_that_would_have_been_put_in_has_not_fired(facts: dict[str, Any], others: list[HookInfo]) -> None:
    turn = Turn([hook("x", persistent=True, once="conversation", group="g"), *others], **facts)

    assert "x" not in turn.inject()
    assert turn.manager.state == HookState(1)


@pytest.mark.rule("L1-45")
def test_what_is_off_or_gone_keeps_its_place_in_the_state_while_it_counts() -> None:
    hooks = [hook("short", cooldown=1), hook("long", sticky=1, cooldown=2), hook("for-good", once="conversation")]
    hooks.append(hook("stuck", sticky=1))
    turn = Turn(hooks)
    turn.inject()
    state, kept = turn.manager.state, []
    for _ in range(5):
        assert state is not None
        kept.append(" ".join(firing.hook for firing in state.firings))
        state = Turn([hook("other", cooldown=9, when=NEVER)], state=state).manager.state

    both = "for-good long short stuck"
    assert kept == [both, both, "for-good long", "for-good long", "for-good"]


# -- group, priority, budget --------------------------------------------------------------------------------------------


@pytest.mark.rule("L1-46", "L1-57")
@pytest.mark.parametrize(("group", "skill"), [("shared/tone", "other"), ("tone", "skill")])
def test_of_a_group_the_highest_priority_is_put_in_then_the_first(group: str, skill: str) -> None:
    hooks = [
        hook("low", group=group),
        hook("first", group=group, priority=5, skill=skill),
        hook("second", group=group, priority=5),
        hook("silent", group=group, priority=9, when=NEVER),
        hook("alone", group="length"),
        hook("elsewhere", group="tone", skill="third"),
    ]
    turn = Turn(hooks)

    assert turn.inject() == ["alone", "elsewhere", "first"]
    assert turn.reasons == [("silent", "when.any"), ("low", "group"), ("second", "group")]


@pytest.mark.rule("L1-46")
def test_hooks_stand_by_priority_low_first_then_in_their_order() -> None:
    names = [("a", 1), ("b", 0), ("c", 1), ("d", -100), ("e", 0)]
    turn = Turn([hook(name, priority=priority, persistent=True) for name, priority in names])

    assert turn.inject() == ["d", "b", "e", "a", "c"]
    assert [frame["name"] for frame in turn.manager.inject("after_user_input")] == ["d", "b", "e", "a", "c"]


@pytest.mark.rule("L1-30")
def test_persistent_hooks_without_conditions_have_a_limit_too() -> None:
    turn = Turn([hook("a", persistent=True), hook("b", persistent=True)], max_persistent=1)

    assert turn.inject() == ["a"]
    assert turn.reasons == [("b", "persistent")]


@pytest.mark.rule("L1-30")
@pytest.mark.rule("L1-46")
def test_room_that_a_hook_of_a_group_did_not_take_is_there_again() -> None:
    hooks = [hook("a", persistent=True, group="g"), hook("b", persistent=True, group="g", priority=1)]
    turn = Turn([*hooks, hook("c", persistent=True)], max_persistent=3)

    assert turn.inject() == ["c", "b"]
    assert turn.inject() == ["a"]  # there was room for the first only
    assert turn.reasons == [("b", "persistent"), ("c", "persistent")]


@pytest.mark.rule("L1-47")
def test_hooks_leave_while_their_sum_exceeds_the_budget_the_lowest_priority_first() -> None:
    hooks = [
        hook("a", content="a" * 8, priority=1),
        hook("b", content="b" * 5),
        hook("c", content="c" * 4),
        hook("d", content="é", priority=1),
    ]

    def names(budget: int) -> str:
        turn = Turn(hooks, hook_tokens=budget)
        return "".join(text[0] for text in turn.inject())

    assert [names(budget) for budget in (6, 5, 4, 3, 2, 1, 0)] == ["bcaé", "baé", "aé", "aé", "a", "", ""]


@pytest.mark.rule("L1-47")
def test_the_budget_counts_the_hooks_of_this_turn_that_stand_in_the_list() -> None:
    hooks = [
        hook("a", content="a" * 8),
        hook("b", "before_planning", content="b" * 8),
        hook("c", "before_each_agent", content="c" * 8),
        hook("d", "before_each_agent", content="d" * 8, persistent=True),
    ]
    turn = Turn(hooks, hook_tokens=6)
    turn.messages.append({"role": "system", "content": "a copy of the history" * 100})

    assert turn.inject() == ["a" * 8]
    assert turn.inject("before_planning") == ["b" * 8]
    turn.manager.remove("before_planning")
    prompt = turn.manager.inject_prompt("x" * 100)
    assert turn.inject("before_each_agent") == ["c" * 8, "d" * 8]
    turn.manager.remove("before_each_agent")
    turn.manager.remove_prompt(prompt)
    assert turn.inject("before_each_agent") == ["c" * 8]
    assert turn.reasons == [("d", "budget")]


@pytest.mark.rule("L1-47")
def test_what_stands_already_does_not_leave_for_the_budget() -> None:
    turn = Turn([hook("a", content="a" * 8), hook("b", "before_planning", priority=100)], hook_tokens=2)

    assert turn.inject() == ["a" * 8]
    assert turn.inject("before_planning") == []
    assert turn.messages == [{"role": "system", "content": "a" * 8}]


@pytest.mark.rule("L1-43")
def test_before_the_user_has_said_anything_there_is_nothing_to_search() -> None:
    manager = Turn([hook("a", when=ASKED)]).manager

    assert manager.search("after_user_input", None, (), 1).max_work == 0
