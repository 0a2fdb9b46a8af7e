"""skill_tools/studio/skill_files.py and edit_history.py: their limits; what they do over REST, tests/gateway/rest shows."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from skill_tools.authoring.scaffold import new_skill
from skill_tools.sharing.bundle import SharingError
from skill_tools.sharing.install import add_skill, read_lock
from skill_tools.sharing.sources import fetch, parse_source
from skill_tools.studio.edit_history import MAX_EDITS, MAX_HISTORY_BYTES
from skill_tools.studio.skill_files import (
    ANY,
    MAX_BINNED,
    MAX_EDITED_FILES,
    MAX_TEXT_BYTES,
    EditError,
    ListedFile,
    SkillFiles,
)
from tests.support.swapping import swapped_for_a_link

HINT = "hooks/hint.md"


@pytest.fixture
def files(tmp_path: Path) -> SkillFiles:
    new_skill("calm", tmp_path / "skills", text="Be calm.")
    return SkillFiles(tmp_path / "skills", tmp_path / "data")


def test_the_bin_keeps_what_was_deleted_last(files: SkillFiles, tmp_path: Path) -> None:
    for number in range(MAX_BINNED + 2):
        files.write("calm", f"hooks/{number}.md", "x", expected=None)
        files.remove("calm", f"hooks/{number}.md", expected={ANY})
    files.remove_skill("calm", expected={ANY})

    binned = sorted(path.name.split("-", 1)[1] for path in (tmp_path / "data" / "skill_bin").iterdir())
    assert len(binned) == MAX_BINNED
    assert {"calm", f"calm-hooks-{MAX_BINNED + 1}.md"} <= set(binned)
    assert "calm-hooks-2.md" not in binned


def test_large_edits_drop_the_oldest_ones(files: SkillFiles) -> None:
    texts = [f"{number:02}" * (MAX_TEXT_BYTES // 2) for number in range(MAX_EDITS + 1)]
    tags = [files.write("calm", HINT, text, expected={ANY}) for text in texts]

    shown = files.show("calm")
    assert len(shown.undo) == MAX_HISTORY_BYTES // MAX_TEXT_BYTES
    assert ListedFile(path=HINT, bytes=MAX_TEXT_BYTES, etag=tags[-1]) in shown.files


def test_a_history_that_cannot_be_read_counts_as_none(files: SkillFiles, tmp_path: Path) -> None:
    files.write("calm", HINT, "x", expected={ANY})
    (tmp_path / "data" / "skill_history" / "calm.json").write_text("{broken")

    assert files.show("calm").undo == ()
    files.write("calm", HINT, "y", expected={ANY})
    assert len(files.show("calm").undo) == 1


def test_an_edit_has_the_time_with_its_zone_and_goes_with_its_skill(files: SkillFiles, tmp_path: Path) -> None:
    files.write("calm", HINT, "x", expected={ANY})
    assert files.show("calm").undo[0].at.tzinfo is not None
    files.undo("calm", expected={ANY})
    assert files.show("calm").redo[0].at.tzinfo is not None

    files.remove_skill("calm", expected={ANY})
    assert list((tmp_path / "data" / "skill_history").iterdir()) == []


def test_a_change_that_the_file_system_refuses_loses_neither_the_file_nor_its_past(
    files: SkillFiles, tmp_path: Path
) -> None:
    files.write("calm", HINT, "x", expected={ANY})
    (tmp_path / "skills" / "calm" / "references").write_text("a file where a folder belongs")

    with pytest.raises(OSError):
        files.rename("calm", HINT, "references/hint.md", expected={ANY})

    assert files.read("calm", HINT)[0] == "x"
    assert [edit.action for edit in files.show("calm").undo] == ["write"]


def test_a_new_file_that_was_deleted_on_disk_can_be_undone(files: SkillFiles, tmp_path: Path) -> None:
    files.write("calm", "hooks/new.md", "x", expected=None)
    (tmp_path / "skills" / "calm" / "hooks" / "new.md").unlink()

    assert files.undo("calm", expected={ANY}).action == "new"


def test_a_new_skill_has_no_past_of_one_that_was_deleted_on_disk(files: SkillFiles, tmp_path: Path) -> None:
    files.write("calm", HINT, "x", expected={ANY})
    shutil.rmtree(tmp_path / "skills" / "calm")
    files.create("calm", lambda root: new_skill("calm", root))
    assert files.show("calm").undo == ()

    files.write("calm", HINT, "x", expected={ANY})
    shutil.rmtree(tmp_path / "skills" / "calm")
    new_skill("loud", tmp_path / "skills")
    files.rename_skill("loud", "calm", expected={ANY})
    assert files.show("calm").undo == ()


def test_what_was_undone_cannot_be_redone_after_another_edit(files: SkillFiles) -> None:
    files.write("calm", HINT, "x", expected={ANY})
    files.undo("calm", expected={ANY})
    files.write("calm", HINT, "y", expected={ANY})

    with pytest.raises(EditError, match="nothing to redo"):
        files.redo("calm", expected={ANY})


def test_undo_and_redo_past_a_rename_keep_the_skills_new_name(files: SkillFiles, tmp_path: Path) -> None:
    page, _ = files.read("calm", "SKILL.md")
    files.write("calm", "hooks/new.md", "x", expected=None)
    files.write("calm", HINT, "name: y", expected={ANY})
    files.write("calm", "SKILL.md", page + "One.\nname: stays\n", expected={ANY})
    files.write("calm", "SKILL.md", "no front matter", expected={ANY})
    files.undo("calm", expected={ANY})

    files.rename_skill("calm", "serene", expected={ANY})
    files.undo("serene", expected={ANY})

    renamed = page.replace("name: calm", "name: serene")
    assert files.read("serene", "SKILL.md")[0] == renamed
    files.redo("serene", expected={ANY})
    assert files.read("serene", "SKILL.md")[0] == renamed + "One.\nname: stays\n"
    files.redo("serene", expected={ANY})
    assert files.read("serene", "SKILL.md")[0] == "no front matter"
    assert [path.name for path in (tmp_path / "data" / "skill_history").iterdir()] == ["serene.json"]


def test_a_page_that_comes_back_after_a_rename_has_the_skills_new_name(files: SkillFiles) -> None:
    page, _ = files.read("calm", "SKILL.md")
    files.remove("calm", "SKILL.md", expected={ANY})

    files.rename_skill("calm", "serene", expected={ANY})
    files.undo("serene", expected={ANY})

    assert files.read("serene", "SKILL.md")[0] == page.replace("name: calm", "name: serene")


@pytest.mark.parametrize(
    "page",
    [
        "# Calm\n\nname: of a field\n\n---\nMore.\n",
        "---\ndescription: x\n---\nname: x\n\n---\nMore.\n",
        "---\nname: x\n",
    ],
)
def test_a_rename_changes_no_line_outside_the_front_matter(files: SkillFiles, page: str) -> None:
    files.write("calm", "SKILL.md", page, expected={ANY})

    files.rename_skill("calm", "serene", expected={ANY})

    assert files.read("serene", "SKILL.md")[0] == page


def test_a_change_that_is_not_made_says_why(files: SkillFiles, tmp_path: Path) -> None:
    new_skill("own", tmp_path / "skills")
    with pytest.raises(EditError, match=r"^there is a skill own already; choose another name$") as taken:
        files.rename_skill("calm", "own", expected={ANY})
    with pytest.raises(EditError, match=r"^Not this is not a skill name: use lower-case letters, .*and not `shared`$"):
        files.rename_skill("calm", "Not this", expected={ANY})
    with pytest.raises(EditError, match=r"^hooks/no\.md is not what you have read: it is gone$") as gone:
        files.rename("calm", "hooks/no.md", "hooks/new.md", expected={ANY})
    with pytest.raises(EditError, match=r"^hooks/no\.md is not what you have read: it is gone$"):
        files.remove("calm", "hooks/no.md", expected={ANY})
    with pytest.raises(EditError, match=r"^there is a skill own already; choose another name$"):
        files.create("own", lambda root: new_skill("own", root))
    with pytest.raises(EditError, match=r"^there is nothing to undo in calm$"):
        files.undo("calm", expected={ANY})
    with pytest.raises(EditError, match=r"^calm/ is not what you have read: it .* has changed since") as stale:
        files.undo("calm", expected={"old"})
    with pytest.raises(EditError, match=r"^hooks/no\.md does not exist$"):
        files.read("calm", "hooks/no.md")
    (tmp_path / "skills" / "calm" / "photo.png").write_bytes(b"PNG\xff")
    with pytest.raises(EditError, match=r"^photo\.png is not UTF-8 text \(byte 3\)$"):
        files.read("calm", "photo.png")
    with pytest.raises(EditError, match=r"^only SKILL\.md and files in hooks, tests, references can be edited$"):
        files.write("calm", "scripts/run.py", "x", expected=None)
    (tmp_path / "skills" / "calm" / "hooks" / "link.md").symlink_to("hint.md")
    with pytest.raises(EditError, match=r"^hooks/link\.md is a link or is behind one; edit the file it leads to$"):
        files.write("calm", "hooks/link.md", "x", expected={ANY})
    with pytest.raises(EditError, match=r"^hooks/hint\.md would have 262145 bytes; at most 262144 are kept$"):
        files.write("calm", HINT, "x" * (MAX_TEXT_BYTES + 1), expected={ANY})
    (tmp_path / "skills" / "calm" / "hooks" / "photo.png").write_bytes(b"PNG\xff")
    with pytest.raises(EditError, match="has changed since you read it") as photo:
        files.write("calm", "hooks/photo.png", "x", expected={"old"})
    with pytest.raises(EditError, match=r"^hooks/hint\.md exists already; choose another name$"):
        files.rename("calm", "SKILL.md", HINT, expected={ANY})
    with pytest.raises(
        EditError, match=r"^hooks/hint\.md is not .*: it exists already or has changed since you read it$"
    ):
        files.write("calm", HINT, "x", expected=None)

    assert (taken.value.code, gone.value.code) == ("skill_exists", "version_stale")
    assert (stale.value.tag, photo.value.current) == (files.show("calm").etag, "PNG\ufffd")


def test_hidden_folders_and_deep_paths_are_not_read(files: SkillFiles, tmp_path: Path) -> None:
    (tmp_path / "skills" / ".git").mkdir()
    with pytest.raises(EditError, match=r"^there is no skill '\.git'; it may have been renamed or deleted$"):
        files.show(".git")
    with pytest.raises(EditError, match=rf"^there is no skill '{'x' * 100}'; it may"):
        files.show("x" * 101)
    with pytest.raises(EditError, match="does not exist"):
        files.read("calm", "a/b/c/d/e/f/g/h")
    message = r"^expected a path in the skill's folder, such as hooks/hint\.md, at most 8 names deep$"
    with pytest.raises(EditError, match=message):
        files.read("calm", "a/b/c/d/e/f/g/h/i")


def test_nothing_is_changed_where_editing_is_off(files: SkillFiles, tmp_path: Path) -> None:
    off = SkillFiles(tmp_path / "skills", tmp_path / "data", is_on=False)

    with pytest.raises(EditError, match=r"^skills\.edit does not allow to change skills here$"):
        off.remove_skill("calm", expected={ANY})


def test_a_skill_of_a_further_folder_is_only_read(tmp_path: Path) -> None:
    new_skill("far", tmp_path / "more")
    files = SkillFiles(tmp_path / "skills", tmp_path / "data", further=[tmp_path / "more"])

    with pytest.raises(EditError, match=r"^far stands in another folder, which is only read$"):
        files.write("far", HINT, "x", expected={ANY})


def test_a_page_in_small_letters_is_the_one_to_be_edited(files: SkillFiles, tmp_path: Path) -> None:
    (tmp_path / "skills" / "calm" / "SKILL.md").rename(tmp_path / "skills" / "calm" / "skill.md")

    files.write("calm", "skill.md", "x", expected={ANY})
    with pytest.raises(EditError, match="can be edited"):
        files.write("calm", "SKILL.md", "x", expected=None)


def test_skills_lock_follows_a_rename_and_forgets_what_was_deleted(files: SkillFiles, tmp_path: Path) -> None:
    root = tmp_path / "skills"
    add_skill(root, replace(fetch(parse_source(str(root / "calm"))), name="added"))
    pin = read_lock(root)["added"]
    new_skill("own", root)

    files.rename_skill("added", "serene", expected={ANY})
    files.rename_skill("own", "mine", expected={ANY})
    assert read_lock(root) == {"serene": pin}

    files.remove_skill("mine", expected={ANY})
    files.remove_skill("serene", expected={ANY})
    assert read_lock(root) == {}


def test_nothing_is_renamed_or_deleted_while_skills_lock_cannot_be_read(files: SkillFiles, tmp_path: Path) -> None:
    (tmp_path / "skills" / "skills.lock").write_text("{broken")

    with pytest.raises(SharingError, match="lock is not valid"):
        files.rename_skill("calm", "serene", expected={ANY})
    with pytest.raises(SharingError, match="lock is not valid"):
        files.remove_skill("calm", expected={ANY})

    assert files.names() == ["calm"]
    assert "name: calm" in files.read("calm", "SKILL.md")[0]


def test_a_named_pipe_or_a_folder_is_not_written(files: SkillFiles, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "skills" / "calm" / "hooks" / "pipe")
    (tmp_path / "skills" / "calm" / "hooks" / "more").mkdir()

    for path in ("hooks/pipe", "hooks/more"):
        with pytest.raises(EditError, match=f"{path} is not a regular file") as refused:
            files.write("calm", path, "x", expected={ANY})
        assert refused.value.code == "path_invalid"


def test_a_skill_has_a_limited_number_of_files(files: SkillFiles, tmp_path: Path) -> None:
    for number in range(MAX_EDITED_FILES):
        (tmp_path / "skills" / "calm" / f"{number}.txt").touch()

    with pytest.raises(EditError, match="remove some first") as full:
        files.write("calm", "hooks/more.md", "x", expected=None)
    assert full.value.code == "skill_full"
    listed = [file.path for file in files.show("calm").files]
    assert len(listed) == MAX_EDITED_FILES
    assert listed[:3] == ["SKILL.md", "hooks/hint.md", "hooks/hooks.json"], "what can be edited stands first"


def test_a_text_that_is_written_as_it_was_is_no_edit(files: SkillFiles) -> None:
    tag = files.write("calm", HINT, "Be calm.\n", expected={ANY})

    assert (tag, files.show("calm").undo) == (files.read("calm", HINT)[1], ())


def test_a_file_may_have_a_long_name_in_folders_that_are_not_there_yet(files: SkillFiles) -> None:
    path = f"references/a/b/{'龍' * 84}.md"  # 255 bytes, as many as a file system takes

    tag = files.write("calm", path, "x", expected=None)

    assert files.read("calm", path) == ("x", tag)
    assert tag in [file.etag for file in files.show("calm").files]


def test_a_file_keeps_its_permissions_and_leaves_no_draft(files: SkillFiles, tmp_path: Path) -> None:
    hint = tmp_path / "skills" / "calm" / "hooks" / "hint.md"
    hint.chmod(0o640)
    files.write("calm", HINT, "x", expected={ANY})

    assert hint.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in hint.parent.iterdir() if path.name.startswith(".")] == []


@pytest.mark.slow
@pytest.mark.parametrize("swapped", [HINT, "hooks"])
def test_a_file_that_is_edited_is_not_read_through_a_link_that_is_swapped_in(
    files: SkillFiles, tmp_path: Path, swapped: str
) -> None:
    folder, outside = tmp_path / "skills" / "calm", tmp_path / "outside"
    (outside / "hooks").mkdir(parents=True)
    (outside / HINT).write_text("secret")
    shown = set()
    with swapped_for_a_link(folder / swapped, outside / swapped, tmp_path / "aside"):
        for _ in range(4000):
            try:
                files.remove("calm", HINT, expected=["another"])
            except (EditError, OSError) as error:
                shown.add(getattr(error, "current", None))

    assert len(shown) > 1
    assert "secret" not in shown
