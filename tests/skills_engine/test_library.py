"""Reading the folder of skills, at first and again (L1-04)."""

import logging
import os
import shutil
from pathlib import Path

import pytest

from skills_engine import Diagnostic, SkillsLibrary, load_snapshot
from skills_engine.skills_folder import MAX_SKILLS, MAX_STAMPED_FILES, list_skills, load_skill, stamp_skill
from tests.skills_engine.folders import SKILL_MD, entry, make_skill, write_hooks, write_hooks_json

KEPT = "still uses the last working version; fix the file to apply your change"


def texts(library: SkillsLibrary) -> dict[str, list[str]]:
    return {skill.name: [hook.content for hook in skill.hooks] for skill in library.current.skills}


def problems(library: SkillsLibrary) -> list[tuple[str, str, str]]:
    found = library.current.diagnostics
    return [(one.severity, f"{one.skill}/{one.file}{one.path}", one.message) for one in found]


# -- the first scan -------------------------------------------------------------------------------------------------


def test_every_skill_of_the_folder_is_loaded_by_name(tmp_path: Path) -> None:
    for name in ("b", "a", "0"):
        make_skill(tmp_path, name, entry())
    (tmp_path / "README.md").write_text("x")
    for ignored in (".git", "node_modules", "__pycache__"):
        make_skill(tmp_path, ignored, entry())

    snapshot = load_snapshot(tmp_path)

    assert [(skill.name, skill.description) for skill in snapshot.skills] == [
        ("0", "What 0 is good for."),
        ("a", "What a is good for."),
        ("b", "What b is good for."),
    ]
    assert [hook.skill for hook in snapshot.hooks(None)] == ["0", "a", "b"]
    assert (snapshot.diagnostics, snapshot.version) == ((), 1)


@pytest.mark.rule("L1-03")
def test_the_operator_chooses_and_orders(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        make_skill(tmp_path, name, entry())

    snapshot = load_snapshot(tmp_path, enabled=["c", "gone", "a", "c"])

    assert [skill.name for skill in snapshot.skills] == ["c", "a"]
    assert snapshot.diagnostics == (Diagnostic("warning", "gone", "", "", f"enabled, but not in {tmp_path}"),)


def test_a_folder_that_holds_skills_one_level_down_says_so_until_they_are_moved(tmp_path: Path) -> None:
    for name in ("pdf", "docx", "xlsx", "pptx"):
        make_skill(tmp_path / "office", name)
    library = SkillsLibrary(tmp_path)

    library.load()
    advice = "move them one level up, or point skills.dir to this folder"
    assert problems(library) == [("warning", "office/", f"is no skill but holds skills (docx, pdf, pptx, …): {advice}")]
    for name in ("docx", "xlsx", "pptx"):
        shutil.rmtree(tmp_path / "office" / name)
    library.refresh()
    assert problems(library) == [("warning", "office/", f"is no skill but holds skills (pdf): {advice}")]
    (tmp_path / "office" / "pdf").rename(tmp_path / "pdf")
    library.refresh()
    assert list(texts(library)) == ["pdf"]
    assert [severity for severity, *_ in problems(library)] == ["info"]


OFF_MD = "---\nname: {name}\ndescription: x\ndefault: off\n---\nThe body.\n"


def test_a_skill_that_is_off_by_default_is_on_where_a_selection_or_the_operator_names_it(tmp_path: Path) -> None:
    make_skill(tmp_path, "a", entry())
    make_skill(tmp_path, "b", entry(), skill_md=OFF_MD)

    snapshot = load_snapshot(tmp_path)

    assert [skill.name for skill in snapshot.skills] == ["a"]
    assert [skill.name for skill in snapshot.select(None)] == ["a"]
    assert [skill.name for skill in snapshot.select(["b", "a"])] == ["b", "a"]
    assert [hook.skill for hook in snapshot.hooks(["b"])] == ["b"]
    assert snapshot.without_offered.select(["a", "b"]) == snapshot.skills
    assert load_snapshot(tmp_path, enabled=["a"]).select(["a", "b"]) == snapshot.skills
    named = load_snapshot(tmp_path, enabled=["b"])
    assert ([skill.name for skill in named.skills], len(named.hooks(None)), named.diagnostics) == (["b"], 1, ())


def test_a_skill_goes_and_comes_with_its_default(tmp_path: Path) -> None:
    page = make_skill(tmp_path, "b", entry()) / "SKILL.md"
    library = SkillsLibrary(tmp_path)
    on = page.read_text()

    library.load()
    page.write_text(OFF_MD.replace("{name}", "b"))
    library.refresh()
    assert texts(library) == {}
    page.write_text(on)
    library.refresh()
    assert list(texts(library)) == ["b"]


def test_naming_a_skill_lists_it_without_front_matter(tmp_path: Path) -> None:
    make_skill(tmp_path, "a", skill_md="Teaches.")

    assert [skill.listed for skill in load_snapshot(tmp_path).skills] == [False]
    assert [skill.listed for skill in load_snapshot(tmp_path, enabled=["a"]).skills] == [True]


def test_no_skills_are_a_snapshot_too(tmp_path: Path) -> None:
    assert (load_snapshot(tmp_path).skills, load_snapshot(tmp_path).version) == ((), 1)
    assert load_snapshot(tmp_path, enabled=[]).diagnostics == ()


def test_a_missing_folder_is_said(tmp_path: Path) -> None:
    snapshot = load_snapshot(str(tmp_path / "gone"))

    assert snapshot.skills == ()
    assert snapshot.diagnostics == (
        Diagnostic("warning", "", f"{tmp_path}/gone", "", "no skills: No such file or directory"),
    )


@pytest.mark.rule("L1-04")
def test_at_the_first_scan_mistakes_cost_no_more_than_what_they_concern(tmp_path: Path) -> None:
    make_skill(tmp_path, "entries", entry("good"), entry("bad", role="x"))
    write_hooks_json(make_skill(tmp_path, "file"), "{")
    make_skill(tmp_path, "sound", entry())

    snapshot = load_snapshot(tmp_path)

    assert [(skill.name, [hook.name for hook in skill.hooks]) for skill in snapshot.skills] == [
        ("entries", ["good"]),
        ("file", []),
        ("sound", ["hint"]),
    ]
    assert [(one.severity, one.skill, one.path) for one in snapshot.diagnostics] == [
        ("error", "entries", "$.hooks[1].role"),
        ("error", "file", ""),
    ]


def test_a_skill_of_hooks_alone_is_one(tmp_path: Path) -> None:
    make_skill(tmp_path, "tutor", entry(), skill_md=None)

    snapshot = load_snapshot(tmp_path)

    assert [(skill.name, skill.listed, len(skill.hooks)) for skill in snapshot.skills] == [("tutor", False, 1)]
    assert [one.severity for one in snapshot.diagnostics] == ["warning"]


def test_a_folder_of_nothing_is_no_skill(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()

    snapshot = load_snapshot(tmp_path)

    assert snapshot.skills == ()
    message = "is not a skill: it has neither SKILL.md nor hooks"
    assert snapshot.diagnostics == (Diagnostic("info", "notes", "", "", message),)


def test_a_skill_is_taken_for_unnamed_unless_said(tmp_path: Path) -> None:
    skill = load_skill(make_skill(tmp_path, "tutor", skill_md="Teaches.")).skill

    assert skill is not None
    assert not skill.listed


def test_a_folder_that_has_just_gone_away_is_said(tmp_path: Path) -> None:
    loaded = load_skill(tmp_path / "gone")

    assert (loaded.skill, loaded.last_good) == (None, None)
    message = "cannot be read (No such file or directory)"
    assert loaded.diagnostics == (Diagnostic("error", "gone", "", "", message),)


def test_a_skill_outside_of_the_folder_is_not_loaded(tmp_path: Path) -> None:
    make_skill(tmp_path / "elsewhere", "tutor", entry())
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills" / "tutor").symlink_to(tmp_path / "elsewhere" / "tutor")
    (tmp_path / "skills" / "loop").symlink_to(tmp_path / "skills" / "loop")

    snapshot = load_snapshot(tmp_path / "skills")

    assert snapshot.skills == ()
    message = "leads out of skills/: put the folder itself there, or where it lies in skills.dirs"
    assert snapshot.diagnostics == (Diagnostic("error", "tutor", "", "", message),)


def test_a_link_to_another_skill_of_the_folder_is_fine(tmp_path: Path) -> None:
    make_skill(tmp_path, "tutor", entry())
    (tmp_path / "teacher").symlink_to("tutor")

    assert [hook.skill for hook in load_snapshot(tmp_path).hooks(None)] == ["teacher", "tutor"]


def test_too_many_folders_are_not_all_read(tmp_path: Path) -> None:
    for number in range(MAX_SKILLS + 1):
        (tmp_path / f"{number:04}").mkdir()

    names, found = list_skills(tmp_path)

    assert (len(names), names[0], names[-1]) == (5000, "0000", "4999")
    message = "holds more than 5000 folders: the rest is not read"
    assert found == [Diagnostic("error", "", str(tmp_path), "", message)]
    (tmp_path / "5000").rmdir()
    assert list_skills(tmp_path)[1] == []


# -- several folders ------------------------------------------------------------------------------------------------


def shared(tmp_path: Path) -> tuple[Path, Path]:
    """Two folders of skills, `own` and `more`; both hold `tutor`."""
    own, more = tmp_path / "own", tmp_path / "more"
    make_skill(own, "tutor", entry("mine"))
    make_skill(own, "zebra", entry())
    make_skill(more, "tutor", entry("theirs"))
    make_skill(more, "apple", entry())
    return own, more


def test_further_folders_add_skills_and_the_first_of_a_name_counts(tmp_path: Path) -> None:
    own, more = shared(tmp_path)
    library = SkillsLibrary(own, dirs=[more, tmp_path / "gone"])

    library.load()

    assert list(texts(library)) == ["tutor", "zebra", "apple"]
    assert texts(library)["tutor"] == ["Text of mine."]
    assert library.current.select(["apple"])[0].directory == more / "apple"
    assert problems(library) == [
        ("info", "tutor/", f"{more / 'tutor'} is not used: {own / 'tutor'} comes before it"),
        ("warning", f"/{tmp_path / 'gone'}", "no skills: No such file or directory"),
    ]


def test_the_operator_chooses_and_orders_among_all_folders(tmp_path: Path) -> None:
    own, more = shared(tmp_path)
    library = SkillsLibrary(own, dirs=[more], enabled=["apple", "gone", "zebra"])

    library.load()

    assert list(texts(library)) == ["apple", "zebra"]
    assert problems(library) == [("warning", "gone/", f"enabled, but not in {own} or {more}")]


@pytest.mark.parametrize(
    ("enabled", "expected"), [(None, ["asleep", "tutor", "zebra", "apple"]), (["zebra"], ["zebra", "asleep", "apple"])]
)
def test_some_skills_are_on_beside_the_others_though_they_are_off_by_default(
    tmp_path: Path, enabled: list[str] | None, expected: list[str]
) -> None:
    own, more = shared(tmp_path)
    for name in ("asleep", "dormant"):
        make_skill(own, name, entry(), skill_md="---\nname: {name}\ndescription: x\ndefault: off\n---\nBody.\n")
    library = SkillsLibrary(own, dirs=[more], enabled=enabled, also=["asleep", "apple", "gone"])

    library.load()

    assert list(texts(library)) == expected
    assert ("warning", "gone/", f"enabled, but not in {own} or {more}") in problems(library)


def test_what_was_hidden_by_another_of_its_name_comes_back_when_that_goes(tmp_path: Path) -> None:
    own, more = shared(tmp_path)
    library = SkillsLibrary(own, dirs=[more])
    library.load()

    (own / "tutor").rename(tmp_path / "away")
    library.refresh()
    assert (texts(library)["tutor"], problems(library)) == (["Text of theirs."], [])

    (tmp_path / "away").rename(own / "tutor")
    library.refresh()
    assert texts(library)["tutor"] == ["Text of mine."]


def test_a_link_is_followed_to_a_skill_of_another_folder_and_no_further(tmp_path: Path) -> None:
    own, more = shared(tmp_path)
    make_skill(tmp_path / "elsewhere", "tutor", entry())
    (own / "fruit").symlink_to(more / "apple")
    (own / "apple").symlink_to(more / "apple")
    (own / "stray").symlink_to(tmp_path / "elsewhere" / "tutor")

    library = SkillsLibrary(own, dirs=[more])
    library.load()

    assert list(texts(library)) == ["apple", "fruit", "tutor", "zebra"]
    assert [place for severity, place, _ in problems(library) if severity != "warning"] == ["tutor/", "stray/"]


# -- reading again --------------------------------------------------------------------------------------------------


def test_nothing_changed_is_no_reload(tmp_path: Path) -> None:
    make_skill(tmp_path, "tutor", entry())
    library = SkillsLibrary(tmp_path)
    assert (library.current.skills, library.current.version) == ((), 0)

    first = library.load()
    (tmp_path / "link").symlink_to("nowhere")

    assert library.current is first
    assert library.refresh() is None
    assert library.refresh(frozenset({"gone", ".git"})) is None
    assert library.load() is first


def test_what_changed_is_in_the_next_snapshot_and_the_old_one_stays_as_it_was(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry())
    make_skill(tmp_path, "other", entry())
    library = SkillsLibrary(tmp_path)
    first = library.load()

    (folder / "hooks" / "hint.md").write_text("Changed.")
    second = library.refresh()

    assert second is library.current
    assert second is not None
    assert (second.version, texts(library)) == (2, {"other": ["Text of hint."], "tutor": ["Changed."]})
    assert [hook.content for hook in first.hooks(None)] == ["Text of hint.", "Text of hint."]
    assert second.select(["other"])[0] is first.select(["other"])[0]  # only what changed is read again


@pytest.mark.rule("L1-04")
def test_a_text_that_was_emptied_keeps_its_hook(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry())
    library = SkillsLibrary(tmp_path)
    library.load()

    (folder / "hooks" / "hint.md").write_text("")
    library.refresh()

    assert texts(library) == {"tutor": ["Text of hint."]}


def test_a_skill_that_may_be_half_saved_keeps_its_version_and_others_do_not_wait(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry())
    library = SkillsLibrary(tmp_path)
    library.load()
    an_hour_s = 3600.0

    (folder / "hooks" / "hint.md").write_text("Half.")
    assert library.refresh(rest_s=an_hour_s) is None
    make_skill(tmp_path, "other", entry())
    assert library.refresh(rest_s=an_hour_s) is not None
    assert texts(library) == {"other": ["Text of hint."], "tutor": ["Text of hint."]}

    assert library.refresh() is not None
    assert texts(library) == {"other": ["Text of hint."], "tutor": ["Half."]}
    assert library.refresh() is None


def test_a_touched_skill_is_read_again_though_it_looks_the_same(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry())
    library = SkillsLibrary(tmp_path)
    library.load()
    text = folder / "hooks" / "hint.md"
    before = stamp_skill(folder)
    text.write_text("Text of HINT.\n")
    times = next(stamp for stamp in before if stamp[0] == str(text))
    os.utime(text, ns=(times[3], times[3]))

    assert library.refresh(frozenset({"tutor"})) is not None
    assert texts(library) == {"tutor": ["Text of HINT."]}


def test_skills_come_go_and_change_their_names(tmp_path: Path) -> None:
    make_skill(tmp_path, "a", entry())
    library = SkillsLibrary(tmp_path)
    library.load()

    make_skill(tmp_path, "b", entry())
    assert library.refresh()
    assert list(texts(library)) == ["a", "b"]

    (tmp_path / "a").rename(tmp_path / "c")
    assert library.refresh()
    assert list(texts(library)) == ["b", "c"]
    assert {hook.skill for hook in library.current.hooks(None)} == {"b", "c"}

    tmp_path.rename(tmp_path.with_name("moved"))
    assert library.refresh()
    assert [one.message for one in library.current.diagnostics] == ["no skills: No such file or directory"]
    assert library.refresh() is None

    tmp_path.mkdir()
    assert library.refresh()
    assert (library.current.skills, library.current.diagnostics, library.current.version) == ((), (), 5)


@pytest.mark.rule("L1-04")
def test_a_broken_save_keeps_the_last_good_version_and_says_why(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry())
    make_skill(tmp_path, "other", entry())
    library = SkillsLibrary(tmp_path)
    library.load()

    write_hooks(folder, entry(role="nobody"), entry("second"))
    make_skill(tmp_path, "other", entry(), entry("third"))
    library.refresh()

    assert texts(library) == {"other": ["Text of hint.", "Text of third."], "tutor": ["Text of hint."]}
    assert problems(library) == [
        ("error", "tutor/hooks/hooks.json$.hooks[0].role", 'expected system or user; got "nobody"'),
        ("info", "tutor/", KEPT),
    ]

    write_hooks_json(folder, "{")
    library.refresh()
    assert texts(library)["tutor"] == ["Text of hint."]
    assert [message for *_, message in problems(library)] == [
        "is not JSON: line 1, column 2: Expecting property name enclosed in double quotes",
        KEPT,
    ]

    write_hooks(folder, entry("second"))
    library.refresh()
    assert texts(library)["tutor"] == ["Text of second."]
    assert problems(library) == []


@pytest.mark.rule("L1-04")
@pytest.mark.parametrize("broken", [b"", b"---\nname: tutor\ndescription: Half", b"x" * (1024 * 1024 + 1)])
def test_a_broken_skill_md_keeps_the_last_good_version(tmp_path: Path, broken: bytes) -> None:
    folder = make_skill(tmp_path, "tutor", entry())
    library = SkillsLibrary(tmp_path)
    before = library.load().skills

    (folder / "SKILL.md").write_bytes(broken)
    (folder / "hooks" / "hint.md").write_text("Changed with it.")
    library.refresh()

    assert library.current.skills == before
    assert [severity for severity, *_ in problems(library)] == ["error", "info"]


@pytest.mark.rule("L1-04")
def test_a_warning_does_not_keep_the_version_before(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry())
    library = SkillsLibrary(tmp_path)
    library.load()

    write_hooks(folder, entry(timing="after_tool_call", tool_filter=[]))
    (folder / "SKILL.md").write_text("---\nname: Other\ndescription: a: b\n---\n")
    library.refresh()

    assert [skill.title for skill in library.current.skills] == ["Other"]
    assert [hook.tool_filter for hook in library.current.hooks(None)] == [frozenset()]


@pytest.mark.rule("L1-04")
def test_a_skill_that_was_never_good_shows_what_of_it_is(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry("a"), entry("b", role="x"))
    library = SkillsLibrary(tmp_path)
    library.load()

    write_hooks(folder, entry("a", role="x"), entry("b"))
    library.refresh()

    assert texts(library) == {"tutor": ["Text of b."]}
    assert KEPT not in [message for *_, message in problems(library)]


@pytest.mark.rule("L1-04")
def test_a_skill_that_is_emptied_is_gone_and_begins_anew(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry())
    library = SkillsLibrary(tmp_path)
    library.load()

    folder.rename(tmp_path.parent / f"{tmp_path.name}-away")
    folder.mkdir()
    library.refresh()
    assert texts(library) == {}

    make_skill(tmp_path, "tutor", entry(role="x"))
    library.refresh()
    assert texts(library) == {"tutor": []}


@pytest.mark.rule("L1-04")
def test_a_skill_that_leads_out_later_keeps_what_it_was(tmp_path: Path) -> None:
    folder = make_skill(tmp_path / "skills", "tutor", entry())
    library = SkillsLibrary(tmp_path / "skills")
    library.load()

    folder.rename(tmp_path / "away")
    folder.symlink_to(tmp_path / "away")
    library.refresh()

    assert texts(library) == {"tutor": ["Text of hint."]}
    assert [severity for severity, *_ in problems(library)] == ["error", "info"]


def test_what_was_read_and_what_is_wrong_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    make_skill(tmp_path, "bad", entry(role="x"))
    (tmp_path / "notes").mkdir()
    library = SkillsLibrary(tmp_path, enabled=["bad", "notes", "good", "gone"])
    library.load()

    (tmp_path / "bad" / "hooks" / "hooks.json").write_text('{"hooks": []}')
    library.refresh()
    make_skill(tmp_path, "good", entry())
    library.refresh()

    wrong = 'error: bad/hooks/hooks.json $.hooks[0].role: expected system or user; got "x"'
    assert [(record.levelname, record.message) for record in caplog.records] == [
        ("INFO", "skills read: bad, notes"),
        ("WARNING", f"warning: good: enabled, but not in {tmp_path}"),
        ("WARNING", f"warning: gone: enabled, but not in {tmp_path}"),
        ("WARNING", wrong),
        ("INFO", "skills read: bad"),
        ("INFO", "skills read: good"),
        ("WARNING", f"warning: gone: enabled, but not in {tmp_path}"),
    ]


def test_the_log_says_what_was_read_what_kept_and_what_removed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    for name in ("changed", "emptied", "gone", "spoilt"):
        make_skill(tmp_path, name, entry())
    library = SkillsLibrary(tmp_path)
    library.load()
    caplog.clear()

    make_skill(tmp_path, "changed", entry(), entry("second"))
    write_hooks(tmp_path / "spoilt", entry(role="x"))
    shutil.rmtree(tmp_path / "emptied")
    (tmp_path / "emptied").mkdir()
    shutil.rmtree(tmp_path / "gone")
    library.refresh()
    shutil.rmtree(tmp_path / "changed")
    library.refresh()

    assert [record.message for record in caplog.records if record.levelname == "INFO"] == [
        "skills read: changed; kept as before: spoilt; removed: emptied, gone",
        "skills removed: changed",
    ]


# -- stamps ---------------------------------------------------------------------------------------------------------


def test_a_stamp_changes_with_the_files_that_count_only(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry())
    seen = [stamp_skill(folder)]
    assert len(seen[0]) == 3

    for path in ("hooks/more/deep.md", "hooks/new.md", "tests/a.yaml", "tests/b.yml", "skill.MD"):
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text("x")
        seen.append(stamp_skill(folder))
    assert len(set(seen)) == 6

    for path in ("hooks/.hint.md.swp", "hooks/hint.md~", "data.json", "assets/big.md"):
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text("x")
    assert stamp_skill(folder) == seen[-1]


def test_a_stamp_tells_a_file_from_the_one_that_takes_its_place(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry())
    text = folder / "hooks" / "hint.md"
    before = stamp_skill(folder)

    draft = folder / "hooks" / "draft"
    draft.write_text("TEXT OF HINT.\n")
    os.utime(draft, ns=(text.stat().st_atime_ns, text.stat().st_mtime_ns))
    draft.rename(text)

    assert stamp_skill(folder) != before


def test_a_link_to_nowhere_and_a_missing_folder_have_stamps(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", skill_md=SKILL_MD)
    before = stamp_skill(folder)

    (folder / "hooks").mkdir()
    (folder / "hooks" / "a.md").symlink_to("gone")

    assert stamp_skill(folder) == (*before, (str(folder / "hooks" / "a.md"), 0, 0, 0, 0))
    assert stamp_skill(tmp_path / "gone") == ()


def test_hooks_that_lead_out_of_the_skill_are_not_stamped(tmp_path: Path) -> None:
    other = make_skill(tmp_path, "other", entry())
    folder = make_skill(tmp_path, "tutor")
    (folder / "hooks").symlink_to(other / "hooks")

    assert [Path(path).name for path, *_ in stamp_skill(folder)] == ["SKILL.md"]


def test_hooks_that_are_a_link_inside_the_skill_are_stamped(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry())
    (folder / "hooks").rename(folder / "texts")
    (folder / "hooks").symlink_to("texts")

    assert [Path(path).name for path, *_ in stamp_skill(folder)] == ["SKILL.md", "hint.md", "hooks.json"]


def test_a_stamp_is_bounded(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry())
    for number in range(MAX_STAMPED_FILES):
        (folder / "hooks" / f"{number}.md").touch()

    assert len(stamp_skill(folder)) == MAX_STAMPED_FILES
