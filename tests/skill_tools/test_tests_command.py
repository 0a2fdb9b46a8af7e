"""`python -m skills_engine test`, as authors and builds run it."""

import argparse
import re
import signal
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from skill_tools.testing.tests_command import FAILED, NOT_RUN, PASSED, add_options, run_tests
from skills_engine.__main__ import main
from tests.skill_tools.test_tests_asker import ScriptedAsker
from tests.skills_engine.folders import entry, make_skill, write_hooks_json

PASSES = "tests: [{name: is read, user: hello, expect: {fires: [hint]}}]\n"
FAILS = "tests:\n  - {name: is silent, user: hello, expect: {fires: []}}\n"


def skill_with_tests(root: Path, name: str, text: str) -> Path:
    folder = make_skill(root, name, entry())
    (folder / "tests").mkdir(exist_ok=True)
    (folder / "tests" / "a.yaml").write_text(text)
    return folder


def test_all_passed_is_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    skill_with_tests(tmp_path, "a", PASSES)
    folder = skill_with_tests(tmp_path, "b", PASSES)
    make_skill(tmp_path, "untested", entry("b", timing="sometimes"))

    assert main(["test", str(tmp_path)]) == PASSED
    assert re.fullmatch(r"2 tests: 2 passed, \d{1,2}\.\d\d s\n", capsys.readouterr().out)
    assert main(["test", str(folder)]) == PASSED
    assert capsys.readouterr().out.startswith("1 test: 1 passed, ")


def test_a_failure_is_1_and_names_a_line_that_an_editor_can_open(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    skill_with_tests(tmp_path, "a", FAILS)

    assert main(["test", str(tmp_path)]) == FAILED
    out = capsys.readouterr().out.splitlines()
    assert out[:2] == [f"{tmp_path}/a/tests/a.yaml:2: failed: is silent", "  fires"]
    assert (out[-2], out[-1][:18]) == ("", "1 test: 1 failed, ")


def test_a_mistake_in_a_test_is_2_though_others_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    skill_with_tests(tmp_path, "a", PASSES)
    skill_with_tests(tmp_path, "b", FAILS.replace("user", "usr"))

    assert main(["test", str(tmp_path)]) == NOT_RUN
    told = capsys.readouterr()
    assert re.fullmatch(r"1 test: 1 passed, .* s; mistakes in the files: 1\n", told.out)
    assert told.err == (
        f"{tmp_path}/b/tests/a.yaml:2 $.tests[0].usr: error: line 2: unknown key (did you mean user?)\n"
    )


def test_a_hook_that_there_is_not_is_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    skill_with_tests(tmp_path, "a", FAILS.replace("[]", "[hnt]"))

    assert main(["test", str(tmp_path)]) == NOT_RUN
    out = capsys.readouterr().out
    assert (
        f"{tmp_path}/a/tests/a.yaml:2: could not be run: is silent\n  no hook is called hnt (did you mean hint?)" in out
    )


def test_a_hook_with_an_error_is_1_though_the_tests_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_skill(tmp_path, "a", entry(), entry("b", timing="sometimes"))
    skill = tmp_path / "a"
    (skill / "tests").mkdir()
    (skill / "tests" / "a.yaml").write_text(PASSES)

    assert main(["test", str(tmp_path)]) == FAILED
    assert f"{tmp_path}/a/hooks/hooks.json:1 $.hooks[1].timing: error: " in capsys.readouterr().err
    skill_with_tests(tmp_path, "b", PASSES)
    assert main(["test", str(tmp_path)]) == FAILED


def test_a_test_of_one_skill_may_switch_on_its_neighbours(tmp_path: Path) -> None:
    make_skill(tmp_path, "other", entry("calm"))
    text = "tests: [{name: a, user: x, skills: [other], expect: {fires: [hint, other/calm]}}]"

    assert main(["test", str(skill_with_tests(tmp_path, "a", text))]) == PASSED


def test_a_hidden_folder_can_be_tested(tmp_path: Path) -> None:
    assert main(["test", str(skill_with_tests(tmp_path, ".draft", PASSES))]) == PASSED


@pytest.mark.parametrize(
    ("variants", "message"),
    [
        ("hint.md", "--variants needs 2 to 20 files, separated by commas"),
        ("hint.md,gone.md", "gone.md does not exist: --variants names text files, or files in hooks/"),
    ],
)
def test_variants_that_cannot_be_compared_are_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], variants: str, message: str
) -> None:
    folder = skill_with_tests(tmp_path, "a", PASSES)

    assert main(["test", str(folder), "--variants", variants]) == NOT_RUN
    assert capsys.readouterr().err == f"error: {message}\n"


def test_variants_are_printed_as_a_table_also_without_a_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asks = "tests:\n  - {name: asks, user: x, ask: {}, expect: {reply: {}}}\n"
    reads = "  - {name: reads, user: x, expect: {reads: [{contains: brief}]}}\n"
    wrong = "  - {name: names no hook, user: x, expect: {fires: [other]}}\n"
    folder = skill_with_tests(tmp_path, "a", asks + reads + wrong)
    (folder / "hooks" / "hint.md").write_text("Be brief.")
    (folder / "hooks" / "long.md").write_text("At length.")
    write_hooks_json(folder, {"hooks": [entry("first", enabled=False, file="hint.md"), entry()]})

    assert main(["test", str(folder), "--variants", "hint.md,long.md", "--hook", "hint"]) == PASSED
    assert capsys.readouterr().out.splitlines() == [
        "wording  test            passed  tokens",
        "hint.md  asks           not run       3",
        "hint.md  reads             100%       3",
        "hint.md  names no hook  not run       0",
        "long.md  asks           not run       3",
        "long.md  reads               0%       3",
        "long.md  names no hook  not run       0",
    ]

    (folder / "tests" / "b.yaml").write_text("a: b: c")
    assert main(["test", str(folder), "--variants", "hint.md,long.md", "--hook", "hint"]) == NOT_RUN
    assert capsys.readouterr().err.startswith(f"{folder}/tests/b.yaml: error: is not YAML")
    skill_with_tests(tmp_path, "b", PASSES)
    capsys.readouterr()
    assert main(["test", str(tmp_path), "--variants", "hint.md,long.md"]) == NOT_RUN
    cure = "error: --variants compares texts of one skill's hook: give the folder of that skill\n"
    assert capsys.readouterr().err.endswith(cure)


def test_a_model_is_asked_where_there_is_a_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    @asynccontextmanager
    async def connect(url: str, token: str | None) -> AsyncIterator[ScriptedAsker]:
        yield ScriptedAsker(respond=lambda question: f"{url} {token} {question.skills}")

    asks = "tests:\n  - {name: asks, user: x, ask: {samples: 1}, expect: {reply: {contains: [secret, here]}}}\n"
    folder = skill_with_tests(tmp_path, "a", asks + "  - {name: reads, user: x, expect: {fires: [hint]}}\n")
    (folder / "hooks" / "other.md").write_text("Another text.")
    parser = argparse.ArgumentParser()
    add_options(parser)

    def run(*arguments: str) -> str:
        options = parser.parse_args(["--server", "http://here", *arguments])
        options.path = folder
        assert run_tests(options, connect) == PASSED
        return capsys.readouterr().out

    assert "1 of 1 as expected (100%)" in run("--token", "secret")
    assert run("--token", "secret").splitlines()[-1].startswith("2 tests: 2 passed, ")
    assert "asks     100%" in run("--token", "secret", "--variants", "hint.md,other.md")


def test_no_tests_at_all_is_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_skill(tmp_path, "a", entry())

    assert main(["test", str(tmp_path)]) == NOT_RUN
    assert capsys.readouterr().err == (
        f"error: no tests in {tmp_path}: write some in tests/*.yaml of a skill; `new` makes some\n"
    )


def test_junit_is_written(tmp_path: Path) -> None:
    skill_with_tests(tmp_path, "a", FAILS)
    report = tmp_path / "report.xml"

    assert main(["test", str(tmp_path), "--junit", str(report)]) == FAILED

    [suite] = ET.parse(report).getroot()
    assert (suite.get("name"), suite.get("tests"), suite.get("failures")) == ("a/tests/a.yaml", "1", "1")


def test_watch_runs_again_after_each_change_until_it_is_interrupted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = skill_with_tests(tmp_path, "a", FAILS)
    runs = 0
    is_over = threading.Event()

    def keep_writing() -> None:  # the first change may come before the watch stands
        for _ in range(50):
            if is_over.wait(0.2):
                return
            (folder / "changed").touch()
        signal.raise_signal(signal.SIGINT)  # nothing runs again

    @asynccontextmanager
    async def connect(url: str, token: str | None) -> AsyncIterator[ScriptedAsker]:
        nonlocal runs
        runs += 1
        if runs == 1:
            (folder / "tests" / "a.yaml").write_text(PASSES)
        if runs == 3:
            raise KeyboardInterrupt
        yield ScriptedAsker()

    parser = argparse.ArgumentParser()
    add_options(parser)
    options = parser.parse_args(["--watch", "--server", "http://here"])
    options.path = tmp_path
    writer = threading.Thread(target=keep_writing)
    writer.start()
    try:
        assert run_tests(options, connect) == PASSED
    finally:
        is_over.set()
    writer.join()

    first, _, again = capsys.readouterr().out.partition("\n\n--- ")
    assert "1 test: 1 failed" in first
    assert re.match(r"\d\d:\d\d:\d\d\n1 test: 1 passed", again)
