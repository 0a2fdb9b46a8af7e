"""search_text in a process of its own: whatever a pattern does there, it takes bounded time and memory from others.

`run_search` starts one for each search; the rest of this module runs in it, so its imports are few.
"""

import asyncio
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import regex  # beside `re` it knows a time limit

from server.errors import ToolError
from server.tools.folders import Folders, how_many_fit, read_text

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
        *(sys.executable, "-m", "server.tools.text_search"),
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
