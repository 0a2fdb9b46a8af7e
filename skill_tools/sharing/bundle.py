"""One skill's files on their way: found in a source's tree, collected within limits, written whole, packed."""

import hashlib
import io
import os
import posixpath
import shutil
import stat
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, Protocol

from skills_engine.diagnostics import named, visible_text
from skills_engine.files import is_segment, open_beneath
from skills_engine.skills_folder import IGNORED

MAX_FILES = 2000
MAX_BYTES = 32 << 20
"""Limits of a skill that travels, in files and in bytes."""
MAX_LISTED = 100_000
"""Limit for the files of a whole source, of which a skill is a part."""
MAX_DEPTH = 64
"""Limit for the folders of a source, one in the other."""
_TIME = (1980, 1, 1, 0, 0, 0)  # the first that a zip knows: the same files give the same zip

Kind = Literal["file", "program", "link", "other"]
"""`program`: a file that may be executed; `link`: its bytes are its target; `other`: neither, such as a pipe or a submodule."""


class SharingError(Exception):
    """A skill that cannot be made, added, updated, removed or imported; the text names the thing and the cure."""


class SourceTree(Protocol):
    """The files of a source: `entries` by their paths, with slashes."""

    @property
    def entries(self) -> Mapping[str, Kind]: ...

    def read(self, paths: Sequence[str], *, max_bytes: int) -> Iterator[tuple[str, bytes]]:
        """Yield these files in any order. Raises SharingError as soon as they have more bytes than that together."""


class FolderTree:
    """A folder's files. Links are not followed; what git and programs leave behind is named, not entered."""

    def __init__(self, root: Path) -> None:
        self._root = Path(os.path.realpath(root))
        self.entries: dict[str, Kind] = {}
        for parent, folders, files in os.walk(root):
            closed = {name for name in folders if name in (".git", *IGNORED) or Path(parent, name).is_symlink()}
            folders[:] = sorted(set(folders) - closed)
            for path in (Path(parent, name) for name in (*files, *closed)):
                self.entries[path.relative_to(root).as_posix()] = kind_of(path.lstat().st_mode)
            if len(self.entries) > MAX_LISTED or len(Path(parent).parts) - len(root.parts) > MAX_DEPTH:
                limits = f"more than {MAX_LISTED} files, or folders more than {MAX_DEPTH} deep"
                raise SharingError(f"{root} holds {limits}: give the skill's own folder")

    def read(self, paths: Sequence[str], *, max_bytes: int) -> Iterator[tuple[str, bytes]]:
        return read_within(paths, self._open, max_bytes, str(self._root))

    def _open(self, path: str) -> IO[bytes]:
        place = self._root / path
        try:
            if self.entries[path] == "link":
                return io.BytesIO(os.fsencode(place.readlink()))
            return os.fdopen(open_beneath(self._root, place), "rb")
        except OSError as error:
            raise SharingError(f"{place} cannot be read ({error.strerror or error}): try again") from error


def read_within(
    paths: Iterable[str], open_file: Callable[[str], IO[bytes]], max_bytes: int, what: str
) -> Iterator[tuple[str, bytes]]:
    """Read the files. Raises SharingError as soon as they have more bytes together."""
    left = max_bytes
    for path in paths:
        with open_file(path) as file:
            data = file.read(left + 1)
        left -= len(data)
        if left < 0:
            raise too_much(what)
        yield path, data


def kind_of(mode: int) -> Kind:
    if stat.S_ISLNK(mode):
        return "link"
    if not stat.S_ISREG(mode):
        return "other"
    return "program" if mode & stat.S_IXUSR else "file"


@dataclass(frozen=True)
class SkillBundle:
    """A skill's files by path. `left_out` names what the source holds beside them: hidden files, folders and the like."""

    files: Mapping[str, bytes]
    programs: frozenset[str] = frozenset()
    left_out: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """The hash that `skills.lock` pins: of every path and its bytes, in the order of the paths."""
        sha = hashlib.sha256()
        for path in sorted(self.files):
            data = self.files[path]
            sha.update(f"{path}\0{len(data)}\0".encode() + data)
        return f"sha256:{sha.hexdigest()}"

    def write(self, folder: Path) -> None:
        """Put the files into `folder`, which is made anew."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for path, data in self.files.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
            if path in self.programs:
                target.chmod(target.stat().st_mode | 0o111)


def too_much(what: str) -> SharingError:
    return SharingError(f"{what} holds more than {MAX_FILES} files or {MAX_BYTES >> 20} MiB, which is no skill's size")


def find_skill(entries: Collection[str], path: str, source: str) -> str:
    """Return the folder of the skill that `path` names, or of the only one below it. Raises SharingError."""
    if any(entry.count("/") > MAX_DEPTH for entry in entries):
        raise SharingError(f"{source} holds folders more than {MAX_DEPTH} deep: pack the skill's own folder alone")
    folders = _skill_folders(entries)
    if path in folders:
        return path
    tops = sorted(folder for folder in folders if not folders.intersection(_above(folder)))
    below = [folder for folder in tops if not path or folder.startswith(f"{path}/")]
    if len(below) == 1:
        return below[0]
    where = f"{source} has no skill in {path}" if path else f"{source} holds no skill"
    if not tops:
        raise SharingError(f"{where}: expected a folder with SKILL.md or hooks/hooks.json")
    if below:
        where = f"{source} holds {len(below)} skills"
    raise SharingError(f"{where}: add one with #PATH, where PATH is one of {named(below or tops)}")


def _skill_folders(entries: Iterable[str]) -> set[str]:
    """Return the folders with SKILL.md, and those with hooks only that hold no skills themselves."""
    pages, hooks = set(), set()
    for path in entries:
        folder, _, name = path.rpartition("/")
        if name.lower() == "skill.md":
            pages.add(folder)
        elif f"/{path}".endswith("/hooks/hooks.json"):
            hooks.add(path.removesuffix("hooks/hooks.json").rstrip("/"))
    return pages | hooks.difference(up for folder in pages for up in _above(folder))


def _above(folder: str) -> Iterator[str]:
    while folder:
        folder = posixpath.dirname(folder)
        yield folder


def collect(tree: SourceTree, folder: str = "") -> SkillBundle:
    """Read the skill in `folder` ("": the whole tree). Raises SharingError."""
    start = f"{folder}/" if folder else ""
    own = {path.removeprefix(start): kind for path, kind in tree.entries.items() if path.startswith(start)}
    left_out = {path: outermost for path in own if (outermost := _left_out(path))}
    kept = {path: kind for path, kind in own.items() if path not in left_out}
    for path, kind in kept.items():
        if not all(map(is_segment, path.split("/"))) or visible_text(path) != path:
            raise SharingError(f"{path!r} is no name that a file of a skill may have: rename it")
        if not kept.keys().isdisjoint(_above(path)):
            raise SharingError(f"{path} stands below a file as if that were a folder: pack the skill again")
        if kind == "other":
            raise SharingError(f"{path} is neither a file nor a folder: put a file there")
    if len(kept) > MAX_FILES:
        raise too_much(folder or "it")
    contents = tree.read([start + path for path in kept], max_bytes=MAX_BYTES)
    data = {path.removeprefix(start): content for path, content in contents}
    links = {path: data.pop(path) for path, kind in kept.items() if kind == "link"}
    followed = {path: data[_target(path, text, data)] for path, text in links.items()}
    if sum(map(len, data.values())) + sum(map(len, followed.values())) > MAX_BYTES:
        raise too_much(folder or "it")
    programs = frozenset(path for path, kind in kept.items() if kind == "program")
    return SkillBundle(data | followed, programs, tuple(sorted(set(left_out.values()))))


def _left_out(path: str) -> str:
    """Return the outermost hidden file or folder on the path, or ""; "." and ".." hide nothing, they are wrong."""
    parts = path.split("/")
    for end, part in enumerate(parts, 1):
        if part in IGNORED or (part.startswith(".") and part not in (".", "..")):
            return "/".join(parts[:end])
    return ""


def _target(path: str, text: bytes, files: Mapping[str, bytes]) -> str:
    """Return the file of the skill that a link names."""
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), os.fsdecode(text)))
    if target not in files:
        raise SharingError(f"{path} is a link that leads to no file of the skill: put the file itself there")
    return target


def pack_skill(folder: Path) -> bytes:
    """Pack the skill under its folder's name, by the rules by which one is added. Raises SharingError and OSError."""
    bundle, packed = collect(FolderTree(folder)), io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, data in sorted(bundle.files.items()):
            entry = zipfile.ZipInfo(f"{folder.name}/{path}", _TIME)
            entry.external_attr = (stat.S_IFREG | (0o755 if path in bundle.programs else 0o644)) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return packed.getvalue()


def skill_files(folder: Path) -> Iterator[Path]:
    """Give the files of a skill by name, without hidden and unusable names and what programs leave behind."""
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if is_segment(name) and name not in IGNORED)
        for name in sorted(files):
            path = Path(parent, name)
            if is_segment(name) and path.is_file():
                yield path
