"""python -m server.hooks: what it prints, and how it ends."""

import json
import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest

from hook_tools.__main__ import OK, PIPE_CLOSED, PROBLEMS, USAGE, main
from hook_tools.report import Printer
from hook_tools.trial import Step
from tests.hooks.serving import CHILDREN

ROOT = Path(__file__).parents[2]
SCRIPTED = [sys.executable, str(CHILDREN / "scripted.py")]
APPROVES = [*SCRIPTED, 'hook.approve_tool={"approved": true}']
ALLOWS = [*SCRIPTED, 'hook.approve_tool={"allow": true}']


def run(*arguments: str) -> int:
    return main(arguments, {"PATH": os.environ["PATH"]})


def test_a_good_hook_ends_with_0_and_a_bad_one_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("test", "--intercept", "approve_tool", "--", *APPROVES) == OK
    good = capsys.readouterr().out
    assert run("test", "--intercept", "approve_tool", "--", *ALLOWS) == PROBLEMS
    bad = capsys.readouterr().out

    assert good.splitlines()[0].endswith("(modes: approve)")
    assert good.splitlines()[-1] == "no problems"
    assert "\x1b" not in good
    assert bad.splitlines()[-1] == "2 problems"


def test_the_same_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("test", "--json", "--intercept", "approve_tool", "--", *ALLOWS) == PROBLEMS
    report = json.loads(capsys.readouterr().out)

    assert report["problems"] == 2
    assert report["steps"][1]["title"] == "hook.approve_tool: a tool with arguments"
    assert [finding["level"] for finding in report["steps"][1]["faults"]] == ["problem", "problem"]
    assert report["stages"]["approve_tool"]["limit_ms"] == 60_000


def test_the_settings_come_from_the_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "parley.yaml"
    gate = {"command": ALLOWS, "intercept": ["approve_tool"]}
    file.write_text(json.dumps({"hooks": {"processes": {"gate": gate}}}))

    assert run("test", "--config", str(file), "--name", "gate") == PROBLEMS
    assert run("test", "--config", str(file), "--name", "gate", "--", *APPROVES) == OK
    assert capsys.readouterr().out.startswith("gate: ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("test",), "command is required: put it after --"),
        (("test", "--intercept", "before_lunch", "--", "x"), 'unsupported intercept "before_lunch"'),
        (("replay", "/not/there", "--", "x"), "No such file"),
    ],
)
def test_a_wrong_command_ends_with_2(
    arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == USAGE
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("test", "python3", "my hook.py"), "the hook's command goes after --: test … -- python3 'my hook.py'"),
        (("replay", "a.jsonl", "./hook", "-v"), "the hook's command goes after --: replay … -- ./hook -v"),
        (("test", "--intercpt", "x"), "unrecognized arguments: --intercpt"),
    ],
)
def test_a_command_without_dashes_before_it_is_told_where_it_stands(
    arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        run(*arguments)

    assert words in capsys.readouterr().err


def test_a_reader_that_has_read_enough_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as closed:
        command = [sys.executable, "-m", "server.hooks", "test", "--intercept", "approve_tool", "--", *APPROVES]
        ended = subprocess.run(command, cwd=ROOT, stdout=closed, stderr=subprocess.PIPE, check=False)

    assert (ended.returncode, ended.stderr) == (PIPE_CLOSED, b"")


def test_a_name_that_is_not_there_names_those_that_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "parley.yaml"
    file.write_text(json.dumps({"hooks": {"processes": {"gate": {"command": ["x"]}}}}))

    assert run("test", "--config", str(file), "--name", "gaet") == USAGE
    assert "no entry gaet; there are: gate" in capsys.readouterr().err


def test_what_a_test_records_can_be_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "traffic.jsonl")
    run("test", "--record", file, "--intercept", "approve_tool", "--", *APPROVES)
    capsys.readouterr()

    assert run("replay", file, "--", *APPROVES) == OK
    assert capsys.readouterr().out.endswith("9 calls, all as recorded\n")
    assert run("replay", file, "--", *ALLOWS) == PROBLEMS
    shown = capsys.readouterr().out
    assert "result.approved is gone; it was true" in shown
    assert shown.endswith("9 calls, 8 differ\n")


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_colours_are_for_people_who_want_them() -> None:
    shown = []
    for out, environ in ((Terminal(), {}), (Terminal(), {"NO_COLOR": "1"}), (StringIO(), {})):
        Printer(out, environ).step(Step(title="hook.hello"))
        shown.append("\x1b[32m" in out.getvalue())

    assert shown == [True, False, False]


def test_the_step_under_way_is_shown_on_a_terminal_alone() -> None:
    terminal, file = Terminal(), StringIO()
    for out in (terminal, file):
        printer = Printer(out, {"NO_COLOR": "1"})
        printer.announce(Step(title="hook.hello"))
        printer.step(Step(title="hook.hello", ms=3))

    assert terminal.getvalue().startswith("  …        hook.hello\r\x1b[K  ok       hook.hello")
    assert file.getvalue().startswith("  ok       hook.hello")
