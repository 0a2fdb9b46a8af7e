"""A skill with edits that are not saved, as a folder that the loader reads like any other."""

import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from skill_tools.sharing.pack import skill_files
from skill_tools.studio.skill_files import EditError, require_editable
from skills_engine.library import SkillsSnapshot
from skills_engine.skills_config import Skill
from skills_engine.skills_folder import load_skill

_COPIED = ("hooks/", "tests/")
MAX_OVERLAY_BYTES = 8 << 20
"""Limit for the files that are copied."""


@contextmanager
def overlaid(folder: Path, edits: Mapping[str, str | None]) -> Iterator[Path]:
    """Lend a copy of the skill in which `edits` are made: path → text, None = deleted. Raises EditError and OSError."""
    with tempfile.TemporaryDirectory(prefix="parley-skill-") as root:
        copy = Path(root, folder.name)
        copy.mkdir()
        size = 0
        for path in skill_files(folder):
            name = path.relative_to(folder).as_posix()
            if path.is_symlink() or ("/" in name and not name.startswith(_COPIED)):
                continue
            if (size := size + path.stat().st_size) > MAX_OVERLAY_BYTES:
                raise EditError("file_too_large", f"{folder.name} is too large to be tried before it is saved")
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy / name)
        for name, text in edits.items():
            target = copy.joinpath(*require_editable(folder, name))
            if text is None:
                target.unlink(missing_ok=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text.encode())
        yield copy


def with_skill(snapshot: SkillsSnapshot, folder: Path, place: Path, off: Collection[str] = ()) -> SkillsSnapshot:
    """Return the skills in force with the one in `folder` as `place`, its copy, holds it: all of it that can be used.

    Skills in `off` are left out, but not this one.
    """
    loaded = load_skill(place, is_named=True)
    skills: list[Skill] = [skill for skill in snapshot.skills if skill.name not in off or skill.name == folder.name]
    at = next((index for index, skill in enumerate(skills) if skill.name == folder.name), len(skills))
    skills[at : at + 1] = [] if loaded.skill is None else [loaded.skill]
    return SkillsSnapshot(tuple(skills))
