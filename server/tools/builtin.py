"""The tools that come with the server: read_file, search_text, current_time."""

import logging
import os
from contextvars import ContextVar
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo, available_timezones

from server import config
from server.bounded.fair_share import FairShare, turn_share
from server.errors import ToolError
from server.llm.language_model import ToolSpec
from server.tools.folders import Folders, how_many_fit, opened, read_text, run_search
from server.tools.registry import Tool, ToolRegistry

logger = logging.getLogger(__name__)

MAX_LINES: Final = 2000
MAX_NAMES: Final = 100
MAX_THREADS: Final = 4
MAX_SEARCHES: Final = 2
"""Limit of searches that run at once, each in a process that may fill one core and half a GiB."""
turn_zone: Final[ContextVar[ZoneInfo | None]] = ContextVar("turn_zone", default=None)
"""Time zone of the turn's user, where the client has named one."""
_NOTE_BYTES: Final = 150
"""Bytes of a result that are kept for saying that it was cut."""

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


def build_registry(settings: config.ToolsSettings, *skills_dirs: Path) -> ToolRegistry:
    """Build the built-in tools, which read inside `skills_dirs` and `tools.roots`. A root that is missing may come."""
    for root in settings.roots:
        if not root.is_dir():
            logger.warning("tools.roots: %s is not a folder; nothing is read there until it is", root)
    roots = [*skills_dirs, *settings.roots]
    folders = Folders(roots)
    threads = FairShare(MAX_THREADS, per_user=MAX_THREADS // 2, name="tool")
    searches = FairShare(MAX_SEARCHES, per_user=1)
    # these tools cut first, as their notes say more than the executor's
    max_bytes = settings.max_result_bytes - _NOTE_BYTES
    search_limit_s = settings.timeout_s / 2

    async def read_file(arguments: dict[str, Any]) -> str:
        first, limit = int(arguments.get("offset", 1)), int(arguments.get("limit", MAX_LINES))  # JSON's 1.0 is a 1
        return await threads.in_thread(_read, folders, arguments["path"], first, limit, max_bytes)

    async def search_text(arguments: dict[str, Any]) -> str:
        pattern, path = arguments["pattern"], arguments.get("path")
        async with searches.place(turn_share.get()):
            return await run_search(roots, pattern, path, limit_s=search_limit_s, max_bytes=max_bytes)

    async def current_time(arguments: dict[str, Any]) -> str:
        wanted, own = arguments.get("timezone"), turn_zone.get()
        return await threads.in_thread(_now, wanted, own)  # the time zone may come from disk

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


def _now(zone: str | None, user_zone: ZoneInfo | None) -> str:
    """Return a sentence to be said, and below it the figures for those who calculate."""
    now = datetime.now().astimezone(user_zone) if zone is None else datetime.now(_zone(zone))
    offset = now.strftime("%z")
    place = "" if zone is None else f" in {str(now.tzinfo).rpartition('/')[2].replace('_', ' ')}"
    key = "" if zone is None else f"{now.tzinfo}, "
    said = (
        f"It is {now.hour % 12 or 12}:{now:%M} {'a' if now.hour < 12 else 'p'}.m.{place}, {now:%A}, {now.day} {now:%B}."
    )
    return f"{said}\n({now:%Y-%m-%d %H:%M}, {key}UTC{offset[:3]}:{offset[3:5]})"


def _zone(name: str) -> ZoneInfo:
    """Find a zone by its IANA name, or by its city alone, as models and people say it."""
    if key := _zones_by_name().get(name.strip().replace(" ", "_").lower()):
        return ZoneInfo(key)
    raise ToolError(f"there is no time zone {name}; name a large city near it, or an IANA zone such as Europe/Berlin")


@cache
def _zones_by_name() -> dict[str, str]:
    names = sorted(available_timezones())
    return {name.rpartition("/")[2].lower(): name for name in names} | {name.lower(): name for name in names}
