"""What authors trip over, and where."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from skill_tools.authoring.lint import is_skill_folder, lint, lint_skill
from skills_engine import TIMINGS, load_snapshot
from skills_engine.diagnostics import MAX_DIAGNOSTICS
from skills_engine.skills_config import LONG_FILE_BYTES
from skills_engine.skills_folder import MAX_SKILLS
from tests.skills_engine.folders import entry, make_skill, write_hooks_json

LOOP = ["before_first_agent", "before_each_agent", "after_tool_call"]


def found(folder: Path) -> list[tuple[str, str, str, str]]:
    diagnostics = lint_skill(folder)
    assert {one.skill for one in diagnostics} <= {folder.name}
    return [(one.severity, one.file, one.path, one.message) for one in diagnostics]


def hooks_found(folder: Path) -> list[tuple[str, str, str]]:
    assert all(file == "hooks/hooks.json" for _, file, _, _ in found(folder))
    return [(severity, path, message) for severity, _, path, message in found(folder)]


def test_a_sound_skill_has_nothing_to_say(tmp_path: Path) -> None:
    assert found(make_skill(tmp_path, "tutor", entry(), entry("b", timing="before_planning"))) == []


def test_a_skill_that_is_off_by_default_is_checked_too(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", skill_md="---\nname: tutor\ndescription: x\ndefault: off\n---\n!`a`")

    assert [message.split(",")[0] for *_, message in found(folder)] == ["holds !`a`"]


def test_the_loaders_diagnostics_come_first(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry(role="x"), skill_md="---\nname: tutor\ndescription: x\n---\n")

    assert found(folder) == [
        ("error", "hooks/hooks.json", "$.hooks[0].role", 'expected system or user; got "x"'),
        ("warning", "SKILL.md", "", "has no body: the model finds nothing when it reads the skill"),
    ]


def test_each_remark_names_the_skill_that_it_is_about(tmp_path: Path) -> None:
    hooks = [entry(timing, timing=timing, persistent=True) for timing in TIMINGS]
    folder = make_skill(tmp_path, "tutor", *hooks, skill_md="---\nname: tutor\ndescription: x\n---\n$ARGUMENTS")
    (folder / "hooks" / "orphan.md").write_text("x")

    assert {(one.skill, one.file) for one in lint_skill(folder)} == {
        ("tutor", "SKILL.md"),
        ("tutor", "hooks/hooks.json"),
        ("tutor", "hooks/orphan.md"),
    }


def test_what_the_loader_has_said_of_a_file_is_said_once(tmp_path: Path) -> None:
    skill_md = b"---\nname: tutor\ndescription: x\n---\n\xff" + b"x" * LONG_FILE_BYTES
    folder = make_skill(tmp_path, "tutor", skill_md=skill_md)

    assert len(found(folder)) == 2


@pytest.mark.parametrize("timing", LOOP)
def test_loop_hooks_never_fire_without_tools(tmp_path: Path, timing: str) -> None:
    folder = make_skill(tmp_path, "tutor", entry("a"), entry("b", timing=timing))

    message = f"{timing} never fires in a turn that needs no tools"
    assert hooks_found(folder) == [("info", "$.hooks[1].timing", message)]


@pytest.mark.parametrize(
    ("timing", "severity", "message"),
    [
        ("after_user_input", "info", "the conversation grows by a copy a turn"),
        (
            "before_planning",
            "warning",
            "a persistent before_planning hook stays visible to the agent loop; the conversation grows by a copy a turn",
        ),
        ("before_first_agent", "info", "the conversation grows by a copy for each turn that uses tools"),
        ("before_each_agent", "warning", "the conversation grows by a copy a round"),
        ("after_tool_call", "info", "the conversation grows by a copy for each tool call"),
    ],
)
def test_what_a_persistent_hook_costs_is_said(tmp_path: Path, timing: str, severity: str, message: str) -> None:
    folder = make_skill(tmp_path, "tutor", entry(timing=timing, persistent=True))

    assert hooks_found(folder)[-1] == (severity, "$.hooks[0].persistent", message)
    assert len(hooks_found(folder)) == (2 if timing in LOOP else 1)


def test_every_timing_has_its_growth(tmp_path: Path) -> None:
    hooks = [entry(timing, timing=timing, persistent=True) for timing in TIMINGS]

    assert len(hooks_found(make_skill(tmp_path, "tutor", *hooks))) == 5 + 3


@pytest.mark.rule("L1-02")
def test_an_empty_tool_filter_is_an_error(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry(timing="after_tool_call", tool_filter=[]))

    message = "an empty tool_filter never fires; name the tools, or leave the key out for every tool"
    assert hooks_found(folder)[0] == ("error", "$.hooks[0].tool_filter", message)


@pytest.mark.rule("L1-02")
@pytest.mark.parametrize(
    ("name", "is_said"),
    [("read_file, search_text", True), ("a b", True), ("read_*", False), ("files__?", False), ("a.b-c", False)],
)
def test_several_names_in_one_string_of_a_tool_filter_are_reported(tmp_path: Path, name: str, is_said: bool) -> None:
    folder = make_skill(tmp_path, "tutor", entry(timing="after_tool_call", tool_filter=[name]))

    message = f"{name} matches no tool: write each name as a string of its own"
    assert (("warning", "$.hooks[0].tool_filter", message) in hooks_found(folder)) is is_said


@pytest.mark.parametrize(("length", "is_said"), [(2000, False), (2001, True)])
def test_a_long_text_is_said(tmp_path: Path, length: int, is_said: bool) -> None:
    folder = make_skill(tmp_path, "tutor", entry())
    (folder / "hooks" / "hint.md").write_text("x" * length)

    message = f"hint.md has {length} characters, which every model call after it reads again"
    assert hooks_found(folder) == ([("warning", "$.hooks[0].file", message)] if is_said else [])


@pytest.mark.parametrize(
    ("text", "shown", "meaning"),
    [
        ("Run !`date -u` now", "!`date -u`", "no command is run"),
        ("See ${CLAUDE_SKILL_DIR}/x", "${CLAUDE_SKILL_DIR}", "nothing is filled in"),
        ("Do $ARGUMENTS", "$ARGUMENTS", "nothing is filled in"),
        ("It costs $1, `date`, !``, $ARGUMENTSX or ${HOME}", None, ""),
        ("!`not\nclosed`", None, ""),
    ],
)
def test_what_other_products_would_fill_in_stays_as_it_is(
    tmp_path: Path, text: str, shown: str | None, meaning: str
) -> None:
    skill_md = "---\nname: tutor\ndescription: x\n---\n" + text
    folder = make_skill(tmp_path, "tutor", entry(), skill_md=skill_md)
    (folder / "hooks" / "hint.md").write_text(text)

    message = f"holds {shown}, which is kept as text: {meaning}"
    expected = [
        ("warning", "SKILL.md", "", message),
        ("warning", "hooks/hooks.json", "$.hooks[0].file", f"hint.md {message}"),
    ]
    assert found(folder) == (expected if shown else [])


def test_several_things_left_literal_are_each_said(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", skill_md="---\nname: tutor\ndescription: x\n---\n!`a` !`b` $ARGUMENTS")

    assert [message.split(",")[0] for *_, message in found(folder)] == ["holds !`a`", "holds $ARGUMENTS"]


@pytest.mark.parametrize(("lines", "is_said"), [(500, False), (501, True)])
def test_a_long_body_is_said(tmp_path: Path, lines: int, is_said: bool) -> None:
    body = "\r\n".join(["x"] * lines)
    folder = make_skill(tmp_path, "tutor", skill_md=f"---\nname: tutor\ndescription: x\n---\n{body}")

    message = f"has {lines} lines: move details into files that the model reads on demand"
    assert found(folder) == ([("info", "SKILL.md", "", message)] if is_said else [])


def test_a_text_that_no_hook_names_is_said(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry(), entry("b", file="more/b.md"))
    (folder / "hooks" / "more").mkdir()
    for name in ("more/b.md", "more/c.md", "a.md", "notes.txt"):
        (folder / "hooks" / name).write_text("x")

    message = "no hook in hooks.json names this file"
    assert found(folder) == [
        ("warning", "hooks/a.md", "", message),
        ("warning", "hooks/b.md", "", message),
        ("warning", "hooks/more/c.md", "", message),
    ]


def test_texts_without_hooks_json_are_said(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor")
    (folder / "hooks").mkdir()
    (folder / "hooks" / "a.md").write_text("x")

    assert [(severity, file) for severity, file, *_ in found(folder)] == [("warning", "hooks/a.md")]


def test_a_hooks_json_beside_skill_md_is_an_error_and_its_texts_are_no_orphans(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry())
    (folder / "hooks" / "hooks.json").rename(folder / "hooks.json")

    assert found(folder) == [("error", "hooks.json", "", "is not read here: move it to hooks/hooks.json")]


def test_a_hooks_json_in_a_folder_of_another_name_is_an_error(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry())
    (folder / "hooks").rename(folder / "hook")
    (folder / "more").mkdir()
    (folder / "more" / "hooks.json").write_text("{}")

    assert found(folder) == [("error", "hook/hooks.json", "", "is not read here: move it to hooks/hooks.json")]


def test_the_empty_text_of_a_hook_is_no_orphan(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry())
    (folder / "hooks" / "hint.md").write_text("")

    assert [(severity, path) for severity, _, path, _ in found(folder)] == [("error", "$.hooks[0].file")]


def test_a_hooks_json_in_both_places_is_fine(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry())
    (folder / "hooks.json").write_text("{}")

    assert found(folder) == []


def test_a_broken_hooks_json_does_not_orphan_its_texts(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry())
    write_hooks_json(folder, "{")

    assert len(found(folder)) == 1


def test_an_unreadable_skill_md_is_said_once(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry(), skill_md=None)
    (folder / "SKILL.md").mkdir()

    assert found(folder) == [("error", "SKILL.md", "", "is not a regular file")]


def test_a_folder_that_is_no_skill_is_said(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()

    assert found(tmp_path / "notes") == [("info", "", "", "is not a skill: it has neither SKILL.md nor hooks")]


def make_hooks_folder(folder: Path) -> None:
    (folder / "hooks").mkdir(parents=True)


@pytest.mark.parametrize(
    ("prepare", "is_skill"),
    [
        (lambda folder: make_skill(folder.parent, folder.name), True),
        (lambda folder: make_skill(folder.parent, folder.name, skill_md=None), False),
        (make_hooks_folder, True),
        (lambda folder: make_skill(folder, "tutor"), False),
    ],
)
def test_one_skill_is_told_from_a_folder_of_skills(tmp_path: Path, prepare: Any, is_skill: bool) -> None:
    prepare(tmp_path / "x")

    assert is_skill_folder(tmp_path / "x") is is_skill


def test_a_folder_of_skills_is_checked_skill_by_skill(tmp_path: Path) -> None:
    make_skill(tmp_path, "b", entry(timing="before_first_agent"))
    make_skill(tmp_path, "a")

    assert {folder.name: len(found) for folder, found in lint(tmp_path).items()} == {"a": 0, "b": 1}
    assert {folder.name: len(found) for folder, found in lint(tmp_path / "b").items()} == {"b": 1}


def test_what_is_wrong_with_a_folder_of_skills_is_said_of_it(tmp_path: Path) -> None:
    for number in range(MAX_SKILLS + 1):
        (tmp_path / str(number)).mkdir()

    assert [(one.severity, one.file) for one in lint(tmp_path)[tmp_path]] == [("error", str(tmp_path))]


def test_a_relative_path_is_said_as_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_skill(tmp_path, "tutor", entry(role="x"))
    monkeypatch.chdir(tmp_path / "tutor")

    assert [(str(folder), [one.skill for one in found]) for folder, found in lint(Path()).items()] == [(".", ["tutor"])]
    assert list(lint(Path(".."))) == [Path("../tutor")]


def test_mistakes_of_tests_are_reported_and_a_test_that_cannot_fail(tmp_path: Path) -> None:
    tests = make_skill(tmp_path, "a", entry()) / "tests"
    tests.mkdir()
    (tests / "a.yaml").write_text("tests:\n  - {name: idle, user: x}\n  - {name: wrong, usr: x}\n")

    assert found(tmp_path / "a") == [
        ("error", "tests/a.yaml", "$.tests[1].usr", "line 3: unknown key (did you mean user?)"),
        (
            "warning",
            "tests/a.yaml",
            "",
            "line 2: the test “idle” expects nothing, so it cannot fail: say what fires, is silent or is read",
        ),
    ]


COUNTED = """
import sys
from skills_engine.__main__ import main
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
main(["lint", sys.argv[1]])
print(sum(name.endswith("hooks.json") for name in opened))
"""


@pytest.mark.slow
@pytest.mark.parametrize("path", ["", "tutor"])
def test_hooks_json_is_read_once(tmp_path: Path, path: str) -> None:
    make_skill(tmp_path, "tutor", entry(group="tone"), entry("b", group="tone"))

    run = subprocess.run(
        [sys.executable, "-c", COUNTED, tmp_path / path],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )

    assert run.stdout.splitlines() == ["1 folder checked: 0 errors, 0 warnings", "1"]


def test_thousands_of_mistakes_are_counted_and_a_hundred_lines_long(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "books", entry("good"))
    write_hooks_json(folder, {"hooks": [entry("good"), *[{}] * 1000]})

    found = [one for one in lint_skill(folder) if one.severity == "error"]

    assert len(found) == MAX_DIAGNOSTICS
    assert (found[-2].path, found[-1].message) == ("$.hooks[99].file", "and 901 more")
    assert [hook.name for hook in load_snapshot(tmp_path).hooks(None)] == ["good"]


def test_what_is_left_out_is_as_severe_as_the_worst_of_it(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "books", *[entry(f"h{n}", remark="a") for n in range(MAX_DIAGNOSTICS + 1)], {})

    found = [one for one in lint_skill(folder) if one.severity != "info"]

    assert {one.severity for one in found[:-1]} == {"warning"}
    assert (found[-1].severity, found[-1].message, len(found)) == ("error", "and 3 more", MAX_DIAGNOSTICS)
