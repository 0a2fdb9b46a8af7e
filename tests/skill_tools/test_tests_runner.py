"""Scripted tests: what is played, what is compared, and what a failure says."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from skill_tools.testing.tests_files import parse_tests
from skill_tools.testing.tests_report import failure_lines, junit_xml, narrow_lines, render_summary
from skill_tools.testing.tests_runner import SkillTestResult, SkillTestRunner
from skills_engine.diagnostics import Report
from skills_engine.hook_entries import HookInfo, Role, Timing
from skills_engine.hooks_config import HooksFile, read_hooks
from tests.skills_engine.folders import entry, make_skill


def hook(
    name: str,
    timing: Timing = "after_user_input",
    *,
    skill: str = "shop",
    text: str | None = None,
    persistent: bool = False,
    tools: Sequence[str] | None = None,
    role: Role = "system",
) -> HookInfo:
    tool_filter = None if tools is None else frozenset(tools)
    return HookInfo(name, f"{name}.md", timing, role, persistent, text or f"Text of {name}.", skill, tool_filter)


FAILED_REFUND = hook("refund-failed", "after_tool_call", tools=["shop__*"], text="Ask for the order number.")
SCRIPT = "[{need_tools: Let me look.}, {calls: [{tool: shop__refund, error: no such order}]}, {answer: I found none.}]"


def run(text: str, *hooks: HookInfo) -> list[SkillTestResult]:
    report = Report("shop", "tests/a.yaml")
    tests = parse_tests(f"tests:\n{text}", report)
    assert report.found == []
    by_skill: dict[str, list[HookInfo]] = {"shop": []}
    for one in hooks:
        by_skill.setdefault(one.skill, []).append(one)
    return SkillTestRunner({name: HooksFile(tuple(found)) for name, found in by_skill.items()}).run(tests)


def failures(text: str, *hooks: HookInfo) -> list[str]:
    [result] = run(text, *hooks)
    assert result.message == ""
    assert result.outcome == ("failed" if result.failures else "passed")
    return [line.strip() for failure in result.failures for line in failure_lines(failure)]


def test_a_turn_with_tools_is_played_call_by_call() -> None:
    text = f"""
  - name: a
    user: I want my money back
    history: [{{user: hi}}, {{assistant: hello}}]
    script: {SCRIPT}
    expect:
      fires: [every-call, planning, each, first, refund-failed, each]
      reads:
        - {{call: 1, contains: [I want my money back, hello, Text of planning], lacks: Text of first}}
        - {{call: 2, contains: [Text of first, Text of each], lacks: [Text of planning, no such order]}}
        - {{call: 3, contains: [no such order, Ask for the order number], lacks: Text of planning}}
        - {{contains: Text of every-call}}
"""
    hooks = [
        hook("every-call"),
        hook("planning", "before_planning"),
        hook("first", "before_first_agent"),
        hook("each", "before_each_agent"),
        FAILED_REFUND,
    ]

    assert failures(text, *hooks) == []


def test_a_script_that_begins_with_calls_was_planned_and_one_without_an_answer_has_a_last_call() -> None:
    text = "  - {name: a, user: x, script: [{calls: [{tool: t}]}], expect: {reads: [{call: 3, contains: result of t}]}}"

    assert failures(text) == []


def test_without_tools_there_is_one_call() -> None:
    text = "  - {name: a, user: x, tools: [], expect: {fires: [b], reads: [{call: 2, contains: x}, {contains: y}]}}"

    told = failures(text, hook("b"), hook("c", "before_planning"))
    assert told[:6] == [
        "reads",
        "was                                                       expected",
        "calls 1 to 1                                              call 2",
        "reads",
        "was                                                       expected",
        "call 1                                                    contains y",
    ]
    assert told[-1] == "shop/c (before_planning) stayed out: not reached: no planning round"


def test_what_the_server_and_the_model_write_is_not_searched() -> None:
    text = f"  - {{name: a, user: x, script: {SCRIPT}, expect: {{reads: [{{lacks: [prompt, shop__refund]}}]}}}}"

    assert failures(text) == []


def test_a_failure_shows_both_sides_and_why_a_hook_stayed_out() -> None:
    text = """
  - name: a
    user: x
    script: [{calls: [{tool: other}]}]
    expect:
      fires: [refund-failed]
      silent: [b]
      reads: [{call: 1, contains: money}, {call: 1, lacks: Text of b}]
      tokens: {max: 2}
"""

    assert failures(text, FAILED_REFUND, hook("b")) == [
        "fires",
        "was                                                       expected",
        "shop/b                                                    shop/refund-failed",
        "shop/refund-failed (after_tool_call) stayed out: tool_filter names none of: other",
        "silent",
        "was                                                       expected",
        "shop/b                                                    not shop/b",
        "call 1 reads",
        "was                                                       expected",
        "system: (the system prompt and the catalogue)             contains money",
        "user: x",
        "system: Text of b.",
        "system: (the planning prompt)",
        "call 1 reads",
        "was                                                       expected",
        "system: (the system prompt and the catalogue)             lacks Text of b",
        "user: x",
        "system: Text of b.",
        "system: (the planning prompt)",
        "tokens of hooks",
        "was                                                       expected",
        "3 in call 1                                               at most 2",
        "3 in call 2",
        "3 in call 3",
    ]


def test_a_failure_for_a_narrow_place_has_its_sides_below_each_other() -> None:
    text = "  - {name: a, user: x, script: [{calls: [{tool: other}]}], expect: {fires: [refund-failed]}}"
    [result] = run(text, FAILED_REFUND)

    assert narrow_lines(result.failures[0]) == [
        "fires:",
        "shop/refund-failed (after_tool_call) stayed out: tool_filter names none of: other",
        "expected:",
        "  shop/refund-failed",
        "was:",
        "  (nothing)",
    ]


def test_where_something_is_not_read_the_hooks_that_stayed_out_say_why() -> None:
    text = "  - {name: a, user: x, script: [{calls: [{tool: t}]}], expect: {reads: [{call: 3, contains: order}]}}"

    assert (
        failures(text, FAILED_REFUND, hook("b"))[-1]
        == "shop/refund-failed (after_tool_call) stayed out: tool_filter names none of: t"
    )


def test_a_hook_whose_timing_is_never_reached_says_so() -> None:
    text = "  - {name: a, user: x, expect: {fires: [b]}}"

    assert failures(text, hook("b", "before_first_agent"))[-1] == (
        "shop/b (before_first_agent) stayed out: not reached: no agent loop"
    )


def test_each_firing_counts_in_the_order_of_insertion() -> None:
    text = "  - {name: a, user: x, script: [{calls: [{tool: t}, {tool: t}]}], expect: {fires: [b, b]}}"

    assert failures(text, hook("b", "after_tool_call")) == []
    assert failures(text.replace("[b, b]", "[b]"), hook("b", "after_tool_call"))[:2] != []
    assert failures(text.replace("[b, b]", "[b, b, b]"), hook("b", "after_tool_call"))[-1] == (
        "shop/b (after_tool_call) had no further occasion"
    )


def test_a_hook_that_fired_too_seldom_says_what_kept_it_out_at_other_times(tmp_path: Path) -> None:
    hooks = conditional(tmp_path, entry("b", timing="before_each_agent", when={"round": 2}), entry("c", cooldown=1))
    text = "  - {name: a, user: x, script: [{calls: [{tool: t}]}], expect: {fires: [c, b, b]}}"

    assert failures(text, *hooks)[-1] == "shop/b (before_each_agent) stayed out at other times: when.round"


def test_what_once_fired_is_carried_on_through_tests_that_are_played_for_it(tmp_path: Path) -> None:
    text = """
  - {name: third, after: second, user: x, expect: {fires: []}}
  - {name: second, after: first, user: x, expect: {fires: []}}
  - {name: first, user: x, expect: {fires: [b]}}
"""

    results = run(text, *conditional(tmp_path, entry("b", once="conversation")))

    assert [result.outcome for result in results] == ["passed"] * 3
    assert results[0].duration_s > 0
    assert run("  - {name: a, user: x}")[0].hook_tokens == 0


def test_history_is_carried_on_from_turn_to_turn_and_from_test_to_test() -> None:
    text = f"""
  - name: goes on
    after: begins
    user: again
    expect: {{reads: [{{call: 1, contains: [first, second, Let me look., Text of lasting, I found none.], lacks: no such order}}]}}
  - name: begins
    turns:
      - {{user: first, script: {SCRIPT}, expect: {{fires: [lasting]}}}}
      - {{user: second, expect: {{reads: [{{call: 1, contains: [first, Text of lasting, I found none.]}}]}}}}
"""

    results = run(text, hook("lasting", "after_tool_call", persistent=True))

    assert [(result.test.name, result.outcome) for result in results] == [("goes on", "passed"), ("begins", "passed")]


def test_a_failure_in_one_of_several_turns_names_it() -> None:
    text = """
  - name: a
    tools: []
    turns:
      - {user: x}
      - {user: y, script: [{answer: Yes.}]}
      - {user: z, expect: {reads: [{contains: none}]}}
      - {user: x, expect: {fires: []}}
"""

    assert failures(text) == [
        "turn 3: reads",
        "was                                                       expected",
        "call 1                                                    contains none",
        "system: (the system prompt and the catalogue)",
        "user: x",
        "user: y",
        "assistant: Yes.",
        "user: z",
    ]


def test_only_the_skill_itself_and_those_named_are_on() -> None:
    others = [hook("b"), hook("b", skill="polite"), hook("c", skill="rude")]
    text = "  - {name: a, user: x, skills: [polite], expect: {fires: [b, polite/b]}}"

    assert failures(text, *others) == []
    assert failures(text.replace("skills: [polite], ", "").replace("b, polite/b", "b"), *others) == []
    polite_first = text.replace("[polite]", "[polite, shop]")
    assert failures(polite_first.replace("b, polite/b", "polite/b, b"), *others) == []
    assert failures(polite_first.replace("fires: [b, polite/b]", "silent: [b]"), *others)[-1].split() == [
        "shop/b",
        "not",
        "shop/b",
    ]


def test_a_hook_or_a_skill_that_there_is_not_cannot_be_run() -> None:
    [no_hook] = run("  - {name: a, user: x, expect: {fires: [lastin]}}", hook("lasting"))
    [no_skill] = run("  - {name: a, user: x, skills: [polit]}", hook("b", skill="polite"))
    [none] = run("  - {name: a, user: x, expect: {silent: [qq]}}", hook("lasting"), hook("other"))

    assert (no_hook.outcome, no_hook.message) == ("error", "no hook is called lastin (did you mean lasting?)")
    assert (no_skill.outcome, no_skill.message) == (
        "error",
        "there is no skill polit (did you mean polite?) beside shop",
    )
    assert (none.outcome, none.message) == ("error", "no hook is called qq; there are: shop/lasting, shop/other")


def test_a_run_that_is_over_leaves_the_rest_out() -> None:
    tests = parse_tests("tests: [{name: a, user: x}, {name: b, user: x}]", Report("shop", "a.yaml"))
    answers = iter([False, True])

    assert [
        result.test.name for result in SkillTestRunner({"shop": HooksFile()}).run(tests, is_over=lambda: next(answers))
    ] == ["a"]


def test_a_test_that_asks_a_model_is_skipped() -> None:
    results = run("  - {name: a, user: x, ask: {}, expect: {reply: {}}}\n  - {name: b, user: x}")

    assert [result.outcome for result in results] == ["skipped", "passed"]
    assert render_summary(results, 0.5) == (
        "2 tests: 1 passed, 1 skipped, 0.50 s (skipped: asks a model: give --server URL to run it)"
    )


def test_junit_has_a_suite_for_each_file_and_what_xml_cannot_hold_is_left_out() -> None:
    text = '  - {name: a, user: x, expect: {reads: [{contains: "<&\\x01"}]}}\n  - {name: "b\\x01", user: x, ask: {}, expect: {reply: {}}}'
    xml = junit_xml(run(text)).decode()

    assert '<testsuite name="shop/tests/a.yaml" tests="2" failures="1" errors="0" skipped="1"' in xml
    assert '<failure message="reads">' in xml
    assert "contains &lt;&amp;\n" in xml or "contains &lt;&amp;<" in xml
    assert "\x01" not in xml


def conditional(tmp_path: Path, *entries: dict[str, Any]) -> list[HookInfo]:
    return list(read_hooks(make_skill(tmp_path, "shop", *entries)).hooks)


@pytest.mark.parametrize(
    ("when", "said"),
    [
        ({"channel": "voice"}, "channel: voice"),
        ({"language": ["de"]}, "language: de-CH"),
        ({"model": ["local"]}, "model: local"),
        ({"not": {"model": ["cloud"]}}, "model: local"),
        ({"model": ["gpt-*"]}, "model: gpt-5"),
        ({"user": ["anna"]}, "user_name: anna"),
        ({"user": ["operator"]}, "operator: true"),
        ({"time": {"from": "22:00", "to": "06:00", "days": ["sun"]}}, "time: sun 23:30"),
        ({"time": {"from": "14:00", "to": "15:00"}}, "time: '14:05'"),
        ({"time": {"days": ["tue"], "timezone": "Asia/Tokyo"}}, "time: 2026-11-23 20:00"),
        ({"skills": ["polite"]}, "skills: [polite]"),
        ({"turn": 2}, "history: [{user: hi}]"),
        ({"user_text": ["help"], "scan_turns": 2}, "history: [{user: help}]"),
    ],
)
def test_what_a_test_says_of_the_turn_is_what_conditions_look_at(
    tmp_path: Path, when: dict[str, Any], said: str
) -> None:
    hooks = [*conditional(tmp_path, entry("b", when=when)), hook("c", "after_tool_call", skill="polite")]

    assert failures(f"  - {{name: a, user: x, expect: {{fires: [b]}}, {said}}}", *hooks) == []
    [line] = [line for line in failures("  - {name: a, user: x, expect: {fires: [b]}}", *hooks) if "stayed" in line]
    assert line.startswith("shop/b (after_user_input) stayed out: its condition does not hold: when.")


@pytest.mark.parametrize(("ending", "status"), [("result: x", "ok"), ("error: x", "error"), ("refused: x", "refused")])
def test_calls_of_the_script_end_as_it_says(tmp_path: Path, ending: str, status: str) -> None:
    when = {"tool": ["shop__*"], "tool_status": [status], "tool_args": {"order.id": ["3"]}, "tool_result": ["x"]}
    hooks = conditional(tmp_path, entry("b", timing="after_tool_call", when=when))
    call = f"{{tool: shop__refund, arguments: {{order: {{id: 3}}}}, {ending}}}"

    assert failures(f"  - {{name: a, user: x, script: [{{calls: [{call}]}}], expect: {{fires: [b]}}}}", *hooks) == []


def test_the_tools_of_the_turn_are_the_built_in_ones_and_those_called_unless_the_test_names_them(
    tmp_path: Path,
) -> None:
    hooks = conditional(tmp_path, entry("b", requires_tools=["read_file"]), entry("c", requires_tools=["shop__*"]))
    script = "script: [{calls: [{tool: shop__refund}]}]"

    assert failures("  - {name: a, user: x, expect: {fires: [b]}}", *hooks) == []
    assert failures(f"  - {{name: a, user: x, {script}, expect: {{fires: [b, c]}}}}", *hooks) == []
    assert failures(f"  - {{name: a, user: x, tools: [shop__refund], {script}, expect: {{fires: [c]}}}}", *hooks) == []


def test_the_budget_of_a_test_keeps_hooks_out(tmp_path: Path) -> None:
    hooks = conditional(tmp_path, entry("dear", priority=-1), entry("kept"))

    assert failures("  - {name: a, user: x, hook_tokens: 4, expect: {fires: [kept]}}", *hooks) == []
    assert failures("  - {name: a, user: x, hook_tokens: 4, expect: {fires: [dear, kept]}}", *hooks)[-1] == (
        "shop/dear (after_user_input) stayed out: there was no room for it in skills.hook_tokens"
    )


def test_state_is_carried_on_from_turn_to_turn_and_from_test_to_test(tmp_path: Path) -> None:
    hooks = conditional(tmp_path, entry("once", once="conversation"), entry("rests", cooldown=1))
    text = """
  - name: begins
    turns:
      - {user: x, expect: {fires: [once, rests]}}
      - {user: y, expect: {fires: []}}
      - {user: z, expect: {fires: [rests]}}
  - {name: goes on, after: begins, user: w, expect: {fires: []}}
  - {name: is new, user: w, expect: {fires: [once, rests]}}
"""

    assert [result.outcome for result in run(text, *hooks)] == ["passed"] * 3


def test_turns_of_a_script_take_what_they_do_not_say_from_the_test_and_filled_in_texts_are_searched(
    tmp_path: Path,
) -> None:
    folder = make_skill(tmp_path, "shop", entry("b", vars=True))
    (folder / "hooks" / "b.md").write_text("{{weekday}} {{time}}, {{channel}}, {{user}}")
    text = """
  - name: a
    time: 2026-11-22 14:05
    user_name: anna
    turns:
      - {user: x, expect: {reads: [{contains: "Sunday 14:05, text, anna"}]}}
      - {user: y, channel: voice, time: "09:00", expect: {reads: [{call: 1, contains: "Monday 09:00, voice, anna"}]}}
"""

    assert failures(text, *read_hooks(folder).hooks) == []


def test_the_users_words_are_looked_at_and_a_test_without_a_time_is_on_a_monday_at_noon(tmp_path: Path) -> None:
    noon = {"time": {"from": "12:00", "to": "12:01", "days": ["mon"]}}
    hooks = conditional(tmp_path, entry("b", when={"user_text": ["money"], **noon}))

    assert failures("  - {name: a, user: my money, expect: {fires: [b], tokens: {max: 3}}}", *hooks) == []
    assert failures("  - {name: a, user: hello, expect: {silent: [b]}}", *hooks) == []


def test_a_turn_is_as_the_test_says_and_counts_what_the_user_said_alone(tmp_path: Path) -> None:
    folder = make_skill(
        tmp_path,
        "shop",
        entry("b", vars=True),
        entry("kept", role="user", persistent=True),
        entry("second", when={"turn": 2}),
        entry("local", when={"model": ["local"]}),
    )
    (folder / "hooks" / "b.md").write_text("<{{channel}},{{model}},{{user}}>")
    text = """
  - name: a
    turns:
      - {user: x, expect: {fires: [b, kept], reads: [{contains: "/<text,,>/"}]}}
      - user: y
        operator: true
        model: local
        expect: {fires: [b, kept, second, local], reads: [{contains: "/<text,local,operator>/"}]}
"""

    assert failures(text, *read_hooks(folder).hooks) == []
