"""skill_tools/studio/skill_trial.py"""

from pathlib import Path

import pytest

from skill_tools.authoring.scaffold import new_skill
from skill_tools.studio.skill_files import EditError
from skill_tools.studio.skill_trial import MAX_OVERLAY_BYTES, overlaid, with_skill
from skills_engine import load_snapshot


def tree(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_edits_are_made_in_a_copy_that_goes_away(tmp_path: Path) -> None:
    skill = new_skill("calm", tmp_path, text="Be calm.")
    (skill / "references").mkdir()
    (skill / "references" / "long.md").write_text("x")
    edits = {"hooks/hint.md": "Edited.", "hooks/hooks.json": None, "tests/hint.yaml": "tests: []"}

    with overlaid(skill, edits) as copy:
        assert (copy.name, tree(copy)) == ("calm", ["SKILL.md", "hooks/hint.md", "tests/hint.yaml"])
        assert (copy / "hooks" / "hint.md").read_text() == "Edited."

    assert not copy.exists()
    assert tree(skill) == ["SKILL.md", "hooks/hint.md", "hooks/hooks.json", "references/long.md", "tests/hint.yaml"]


def test_the_edited_skill_takes_its_place_among_the_others(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        new_skill(name, tmp_path, text=f"I am {name}.")
    snapshot = load_snapshot(tmp_path)

    with overlaid(tmp_path / "b", {"hooks/hint.md": "Edited."}) as copy:
        edited = with_skill(snapshot, tmp_path / "b", copy).snapshot

    assert [hook.content for hook in edited.hooks(None)] == ["I am a.", "Edited.", "I am c."]
    with overlaid(tmp_path / "b", {}) as copy:
        chosen = with_skill(snapshot, tmp_path / "b", copy, off=["a", "b"]).snapshot.skills
    assert [skill.name for skill in chosen] == ["b", "c"]
    assert [hook.content for hook in snapshot.hooks(None)] == ["I am a.", "I am b.", "I am c."]


def test_a_skill_that_is_off_comes_last_and_one_without_page_and_hooks_goes(tmp_path: Path) -> None:
    new_skill("a", tmp_path, text="I am a.")
    off = new_skill("off", tmp_path, text="I was off.")
    (off / "SKILL.md").write_text("---\nname: off\ndescription: Off.\ndefault: off\n---\nOff.\n")
    snapshot = load_snapshot(tmp_path)

    with overlaid(off, {}) as copy:
        assert [skill.name for skill in with_skill(snapshot, off, copy).snapshot.skills] == ["a", "off"]
    with overlaid(tmp_path / "a", {"SKILL.md": None, "hooks/hooks.json": None}) as copy:
        assert with_skill(snapshot, tmp_path / "a", copy).snapshot.skills == ()
        assert [skill.name for skill in with_skill(snapshot, tmp_path / "a", copy, on=["off"]).snapshot.skills] == [
            "off"
        ]


def test_a_skill_that_is_too_large_is_not_copied(tmp_path: Path) -> None:
    skill = new_skill("calm", tmp_path)
    with (skill / "tests.bin").open("wb") as file:
        file.truncate(MAX_OVERLAY_BYTES + 1)

    with pytest.raises(EditError, match="too large"), overlaid(skill, {}):
        pass
