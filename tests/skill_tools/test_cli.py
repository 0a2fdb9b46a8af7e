"""The command line of skill authors, as they run it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from skill_tools.authoring.scaffold import new_skill, schema_text
from skill_tools.command import PIPE_CLOSED
from skills_engine import load_snapshot
from skills_engine.__main__ import main
from tests.skills_engine.folders import entry, make_skill, write_hooks_json

PROJECT = Path(__file__).parents[2]


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "skills_engine", *map(str, arguments)]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False, timeout=50)


def test_the_module_runs_and_its_exit_status_is_mains(tmp_path: Path) -> None:
    make_skill(tmp_path, "tutor", entry(role="x"))

    bad, none = run("lint", tmp_path), run("lint", tmp_path / "gone")

    place = f"{tmp_path}/tutor/hooks/hooks.json:1 $.hooks[0].role"
    assert (bad.returncode, bad.stdout, bad.stderr) == (
        1,
        f'{place}: error: expected system or user; got "x"\n1 folder checked: 1 error, 0 warnings\n',
        "",
    )
    assert none.returncode == 2
    assert f"argument PATH: no such folder: {tmp_path}/gone" in none.stderr


@pytest.mark.parametrize("arguments", [("simulate", "skills"), ("lint", "skills"), ("schema",)])
def test_a_reader_that_has_read_enough_is_no_error(arguments: tuple[str, ...]) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as closed:
        command = [sys.executable, "-m", "skills_engine", *arguments]
        ended = subprocess.run(command, cwd=PROJECT, stdout=closed, stderr=subprocess.PIPE, check=False, timeout=50)

    assert (ended.returncode, ended.stderr) == (PIPE_CLOSED, b"")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["lint", "new", "simulate", "schema", "check skills", "1 an error in a skill"]),
        (["lint"], ["PATH", "--strict", "warnings count as errors", "--notes", "--json"]),
        (["new"], ["NAME", "--dir", "where (default: skills)", "--timing", "--tool", "--text"]),
        (["simulate"], ["--text", "--round TOOL[,TOOL]", "--no-need", "--no-tools"]),
    ],
)
def test_help_names_what_there_is(arguments: list[str], words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exited:
        main([*arguments, "--help"])

    text = " ".join(capsys.readouterr().out.split())
    assert exited.value.code == 0
    assert [word for word in words if word not in text] == []
    assert text.startswith("usage: python -m skills_engine")


@pytest.mark.parametrize("arguments", [[], ["polish"], ["lint"], ["new"], ["simulate", ".", "--no-need", "--no-tools"]])
def test_a_wrong_command_is_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exited:
        main(arguments)

    assert exited.value.code == 2
    assert capsys.readouterr().err.startswith("usage: ")


@pytest.mark.parametrize("command", ["lint", "simulate"])
def test_a_place_without_skills_is_2(tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    hooks = make_skill(tmp_path, "tutor", entry()) / "hooks"

    assert main([command, str(hooks)]) == 2
    assert capsys.readouterr() == (
        "",
        f"error: {hooks} holds no skills: give the folder of a skill, with SKILL.md in it, or of many\n",
    )
    with pytest.raises(SystemExit):
        main([command, str(hooks / "hooks.json")])
    assert f"{hooks}/hooks.json is a file: give the folder of the skill, or of many" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["import", "{}/no.json"], "{}/no.json: there is no such file or folder; check the path"),
        (["import", "{}"], "{}: Is a directory; check the path, and whether you may read and write there"),
        (["pack", "{}/tutor", "--out", "{}/no/x.zip"], "{}/no/x.zip: there is no such file or folder; check the path"),
        (["test", "{}/tutor", "--junit", "{}/no/x"], "{}/no/x: there is no such file or folder; check the path"),
    ],
)
def test_a_file_that_cannot_be_used_is_2_and_named(
    tmp_path: Path, command: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    new_skill("tutor", tmp_path)

    assert main([word.format(tmp_path) for word in command]) == 2
    assert capsys.readouterr().err == f"error: {told.format(tmp_path)}\n"


def test_clean_skills_are_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_skill(tmp_path, "a", entry())
    make_skill(tmp_path, "b")

    assert main(["lint", "--strict", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "2 folders checked: 0 errors, 0 warnings\n"


def test_warnings_are_0_unless_strict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_skill(tmp_path, "tutor", entry(timing="before_each_agent", persistent=True))

    assert main(["lint", str(folder)]) == 0
    assert main(["lint", "--strict", str(folder)]) == 1
    assert capsys.readouterr().out.splitlines()[:2] == [
        f"{folder}/hooks/hooks.json:1 $.hooks[0].persistent: warning: the conversation grows by a copy a round",
        "1 folder checked: 0 errors, 1 warning",
    ]


def test_notes_are_printed_when_asked_for_and_0_also_when_strict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_skill(tmp_path, "tutor", entry(timing="before_each_agent"))
    note = f"{folder}/hooks/hooks.json:1 $.hooks[0].timing: info: before_each_agent never fires in a turn that needs no tools"
    summary = "1 folder checked: 0 errors, 0 warnings"

    assert main(["lint", "--strict", str(folder)]) == 0
    assert capsys.readouterr().out.splitlines() == [summary]
    assert main(["lint", "--strict", "--notes", str(folder)]) == 0
    assert capsys.readouterr().out.splitlines() == [note, summary]


def test_nothing_is_said_of_the_skills_that_come_along(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", str(PROJECT / "skills")]) == 0
    assert (
        capsys.readouterr().out
        == f"{len(list((PROJECT / 'skills').glob('*/')))} folders checked: 0 errors, 0 warnings\n"
    )


def test_a_place_without_a_path_in_it_ends_with_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_skill(tmp_path, "tutor", skill_md="")

    assert main(["lint", str(folder)]) == 1
    assert capsys.readouterr().out.splitlines()[0] == f"{folder}/SKILL.md: error: is empty"


def test_lint_speaks_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_skill(tmp_path, "tutor", entry(role="ä"))

    assert main(["lint", "--json", str(folder)]) == 1
    out = capsys.readouterr().out
    assert json.loads(out) == [
        {
            "severity": "error",
            "skill": "tutor",
            "file": "hooks/hooks.json",
            "path": "$.hooks[0].role",
            "message": 'expected system or user; got "ä"',
            "line": 1,
        }
    ]
    assert "ä" in out


def test_lint_names_the_line_of_a_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_skill(tmp_path, "tutor", skill_md="---\ndescription: x\nname: No. 5\n---\nBody\n\n---\n")
    entries = [entry(role="x"), entry("b", file=..., when={"all": [{}, {"user_txt": ["a"]}]})]
    write_hooks_json(folder, "\ufeff" + json.dumps({"hooks": entries}, indent="\t"))
    (folder / "hooks" / "hint.md").write_text("x")

    main(["lint", str(folder)])
    places = dict.fromkeys(line.split(": ")[0] for line in capsys.readouterr().out.splitlines()[:-1])
    text = (folder / "hooks" / "hooks.json").read_text().splitlines()
    entry_line, role_line = text.index("\t\t{", 3) + 1, text.index('\t\t\t"role": "x",') + 1
    mistake = next(number for number, line in enumerate(text, 1) if "user_txt" in line)

    assert list(places) == [
        f"{folder}/SKILL.md:3 $.name",
        f"{folder}/hooks/hooks.json:{role_line} $.hooks[0].role",
        f"{folder}/hooks/hooks.json:{entry_line} $.hooks[1].file",
        f"{folder}/hooks/hooks.json:{mistake} $.hooks[1].when.all[1].user_txt",
    ]


def test_a_mistake_has_no_line_where_hooks_json_is_no_yaml(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_skill(tmp_path, "tutor")
    write_hooks_json(folder, '{"hooks": [{"name": "a", "name": "b"}]}')

    main(["lint", str(folder)])
    assert f"{folder}/hooks/hooks.json $.hooks[0].file: error: missing" in capsys.readouterr().out


def test_new_makes_a_skill_and_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "tutor", "--dir", str(tmp_path)]) == 0
    folder = tmp_path / "tutor"
    assert capsys.readouterr().out == (
        f"{folder} is created: read {folder}/SKILL.md, then change {folder}/hooks/hint.md\n"
    )
    assert main(["lint", "--strict", str(folder)]) == 0

    assert main(["new", "tutor", "--dir", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"error: {folder} exists already\n"


def test_new_fills_in_what_it_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    filled = ["--tool", "read_file", "--tool", "files__*", "--text", "Quote it."]

    assert main(["new", "quoter", "--dir", str(tmp_path), *filled]) == 0
    [hook] = load_snapshot(tmp_path).hooks(None)
    assert (hook.timing, hook.content) == ("after_tool_call", "Quote it.")
    assert hook.when is not None
    assert json.loads(hook.when.source) == {"tool": ["read_file", "files__*"]}
    assert main(["lint", "--strict", str(tmp_path)]) == 0

    capsys.readouterr()
    assert main(["new", "other", "--dir", str(tmp_path), "--timing", "before_planning", *filled]) == 2
    assert capsys.readouterr().err == (
        "error: a tool counts for after_tool_call only: leave it out, or the timing before_planning\n"
    )
    assert main(["new", "other", "--dir", str(tmp_path), "--text", " "]) == 2
    assert capsys.readouterr().err == "error: the text and the names of tools must not be empty\n"
    assert not (tmp_path / "other").exists()


def test_new_puts_a_skill_beside_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(["new", "tutor"]) == 0
    assert capsys.readouterr().out.startswith("skills/tutor is created: ")


def test_simulate_plays_a_turn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_skill(tmp_path, "a", entry("x", timing="after_tool_call", tool_filter=["read_file"]))
    make_skill(tmp_path, "b", entry("y"))

    def titles(*arguments: str) -> tuple[list[str], int, int]:
        assert main(["simulate", *arguments]) == 0
        out = capsys.readouterr().out
        return [line for line in out.splitlines() if line.startswith("call")], out.count("a/x,"), out.count("b/y,")

    loop = ["call 1: planning", "call 2: round 1", "call 3: round 2"]
    assert titles(str(tmp_path)) == (loop, 1, 3)
    assert titles(str(tmp_path / "b")) == (loop, 0, 3)
    assert titles(str(tmp_path), "--round", "other") == (loop, 0, 3)
    assert titles(str(tmp_path), "--round", "x, read_file", "--round", "read_file") == (
        [*loop, "call 4: round 3"],
        2,
        4,
    )
    assert titles(str(tmp_path), "--no-need") == (loop[:1], 0, 1)
    assert titles(str(tmp_path), "--no-tools") == (["call 1: the only call: tools are off"], 0, 1)


def test_simulate_prints_costs_when_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_skill(tmp_path, "a", entry("x"))

    for option, line in (((), 0), (("--cost",), 1)):
        assert main(["simulate", str(tmp_path), "--no-tools", *option]) == 0
        assert capsys.readouterr().out.count("\n    a/x: 3 read anew, 0 from a cache\n") == line


def test_simulate_says_what_the_user_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", str(make_skill(tmp_path, "a", entry()))]) == 0
    assert "    user      (the user's message)\n" in capsys.readouterr().out
    assert main(["simulate", str(tmp_path / "a"), "--text", "Hello"]) == 0
    assert "    user      Hello\n" in capsys.readouterr().out


def test_simulate_takes_the_facts_that_conditions_ask_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = {
        "channel": "voice",
        "language": ["de"],
        "user": ["anna"],
        "model": ["local"],
        "skills": ["a"],
        "turn": 2,
        "time": {"from": "23:30", "to": "23:31"},
    }
    failed = {"tool": ["shop"], "tool_status": ["error"]}
    loud = entry("loud", timing="after_tool_call", when={"not": {"tool_status": ["refused"]}})
    make_skill(tmp_path, "a", entry("facts", when=facts), entry("failed", timing="after_tool_call", when=failed), loud)
    options = ["--channel=voice", "--language=de-CH", "--user=anna", "--model=local", "--time=2026-11-22T23:30"]
    play = ["simulate", str(tmp_path / "a"), *options, "--text", "Hi", "--text", "And now?"]

    assert main([*play, "--round", "shop=error"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("[a/facts,") == 3
    assert shown.count("[a/failed,") == 1
    assert "not fired" not in shown

    assert main([*play, "--round", "shop=error", "--time=sun 23:30"]) == 0
    assert capsys.readouterr().out.count("[a/facts,") == 3, "the forms of tests, by the local clock"

    assert main([*play, "--round", "shop=refused", "--language=fr"]) == 0
    assert capsys.readouterr().out.splitlines()[-3:] == [
        "not fired: a/facts (after_user_input): its condition does not hold: when.language",
        "not fired: a/failed (after_tool_call): its condition does not hold: when.tool_status",
        "not fired: a/loud (after_tool_call): its condition does not hold: when.not.tool_status",
    ]


@pytest.mark.parametrize("option", ["--round=shop=lost", "--time=noon", "--channel=radio"])
def test_simulate_refuses_facts_that_there_are_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    with pytest.raises(SystemExit):
        main(["simulate", str(make_skill(tmp_path, "a", entry())), option])

    assert f"argument {option.partition('=')[0]}" in capsys.readouterr().err


def test_simulate_says_what_of_a_skill_it_could_not_play(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_skill(tmp_path, "a", entry(timing="sometimes"), entry("b", persistent=True, timing="before_planning"))

    assert main(["simulate", str(folder)]) == 1
    told = capsys.readouterr()
    assert "a/b, before_planning" in told.out
    assert [line.partition(": ")[0] for line in told.err.splitlines()] == [
        f"{folder}/hooks/hooks.json:1 $.hooks[0].timing",
        f"{folder}/hooks/hooks.json:1 $.hooks[1].persistent",
    ]


def test_schema_prints_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert capsys.readouterr().out == schema_text()
