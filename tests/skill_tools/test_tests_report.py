"""Reports of test runs, word for word: terminals show them, build servers and editors read them."""

from collections.abc import Sequence
from pathlib import Path

from skill_tools.testing.tests_files import parse_tests
from skill_tools.testing.tests_report import (
    MAX_LINES,
    failure_lines,
    junit_xml,
    narrow_lines,
    render_results,
    render_summary,
)
from skill_tools.testing.tests_runner import Failure, Outcome, SkillTestResult
from skills_engine.diagnostics import Report


def results(*outcomes: Outcome, notes: Sequence[str] = ()) -> list[SkillTestResult]:
    """Return a result of each outcome, of a test that is called like it."""
    text = f"tests: [{', '.join(f'{{name: {outcome}, user: x}}' for outcome in dict.fromkeys(outcomes))}]"
    tests = {test.name: test for test in parse_tests(text, Report("shop", "tests/a.yaml"))}
    failures = {"failed": (Failure("fires", ("shop/a",), ("shop/b",), ("b stayed out",)), Failure("reads", (), ("x",)))}
    messages = {"skipped": "asks a model", "error": "no hook is called \x01ç\ufffe"}
    return [
        SkillTestResult(
            tests[outcome], outcome, failures.get(outcome, ()), messages.get(outcome, ""), tuple(notes), duration_s=0.25
        )
        for outcome in outcomes
    ]


def test_junits_xml_has_each_outcome_in_its_form() -> None:
    xml = junit_xml(results("passed", "failed", "skipped", "error")).decode()

    expected = """<?xml version='1.0' encoding='utf-8'?>
<testsuites>
  <testsuite name="shop/tests/a.yaml" tests="4" failures="1" errors="1" skipped="1" time="1.000">
    <testcase classname="shop" name="passed" file="tests/a.yaml" time="0.250" line="1" />
    <testcase classname="shop" name="failed" file="tests/a.yaml" time="0.250" line="1">
      <failure message="fires, reads">fires
  was                                                       expected
  shop/a                                                    shop/b
b stayed out
reads
  was                                                       expected
  (nothing)                                                 x</failure>
    </testcase>
    <testcase classname="shop" name="skipped" file="tests/a.yaml" time="0.250" line="1">
      <skipped message="asks a model" />
    </testcase>
    <testcase classname="shop" name="error" file="tests/a.yaml" time="0.250" line="1">
      <error message="no hook is called ç" />
    </testcase>
  </testsuite>
</testsuites>
"""
    assert xml == expected


def test_the_summary_counts_each_outcome_and_gives_each_reason_once() -> None:
    skipped = results("skipped", "passed", "skipped", "error", "failed")
    others = [SkillTestResult(skipped[0].test, "skipped", message="another reason")]

    assert render_summary([*skipped, *others], 1.006) == (
        "6 tests: 1 passed, 1 failed, 3 skipped, 1 could not be run, 1.01 s (skipped: asks a model; another reason)"
    )
    assert render_summary(results("passed"), 0) == "1 test: 1 passed, 0.00 s"
    assert render_summary([], 0) == "0 tests: none, 0.00 s"


def test_what_did_not_pass_and_what_was_measured_is_shown_test_by_test() -> None:
    measured = results("passed", notes=["2 of 2 as expected"])

    assert render_results([*results("passed", "error"), *measured], Path("skills")) == (
        "skills/shop/tests/a.yaml:1: could not be run: error\n  no hook is called \x01ç\ufffe\n\n"
        "skills/shop/tests/a.yaml:1: passed: passed\n  2 of 2 as expected"
    )


def test_long_lines_are_wrapped_beside_each_other_and_keep_their_spaces() -> None:
    was = ("system: " + "word " * 12 + "  end\n\nlast", "", "x" * 56 + "  y")

    assert failure_lines(Failure("reads", was, ("  contains x",))) == [
        "reads",
        "  was                                                       expected",
        "  system: word word word word word word word word word        contains x",
        "      word word word   end",
        "",
        "  last",
        "",
        "  " + "x" * 56,
        "        y",
    ]


def test_the_middle_of_a_long_side_is_left_out() -> None:
    was = [f"call {number}" for number in range(MAX_LINES + 3)]

    def shown(count: int) -> list[str]:
        return [line.strip() for line in narrow_lines(Failure("reads", tuple(was[:count]), ()))[4:]]

    assert shown(MAX_LINES) == was[:MAX_LINES]
    assert shown(MAX_LINES + 3) == [*was[: MAX_LINES // 2], "… (3 lines)", *was[-MAX_LINES // 2 :]]
