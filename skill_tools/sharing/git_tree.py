"""A git repository's files at one commit, fetched by the `git` program within limits of time and size.

Nothing is checked out, so no git hook, filter or submodule runs; and git asks no questions.
"""

import io
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from skill_tools.sharing.bundle import MAX_LISTED, Kind, SharingError, too_much

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
    """The newest commit of `ref`, or of the default branch if that is None. `scratch` is an empty folder of the caller's."""

    def __init__(
        self,
        url: str,
        ref: str | None,
        scratch: Path,
        *,
        limit_s: float = LIMIT_S,
        max_fetched_bytes: int = MAX_FETCHED_BYTES,
    ) -> None:
        """Fetch the commit and its list of files. Blocks. Raises SharingError."""
        self._url = url
        insecure = {"http", "git"} & {url.partition("://")[0]}  # another source's https must not lead there
        self._env = {"GIT_ALLOW_PROTOCOL": ":".join(["file", "https", "ssh", *insecure]), **_ENVIRONMENT}
        self._scratch = scratch
        self._by_s = time.monotonic() + limit_s
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
                if time.monotonic() > self._by_s:
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
