"""add, list, update, remove and pack, as they are run."""

import io
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from skill_tools.authoring.lint import LONG_HOOK_CHARS
from skill_tools.sharing.bundle import SkillBundle
from skill_tools.sharing.install import MAX_DIFF_LINES, difference
from skill_tools.sharing.share_command import MAX_SHOWN_FILES
from skills_engine import load_snapshot
from skills_engine.__main__ import main
from skills_engine.diagnostics import MAX_NAMED
from tests.skill_tools.repositories import commit, make_repository
from tests.skills_engine.folders import entry, make_skill, write_hooks


class Shelf:
    """A source with a skill `calm`, the folder it is added to, and the commands between them."""

    def __init__(self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.source = make_skill(tmp_path / "source", "calm", entry(timing="after_tool_call", tool_filter=["shop__*"]))
        self.root = tmp_path / "parley" / "skills"  # made when it is needed
        self._capsys, self._monkeypatch = capsys, monkeypatch

    def run(self, *arguments: object, answer: str = "") -> tuple[int, str]:
        """Return the status, and what was printed on both channels."""
        self._monkeypatch.setattr(sys, "stdin", io.StringIO(answer))
        command, *rest = map(str, arguments)
        status = main([command, *rest, *([] if command == "pack" else ["--dir", str(self.root)])])
        told = self._capsys.readouterr()
        return status, told.out + told.err

    @property
    def lock(self) -> dict[str, dict[str, str]]:
        document = json.loads((self.root / "skills.lock").read_text())
        assert document["version"] == 1
        return dict(document["skills"])

    def here(self) -> list[str]:
        return sorted(path.name for path in self.root.iterdir()) if self.root.exists() else []


@pytest.fixture
def shelf(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shelf:
    return Shelf(tmp_path, capsys, monkeypatch)


@pytest.mark.parametrize("command", ["add", "update"])
def test_an_insecure_source_needs_a_flag(shelf: Shelf, command: str) -> None:
    url = "http://127.0.0.1:9/calm.git"
    shelf.run("add", shelf.source, "--yes")
    lock = shelf.root / "skills.lock"
    lock.write_text(lock.read_text().replace(str(shelf.source), url))
    arguments = ["add", url, "--name", "other"] if command == "add" else ["update", "calm"]

    assert "--insecure" in shelf.run(*arguments)[1]
    assert "git cannot read" in shelf.run(*arguments, "--insecure")[1]


# -- add -------------------------------------------------------------------------------------------------------------


def test_add_shows_what_comes_in_and_asks(shelf: Shelf, tmp_path: Path) -> None:
    page = "---\nname: calm\ndescription: Calm.\ndefault: off\nallowed-tools: search_text\n---\nThe body.\n"
    late = entry("late", timing="after_tool_call", tool_filter=["shop__*", "pay"])
    followed = {"any": [{"tool": ["current_time"]}], "user_text": ["x"]}
    rare = entry("rare", timing="before_each_agent", when=followed, requires_tools=["read_file"])
    source = make_skill(tmp_path, "calm", late, rare, entry("always", persistent=True), skill_md=page)
    hooks = source / "hooks" / "hooks.json"
    greet = {"name": "greet", "file": "always.md", "on": "connect"}
    hooks.write_text(json.dumps(json.loads(hooks.read_text()) | {"triggers": [greet]}))
    for name in ("run.sh", "hooks/lost.md", ".env", ".hidden"):
        (source / name).write_text("x")
    (source / "run.sh").chmod(0o755)
    size = sum(path.stat().st_size for path in source.rglob("[!.]*") if path.is_file())

    status, told = shelf.run("add", source, answer="n\n")

    assert (status, shelf.here()) == (1, [])
    assert told.splitlines() == [
        f"calm, from {source}",
        f"files: 7, {size} bytes",
        "  SKILL.md",
        "  hooks/always.md",
        "  hooks/hooks.json",
        "  hooks/late.md",
        "  hooks/lost.md",
        "  hooks/rare.md",
        "  run.sh (a program; Parley does not run it)",
        "left out: .env, .hidden",
        "hooks: 3",
        "  late: after_tool_call, system, tool_filter",
        "    | Text of late.",
        "  rare: before_each_agent, system, when, requires_tools",
        "    | Text of rare.",
        "  always: after_user_input, system, persistent",
        "    | Text of always.",
        "speaks first: greet: connect",
        "    | Text of always.",
        "tools it names: search_text, pay, shop__*, current_time, read_file",
        "tests: none",
        "warning: calm/hooks/lost.md: no hook in hooks.json names this file",
        f"Add it as {shelf.root}/calm? [y/N] not added",
    ]


def test_add_shows_that_a_skill_has_no_hooks_and_asks_for_no_tools(shelf: Shelf, tmp_path: Path) -> None:
    source = make_skill(tmp_path, "bare", skill_md="---\nname: bare\ndescription: Bare.\n---\nThe body.\n")

    assert shelf.run("add", source, "--yes")[1].splitlines() == [
        f"bare, from {source}",
        "files: 1, 48 bytes",
        "  SKILL.md",
        "hooks: none",
        "tools it names: none",
        "tests: none",
        f"added: {shelf.root}/bare",
    ]


def test_what_is_added_is_whole_in_force_and_pinned(shelf: Shelf) -> None:
    for name in ("run.sh", "references/more/a.md"):
        (shelf.source / name).parent.mkdir(parents=True, exist_ok=True)
        (shelf.source / name).write_text("x")
    (shelf.source / "run.sh").chmod(0o755)
    (shelf.root / ".calm.draft" / "of one that was stopped").mkdir(parents=True)
    assert shelf.run("add", shelf.source, answer="y\n")[0] == 0

    assert shelf.here() == ["calm", "skills.lock"]
    assert not (shelf.root / "calm" / "of one that was stopped").exists()
    assert (shelf.root / "calm" / "run.sh").stat().st_mode & 0o111 == 0o111
    assert (shelf.root / "calm" / "references" / "more" / "a.md").read_text() == "x"
    assert [hook.content for hook in load_snapshot(shelf.root).hooks(None)] == ["Text of hint."]
    assert shelf.lock["calm"].keys() == {"source", "hash"}
    assert shelf.lock["calm"]["source"] == str(shelf.source)
    assert shelf.run("list") == (0, f"calm: as added, from {shelf.source}\n")


def test_a_commit_of_git_is_pinned(shelf: Shelf) -> None:
    url = make_repository(shelf.source.parent).as_uri()

    status, told = shelf.run("add", f"{url}#calm", "--yes")

    assert (status, shelf.lock["calm"]["source"]) == (0, f"{url}#calm")
    pinned = shelf.lock["calm"]["commit"]
    assert len(pinned) == 40
    assert told.startswith(f"calm, from {url}#calm, commit {pinned}\n")
    assert shelf.run("list")[1] == f"calm: as added, from {url}#calm at {pinned[:12]}\n"


def test_without_anybody_to_ask_nothing_is_added(shelf: Shelf) -> None:
    status, told = shelf.run("add", shelf.source)

    assert (status, shelf.here()) == (2, [])
    assert told.endswith("error: this is no terminal, so nothing can be asked: repeat the command with --yes\n")


def test_a_name_that_is_taken_is_refused_and_another_can_be_chosen(shelf: Shelf) -> None:
    make_skill(shelf.root, "calm")

    status, told = shelf.run("add", shelf.source, "--yes")
    assert (status, told) == (
        2,
        "error: calm exists already: update or remove it, or choose another name with --name\n",
    )
    assert shelf.run("add", shelf.source, "--yes", "--name", "calmer")[0] == 0
    assert shelf.here() == ["calm", "calmer", "skills.lock"]


@pytest.mark.parametrize("name", ["..", "a/b", ".hidden", "", "skills.lock", "Skills.Lock", "shared"])
def test_a_name_that_is_no_segment_is_refused(shelf: Shelf, name: str) -> None:
    status, told = shelf.run("add", shelf.source, "--yes", "--name", name)

    assert (status, told) == (2, f"error: {name!r} is no name for a skill: choose another with --name\n")
    assert shelf.here() == []


def test_a_long_list_of_files_is_cut(shelf: Shelf) -> None:
    for number in range(MAX_SHOWN_FILES - 3):
        (shelf.source / f"{number}.md").touch()
    assert " more" not in shelf.run("add", shelf.source, answer="n\n")[1]
    for number in range(3):
        (shelf.source / f"{number}.txt").touch()

    lines = shelf.run("add", shelf.source, "--yes")[1].splitlines()

    assert lines[1].startswith(f"files: {MAX_SHOWN_FILES + 3}, ")
    assert lines[2 + MAX_SHOWN_FILES] == "  … and 3 more"


def test_hidden_folders_are_named_once_and_of_many_hidden_files_some(shelf: Shelf) -> None:
    (shelf.source / ".git").mkdir()
    (shelf.source / "hooks" / ".venv" / "lib").mkdir(parents=True)
    for number in range(MAX_NAMED):
        (shelf.source / "hooks" / ".venv" / "lib" / f"{number}.py").touch()
        (shelf.source / f".x{number:02}").touch()

    [line] = [line for line in shelf.run("add", shelf.source, "--yes")[1].splitlines() if "left out" in line]

    names = [".git", *(f".x{number:02}" for number in range(MAX_NAMED - 1))]
    assert line == f"left out: {', '.join(names)} and 2 more"


def test_the_text_of_a_hook_is_shown_and_cannot_pass_for_a_line_of_the_command(shelf: Shelf) -> None:
    text = "Be calm.\n\nhooks: none\r\u2028added: no\n" + "x" * LONG_HOOK_CHARS
    (shelf.source / "hooks" / "hint.md").write_text(text)

    lines = shelf.run("add", shelf.source, "--yes")[1].splitlines()

    at = lines.index("    | Be calm.")
    assert [line.startswith("    | ") for line in lines[at:]].index(False) == 5
    assert lines[at + 2] == "    | hooks: none\\r\\u2028added: no"
    assert lines[at + 4] == f"    | … and {len(text) - LONG_HOOK_CHARS} more characters"


@pytest.mark.parametrize(
    ("keys", "moment"),
    [
        ({}, "after_user_input, system"),
        ({"group": "tone", "priority": 3}, 'after_user_input, system, priority 3, group "tone"'),
        ({"enabled": False, "vars": True}, "after_user_input, system, enabled false, vars true"),
        ({"when": {"channel": "voice"}, "once": "turn"}, 'after_user_input, system, when, once "turn"'),
    ],
)
def test_add_names_what_a_hook_depends_on(shelf: Shelf, tmp_path: Path, keys: dict[str, Any], moment: str) -> None:
    source = make_skill(tmp_path, "other", entry(**keys))

    assert f"  hint: {moment}" in shelf.run("add", source, "--yes")[1].splitlines()


def test_add_runs_the_tests_of_a_skill_beside_those_that_are_there(shelf: Shelf) -> None:
    make_skill(shelf.root, "own", entry("mine"))
    (shelf.source / "tests").mkdir()
    both = "  - {name: both, user: hi, skills: [own], expect: {fires: [own/mine]}}"
    fails = "  - {name: fails, user: hi, expect: {fires: [hint]}}"
    (shelf.source / "tests" / "a.yaml").write_text(f"tests:\n{both}\n{fails}\n")

    status, told = shelf.run("add", shelf.source, "--yes")

    assert (status, shelf.here()) == (1, ["calm", "own", "skills.lock"])
    lines = told.splitlines()
    at = lines.index("tests: 2, failed: 1")
    assert lines[at + 1 : at + 3] == ["  tests/a.yaml:3: fails", "    | fires:"]
    assert lines[-1].startswith("added: ")

    (shelf.source / "tests" / "a.yaml").write_text(f"tests:\n{both}\n")
    status, told = shelf.run("add", shelf.source, "--yes", "--name", "calmer")
    assert (status, "tests: 1, failed: 0" in told.splitlines()) == (0, True)


def test_a_skill_with_an_error_is_added_with_status_1(shelf: Shelf, tmp_path: Path) -> None:
    source = make_skill(tmp_path, "bad", entry(timing="sometimes"))

    status, told = shelf.run("add", source, "--yes")

    assert (status, shelf.here()) == (1, ["bad", "skills.lock"])
    assert "error: bad/hooks/hooks.json $.hooks[0].timing: expected one of" in told


def test_add_names_the_hooks_here_that_a_new_skill_keeps_out(shelf: Shelf, tmp_path: Path) -> None:
    make_skill(shelf.root, "own", entry("mine", group="shared/tone"))
    loud = make_skill(tmp_path, "loud", entry(group="shared/tone", priority=100))
    rare = make_skill(tmp_path, "rare", entry(group="shared/tone", priority=100, when={"channel": "voice"}))

    assert "keeps out own/mine of the group shared/tone for good: it always fires" in shelf.run("add", loud)[1]
    assert "keeps out own/mine of the group shared/tone when it fires" in shelf.run("add", rare)[1]


def test_what_a_terminal_would_obey_is_shown_as_text(shelf: Shelf) -> None:
    (shelf.source / "SKILL.md").write_text("---\nname: calm\ndescription: x\nallowed-tools: a\x1b[2Jb\n---\nBody\n")

    assert "\x1b" not in shelf.run("add", shelf.source, "--yes")[1]


# -- update and remove -----------------------------------------------------------------------------------------------


def test_update_shows_the_difference_and_takes_it_over(shelf: Shelf) -> None:
    shelf.run("add", shelf.source, "--yes")
    assert shelf.run("update", "--yes") == (0, "calm: up to date\n")
    (shelf.source / "hooks" / "hint.md").write_text("Newer.\n")
    (shelf.source / "notes.bin").write_bytes(b"\xff")
    (shelf.root / ".calm.old" / "of an update that was stopped").mkdir(parents=True)

    status, told = shelf.run("update", "calm", answer="\n")
    assert (status, told.splitlines()[-1]) == (1, f"Update {shelf.root}/calm? [y/N] not updated")
    assert told.startswith(f"calm, from {shelf.source}\n")
    assert {"-Text of hint.", "+Newer.", "new: notes.bin (0 to 1 bytes)"} <= set(told.splitlines())
    assert load_snapshot(shelf.root).hooks(None)[0].content == "Text of hint."

    assert shelf.run("update", answer="yes\n")[0] == 0
    assert load_snapshot(shelf.root).hooks(None)[0].content == "Newer."
    assert shelf.here() == ["calm", "skills.lock"]
    assert shelf.run("list")[1].startswith("calm: as added")


def test_update_tests_and_lints_what_is_new_beside_the_skills_that_are_there(shelf: Shelf) -> None:
    shelf.run("add", shelf.source, "--yes")
    make_skill(shelf.root, "own", entry("mine", group="shared/tone"))
    write_hooks(shelf.source, entry("hint", group="shared/tone", priority=9))
    (shelf.source / "tests").mkdir(exist_ok=True)
    (shelf.source / "tests" / "a.yaml").write_text("tests: [{name: a, user: hi, expect: {fires: []}}]\n")

    status, told = shelf.run("update", "--yes")

    lines = told.splitlines()
    assert status == 1
    assert {"tests: 1, failed: 1", "  tests/a.yaml:1: a"} <= set(lines)
    assert any("keeps out own/mine of the group shared/tone for good" in line for line in lines)
    assert lines[-1] == f"updated: {shelf.root}/calm"


def test_update_follows_the_branch_and_pins_its_commit(shelf: Shelf) -> None:
    url = make_repository(shelf.source.parent).as_uri()
    shelf.run("add", f"{url}#calm", "--yes")
    (shelf.source.parent / "README.md").write_text("not of the skill")
    commit(shelf.source.parent)
    assert shelf.run("update") == (0, "calm: up to date\n")

    (shelf.source / "more.md").write_text("more")
    newest = commit(shelf.source.parent)
    status, told = shelf.run("update", "--yes")
    assert (status, told.startswith(f"calm, from {url}#calm, commit {newest}\n")) == (0, True)
    assert (shelf.lock["calm"]["commit"], (shelf.root / "calm" / "more.md").exists()) == (newest, True)


def test_changes_made_here_are_kept_unless_forced(shelf: Shelf) -> None:
    shelf.run("add", shelf.source, "--yes")
    own = shelf.root / "calm" / "hooks" / "hint.md"
    own.write_text("Mine.\n")
    assert shelf.run("list")[1].startswith("calm: edited, from")
    assert shelf.run("update", "--yes") == (0, "calm: up to date; your changes are kept\n")
    (shelf.source / "SKILL.md").write_text("---\nname: calm\ndescription: New.\n---\nBody\n")

    status, told = shelf.run("update", "--yes")
    assert (status, own.read_text()) == (1, "Mine.\n")
    assert told.endswith("calm is not updated, since it was changed here: --force overwrites your changes\n")

    assert shelf.run("update", "--yes", "--force")[0] == 0
    assert own.read_text() == "Text of hint.\n"


def test_skills_are_known_by_the_names_they_were_given(shelf: Shelf) -> None:
    for name in ("calm", "calmer"):
        shelf.run("add", shelf.source, "--yes", "--name", name)
    message = f"error: a, b: not in {shelf.root}/skills.lock, where there are calm, calmer\n"
    assert shelf.run("update", "a", "b") == (2, message)

    (shelf.source / "hooks" / "hint.md").write_text("Newer.\n")
    assert shelf.run("update", "calmer", "--yes")[0] == 0
    assert [hook.content for hook in load_snapshot(shelf.root).hooks(None)] == ["Text of hint.", "Newer."]


def test_a_skill_that_was_deleted_comes_back_with_update(shelf: Shelf) -> None:
    shelf.run("add", shelf.source, "--yes")
    (shelf.root / "calm").rename(shelf.source.parent / "away")

    assert shelf.run("list")[1].startswith("calm: missing")
    assert shelf.run("update", "--yes")[0] == 0
    assert shelf.here() == ["calm", "skills.lock"]


def test_remove_asks_and_keeps_changes_unless_forced(shelf: Shelf) -> None:
    shelf.run("add", shelf.source, "--yes")
    status, told = shelf.run("remove", "calm", answer="n\n")
    assert (status, told.endswith("not removed\n")) == (1, True)
    (shelf.root / "calm" / "SKILL.md").write_text("mine")

    status, told = shelf.run("remove", "calm", "--yes")
    assert (status, told) == (1, "calm is not removed, since it was changed here: --force deletes your changes, too\n")
    assert shelf.run("remove", "calm", "--yes", "--force") == (0, f"removed: {shelf.root}/calm\n")
    assert (shelf.here(), shelf.lock) == (["skills.lock"], {})


def test_a_skill_that_was_deleted_can_be_removed(shelf: Shelf) -> None:
    shelf.run("add", shelf.source, "--yes")
    shutil.rmtree(shelf.root / "calm")

    assert (shelf.run("remove", "calm", "--yes")[0], shelf.lock) == (0, {})


def test_only_what_was_added_is_updated_and_removed(shelf: Shelf) -> None:
    make_skill(shelf.root, "own")

    for command in ("update", "remove"):
        message = f"error: own: not in {shelf.root}/skills.lock, where there are none\n"
        assert shelf.run(command, "own", "--yes") == (2, message)
    for command in ("list", "update"):
        assert shelf.run(command) == (0, f"no skill in {shelf.root} was added from elsewhere; `add` does that\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not valid"),
        ('{"version": 1, "skills": {"a": {"source": 3}}}', "is not valid"),
        ('{"version": 1, "skills": {"../x": {"source": "x", "hash": "x"}}}', "is no name for a skill"),
        ('{"version": 2, "skills": {}}', "is of version 2: a newer Parley wrote it"),
    ],
)
def test_a_lock_file_that_cannot_be_read_is_named(shelf: Shelf, text: str, words: str) -> None:
    shelf.root.mkdir(parents=True)
    (shelf.root / "skills.lock").write_text(text)

    status, told = shelf.run("add", shelf.source, "--yes")
    assert (status, words in told) == (2, True)
    assert (shelf.root / "skills.lock").read_text() == text
    assert "calm" not in shelf.here()


def test_a_difference_shows_the_lines_of_texts_that_are_not_long() -> None:
    long = "x" * 100_000
    here = {"a.md": b"1\n2\n3\n4\n5\n", "b.md": b"x", "c.bin": b"\xff", "same.md": b"x"}
    source = {"a.md": b"1\n2\n3\n4\nV\n", "c.bin": b"y", "d.md": long.encode(), "e.md": b"x" * 100_001, "same.md": b"x"}

    assert list(difference(SkillBundle(here), SkillBundle(source))) == [
        *("changed: a.md (10 to 10 bytes)", "--- here", "+++ source", "@@ -3,3 +3,3 @@", " 3", " 4", "-5", "+V"),
        *("gone: b.md (1 to 0 bytes)", "--- here", "+++ source", "@@ -1 +0,0 @@", "-x"),
        "changed: c.bin (1 to 1 bytes)",
        *("new: d.md (0 to 100000 bytes)", "--- here", "+++ source", "@@ -0,0 +1 @@", f"+{long}"),
        "new: e.md (0 to 100001 bytes)",
    ]


def test_a_difference_has_a_limit() -> None:
    long = SkillBundle({"a.md": "\n".join(map(str, range(2 * MAX_DIFF_LINES))).encode()})

    lines = list(difference(SkillBundle({}), long))
    assert (len(lines), lines[-1]) == (MAX_DIFF_LINES + 1, "… (more than 400 lines)")


# -- pack ------------------------------------------------------------------------------------------------------------


def test_what_is_packed_can_be_added(shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shelf.run("add", shelf.source, "--yes")
    pinned = shelf.lock["calm"]["hash"]

    assert shelf.run("pack", shelf.root / "calm") == (0, "packed: calm.zip\n")
    first = Path("calm.zip").read_bytes()
    assert shelf.run("pack", shelf.source, "--out", tmp_path / "again.zip")[0] == 0
    assert (tmp_path / "again.zip").read_bytes() == first

    shelf.run("remove", "calm", "--yes")
    assert shelf.run("add", "calm.zip", "--yes")[0] == 0
    assert shelf.lock["calm"] == {"source": f"{tmp_path}/calm.zip#calm", "hash": pinned}


def test_a_skill_that_is_off_by_default_is_packed(shelf: Shelf) -> None:
    (shelf.source / "SKILL.md").write_text("---\nname: calm\ndescription: x\ndefault: off\n---\nThe body.\n")

    assert shelf.run("pack", shelf.source, "--out", shelf.source.parent / "calm.zip")[0] == 0


def test_only_a_skill_is_packed(shelf: Shelf) -> None:
    status, told = shelf.run("pack", shelf.source / "hooks")

    assert (status, told) == (2, f"error: {shelf.source}/hooks is no skill: give a folder with SKILL.md in it\n")
