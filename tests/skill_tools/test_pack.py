"""skill_tools/sharing/bundle.py"""

import io
import os
import zipfile
from pathlib import Path

import pytest

from skill_tools.sharing.bundle import FolderTree, SharingError, pack_skill, skill_files


def skill(parent: Path) -> Path:
    folder = parent / "calm"
    (folder / "hooks").mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: calm\n---\nBe calm.\n")
    (folder / "hooks" / "hint.md").write_text("Be calm.\n")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("secret")
    return folder


def test_a_packed_skill_holds_its_files_under_its_name_and_nothing_hidden(tmp_path: Path) -> None:
    archive = zipfile.ZipFile(io.BytesIO(pack_skill(skill(tmp_path))))

    assert archive.namelist() == ["calm/SKILL.md", "calm/hooks/hint.md"]
    assert archive.read("calm/hooks/hint.md") == b"Be calm.\n"


def test_files_are_small_of_no_time_and_programs_stay_programs(tmp_path: Path) -> None:
    folder = skill(tmp_path)
    (folder / "run.sh").write_text("echo " * 1000)
    (folder / "run.sh").chmod(0o700)

    entries = zipfile.ZipFile(io.BytesIO(pack_skill(folder))).infolist()

    assert {(entry.filename, oct(entry.external_attr >> 16)) for entry in entries} == {
        ("calm/SKILL.md", "0o100644"),
        ("calm/hooks/hint.md", "0o100644"),
        ("calm/run.sh", "0o100755"),
    }
    assert {(entry.date_time, entry.compress_type) for entry in entries} == {
        ((1980, 1, 1, 0, 0, 0), zipfile.ZIP_DEFLATED)
    }


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    one, other = skill(tmp_path / "a"), skill(tmp_path / "b")
    os.utime(other / "SKILL.md", (0, 0))

    assert pack_skill(one) == pack_skill(other)


def test_the_files_of_a_skill_are_given_by_name_without_what_is_hidden_or_left_behind(tmp_path: Path) -> None:
    folder = skill(tmp_path)
    for name in (".hidden", "__pycache__/x.pyc", "hooks/node_modules/x.js", "hooks/a.md", "data/b", "data/a", "a:b.md"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
    (folder / "hooks" / "gone.md").symlink_to("nowhere.md")

    found = [path.relative_to(folder).as_posix() for path in skill_files(folder)]
    assert found == ["SKILL.md", "data/a", "data/b", "hooks/a.md", "hooks/hint.md"]


def test_a_link_that_leads_out_is_refused(tmp_path: Path) -> None:
    folder = skill(tmp_path)
    (tmp_path / "secret.md").write_text("secret")
    (folder / "hooks" / "out.md").symlink_to(tmp_path / "secret.md")

    with pytest.raises(SharingError, match=r"hooks/out\.md is a link that leads to no file of the skill"):
        pack_skill(folder)


@pytest.mark.parametrize("swapped", ["hooks/hint.md", "hooks"])
def test_a_link_that_is_swapped_in_after_the_files_were_listed_is_refused(tmp_path: Path, swapped: str) -> None:
    folder, outside = skill(tmp_path), tmp_path / "outside"
    (outside / "hooks").mkdir(parents=True)
    (outside / "hooks" / "hint.md").write_text("secret")
    tree = FolderTree(folder)
    (folder / swapped).rename(tmp_path / "aside")
    (folder / swapped).symlink_to(outside / swapped)

    with pytest.raises(SharingError, match=r"hint\.md cannot be read .*: try again"):
        list(tree.read(["hooks/hint.md"], max_bytes=100))


def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    folder = skill(tmp_path)
    (folder / os.fsdecode(b"hooks/\xff.md")).write_text("x")

    with pytest.raises(
        SharingError, match=r"'hooks/\\udcff\.md' is no name that a file of a skill may have: rename it"
    ):
        pack_skill(folder)


def test_a_skill_that_is_too_large_is_refused(tmp_path: Path) -> None:
    folder = skill(tmp_path)
    with (folder / "huge.bin").open("wb") as file:
        file.truncate(33 << 20)

    with pytest.raises(SharingError, match="32 MiB"):
        pack_skill(folder)
