"""The tools that come with the server: read_file, search_text, current_time."""

import asyncio
import logging
import math
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar
from zoneinfo import ZoneInfo, available_timezones

import regex  # beside `re` it knows a time limit and lets other threads run while it searches

from server import config
from server.errors import ToolError
from server.llm.language_model import ToolSpec
from server.tools.folders import Folders, how_many_fit, opened, read_text
from server.tools.registry import Tool, ToolRegistry

logger = logging.getLogger(__name__)
P = ParamSpec("P")
T = TypeVar("T")

MAX_LINES = 2000
MAX_MATCHES = 200
MAX_LINE_CHARS = 500
MAX_NAMES = 100
MAX_UNROLLED = 100_000  # what a pattern's least repetitions make of it: 0.1 s to compile, with nobody else running
MAX_THREADS = 4  # a slow search must not hold up what else of the server needs a thread; more work waits for them
_NOTE_BYTES = 150  # of a result, kept for saying that it was cut
_LEAST_COUNT = regex.compile(r"\{(\d+)")
_LOOSE = regex.compile(r"\s+|#[^\n]*\n")  # what (?x) allows inside of a count
_threads = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="tool")  # starts no thread before it is used

_READ_FILE = ToolSpec(
    name="read_file",
    description="Read a text file, for example skills' SKILL.md. Paths are relative to the readable folders.",
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "for example careful-reader/SKILL.md"},
            "offset": {"type": "integer", "minimum": 1, "description": "first line, counted from 1"},
            "limit": {"type": "integer", "minimum": 1, "description": "how many lines"},
        },
        "required": ["path"],
        "additionalProperties": False,
    },
)

_SEARCH_TEXT = ToolSpec(
    name="search_text",
    description="Search files for a regular expression. Gives one `path:line: text` per match.",
    parameters={
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "a regular expression"},
            "path": {"type": "string", "description": "a file or folder to search; all readable folders if left out"},
        },
        "required": ["pattern"],
        "additionalProperties": False,
    },
)

_CURRENT_TIME = ToolSpec(
    name="current_time",
    description="The current date and time, here or in another time zone.",
    parameters={
        "type": "object",
        "properties": {"timezone": {"type": "string", "description": "for example Asia/Tokyo"}},
        "additionalProperties": False,
    },
)


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run the work in a thread for tools.

    Cancelling leaves the thread to finish by itself; give the work a Deadline where that takes long.
    """
    return await asyncio.get_running_loop().run_in_executor(_threads, lambda: work(*args, **kwargs))


class Deadline:
    """Time limit of work in a thread; `end_now` may be called from any thread."""

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self._at_s = time.monotonic() + limit_s

    @property
    def left_s(self) -> float:
        return max(0.0, self._at_s - time.monotonic())

    def end_now(self) -> None:
        self._at_s = 0.0


def build_registry(settings: config.ToolsSettings, skills_dir: Path) -> ToolRegistry:
    """Build the built-in tools, which read inside `skills_dir` and `tools.roots`. A root that is missing may come."""
    for root in settings.roots:
        if not root.is_dir():
            logger.warning("tools.roots: %s is not a folder; nothing is read there until it is", root)
    folders = Folders([skills_dir, *settings.roots])
    # these tools cut first, as their notes say more than the executor's
    max_bytes = settings.max_result_bytes - _NOTE_BYTES
    search_limit_s = settings.timeout_s / 2

    async def read_file(arguments: dict[str, Any]) -> str:
        first, limit = int(arguments.get("offset", 1)), int(arguments.get("limit", MAX_LINES))  # JSON's 1.0 is a 1
        return await in_thread(_read, folders, arguments["path"], first, limit, max_bytes)

    async def search_text(arguments: dict[str, Any]) -> str:
        pattern, path = arguments["pattern"], arguments.get("path")
        deadline = Deadline(search_limit_s)
        try:
            return await in_thread(_search, folders, pattern, path, deadline, max_bytes)
        finally:
            deadline.end_now()  # cancelled: nobody waits for what it would still find

    async def current_time(arguments: dict[str, Any]) -> str:
        return await in_thread(_now, arguments.get("timezone"))  # the time zone may come from disk

    return ToolRegistry(
        [
            Tool(spec=_READ_FILE, permission="READ", run=read_file),
            Tool(spec=_SEARCH_TEXT, permission="READ", run=search_text),
            Tool(spec=_CURRENT_TIME, permission="READ", run=current_time),
        ]
    )


def _read(folders: Folders, path: str, offset: int, limit: int, max_bytes: int) -> str:
    file = folders.find(path)
    root = folders.root_of(file)
    if file.is_dir():
        raise ToolError(f"{path} is a folder; it contains: {_names(root, file, path)}")
    lines = read_text(root, file, path).splitlines()
    if not lines:
        return "(the file is empty)"
    if offset > len(lines):
        raise ToolError(f"{path} has {len(lines)} lines; offset {offset} is past its end")
    chosen = lines[offset - 1 : offset - 1 + min(limit, MAX_LINES)]
    chosen = chosen[: max(1, how_many_fit(chosen, max_bytes))]
    left = len(lines) - (offset - 1 + len(chosen))
    note = f"\n(truncated, {left} lines left; go on with offset {offset + len(chosen)})" if left else ""
    return "\n".join(chosen) + note


def _names(root: Path, folder: Path, shown: str) -> str:
    with opened(root, folder, shown, is_folder=True) as descriptor, os.scandir(descriptor) as entries:
        names = sorted(f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries)
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more if names else "nothing"


def _search(folders: Folders, pattern: str, path: str | None, deadline: Deadline, max_bytes: int) -> str:
    if max(_unrolled(pattern), _unrolled(_LOOSE.sub("", pattern))) > MAX_UNROLLED:
        raise ToolError("the pattern repeats too often; use smaller numbers in its {…}, or * and +")
    try:
        compiled = regex.compile(pattern)
    except regex.error as error:
        raise ToolError(f"not a regular expression: {error}; put a backslash before special characters") from error
    found: list[str] = []
    more = 0
    stopped = ""
    try:
        for match in _matches(folders, compiled, path, deadline):
            if len(found) < MAX_MATCHES:
                found.append(match)
            else:
                more += 1
    except TimeoutError:
        stopped = f"\n(stopped after {deadline.limit_s:g} s; there may be more: narrow the path or the pattern)"
    if not found:
        return stopped.lstrip() or "no matches"
    shown = found[: max(1, how_many_fit(found, max_bytes))]
    more += len(found) - len(shown)
    return "\n".join(shown) + (f"\n(truncated, {more} lines left)" if more else "") + stopped


def _unrolled(pattern: str) -> int:
    """Bound the length of the pattern with its least repetitions written out, as `regex` compiles it."""
    return len(pattern) * math.prod(max(1, int(count)) for count in _LEAST_COUNT.findall(pattern))


def _matches(folders: Folders, pattern: "regex.Pattern[str]", path: str | None, deadline: Deadline) -> Iterator[str]:
    """Yield `path:line: text` per matching line. Raises TimeoutError at the deadline."""
    for shown, root, file in folders.files(path):
        try:
            text = read_text(root, file, shown)
        except ToolError:
            continue  # binary, too large or gone: nothing to be found there
        for number, line in enumerate(text.splitlines(), 1):
            left_s = deadline.left_s
            if not left_s:
                raise TimeoutError
            if pattern.search(line, timeout=left_s, concurrent=True):
                yield f"{shown}:{number}: {line.strip()[:MAX_LINE_CHARS]}"


def _now(zone: str | None) -> str:
    now = datetime.now().astimezone() if zone is None else datetime.now(_zone(zone))
    offset = now.strftime("%z")
    place = f"{now.tzinfo}, " if zone is not None else ""
    return f"{now:%A, %d %B %Y, %H:%M} ({place}UTC{offset[:3]}:{offset[3:5]})"


def _zone(name: str) -> ZoneInfo:
    """Find a zone by its IANA name, or by its city alone, as models and people say it."""
    if key := _zones_by_name().get(name.strip().replace(" ", "_").lower()):
        return ZoneInfo(key)
    raise ToolError(f"there is no time zone {name}; give an IANA name such as Europe/Berlin")


@cache
def _zones_by_name() -> dict[str, str]:
    names = sorted(available_timezones())
    return {name.rpartition("/")[2].lower(): name for name in names} | {name.lower(): name for name in names}
