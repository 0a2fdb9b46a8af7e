"""Skills put into a folder of skills and taken out again: atomically, and pinned in skills.lock.

{"version": 1, "skills": {"pdf": {"source": "https://…#skills/pdf", "hash": "sha256:…", "commit": "9d2f1ae1…"}}}
"""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import unified_diff
from itertools import islice
from pathlib import Path
from typing import Literal

import msgspec

from skill_tools.sharing.bundle import FolderTree, SharingError, SkillBundle, collect
from skill_tools.sharing.sources import Arrival
from skills_engine.files import is_segment
from skills_engine.hook_entries import SHARED_GROUP

LOCK_FILE = "skills.lock"
VERSION = 1
MAX_DIFF_LINES = 400
_MAX_DIFFED_BYTES = 100_000


class LockedSkill(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One added skill; `commit` is of git sources only."""

    source: str
    hash: str
    commit: str | None = None


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    version: int
    skills: dict[str, LockedSkill]


def read_lock(root: Path) -> dict[str, LockedSkill]:
    """Return what `root` (the folder of skills) has from elsewhere, by name. Raises SharingError and OSError."""
    path = root / LOCK_FILE
    try:
        document = msgspec.json.decode(path.read_bytes(), type=_Document)
    except FileNotFoundError:
        return {}
    except msgspec.DecodeError as error:
        raise SharingError(f"{path} is not valid: {error}. Mend it, or delete it and add the skills again") from error
    if document.version != VERSION:
        raise SharingError(f"{path} is of version {document.version}: a newer Parley wrote it")
    if wrong := [name for name in document.skills if not is_segment(name)]:
        raise SharingError(f"{path} names {wrong[0]!r}, which is no name for a skill: delete that entry")
    return document.skills


@contextmanager
def changed_lock(root: Path) -> Iterator[dict[str, LockedSkill]]:
    """Give the entries to be changed; written atomically at the end, one process at a time."""
    descriptor = os.open(root, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        skills = read_lock(root)
        yield skills
        document = _Document(VERSION, dict(sorted(skills.items())))
        draft = root / f".{LOCK_FILE}.draft"
        draft.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
        draft.replace(root / LOCK_FILE)
    finally:
        os.close(descriptor)


@contextmanager
def moved_pin(root: Path, name: str, new_name: str | None) -> Iterator[None]:
    """Pin an added skill under its new name, or (None) no more, once the block has moved it. Raises SharingError before."""
    if name not in read_lock(root):
        yield
        return
    with changed_lock(root) as locked:
        yield
        pin = locked.pop(name)
        if new_name is not None:
            locked[new_name] = pin


@dataclass(frozen=True)
class InstalledSkill:
    """A skill that skills.lock knows; `bundle` is what is on disk now, None where nothing is."""

    name: str
    locked: LockedSkill
    bundle: SkillBundle | None

    @property
    def state(self) -> Literal["as added", "edited", "missing"]:
        if self.bundle is None:
            return "missing"
        return "as added" if self.bundle.digest == self.locked.hash else "edited"


def installed_skills(root: Path) -> list[InstalledSkill]:
    """Return the skills of skills.lock by name, as they are on disk. Raises SharingError and OSError."""
    return [
        InstalledSkill(name, locked, collect(FolderTree(root / name)) if (root / name).is_dir() else None)
        for name, locked in read_lock(root).items()
    ]


def add_skill(root: Path, arrival: Arrival) -> Path:
    """Put a new skill into `root`; it appears whole. Raises SharingError and OSError."""
    root.mkdir(parents=True, exist_ok=True)
    with changed_lock(root) as locked:
        folder = put_skill(root, arrival.name, arrival.bundle)
        locked[arrival.name] = _lock_of(arrival)
    return folder


def put_skill(root: Path, name: str, bundle: SkillBundle) -> Path:
    """Make a new skill of these files, which nothing pins; it appears whole. Raises SharingError and OSError."""
    require_free(root, name)
    _draft(root, name, bundle).rename(root / name)
    return root / name


def require_free(root: Path, name: str) -> None:
    """Raise SharingError where no skill of this name can be added."""
    if not is_segment(name) or name.casefold() == LOCK_FILE or f"{name}/" == SHARED_GROUP:
        raise SharingError(f"{name!r} is no name for a skill: choose another with --name")
    if os.path.lexists(root / name):
        raise SharingError(f"{name} exists already: update or remove it, or choose another name with --name")


def replace_skill(root: Path, arrival: Arrival) -> None:
    """Put a newer version in the place of the skill, whose files go, or in its empty place."""
    place, old = root / arrival.name, root / f".{arrival.name}.old"
    with changed_lock(root) as locked:
        draft = _draft(root, arrival.name, arrival.bundle)
        _discard(place, old)
        draft.rename(place)
        shutil.rmtree(old, ignore_errors=True)
        locked[arrival.name] = _lock_of(arrival)


def remove_skill(root: Path, name: str) -> None:
    hidden = root / f".{name}.old"
    with changed_lock(root) as locked:
        _discard(root / name, hidden)
        shutil.rmtree(hidden, ignore_errors=True)
        del locked[name]


def _discard(folder: Path, hidden: Path) -> None:
    """Take the folder away at once, however long it takes to delete it."""
    shutil.rmtree(hidden, ignore_errors=True)
    if folder.exists():
        folder.rename(hidden)


def _draft(root: Path, name: str, bundle: SkillBundle) -> Path:
    draft = root / f".{name}.draft"  # hidden: a server that watches does not see half of it
    bundle.write(draft)
    return draft


def _lock_of(arrival: Arrival) -> LockedSkill:
    return LockedSkill(source=str(arrival.source), hash=arrival.bundle.digest, commit=arrival.commit)


def difference(before: SkillBundle, after: SkillBundle) -> Iterator[str]:
    """Give the lines of a unified diff, at most 400; files that are no text, or are long, are named only."""
    lines = _difference(before, after)
    yield from islice(lines, MAX_DIFF_LINES)
    if next(lines, None) is not None:
        yield f"… (more than {MAX_DIFF_LINES} lines)"


def _difference(before: SkillBundle, after: SkillBundle) -> Iterator[str]:
    for path in sorted(before.files.keys() | after.files.keys()):
        old, new = before.files.get(path), after.files.get(path)
        if old == new:
            continue
        what = "new" if old is None else "gone" if new is None else "changed"
        yield f"{what}: {path} ({len(old or b'')} to {len(new or b'')} bytes)"
        texts = _as_lines(old or b""), _as_lines(new or b"")
        if texts[0] is not None and texts[1] is not None:
            yield from unified_diff(texts[0], texts[1], "here", "source", lineterm="", n=2)


def _as_lines(data: bytes) -> list[str] | None:
    if len(data) > _MAX_DIFFED_BYTES:
        return None
    try:
        return data.decode().splitlines()
    except UnicodeDecodeError:
        return None
