"""A turn without a model: each call reads what the rules say."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from skill_tools.authoring.simulate import play, play_turns, render, render_costs
from skill_tools.testing.scripted_turn import PlayedTurn
from skill_tools.testing.tests_format import CallSpec
from skills_engine import TIMINGS, HookInfo
from skills_engine.hook_entries import Role

SYSTEM = "(the system prompt and the catalogue)"


def hook(
    timing: str, *, persistent: bool = False, tools: frozenset[str] | None = None, role: Role = "system"
) -> HookInfo:
    return HookInfo(timing, "x.md", timing, role, persistent, f"<{timing}ä>", "tutor", tools)  # type: ignore[arg-type]


def calls(*names: str) -> list[CallSpec]:
    return [CallSpec(tool=name) for name in names]


HOOKS = [hook(timing) for timing in TIMINGS]


def read(result: PlayedTurn) -> list[tuple[str, list[str]]]:
    """Each call's title and what it reads; hooks by their timing."""
    return [
        (call.title, [line.hook.timing if line.hook else line.text for line in call.messages]) for call in result.calls
    ]


def silent(result: PlayedTurn) -> list[tuple[str, str]]:
    return [(one.hook.timing, one.reason) for one in result.silent]


@pytest.mark.rule("L1-20")
def test_a_turn_without_tools_is_one_call() -> None:
    result = play(HOOKS, texts=["Hi"], tools=False, rounds=[calls("a")])

    assert read(result) == [("the only call: tools are off", [SYSTEM, "Hi", "after_user_input"])]
    no_loop = "not reached: no agent loop"
    assert silent(result) == [
        (timing, "not reached: no planning round" if timing == "before_planning" else no_loop) for timing in TIMINGS[1:]
    ]


@pytest.mark.rule("L1-21")
def test_a_turn_that_needs_no_tools_ends_with_the_planning() -> None:
    result = play(HOOKS)

    assert read(result) == [
        (
            "planning",
            [SYSTEM, "(the user's message)", "after_user_input", "before_planning", "(the planning prompt)"],
        )
    ]
    assert silent(result) == [(timing, "not reached: no agent loop") for timing in TIMINGS[2:]]


@pytest.mark.rule("L1-22")
@pytest.mark.rule("L1-23")
@pytest.mark.rule("L1-24")
@pytest.mark.rule("L1-25")
@pytest.mark.rule("L1-26")
@pytest.mark.rule("L1-28")
def test_a_turn_with_tools_plays_all_five_timings() -> None:
    result = play(HOOKS, texts=["Hi"], rounds=[calls("a", "b"), calls("c")])

    head = [SYSTEM, "Hi", "after_user_input"]
    batch = ["(calls a, b)", "(result of a)", "(result of b)"]
    assert read(result) == [
        ("planning", [*head, "before_planning", "(the planning prompt)"]),
        ("round 1", [*head, "before_each_agent", "before_first_agent", "(the first step prompt)"]),
        (
            "round 2",
            [
                *head,
                "before_first_agent",
                *batch,
                "after_tool_call",
                "after_tool_call",
                "before_each_agent",
                "(the agent loop prompt)",
            ],
        ),
        (
            "round 3",
            [
                *head,
                "before_first_agent",
                *batch,
                "(calls c)",
                "(result of c)",
                "after_tool_call",
                "before_each_agent",
                "(the agent loop prompt)",
            ],
        ),
    ]
    assert result.silent == []


def test_roles_are_those_of_the_messages() -> None:
    result = play([hook("after_user_input", role="user")], rounds=[calls("a")])

    assert [line.role for line in result.calls[2].messages] == ["system", "user", "user", "assistant", "tool", "system"]


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ({"d", "a"}, "tool_filter names none of: b, c"),
        (set[str](), "tool_filter names none of: b, c"),
    ],
)
def test_a_filter_that_names_another_tool_does_not_fire(wanted: set[str], why: str) -> None:
    hooks = [hook("after_tool_call", tools=frozenset(wanted)), hook("after_tool_call", tools=frozenset({"b"}))]

    [only] = play(hooks, rounds=[calls("b", "c"), calls("b")]).silent
    assert (only.hook, only.reason) == (hooks[0], why)


def test_a_play_can_be_read() -> None:
    hooks = [
        hook("after_user_input", persistent=True),
        hook("before_planning", role="user"),
        hook("before_first_agent"),
        hook("after_tool_call"),
    ]

    assert render(play(hooks, texts=["Hi ä"])) == (
        "call 1: planning\n"
        "    system    (the system prompt and the catalogue)\n"
        "    user      Hi ä\n"
        '  + system    [tutor/after_user_input, after_user_input, persistent] "<after_user_inputä>"\n'
        '  + user      [tutor/before_planning, before_planning] "<before_planningä>"\n'
        "    system    (the planning prompt)\n"
        "\n"
        "not fired: tutor/before_first_agent (before_first_agent): not reached: no agent loop\n"
        "not fired: tutor/after_tool_call (after_tool_call): not reached: no agent loop"
    )
    assert render(play(hooks, rounds=[calls("a")])).count("\n\ncall ") == 2


@pytest.mark.rule("L1-44")
@pytest.mark.parametrize(
    ("keys", "fires"),
    [
        ({"cooldown": 1}, [True, False, True]),
        ({"once": "conversation"}, [True, False, False]),
        ({"sticky": 1, "cooldown": 1}, [True, True, False]),
    ],
)
def test_each_text_is_a_turn_that_goes_on_from_the_one_before(keys: dict[str, Any], fires: list[bool]) -> None:
    hooks = [replace(hook("after_user_input"), **keys), hook("before_planning", persistent=True)]

    turns = [play(hooks, texts=["a", "b", "c"][:count]) for count in (1, 2, 3)]

    assert [hooks[0] in played.fired for played in turns] == fires
    assert [one["content"] for one in turns[1].history] == ["a", "<before_planningä>", "b", "<before_planningä>"]


@pytest.mark.rule("L1-30")
def test_a_turn_has_room_for_64_persistent_hooks() -> None:
    played = play([replace(hook("after_user_input", persistent=True), name=f"{number}") for number in range(65)])

    assert [(one.hook.name, one.code) for one in played.silent] == [("64", "persistent")]


def test_a_hook_that_fired_at_another_time_says_why_not_always() -> None:
    played = play([replace(hook("before_each_agent"), once="turn")], rounds=[calls("a")])

    assert render(played).endswith(
        "not fired at other times: tutor/before_each_agent (before_each_agent): once a turn: it has fired already"
    )


def test_the_same_text_in_another_role_is_read_anew() -> None:
    hooks = [hook("before_planning", role="user"), hook("before_first_agent")]

    replay = partial(play_turns, texts=["Hi"], rounds=[calls("a")])

    costs = render_costs([replace(one, content="x" * 100) for one in hooks], replay)
    [line] = [line for line in costs.splitlines() if "call 2: " in line]
    assert "; the first 11 (" in line


def test_a_turn_has_the_tools_that_it_calls() -> None:
    buyer = replace(hook("after_user_input"), requires_tools=("shop__buy",))

    assert play([buyer], rounds=[calls("shop__buy")]).fired == [buyer]


def test_costs_are_printed_for_each_call_and_each_hook() -> None:
    hooks = [hook("before_each_agent"), hook("before_first_agent"), hook("after_user_input", persistent=True)]

    replay = partial(play_turns, texts=["Hi"], rounds=[calls("a"), calls("b")])

    heading, first, *costs = (line.strip() for line in render_costs(hooks, replay).splitlines())
    same = "are the same as in call"
    each = "tutor/before_each_agent"
    assert heading == "cost in tokens, estimated by script, text in parentheses as printed"
    assert first == "call 1: 6 of 23 are of hooks"
    assert costs == [
        f"call 2: 19 of 37 are of hooks; the first 17 (46%) {same} 1",
        f"call 3: 19 of 44 are of hooks; the first 20 (46%) {same} 2, up to {each}, without which 7 more would be the same",
        f"call 4: 19 of 51 are of hooks; the first 31 (61%) {same} 3, up to {each}",
        "tutor/after_user_input: 6 read anew, 18 from a cache",
        "tutor/before_first_agent: 14 read anew, 7 from a cache",
        f"{each}: 18 read anew, 0 from a cache; costs the cache 7 in 1 of 3 calls",
        "it would not with: after_user_input, before_planning, before_first_agent, after_tool_call, persistent: true",
    ]
    assert len(render_costs([], partial(play_turns, texts=["Hi"], tools=False)).splitlines()) == 2


def test_costs_of_several_turns_are_summed_by_hook() -> None:
    hooks = [replace(hook("after_user_input"), content="x" * 100)]

    costs = render_costs(hooks, partial(play_turns, texts=["Hi"] * 3, rounds=[calls("a")]))

    assert costs.splitlines()[1:] == ["    tutor/after_user_input: 75 read anew, 150 from a cache"]
