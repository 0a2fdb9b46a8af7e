"""The folder of skills: which skills it holds, each one read, and how to see that one changed."""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path

from skills_engine.diagnostics import Diagnostic, has_errors
from skills_engine.files import is_inside, is_segment
from skills_engine.hook_entries import SHARED_GROUP
from skills_engine.hooks_config import HOOKS_JSON, HooksFile, read_hooks
from skills_engine.skills_config import Skill, find_skill_file, read_skill

MAX_SKILLS = 5000
MAX_STAMPED_FILES = 2000
"""Limit for the files of one skill's hooks/ and tests/; changes of files past it are not seen."""

IGNORED = ("node_modules", "__pycache__")
"""Folders that programs leave behind."""

Stamp = tuple[tuple[str, int, int, int, int], ...]
"""Path, inode, size, and times of change of each file that counts."""


@dataclass(frozen=True)
class LoadedSkill:
    """A skill as it was read: `skill` is in force, `last_good` is the newest version without an error.

    `hooks_file`: all that was read of its hooks.
    """

    skill: Skill | None
    diagnostics: tuple[Diagnostic, ...]
    last_good: Skill | None = None
    hooks_file: HooksFile = field(default_factory=HooksFile)


def list_skills(skills_dir: Path) -> tuple[list[str], list[Diagnostic]]:
    """List the folders of skills by name, and what is wrong with the folder that holds them."""
    folders, found = find_skills([skills_dir], None)
    return list(folders), found


def find_skills(
    roots: Sequence[Path], enabled: Sequence[str] | None, also: Sequence[str] = ()
) -> tuple[dict[str, Path], list[Diagnostic]]:
    """Find the folder of each skill in several roots: of one name, the first.

    By default those of the first root by name, then what the next one adds; `enabled` selects and orders. Those of `also` come after `enabled`.
    """
    wanted = dict.fromkeys((*(enabled or ()), *also))
    folders: dict[str, Path] = {}
    found: list[Diagnostic] = []
    for root in roots:
        try:
            present = sorted(entry.name for entry in root.iterdir() if _is_candidate(entry))
        except OSError as error:
            found.append(Diagnostic("warning", "", str(root), "", f"no skills: {error.strerror}"))
            continue
        if enabled is not None:
            present = [name for name in present if name in wanted]
        elif len(present) > MAX_SKILLS:
            message = f"holds more than {MAX_SKILLS} folders: the rest is not read"
            found.append(Diagnostic("error", "", str(root), "", message))
            del present[MAX_SKILLS:]
        for name in present:
            first = folders.setdefault(name, root / name)
            if first.parent != root and not is_inside(root / name, first):
                found.append(Diagnostic("info", name, "", "", f"{root / name} is not used: {first} comes before it"))
    if any(root.is_dir() for root in roots):
        where = " or ".join(map(str, roots))
        missing = [name for name in wanted if name not in folders]
        found += [Diagnostic("warning", name, "", "", f"enabled, but not in {where}") for name in missing]
    if enabled is not None:
        folders = {name: folders[name] for name in wanted if name in folders}
    return folders, found


def load_skill(folder: Path, *, is_named: bool = False, roots: Sequence[Path] = ()) -> LoadedSkill:
    """Read one skill with its hooks. A folder with neither SKILL.md nor hooks is no skill.

    `is_named`: the operator named it in `skills.enabled` or `skills.also`, so it is on even with `default: off`.
    A link is followed to where it stays inside the folder it stands in, or in one of `roots`.
    """
    try:
        return _load(folder, is_named=is_named, roots=roots)
    except OSError as error:  # the folder has just gone away, or is closed to us
        return LoadedSkill(None, (Diagnostic("error", folder.name, "", "", f"cannot be read ({error.strerror})"),))


def stamp_skill(folder: Path) -> Stamp:
    """Return what differs after each change of a file that `load_skill` reads. Never raises."""
    return tuple(sorted(islice(_stamps(folder), MAX_STAMPED_FILES)))


def has_changed(stamp: Stamp, since_s: float, until_s: float) -> bool:
    """Return whether a file was changed between these two times of the system's clock."""
    return any(since_s < changed_ns / 1e9 <= until_s for *_, changed_ns in stamp)


def is_skill_file(name: str) -> bool:
    """Return whether a file of this name, at the top or below hooks/ and tests/, counts for the skill or its tests."""
    return name == "hooks.json" or name.lower().endswith((".md", ".yaml", ".yml"))


def _is_candidate(entry: Path) -> bool:
    try:
        is_folder = stat.S_ISDIR(entry.stat().st_mode)
    except OSError:  # a link to nowhere, or to where we may not look
        return False
    return is_folder and is_segment(entry.name) and entry.name not in IGNORED


def _load(folder: Path, *, is_named: bool, roots: Sequence[Path]) -> LoadedSkill:
    if not any(is_inside(folder, root) for root in (folder.parent, *roots)):
        message = f"leads out of {folder.parent.name}/: put the folder itself there, or where it lies in skills.dirs"
        return LoadedSkill(None, (Diagnostic("error", folder.name, "", "", message),))
    if find_skill_file(folder) is None and not os.path.lexists(folder / HOOKS_JSON):
        return LoadedSkill(None, (_no_skill(folder),))
    if f"{folder.name}/" == SHARED_GROUP:
        message = f"no skill may be called {folder.name}: it begins the names of groups that belong to all skills"
        return LoadedSkill(None, (Diagnostic("error", folder.name, "", "", message),))
    skill, found = read_skill(folder, is_named=is_named)
    hooks = read_hooks(folder)
    is_on, diagnostics = skill.on_by_default or is_named, (*found, *hooks.diagnostics)
    skill = replace(skill, hooks=hooks.hooks, triggers=hooks.triggers, on_by_default=is_on)
    return LoadedSkill(skill, diagnostics, None if has_errors(diagnostics) else skill, hooks)


def _no_skill(folder: Path) -> Diagnostic:
    if nested := [page.parent.name for page in _nested_pages(folder)]:
        names = ", ".join([*nested[:3], "…"] if len(nested) > 3 else nested)
        message = f"is no skill but holds skills ({names}): move them one level up, or point skills.dir to this folder"
        return Diagnostic("warning", folder.name, "", "", message)
    return Diagnostic("info", folder.name, "", "", "is not a skill: it has neither SKILL.md nor hooks")


def _nested_pages(folder: Path) -> list[Path]:
    return sorted(islice(folder.glob("*/SKILL.md"), MAX_STAMPED_FILES))


def _stamps(folder: Path) -> Iterator[tuple[str, int, int, int, int]]:
    for path in _skill_files(folder):
        try:
            found = path.stat()
        except OSError:  # a link that leads nowhere, for now
            yield (str(path), 0, 0, 0, 0)
        else:
            yield (str(path), found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _skill_files(folder: Path) -> Iterator[Path]:
    """Yield the files by their real places: a folder that has become a link to another one has changed."""
    top = islice(os.walk(os.path.realpath(folder)), 1)
    below = (
        os.walk(os.path.realpath(inner)) for inner in (folder / "hooks", folder / "tests") if is_inside(inner, folder)
    )
    for parent, _, files in chain(top, *below):
        yield from (Path(parent, name) for name in files if is_skill_file(name))
    if not os.path.lexists(folder / "SKILL.md"):
        yield from _nested_pages(folder)
