"""Tests of skills that remember: start values, context, seed, all skills at once, and what was not set."""

from pathlib import Path
from typing import Any

import pytest

from skill_tools.testing.tests_command import PASSED
from skill_tools.testing.tests_files import parse_tests
from skill_tools.testing.tests_report import failure_lines
from skill_tools.testing.tests_runner import SkillTestResult, SkillTestRunner
from skills_engine.__main__ import main
from skills_engine.diagnostics import Report
from skills_engine.hooks_config import read_hooks
from tests.skills_engine.folders import entry, make_skill, write_hooks_json

NAME = {
    "name": "note-name",
    "timing": "after_user_input",
    "set": {"name": {"from": "user_text", "match": "/name is (\\pL+)/"}},
}
SCORE = entry("hint", set={"score": {"from": "user_text", "match": "/([0-9]+)/"}})
DRAWN = {"name": "draw", "timing": "after_user_input", "set": {"score": {"pick": list(range(32))}}}


def tutor(root: Path, *entries: dict[str, Any]) -> Path:
    folder = make_skill(root, "tutor", entry())
    write_hooks_json(folder, {"variables": {"name": "", "score": 0}, "hooks": list(entries)})
    return folder


def run(folder: Path, *tests: str) -> list[SkillTestResult]:
    report = Report("tutor", "tests/a.yaml")
    found = parse_tests("tests:\n" + "".join(f"  - {{name: t{n}, {test}}}\n" for n, test in enumerate(tests)), report)
    assert report.found == []
    return SkillTestRunner({"tutor": read_hooks(folder)}).run(found)


def reasons(folder: Path, test: str) -> list[str]:
    [result] = run(folder, test)
    return [reason for failure in result.failures for reason in failure.reasons]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("{scor: 5}", "tutor has no variable scor that can be 5 (did you mean score?)"),
        ("{score: yes}", 'tutor has no variable score that can be "yes"'),
        ("{name: true}", "tutor has no variable name that can be true"),
    ],
)
def test_a_start_value_that_no_variable_can_have_is_an_error(tmp_path: Path, written: str, message: str) -> None:
    folder = tutor(tmp_path, SCORE)

    [result] = run(folder, f"variables: {written}, user: a, expect: {{silent: []}}")
    assert (result.outcome, result.message) == ("error", message)


def test_variables_begin_with_the_values_of_the_test_and_go_on_from_turn_to_turn(tmp_path: Path) -> None:
    folder = tutor(tmp_path, {"name": "up", "timing": "after_user_input", "set": {"score": {"add": 1}}})
    turns = "turns: [{user: a, expect: {variables: {score: 6}}}, {user: b, expect: {variables: {tutor/score: 7}}}]"

    assert [one.outcome for one in run(folder, f"variables: {{score: 5}}, {turns}")] == ["passed"]
    [failed] = run(folder, "user: a, expect: {variables: {score: true}}")
    assert [line.split() for line in failure_lines(failed.failures[0])[2:]] == [["score:", "1", "score:", "true"]]


def test_context_holds_in_conditions(tmp_path: Path) -> None:
    folder = tutor(tmp_path, entry("hint", when={"context": {"plan": "pro"}}))
    asked = "user: a, expect: {fires: [hint]}"

    outcomes = [
        one.outcome for one in run(folder, f"context: {{plan: pro}}, {asked}", f"context: {{plan: free}}, {asked}")
    ]
    assert outcomes == ["passed", "failed"]


def test_the_seed_decides_what_is_drawn(tmp_path: Path) -> None:
    folder = tutor(tmp_path, DRAWN)
    drawn = {line for one in run(folder, *(f"user: a, seed: s{n}, expect: {{variables: {{score: -1}}}}" for n in (1, 1, 2)))
             for line in one.failures[0].was}  # fmt: skip
    assert len(drawn) == 2


def test_a_set_that_found_nothing_is_told_like_a_hook_that_stayed_out(tmp_path: Path) -> None:
    folder = tutor(tmp_path, NAME, SCORE)

    assert reasons(folder, "user: hi, expect: {variables: {name: Ada, score: 3}}") == [
        "tutor/note-name (after_user_input): nothing was set: nothing was found for set.name",
        "tutor/hint (after_user_input): nothing was set: nothing was found for set.score",
    ]


def test_only_sets_that_were_not_applied_are_told(tmp_path: Path) -> None:
    folder = tutor(tmp_path, NAME, SCORE)

    assert reasons(folder, "user: my name is Ada, expect: {variables: {score: 3, name: Ada}}") == [
        "tutor/hint (after_user_input): nothing was set: nothing was found for set.score",
    ]


@pytest.mark.parametrize("expected", ["fires: [note-name]", "silent: [note-name]"])
def test_an_update_cannot_be_expected_to_fire_or_to_be_silent(tmp_path: Path, expected: str) -> None:
    [result] = run(tutor(tmp_path, NAME), f"user: hi, expect: {{{expected}}}")

    assert (result.outcome, result.message) == (
        "error",
        "note-name inserts nothing, so it neither fires nor is silent: expect `variables`",
    )


def test_with_all_skills_one_that_silences_another_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_skill(tmp_path, "quiet", entry(group="shared/tone"))
    make_skill(tmp_path, "loud", entry("shout", group="shared/tone", priority=9))
    off = "---\nname: {name}\ndescription: x\ndefault: off\n---\nx\n"
    make_skill(tmp_path, "sleeping", entry("snore", group="shared/tone", priority=99), skill_md=off)
    (folder / "tests").mkdir()
    (folder / "tests" / "a.yaml").write_text("""
tests:
  - {name: alone, user: hi, expect: {fires: [hint]}}
  - {name: among all, user: hi, with: all, expect: {fires: [loud/shout]}}
  - {name: and one that is off, user: hi, with: all, skills: [sleeping], expect: {fires: [sleeping/snore]}}
""")

    assert main(["test", str(folder)]) == PASSED, capsys.readouterr().out
