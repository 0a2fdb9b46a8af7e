"""Sources of skills: a folder, a zip, or a git repository, read without running anything of theirs."""

import io
import os
import re
import signal
import stat
import subprocess
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from skill_tools.sharing.bundle import (
    MAX_LISTED,
    FolderTree,
    Kind,
    SharingError,
    SkillBundle,
    SourceTree,
    collect,
    find_skill,
    kind_of,
    read_within,
    too_much,
)
from skills_engine.front_matter import split_front_matter
from skills_engine.skills_config import is_spec_name

MAX_ZIP_BYTES = 64 << 20

_URL = re.compile(r"(?:(?:https?|ssh|git|file)://[^/#]*|[\w.-]+@[\w.-]+:)[^@#]*")
_WEB_PAGE = re.compile(r"(https://[^/]+/[^/]+/[^/]+?)/(?:-/)?tree/([^/#@]+)/?([^#@]*)")
"""A page of a repository, as a browser's address bar shows it."""
_INSECURE = ("http://", "git://")
_PASSWORD = re.compile(r"https?://[^/@]+@")
_REF = re.compile(r"[\w][\w./+-]*")
_EXPECTED = "expected a folder, a zip, or a git URL such as https://example.org/skills.git#path/of/skill"

LIMIT_S = 120.0
"""Time for everything that git does for one source."""
MAX_FETCHED_BYTES = 256 << 20
"""Limit of what git may put on disk meanwhile."""
_STEP_S = 0.05
_KINDS: Mapping[str, Kind] = {"100644": "file", "100755": "program", "120000": "link"}
_SAFE = ("core.hooksPath=/dev/null", "core.fsmonitor=false", "gc.auto=0", "fetch.negotiationAlgorithm=noop")
_KEPT = ("GIT_SSH", "GIT_SSL")
"""The beginnings of git's variables that are passed on; others would lead it to another repository."""
_ENVIRONMENT = {  # beside which it has no terminal, being in a session of its own
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "true",  # a program that answers nothing
    "SSH_ASKPASS": "true",
    "GCM_INTERACTIVE": "never",
    "LC_ALL": "C",
}


class GitTree:
    """The files of a git repository at the newest commit of `ref`, or of the default branch if that is None.

    The program `git` fetches them within limits of time and size, into `scratch`, an empty folder of the caller's.
    Nothing is checked out, so no git hook, filter or submodule runs; and git asks no questions.
    """

    def __init__(
        self,
        url: str,
        ref: str | None,
        scratch: Path,
        *,
        limit_s: float = LIMIT_S,
        max_fetched_bytes: int = MAX_FETCHED_BYTES,
        is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        """Fetch the commit and its list of files. Blocks. Raises SharingError."""
        self._url = url
        allowed = "file:https:ssh"
        if url.startswith(_INSECURE):  # only then: another source's https must not lead there
            allowed += ":http:git"
        self._env = {"GIT_ALLOW_PROTOCOL": allowed, **_ENVIRONMENT}
        self._scratch = scratch
        self._by_s = time.monotonic() + limit_s
        self._is_over = is_over
        self._max_fetched_bytes = max_fetched_bytes
        self._git("init", "--template=")
        self._git("remote", "add", "origin", url)
        self._git(*_FETCH, "--depth=1", "origin", ref or "HEAD")
        self.commit = self._git("rev-parse", "FETCH_HEAD^{commit}").decode().strip()
        self.entries: dict[str, Kind] = {}
        self._objects: dict[str, str] = {}
        for line in self._git("ls-tree", "-r", "-z", self.commit).split(b"\0")[:-1]:
            about, _, path = line.partition(b"\t")
            mode, _, object_id = about.decode().split()
            self.entries[os.fsdecode(path)] = _KINDS.get(mode, "other")
            self._objects[os.fsdecode(path)] = object_id
        if len(self.entries) > MAX_LISTED:
            raise SharingError(f"{url} holds more than {MAX_LISTED} files")

    def read(self, paths: Sequence[str], *, max_bytes: int) -> Iterator[tuple[str, bytes]]:
        object_ids = [self._objects[path] for path in paths]
        reachable = self._git("rev-list", "--objects", "--missing=print", self.commit).splitlines()
        missing = {line[1:].decode() for line in reachable if line.startswith(b"?")}.intersection(object_ids)
        if missing:  # at once: git itself would fetch one by one
            self._git(*_FETCH, "--stdin", lines=missing)
        sizes = self._git("cat-file", "--batch-check=%(objectsize)", lines=object_ids).split()
        if sum(map(int, sizes)) > max_bytes:
            raise too_much(self._url)
        contents = io.BytesIO(self._git("cat-file", "--batch", lines=object_ids))
        for path, size in zip(paths, map(int, sizes), strict=True):
            contents.readline()  # the object's id, type and size
            yield path, contents.read(size)
            contents.readline()  # the line break behind it

    def _git(self, *arguments: str, lines: Iterable[str] = ()) -> bytes:
        """Run git to its end, or kill it with its children at a limit; returns what it wrote."""
        repository = ["--git-dir", str(self._scratch / "repository")]
        command = ["git", *(part for setting in _SAFE for part in ("-c", setting)), *repository, *arguments]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name[:7] in _KEPT}
        (self._scratch / "in").write_text("".join(f"{line}\n" for line in lines))
        with (
            (self._scratch / "in").open("rb") as stdin,
            (self._scratch / "out").open("w+b") as out,
            (self._scratch / "errors").open("w+b") as errors,
        ):
            try:
                process = subprocess.Popen(
                    command, stdin=stdin, stdout=out, stderr=errors, env=kept | self._env, start_new_session=True
                )
            except FileNotFoundError as error:
                raise SharingError("there is no program `git` here: install it, or give a folder or a zip") from error
            try:
                self._watch(process)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
            out.seek(0)
            errors.seek(0)
            if process.returncode:
                raise SharingError(f"git cannot read {self._url}: {_reason(errors.read(4096))}")
            return out.read()

    def _watch(self, process: subprocess.Popen[bytes]) -> None:
        """Wait for git. Raises SharingError at a limit."""
        while process.returncode is None:
            try:
                process.wait(_STEP_S)
            except subprocess.TimeoutExpired:
                if self._is_over() or time.monotonic() > self._by_s:
                    message = f"{self._url} was not read in time: try again, or clone it and give the folder"
                    raise SharingError(message) from None
            if _size(self._scratch) > self._max_fetched_bytes:
                mebibytes = self._max_fetched_bytes >> 20
                raise SharingError(f"{self._url} is larger than {mebibytes} MiB: clone it and give the folder")


_FETCH = ("fetch", "--quiet", "--no-tags", "--recurse-submodules=no", "--filter=blob:none")


def _size(folder: Path) -> int:
    total = 0
    for parent, _, files in os.walk(folder):
        for name in files:
            with suppress(OSError):  # git has just put it away
                total += Path(parent, name).lstat().st_size
    return total


def _reason(errors: bytes) -> str:
    """Return git's last word that is not about a warning."""
    lines = [line.strip() for line in errors.decode(errors="replace").splitlines() if line.strip()]
    return next(
        (line for line in lines if line.startswith(("fatal:", "error:", "remote:"))),
        lines[-1] if lines else "no reason given",
    )


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
    elif not (path.is_file() and zipfile.is_zipfile(path)):  # a device could be read without end
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


def fetch(
    source: SkillSource,
    *,
    is_trusted: bool = False,
    data: bytes | None = None,
    is_over: Callable[[], bool] = lambda: False,
) -> Arrival:
    """Read the skill that `source` names; nothing is left behind. Blocks. Raises SharingError and OSError.

    `is_trusted` allows http:// and git://, on whose way others could change the skill. `data` is the zip where that is
    in memory, and no file. Once `is_over`, git is ended.
    """
    if source.location.startswith(_INSECURE) and not is_trusted:
        cure = "use https:// or ssh://, or repeat the command with --insecure where you trust the whole way"
        raise SharingError(f"{source}: others could change what comes over http:// and git:// on its way: {cure}")
    with _open(source, data, is_over) as (tree, commit):
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
def _open(
    source: SkillSource, data: bytes | None, is_over: Callable[[], bool]
) -> Iterator[tuple[SourceTree, str | None]]:
    if source.kind == "git":
        with TemporaryDirectory(prefix="parley-skill-") as scratch:
            git = GitTree(source.location, source.ref, Path(scratch), is_over=is_over)
            yield git, git.commit
    elif source.kind == "zip":
        with _opened_zip(source.location, data) as archive:
            yield _ZipTree(archive, source.location), None
    else:
        yield FolderTree(Path(source.location)), None


@contextmanager
def _opened_zip(path: str, data: bytes | None) -> Iterator[zipfile.ZipFile]:
    if data is None and Path(path).stat().st_size > MAX_ZIP_BYTES:
        raise SharingError(f"{path} is larger than {MAX_ZIP_BYTES >> 20} MiB, which is no skill's size")
    try:
        with zipfile.ZipFile(path if data is None else io.BytesIO(data)) as archive:
            yield archive
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError) as error:
        raise SharingError(f"{path} cannot be unpacked ({error}): pack it again") from error
    except RuntimeError as error:  # what zipfile raises for an encrypted file
        raise SharingError(f"{path} is encrypted: pack it again without a password") from error


class _ZipTree:
    """A zip's files, unpacked in memory up to the limit, whatever sizes its directory claims."""

    def __init__(self, archive: zipfile.ZipFile, path: str) -> None:
        self._archive = archive
        self._path = path
        infos = [info for info in archive.infolist() if not info.is_dir()]
        self.entries: Mapping[str, Kind] = {info.filename: _zipped_kind(info) for info in infos}
        if len(self.entries) < len(infos):
            raise SharingError(f"{path} holds two files of one name: pack it again")
        for name in self.entries:
            if name.startswith("/") or "\\" in name or {".", ".."} & set(name.split("/")):
                raise SharingError(f"{path} holds {name!r}, which leads out of it")

    def read(self, paths: Sequence[str], *, max_bytes: int) -> Iterator[tuple[str, bytes]]:
        return read_within(paths, self._archive.open, max_bytes, self._path)


def _zipped_kind(info: zipfile.ZipInfo) -> Kind:
    mode = info.external_attr >> 16
    return kind_of(mode) if stat.S_IFMT(mode) else "file"  # a zip made on Windows has no modes
