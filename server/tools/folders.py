"""The folders that the model may read: files found, listed and read, and searched in a process of its own.

Whatever a pattern does in that process, it takes bounded time and memory from others. `run_search` starts one for each
search; `main` runs in it, so the imports here are few.
"""

import asyncio
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import accumulate, takewhile
from pathlib import Path
from typing import Final

import regex  # beside `re` it knows a time limit

from server.errors import ToolError
from skills_engine.files import open_beneath

MAX_MEMORY_BYTES: Final = 512 << 20
"""Address space of a search. The largest file that is read takes half of it as lines."""
MAX_MATCHES: Final = 200
MAX_LINE_CHARS: Final = 500
_GRACE_S: Final = 2
"""CPU time for a search to tell what it found when its own is over; then the kernel ends it."""
_SHARE: Final = 4
"""A pattern's time is counted as CPU time: on a busy machine, this many times as much may pass."""
_NICENESS: Final = 5
_KEPT_VARIABLES: Final = ("PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
_ROOT: Final = Path(__file__).resolve().parents[2]
_TOO_MUCH: Final = "the search took too much time or memory: use a simpler pattern, with smaller numbers in its {…}"

MAX_FILE_BYTES: Final = 10 << 20
MAX_FILES: Final = 20_000
"""Limit of the files below a folder that are searched."""
_SKIPPED: Final = frozenset({".git", "node_modules", "__pycache__", ".venv"})
_SNIFFED_BYTES: Final = 8192


class Folders:
    """Resolves the paths a model gives: relative to one of the roots, or absolute inside one. Blocks: for a thread."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = tuple(roots)

    def find(self, path: str) -> Path:
        """Return the existing file or folder meant by `path`, symbolic links followed.

        The first root that has it counts. Raises ToolError where it leaves
        every root or is not there.
        """
        if "\0" in path:
            raise ToolError("the path contains a NUL character")
        left_a_root = False
        roots = self._resolved()
        for root in roots:
            try:
                target = (root / path).resolve()
                if not any(target.is_relative_to(other) for other in roots):
                    left_a_root = True
                elif target.exists():
                    return target
            except (OSError, RuntimeError) as error:  # a name too long, a loop of links
                reason = getattr(error, "strerror", None) or "a loop of symbolic links"
                raise ToolError(f"{path}: cannot be read: {reason}") from error
        if left_a_root:
            raise ToolError(f"{path}: outside the folders that may be read; give a path relative to one of them")
        raise ToolError(f"{path}: no such file; search_text finds files by their text")

    def files(self, start: str | None) -> Iterator[tuple[str, Path, Path]]:
        """Yield the regular files below `start`, or all roots, sorted: shown path, root, path. At most 20,000."""
        count = 0
        for base in [self.find(start)] if start else self._resolved():
            root = self.root_of(base)
            for file in [base] if base.is_file() else _walk(base):
                target = file.resolve()
                if not target.is_relative_to(root):
                    continue
                yield file.relative_to(root).as_posix(), root, target
                count += 1
                if count >= MAX_FILES:
                    return

    def _resolved(self) -> list[Path]:
        return [root.resolve() for root in self._roots if root.is_dir()]

    def root_of(self, path: Path) -> Path:
        """Return the root in which `find` has found the path."""
        return next(root for root in self._resolved() if path.is_relative_to(root))


def _walk(folder: Path) -> Iterator[Path]:
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for name in sorted(files):
            file = Path(here, name)
            if file.is_file():  # no pipe, no device: opening one could wait for ever
                yield file


def read_text(root: Path, file: Path, shown: str) -> str:
    if not file.is_file():
        raise ToolError(f"{shown} is not a regular file")
    with opened(root, file, shown) as descriptor, open(descriptor, "rb", closefd=False) as stream:
        data = stream.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise ToolError(f"{shown} is larger than {MAX_FILE_BYTES >> 20} MiB")
    if b"\0" in data[:_SNIFFED_BYTES]:
        raise ToolError(f"{shown} is a binary file")
    return data.decode("utf-8-sig", "replace")


@contextmanager
def opened(root: Path, target: Path, shown: str, *, is_folder: bool = False) -> Iterator[int]:
    """Open a file or folder and translate what fails until it is closed."""
    try:
        descriptor = open_beneath(root, target, is_folder=is_folder)
        try:
            yield descriptor
        finally:
            os.close(descriptor)
    except OSError as error:
        raise ToolError(f"{shown}: cannot be read: {error.strerror or error}") from error


def how_many_fit(lines: Sequence[str], max_bytes: int) -> int:
    sizes = accumulate(len(line.encode("utf-8", "replace")) + 1 for line in lines)
    return sum(1 for _ in takewhile(lambda size: size <= max_bytes, sizes))


async def run_search(
    roots: Sequence[Path],
    pattern: str,
    path: str | None,
    *,
    limit_s: float,
    max_bytes: int,
    memory: int = MAX_MEMORY_BYTES,
) -> str:
    """Search the folders in a new process; cancelled, it leaves none. Raises ToolError."""
    search_for = {"pattern": pattern, "path": path, "limit_s": limit_s, "max_bytes": max_bytes}
    asked = {"roots": [str(root.absolute()) for root in roots], "memory": memory, "search": search_for}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "server.tools.folders"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd=_ROOT,
        env={name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ},
    )
    try:
        written, _ = await process.communicate(json.dumps(asked).encode())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise ToolError(_TOO_MUCH)
    answer = json.loads(written)
    if "error" in answer:
        raise ToolError(answer["error"])
    return str(answer["text"])


def main() -> None:
    asked = json.load(sys.stdin)
    _limit(asked["search"]["limit_s"], asked["memory"])
    try:
        folders = Folders([Path(root) for root in asked["roots"]])
        answer = {"text": search(folders, **asked["search"])}
    except ToolError as error:
        answer = {"error": str(error)}
    except MemoryError:
        answer = {"error": _TOO_MUCH}
    json.dump(answer, sys.stdout)


def _limit(limit_s: float, memory: int) -> None:
    """Bound what this process may take, also if the server that started it has gone."""
    os.nice(_NICENESS)
    signal.setitimer(signal.ITIMER_PROF, limit_s + _GRACE_S)  # these signals are not handled: they end the process
    signal.setitimer(signal.ITIMER_REAL, _SHARE * (limit_s + _GRACE_S))
    with suppress(ValueError, OSError):  # macOS takes no such limit
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def search(folders: Folders, pattern: str, path: str | None, limit_s: float, max_bytes: int) -> str:
    """Return the matching lines that fit into `max_bytes`, and in words what is missing. Raises ToolError, MemoryError."""
    by_s = time.monotonic() + limit_s
    try:
        compiled = regex.compile(pattern)
    except regex.error as error:
        raise ToolError(f"not a regular expression: {error}; put a backslash before special characters") from error
    found: list[str] = []
    more = 0
    stopped = ""
    try:
        for match in _matches(folders, compiled, path, by_s):
            if len(found) < MAX_MATCHES:
                found.append(match)
            else:
                more += 1
    except TimeoutError:
        stopped = f"\n(stopped after {limit_s:g} s; there may be more: narrow the path or the pattern)"
    except MemoryError:
        stopped = f"\n(stopped; there may be more: {_TOO_MUCH})"
    if not found:
        return stopped.lstrip() or "no matches"
    shown = found[: max(1, how_many_fit(found, max_bytes))]
    more += len(found) - len(shown)
    return "\n".join(shown) + (f"\n(truncated, {more} lines left)" if more else "") + stopped


def _matches(folders: Folders, pattern: "regex.Pattern[str]", path: str | None, by_s: float) -> Iterator[str]:
    """Yield `path:line: text` per matching line. Raises TimeoutError at the deadline."""
    for shown, root, file in folders.files(path):
        try:
            text = read_text(root, file, shown)
        except ToolError:
            continue  # binary, too large or gone: nothing to be found there
        for number, line in enumerate(text.splitlines(), 1):
            left_s = by_s - time.monotonic()
            if left_s <= 0:
                raise TimeoutError
            if pattern.search(line, timeout=left_s):
                yield f"{shown}:{number}: {line.strip()[:MAX_LINE_CHARS]}"


if __name__ == "__main__":
    main()
