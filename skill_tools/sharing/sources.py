"""Sources of skills: a folder, a zip, or a git repository, read without running anything of theirs."""

import re
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from skill_tools.sharing.bundle import (
    FolderTree,
    Kind,
    SharingError,
    SkillBundle,
    SourceTree,
    collect,
    find_skill,
    kind_of,
    read_within,
)
from skill_tools.sharing.git_tree import GitTree
from skills_engine.front_matter import split_front_matter
from skills_engine.skills_config import is_spec_name

MAX_ZIP_BYTES = 64 << 20

_URL = re.compile(r"(?:(?:https?|ssh|git|file)://[^/#]*|[\w.-]+@[\w.-]+:)[^@#]*")
_WEB_PAGE = re.compile(r"(https://[^/]+/[^/]+/[^/]+?)/(?:-/)?tree/([^/#@]+)/?([^#@]*)")
"""A page of a repository, as a browser's address bar shows it."""
_PASSWORD = re.compile(r"https?://[^/@]+@")
_REF = re.compile(r"[\w][\w./+-]*")
_EXPECTED = "expected a folder, a zip, or a git URL such as https://example.org/skills.git#path/of/skill"


@dataclass(frozen=True)
class SkillSource:
    """A source as its user names it: `location`, then `@ref` of a git repository, then `#path` inside."""

    kind: Literal["folder", "zip", "git"]
    location: str
    ref: str | None = None
    path: str = ""

    def __str__(self) -> str:
        return self.location + (f"@{self.ref}" if self.ref else "") + (f"#{self.path}" if self.path else "")

    @property
    def stem(self) -> str:
        """The name that the location itself would give to a skill."""
        return re.split(r"[/:]", self.location.rstrip("/"))[-1].removesuffix(".git").removesuffix(".zip")


@dataclass(frozen=True)
class Arrival:
    """A skill that has been read from its source, under the name that it has there."""

    name: str
    source: SkillSource
    commit: str | None
    bundle: SkillBundle


def parse_source(text: str) -> SkillSource:
    """Read what a user means by `text`; relative paths become absolute. Raises SharingError."""
    before, _, fragment = text.partition("#")
    if (path := Path(before).expanduser()).exists():
        return _local(path, fragment)
    if match := _WEB_PAGE.fullmatch(before):
        return _git(match[1], match[2], fragment or match[3])
    fragment, _, late_ref = fragment.partition("@")
    if match := _URL.match(before):
        if _PASSWORD.match(before):
            raise SharingError("a URL with a user or a password in it is not kept: let git ask its credential helper")
        rest = before[match.end() :]
        return _git(match[0], rest.removeprefix("@") or late_ref, fragment)
    location, at, ref = before.rpartition("@")
    if at and (path := Path(location).expanduser()).is_dir():
        return _git(str(path.resolve()), ref, fragment)
    raise SharingError(f"{before}: there is no such file or folder; {_EXPECTED}")


def _local(path: Path, fragment: str) -> SkillSource:
    inner, _, ref = fragment.partition("@")
    if path.is_dir():
        is_bare = (path / "objects").is_dir() and (path / "HEAD").is_file()
        if is_bare or ref:
            return _git(str(path.resolve()), ref, inner)
    elif not zipfile.is_zipfile(path):
        raise SharingError(f"{path} is no zip: {_EXPECTED}")
    return SkillSource("folder" if path.is_dir() else "zip", str(path.resolve()), path=_inner_path(fragment))


def _git(url: str, ref: str, path: str) -> SkillSource:
    if ref and not _REF.fullmatch(ref):
        raise SharingError(f"{ref!r} is no branch, tag or commit")
    return SkillSource("git", url, ref or None, _inner_path(path))


def _inner_path(text: str) -> str:
    path = text.strip("/")
    if any(part in ("", ".", "..") for part in path.split("/")) and path:
        raise SharingError(f"#{text}: expected the path of a folder in the source, such as #skills/pdf")
    return path


def fetch(source: SkillSource, *, is_trusted: bool = False) -> Arrival:
    """Read the skill that `source` names; nothing is left behind. Blocks. Raises SharingError and OSError.

    `is_trusted`: also over a connection on which others could change it.
    """
    if source.location.startswith(("http://", "git://")) and not is_trusted:
        cure = "use https:// or ssh://, or repeat the command with --insecure where you trust the whole way"
        raise SharingError(f"{source}: anybody on the way could change what comes over http:// and git://: {cure}")
    with _open(source) as (tree, commit):
        folder = find_skill(tree.entries, source.path, str(replace(source, path="")))
        bundle = collect(tree, folder)
    name = folder.rpartition("/")[2] or _own_name(bundle) or source.stem
    return Arrival(name, replace(source, path=folder), commit, bundle)


def _own_name(bundle: SkillBundle) -> str | None:
    """Return what SKILL.md calls the skill, for one that has no folder of its own in the source."""
    page = next((data for path, data in bundle.files.items() if path.lower() == "skill.md"), b"")
    name = (split_front_matter(page.decode(errors="replace")).fields or {}).get("name")
    return name if isinstance(name, str) and is_spec_name(name) else None


@contextmanager
def _open(source: SkillSource) -> Iterator[tuple[SourceTree, str | None]]:
    if source.kind == "git":
        with TemporaryDirectory(prefix="parley-skill-") as scratch:
            git = GitTree(source.location, source.ref, Path(scratch))
            yield git, git.commit
    elif source.kind == "zip":
        with _opened_zip(Path(source.location)) as archive:
            yield _ZipTree(archive), None
    else:
        yield FolderTree(Path(source.location)), None


@contextmanager
def _opened_zip(path: Path) -> Iterator[zipfile.ZipFile]:
    if path.stat().st_size > MAX_ZIP_BYTES:
        raise SharingError(f"{path} is larger than {MAX_ZIP_BYTES >> 20} MiB, which is no skill's size")
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError) as error:
        raise SharingError(f"{path} cannot be unpacked ({error}): pack it again") from error
    except RuntimeError as error:  # what zipfile raises for an encrypted file
        raise SharingError(f"{path} is encrypted: pack it again without a password") from error


class _ZipTree:
    """A zip's files, unpacked in memory up to the limit, whatever sizes its directory claims."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        infos = [info for info in archive.infolist() if not info.is_dir()]
        self.entries: Mapping[str, Kind] = {info.filename: _zipped_kind(info) for info in infos}
        if len(self.entries) < len(infos):
            raise SharingError(f"{archive.filename} holds two files of one name: pack it again")
        for name in self.entries:
            if name.startswith("/") or "\\" in name or {".", ".."} & set(name.split("/")):
                raise SharingError(f"{archive.filename} holds {name!r}, which leads out of it")

    def read(self, paths: Sequence[str], *, max_bytes: int) -> Iterator[tuple[str, bytes]]:
        return read_within(paths, self._archive.open, max_bytes, str(self._archive.filename))


def _zipped_kind(info: zipfile.ZipInfo) -> Kind:
    mode = info.external_attr >> 16
    return kind_of(mode) if stat.S_IFMT(mode) else "file"  # a zip made on Windows has no modes
