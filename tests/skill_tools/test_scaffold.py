"""A new skill works at once."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from skill_tools.authoring.lint import lint
from skill_tools.authoring.scaffold import SCHEMA_FILE, new_skill, write_trace_test
from skill_tools.sharing.bundle import SharingError
from skill_tools.testing.tests_files import MAX_FILE_BYTES, read_tests
from skill_tools.testing.tests_format import ExpectSpec
from skill_tools.testing.tests_runner import SkillTestRunner
from skills_engine import TIMINGS, Timing, load_snapshot
from skills_engine.hooks_config import HooksFile, read_hooks
from skills_engine.trigger_entries import TRIGGER_EVENTS, TriggerEvent
from tests.skills_engine.folders import entry, make_skill


def test_a_new_skill_loads_with_its_hook_and_lint_is_content(tmp_path: Path) -> None:
    folder = new_skill("word-of-the-day", tmp_path / "not" / "yet")

    assert folder == tmp_path / "not" / "yet" / "word-of-the-day"
    snapshot = load_snapshot(folder.parent)
    assert snapshot.diagnostics == ()
    assert [(skill.name, skill.title, skill.listed) for skill in snapshot.skills] == [
        ("word-of-the-day", "word-of-the-day", True)
    ]
    assert [(hook.name, hook.timing, hook.content) for hook in snapshot.hooks(None)] == [
        ("hint", "after_user_input", "Answer the question first, then explain if it helps.")
    ]
    assert lint(folder.parent) == {folder: []}
    assert [entry.name for entry in folder.parent.iterdir()] == ["word-of-the-day"]


def test_its_page_says_how_to_go_on(tmp_path: Path) -> None:
    folder = new_skill("word-of-the-day", tmp_path)

    page = (folder / "SKILL.md").read_text()
    assert "# Word of the day\n" in page
    assert f"python -m skills_engine lint {tmp_path.name}/word-of-the-day\n" in page
    assert f"python -m skills_engine simulate {tmp_path.name}/word-of-the-day\n" in page
    assert f"python -m skills_engine test {tmp_path.name}/word-of-the-day -->" in page


def test_its_files_do_not_say_where_the_folder_of_skills_is(tmp_path: Path) -> None:
    folder = new_skill("word-of-the-day", tmp_path)

    for file in folder.rglob("*.*"):
        assert str(tmp_path) not in file.read_text()


def test_its_page_names_a_relative_place_in_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    page = new_skill("tutor", Path("my/own/skills")) / "SKILL.md"
    assert "python -m skills_engine lint my/own/skills/tutor\n" in page.read_text()


TESTS_YAML = """\
# Run them: python -m skills_engine test {path}
tests:
  - name: the model reads the text
    user: Hello
    script:
      - need_tools: Let me look.
      - calls: [{{tool: "{tool}", result: found}}]
      - answer: Hello!
    expect:
      fires: [hint]

  - name: the model does not read the text in a turn without tools
    user: Hello
    script:
      - answer: Hello!
    expect:
      silent: [hint]
"""


@pytest.mark.parametrize(
    ("tools", "called"),
    [([], "read_file"), (["files__*"], "files__x"), (["[ab]c", "read_fil?"], "read_filx"), (["[ab]c"], "[ab]c")],
)
def test_its_tests_call_a_tool_that_fits(tmp_path: Path, tools: list[str], called: str) -> None:
    folder = new_skill("tutor", tmp_path, timing="after_tool_call", tools=tools)

    text = (folder / "tests" / "hint.yaml").read_text()
    assert text.endswith(TESTS_YAML.format(path=f"{tmp_path.name}/tutor", tool=called))


def test_its_tests_need_no_tools_where_its_hook_needs_none(tmp_path: Path) -> None:
    folder = new_skill("tutor", tmp_path)

    assert "    script:\n      - answer: Hello!\n" in (folder / "tests" / "hint.yaml").read_text()


@pytest.mark.parametrize(
    ("timing", "tools", "outcomes"),
    [
        *((timing, (), ["passed"]) for timing in TIMINGS[:2]),
        *((timing, (), ["passed", "passed"]) for timing in TIMINGS[2:]),
        ("after_tool_call", ("files__*",), ["passed", "passed"]),
        ("after_tool_call", ("[ab]c", "read_fil?"), ["passed", "passed"]),
    ],
)
def test_its_tests_pass_and_fail_once_its_hook_is_gone(
    tmp_path: Path, timing: Timing, tools: tuple[str, ...], outcomes: list[str]
) -> None:
    folder = new_skill("tutor", tmp_path, timing=timing, tools=tools)

    found = read_tests(folder)
    assert found.diagnostics == ()
    file = read_hooks(folder)
    assert [result.outcome for result in SkillTestRunner({"tutor": file}).run(found.tests)] == outcomes
    deaf = (replace(hook, timing="after_tool_call", tool_filter=frozenset({"no_such_tool"})) for hook in file.hooks)
    assert SkillTestRunner({"tutor": replace(file, hooks=tuple(deaf))}).run(found.tests)[0].outcome == "failed"


@pytest.mark.parametrize("event", TRIGGER_EVENTS)
def test_a_new_skill_that_speaks_first_has_a_trigger_and_its_test(tmp_path: Path, event: TriggerEvent) -> None:
    folder = new_skill("tutor", tmp_path, trigger=event, text="Say hello.")

    [trigger] = load_snapshot(tmp_path).triggers(None)
    assert (trigger.on, trigger.content) == (event, "Say hello.")
    assert lint(tmp_path) == {folder: []}
    assert "simulate " + f"{tmp_path.name}/tutor --trigger hint\n" in (folder / "SKILL.md").read_text()
    runs = [
        SkillTestRunner({"tutor": file}).run(read_tests(folder).tests) for file in (read_hooks(folder), HooksFile())
    ]
    assert [result.outcome for results in runs for result in results] == ["passed", "error"]
    with pytest.raises(SharingError) as raised:
        new_skill("other", tmp_path, trigger=event, tools=["read_file"])
    assert str(raised.value) == "a trigger has no timing and no tools: leave them out, or the trigger"


def test_its_description_may_be_written_over_with_any_sentence(tmp_path: Path) -> None:
    page = new_skill("tutor", tmp_path) / "SKILL.md"
    page.write_text(page.read_text().replace('description: "Tutor."', 'description: "Greets: it says #1."'))

    snapshot = load_snapshot(tmp_path)
    assert snapshot.diagnostics == ()
    assert [skill.description for skill in snapshot.skills] == ["Greets: it says #1."]


@pytest.mark.parametrize("timing", TIMINGS)
def test_its_text_is_read_at_the_timing_asked_for(tmp_path: Path, timing: Timing) -> None:
    new_skill("tutor", tmp_path, timing=timing, text="\nUse {braces} and\ntwo lines.\n")

    snapshot = load_snapshot(tmp_path)
    assert snapshot.diagnostics == ()
    assert [(hook.timing, hook.content) for hook in snapshot.hooks(None)] == [(timing, "Use {braces} and\ntwo lines.")]
    assert (tmp_path / "tutor" / "SKILL.md").read_text().endswith("-->\n\nUse {braces} and\ntwo lines.\n")


def test_its_hooks_json_points_an_editor_to_the_schema(tmp_path: Path) -> None:
    folder = new_skill("tutor", tmp_path)

    document = json.loads((folder / "hooks" / "hooks.json").read_text())
    assert (folder / "hooks" / document["$schema"]).resolve() == SCHEMA_FILE


def test_its_hooks_json_is_laid_out_for_people(tmp_path: Path) -> None:
    text = (new_skill("tutor", tmp_path) / "hooks" / "hooks.json").read_text()

    assert text == json.dumps(json.loads(text), indent=2) + "\n"


def test_what_an_attempt_before_left_is_no_trouble(tmp_path: Path) -> None:
    for left in ("hooks", "tests"):
        (tmp_path / ".tutor.draft" / left).mkdir(parents=True)

    assert load_snapshot(new_skill("tutor", tmp_path).parent).diagnostics == ()
    assert [entry.name for entry in tmp_path.iterdir()] == ["tutor"]


@pytest.mark.parametrize("name", ["", "..", "a/b", "Tutor", "-a", "a-", "a--b", "a b", "ä", "a" * 65, "shared"])
def test_an_odd_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(SharingError) as raised:
        new_skill(name, tmp_path / "skills")

    cure = "use lower-case letters, digits and single hyphens, up to 64, and not `shared`"
    assert str(raised.value) == f"{name!r} is not a skill name: {cure}"
    assert list(tmp_path.iterdir()) == []


def test_a_link_that_leads_nowhere_is_there_already(tmp_path: Path) -> None:
    (tmp_path / "calm").symlink_to(tmp_path / "gone")

    with pytest.raises(SharingError, match=r"calm exists already$"):
        new_skill("calm", tmp_path)


def test_what_is_there_is_left_alone(tmp_path: Path) -> None:
    folder = new_skill("a" * 64, tmp_path)
    (folder / "SKILL.md").write_text("mine")

    with pytest.raises(SharingError) as raised:
        new_skill("a" * 64, tmp_path)

    assert str(raised.value) == f"{folder} exists already"
    assert (folder / "SKILL.md").read_text() == "mine"


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")

    with pytest.raises(SharingError) as raised:
        new_skill("tutor", tmp_path / "file" / "skills")

    assert str(raised.value) == f"{tmp_path}/file/skills/tutor cannot be created: Not a directory"


def exported(**changed: object) -> dict[str, object]:
    """Return a turn as the inspector exports it; of two skills, with a call that failed."""
    test = {
        "history": [{"user": "hi"}],
        "user": "Hello: a “test” # of\nquotes",
        "channel": "voice",
        "language": None,
        "time": "2026-11-22 14:05+01:00",
        "skills": ["tutor"],
        "tools": ["t"],
        "context": {"plan": "pro"},
        "script": [{"calls": [{"tool": "t", "arguments": {"a": "yes"}, "error": "no"}]}],
        "expect": {"fires": ["tutor/hint"]},
    }
    variables = {"tutor": {"score": 3}, "other": {"x": 1}}
    return {"format": "parley-turn", "version": 1, "test": {**test, **changed}, "variables": variables}


def test_an_exported_turn_becomes_a_test_of_the_skill(tmp_path: Path) -> None:
    folder = new_skill("tutor", tmp_path)
    entries = json.loads((folder / "hooks" / "hooks.json").read_text())
    (folder / "hooks" / "hooks.json").write_text(json.dumps({**entries, "variables": {"score": 0}}))
    file = tmp_path / "turn.json"
    file.write_text(json.dumps(exported()))

    assert write_trace_test(file, folder) == folder / "tests" / "turn.yaml"
    found = read_tests(folder)
    assert found.diagnostics == ()
    [test] = [one for one in found.tests if one.file == "tests/turn.yaml"]
    assert (test.spec.user, test.spec.variables) == ("Hello: a “test” # of\nquotes", {"score": 3})
    assert (test.spec.context, test.spec.channel, test.spec.language) == ({"plan": "pro"}, "voice", None)
    assert SkillTestRunner({"tutor": read_hooks(folder)}).run([test])[0].outcome == "passed"
    with pytest.raises(SharingError, match="exists already"):
        write_trace_test(file, folder)


def test_an_exported_turn_expects_nothing_of_other_skills(tmp_path: Path) -> None:
    folder, file = new_skill("tutor", tmp_path), tmp_path / "turn.json"
    make_skill(tmp_path, "other", entry("each"))
    expect = {"fires": ["other/each", "tutor/hint"], "variables": {"other/x": 2}}
    turn = exported(skills=["other", "tutor"], expect=expect) | {"variables": {"other": {"x": 1}}}
    file.write_text(json.dumps(turn))
    write_trace_test(file, folder)

    hooks = {"tutor": read_hooks(folder), "other": read_hooks(tmp_path / "other")}
    [test] = [one for one in read_tests(folder).tests if one.file == "tests/turn.yaml"]
    assert (test.spec.skills, test.spec.expect) == (None, ExpectSpec(fires=["tutor/hint"]))
    assert SkillTestRunner(hooks).run([test])[0].outcome == "passed"


@pytest.mark.parametrize(("link", "target"), [("tests/turn.yaml", "missing.yaml"), ("tests", "elsewhere")])
def test_an_exported_turn_is_not_written_through_a_link(tmp_path: Path, link: str, target: str) -> None:
    folder, file = new_skill("tutor", tmp_path), tmp_path / "turn.json"
    file.write_text(json.dumps(exported()))
    (tmp_path / "elsewhere").mkdir()
    if link == "tests":
        (folder / "tests").rename(tmp_path / "before")
    (folder / link).symlink_to(tmp_path / target)

    with pytest.raises(SharingError, match="leads out of"):
        write_trace_test(file, folder)
    assert not (tmp_path / "missing.yaml").exists()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_an_exported_turn_that_makes_a_wrong_test_is_not_written(tmp_path: Path) -> None:
    folder, file = new_skill("tutor", tmp_path), tmp_path / "turn.json"
    file.write_text(json.dumps(exported(time="never")))

    with pytest.raises(SharingError, match=r"becomes no test: .*time line \d+: expected a time such as"):
        write_trace_test(file, folder)
    assert not (folder / "tests" / "turn.yaml").exists()


def test_tools_that_were_off_are_off_in_the_test(tmp_path: Path) -> None:
    folder, file = new_skill("tutor", tmp_path), tmp_path / "turn.json"
    file.write_text(json.dumps(exported(tools=[], script=[], expect={"fires": []})))
    write_trace_test(file, folder)

    test = read_tests(folder).tests[-1].spec
    assert (test.tools, test.script, test.expect and test.expect.fires) == ([], None, [])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is no turn that the inspector has exported"),
        (json.dumps({"format": "parley-conversation"}), "is no turn that the inspector has exported"),
        (json.dumps(exported(usr="x")), "unknown field `usr`"),
        ("[" * 100_000, "is no turn that the inspector has exported"),
        (json.dumps(exported(user=None)), "no message of the user began the turn"),
        (json.dumps(exported(user="x" * MAX_FILE_BYTES)), "is too long|is no turn"),
    ],
)
def test_what_is_no_exported_turn_writes_nothing(tmp_path: Path, content: str, message: str) -> None:
    folder, file = new_skill("tutor", tmp_path), tmp_path / "turn.json"
    file.write_text(content)

    with pytest.raises(SharingError, match=message):
        write_trace_test(file, folder)
    assert not (folder / "tests" / "turn.yaml").exists()


def test_a_folder_of_many_skills_gets_no_test(tmp_path: Path) -> None:
    new_skill("tutor", tmp_path)

    with pytest.raises(SharingError, match="is no skill"):
        write_trace_test(tmp_path / "turn.json", tmp_path)
