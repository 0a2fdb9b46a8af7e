"""Edits of skills on disk: conditional and atomic, within a skill's own folders, with undo and a bin.

One call at a time; all of them read or write files.
"""

import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from skill_tools.authoring.lint import lint_skill
from skill_tools.sharing.bundle import skill_files
from skill_tools.sharing.install import moved_pin
from skill_tools.studio.edit_history import Edit, EditHistory, Past, SkillEdit
from skills_engine.diagnostics import Diagnostic
from skills_engine.files import UnreadableError, is_inside, is_segment, open_beneath, read_inside
from skills_engine.skills_config import SKILL_NAME_FORM, find_skill_file, is_skill_name
from skills_engine.skills_folder import list_skills

EDITABLE: Final = ("hooks", "tests", "references")
"""Folders of a skill whose files may be written, beside SKILL.md."""
MAX_TEXT_BYTES: Final = 256 << 10
MAX_DEPTH: Final = 8
MAX_EDITED_FILES: Final = 500
"""Files of one skill, above which no new one is created and none more are listed."""
MAX_BINNED: Final = 50
"""Entries of the bin; beyond it the oldest is deleted for good."""
ANY: Final = "*"
"""The tag that stands for whatever is there."""
_STALE: Final = "is not what you have read: it exists already or has changed since you read it"


class EditError(Exception):
    """A change that is not made; `code` says to programs what the text says to people."""

    def __init__(self, code: str, message: str, *, tag: str | None = None, current: str | None = None) -> None:
        """`tag` and `current`: what is there now, if it is not what the caller has read."""
        super().__init__(message)
        self.code = code
        self.tag = tag
        self.current = current


class ListedFile(Struct, frozen=True, kw_only=True):
    path: str
    bytes: int
    etag: str | None
    """Tag of its text; null for a file that cannot be edited here."""


class SkillState(Struct, frozen=True, kw_only=True):
    """The files of one skill; `etag` changes with each of them that can be edited."""

    name: str
    etag: str
    is_writable: bool
    files: list[ListedFile]
    diagnostics: list[Diagnostic]
    """Defects of the files as they are. With an error, the last working version stays in use."""
    undo: tuple[SkillEdit, ...]
    """Edits that can be undone, the next one last."""
    redo: tuple[SkillEdit, ...]


class BinnedSkill(Struct, frozen=True, kw_only=True):
    """A skill that was deleted; `entry` names its place in the bin."""

    entry: str
    name: str
    at: str


class SkillFiles:
    """The skills below `root`, which may be edited, and those of further roots, which are only read.

    `expected`: the tags of what the caller has read, of which one must still be
    that of what stands there; else nothing changes.
    """

    def __init__(self, root: Path, data_dir: Path, *, further: Sequence[Path] = (), is_on: bool = True) -> None:
        """`is_on` says whether anything may be changed."""
        self.is_on = is_on
        self.root = root
        """The folder of the skills that may be edited."""
        self._roots = (root, *further)
        self._history = EditHistory(data_dir / "skill_history")
        self._bin = data_dir / "skill_bin"

    def names(self) -> list[str]:
        """Return the folders of all roots, by name; without those that lead out."""
        names = {name for root in self._roots for name in list_skills(root)[0]}
        return sorted(name for name in names if self._find(name) is not None)

    def folder(self, skill: str) -> Path:
        """Return the first root's folder of this name. Raises EditError."""
        if is_segment(skill) and (folder := self._find(skill)) is not None:
            return folder
        raise EditError("skill_unknown", f"there is no skill {skill[:100]!r}; it may have been renamed or deleted")

    def _find(self, skill: str) -> Path | None:
        folders = (root / skill for root in self._roots)
        return next(
            (one for one in folders if one.is_dir() and any(is_inside(one, root) for root in self._roots)), None
        )

    def is_writable(self, skill: str) -> bool:
        return self.is_on and is_inside(self.folder(skill), self.root)

    def show(self, skill: str) -> SkillState:
        folder = self.folder(skill)
        files = _listed(folder)
        past = self._history.read(skill)
        return SkillState(
            name=skill,
            etag=_skill_tag(files),
            is_writable=self.is_writable(skill),
            files=files,
            diagnostics=lint_skill(folder),
            undo=_without_texts(past.undo),
            redo=_without_texts(past.redo),
        )

    def tag(self, skill: str) -> str:
        """Return the tag that `show` would give."""
        return _skill_tag(_listed(self.folder(skill)))

    def create(self, skill: str, make: Callable[[Path], object]) -> None:
        """Create a skill of this name below the root, which `make` writes."""
        self._require_on()
        if is_segment(skill) and os.path.lexists(self.root / skill):
            raise EditError("skill_exists", f"there is a skill {skill} already; choose another name")
        make(self.root)
        self._history.forget(skill)  # that of an earlier skill of this name, deleted on disk

    def read(self, skill: str, path: str) -> tuple[str, str]:
        """Return the text and its tag."""
        folder = self.folder(skill)
        require_segments(path)
        try:
            data = read_inside(folder, path, max_bytes=MAX_TEXT_BYTES)
            return data.decode(), _tag(data)
        except UnreadableError as error:
            code = "file_unknown" if isinstance(error.__cause__, FileNotFoundError) else "file_unreadable"
            raise EditError(code, f"{path} {error}") from error
        except UnicodeDecodeError as error:
            raise EditError("file_unreadable", f"{path} is not UTF-8 text (byte {error.start})") from error

    def write(self, skill: str, path: str, text: str, *, expected: Collection[str] | None) -> str:
        """Write the file whole or not at all; returns its new tag. With `expected` None, it must not exist yet."""
        data = text.encode()
        if len(data) > MAX_TEXT_BYTES:
            message = f"{path} would have {len(data)} bytes; at most {MAX_TEXT_BYTES} are kept"
            raise EditError("file_too_large", message)
        target = self._place(skill, path)
        before = self._read(target) if expected is None else self._expect(target, path, expected)
        if expected is None and before is not None:
            raise _stale(path, before)
        if before is None and len(_first(self.folder(skill))) >= MAX_EDITED_FILES:
            raise EditError("skill_full", f"{skill} holds {MAX_EDITED_FILES} files; remove some first")
        if before != data:
            self._change(skill, "write" if before is not None else "new", {path: (before, data)})
        return _tag(data)

    def rename(self, skill: str, path: str, new_path: str, *, expected: Collection[str]) -> str:
        """Return the tag of the file at its new place."""
        data = self._expect(self._place(skill, path), path, expected)
        if os.path.lexists(self._place(skill, new_path)):
            raise EditError("file_exists", f"{new_path} exists already; choose another name")
        self._change(skill, "rename", {path: (data, None), new_path: (None, data)})
        return _tag(data)

    def remove(self, skill: str, path: str, *, expected: Collection[str]) -> None:
        """Put the file into the bin; undo brings it back."""
        data = self._expect(self._place(skill, path), path, expected)
        with self._binned(f"{skill}-{path.replace('/', '-')}") as place:
            place.write_bytes(data)
        self._change(skill, "delete", {path: (data, None)})

    def undo(self, skill: str, *, expected: Collection[str]) -> Edit:
        return self._step(skill, expected, is_redo=False)

    def redo(self, skill: str, *, expected: Collection[str]) -> Edit:
        return self._step(skill, expected, is_redo=True)

    def rename_skill(self, skill: str, name: str, *, expected: Collection[str]) -> None:
        """Rename the folder, and the skill in its SKILL.md. Raises SharingError for a skills.lock that cannot be read."""
        folder = self._whole(skill, expected)
        if not is_skill_name(name):
            raise EditError("name_invalid", f"{name} is not a skill name: {SKILL_NAME_FORM}")
        if os.path.lexists(self.root / name):
            raise EditError("skill_exists", f"there is a skill {name} already; choose another name")
        page = find_skill_file(folder)
        with moved_pin(self.root, skill, name):
            if page is not None:
                _put(folder / page, _renamed(self.read(skill, page)[0].encode(), name))
            folder.rename(self.root / name)
        self._history.rename(skill, name)

    def remove_skill(self, skill: str, *, expected: Collection[str]) -> None:
        """Put the skill's folder into the bin. Raises SharingError for a skills.lock that cannot be read."""
        folder = self._whole(skill, expected)
        # Gone at once, however long it takes to move it to another disk.
        hidden = self.root / f".{secrets.token_hex()}.deleted"
        with moved_pin(self.root, skill, None):
            folder.rename(hidden)
        with self._binned(skill) as place:
            shutil.move(hidden, place)
        self._history.forget(skill)

    def binned(self) -> list[BinnedSkill]:
        """Return the skills in the bin, the last one deleted first."""
        entries = sorted((path.name for path in self._bin.iterdir() if path.is_dir()) if self._bin.is_dir() else ())
        parts = [(entry, *entry.partition("-")) for entry in reversed(entries)]
        return [BinnedSkill(entry=entry, name=name, at=at) for entry, at, _, name in parts]

    def restore(self, entry: str) -> str:
        """Put a deleted skill back under its name, which it returns."""
        name = next((one.name for one in self.binned() if one.entry == entry), None)
        if name is None:
            raise EditError("skill_unknown", f"{entry[:100]!r} is not in the bin; it may have been given back")
        hidden = self.root / f".{secrets.token_hex()}.restored"  # it appears whole, from whichever disk it comes

        def make(root: Path) -> None:
            shutil.move(self._bin / entry, hidden)
            hidden.rename(root / name)

        self.create(name, make)
        return name

    def _whole(self, skill: str, expected: Collection[str]) -> Path:
        folder = self.folder(skill)
        self._require_writable(skill)
        tag = _skill_tag(_listed(folder))
        if not {ANY, tag} & set(expected):
            raise EditError("version_stale", f"{skill}/ {_STALE}", tag=tag)
        return folder

    def _step(self, skill: str, expected: Collection[str], *, is_redo: bool) -> Edit:
        self._whole(skill, expected)
        past = self._history.read(skill)
        steps, way_back = (past.redo, past.undo) if is_redo else (past.undo, past.redo)
        if not steps:
            raise EditError("nothing_to_undo", f"there is nothing to {'redo' if is_redo else 'undo'} in {skill}")
        edit = steps.pop()
        places = {path: self._place(skill, path) for path in edit.files}
        now = {path: self._read(place) for path, place in places.items()}
        way_back.append(msgspec.structs.replace(edit, at=datetime.now(UTC), files=now, skill=skill))
        self._history.write(skill, past)
        is_renamed = edit.skill not in ("", skill)  # since then: an earlier SKILL.md gets the name of now
        files = {
            path: _renamed(data, skill) if data and is_renamed and "/" not in path else data
            for path, data in edit.files.items()
        }
        _put_all({places[path]: data for path, data in files.items()})
        return edit

    def _change(self, skill: str, action: str, files: dict[str, tuple[bytes | None, bytes | None]]) -> None:
        before = {path: data for path, (data, _) in files.items()}
        past = self._history.read(skill)
        edit = Edit(at=datetime.now(UTC), action=action, path=next(iter(files)), files=before, skill=skill)
        self._history.write(skill, Past(undo=[*past.undo, edit]))  # what was undone can no longer be redone
        try:
            _put_all({self._place(skill, path): after for path, (_, after) in files.items()})
        except OSError:
            self._history.write(skill, past)
            raise

    def _place(self, skill: str, path: str) -> Path:
        """Return the resolved path of a file that may be written. Raises EditError."""
        folder = self.folder(skill)
        self._require_writable(skill)
        target = folder.resolve().joinpath(*require_editable(folder, path))
        if Path(os.path.realpath(target)) != target:
            raise EditError("path_invalid", f"{path} is a link or is behind one; edit the file it leads to")
        if target.exists() and not target.is_file():  # opening a named pipe would wait for its writer
            raise EditError("path_invalid", f"{path} is not a regular file")
        return target

    def _require_on(self) -> None:
        if not self.is_on:
            raise EditError("editing_off", "skills.edit does not allow to change skills here")

    def _require_writable(self, skill: str) -> None:
        self._require_on()
        if not self.is_writable(skill):
            raise EditError("skill_read_only", f"{skill} stands in another folder, which is only read")

    def _expect(self, target: Path, path: str, expected: Collection[str]) -> bytes:
        """Return the file's content. Raises EditError where that is not what the caller has read."""
        data = self._read(target)
        if data is None or not {ANY, _tag(data)} & set(expected):
            raise _stale(path, data)
        return data

    def _read(self, target: Path) -> bytes | None:
        try:
            with os.fdopen(open_beneath(self.root.resolve(), target), "rb") as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None

    @contextmanager
    def _binned(self, name: str) -> Iterator[Path]:
        """Give a new place in the bin, and drop its oldest entries."""
        self._bin.mkdir(parents=True, exist_ok=True)
        short = name.encode()[:200].decode(errors="ignore")
        yield self._bin / f"{datetime.now(UTC):%Y%m%dT%H%M%S.%f}-{short}"
        for old in sorted(self._bin.iterdir())[:-MAX_BINNED]:
            if old.is_dir():
                shutil.rmtree(old)
            else:
                old.unlink()


def require_segments(path: str) -> Sequence[str]:
    """Return the names of a path inside a skill's folder. Raises EditError."""
    parts = path.split("/")
    if len(parts) > MAX_DEPTH or not all(map(is_segment, parts)):
        message = f"expected a path in the skill's folder, such as hooks/hint.md, at most {MAX_DEPTH} names deep"
        raise EditError("path_invalid", message)
    return parts


def require_editable(folder: Path, path: str) -> Sequence[str]:
    """Return the names of a path at which a file may be written. Raises EditError."""
    parts = require_segments(path)
    is_page = len(parts) == 1 and path == (find_skill_file(folder) or "SKILL.md")
    if not is_page and (len(parts) < 2 or parts[0] not in EDITABLE):
        raise EditError("path_invalid", f"only SKILL.md and files in {', '.join(EDITABLE)} can be edited")
    return parts


def _without_texts(edits: Sequence[Edit]) -> tuple[SkillEdit, ...]:
    return msgspec.convert(edits, tuple[SkillEdit, ...], from_attributes=True)


def _listed(folder: Path) -> list[ListedFile]:
    return [_listed_file(folder, path) for path in _first(folder)]


def _listed_file(folder: Path, path: Path) -> ListedFile:
    name, size = path.relative_to(folder).as_posix(), path.stat().st_size
    is_ours = name == find_skill_file(folder) or name.partition("/")[0] in EDITABLE
    tag = None
    if is_ours and size <= MAX_TEXT_BYTES and not path.is_symlink():
        with suppress(UnicodeDecodeError, UnreadableError):
            (data := read_inside(folder, name, max_bytes=MAX_TEXT_BYTES)).decode()
            tag = _tag(data)
    return ListedFile(path=name, bytes=size, etag=tag)


def _first(folder: Path) -> list[Path]:
    """Return the files that are listed: those that can be edited stand before the others."""
    page = find_skill_file(folder)
    pages = () if page is None else (folder / page,)
    ours = (path for name in EDITABLE if not (folder / name).is_symlink() for path in skill_files(folder / name))
    others = (path for path in skill_files(folder) if path.relative_to(folder).parts[0] not in (*EDITABLE, page))
    return list(islice(chain(pages, ours, others), MAX_EDITED_FILES))


def _put_all(files: Mapping[Path, bytes | None]) -> None:
    """Write files, and only then remove others, so that a renamed file is never missing."""
    for target, data in sorted(files.items(), key=lambda item: item[1] is None):
        _put(target, data)


def _put(target: Path, data: bytes | None) -> None:
    """Replace the file by these bytes in one step; None removes it."""
    if data is None:
        target.unlink(missing_ok=True)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(".draft")  # hidden: nothing reads half of it
    with draft.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    if target.exists():
        shutil.copymode(target, draft)
    draft.replace(target)


def _renamed(page: bytes, name: str) -> bytes:
    """Return a SKILL.md with another name in its front matter."""
    head, dashes, body = page.partition(b"\n---")
    if not (dashes and head.startswith(b"---")):
        return page
    return re.sub(rb"(?m)^name:.*$", f"name: {name}".encode(), head) + dashes + body


def _tag(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _skill_tag(files: Sequence[ListedFile]) -> str:
    return _tag(repr([(file.path, file.etag) for file in files if file.etag]).encode())


def _stale(path: str, data: bytes | None) -> EditError:
    if data is None:
        return EditError("version_stale", f"{path} is not what you have read: it is gone")
    return EditError("version_stale", f"{path} {_STALE}", tag=_tag(data), current=data.decode(errors="replace"))
