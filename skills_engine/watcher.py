"""Notices that the skills folder changed: inotify where it works, else polling."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Protocol

import anyio
from watchfiles import awatch
from watchfiles.main import FileChange

from skills_engine.skills_folder import is_skill_file

logger = logging.getLogger(__name__)

STEP_MS = 10
SETTLE_S = 0.03  # a save is over when nothing happened for so long: an editor's dance, a checkout
MAX_SETTLE_S = 0.5  # a folder that never rests is looked at this often, to read the skills in it that do
POLL_S = 0.25
CHECK_S = 2.0
"""Interval at which the folder is also scanned, as some file systems report nothing to inotify."""

MAX_MISSES = 2

_Identity = tuple[int, int] | None


class Events(Protocol):
    """Reports what changes below a folder, until it is told to stop."""

    def __call__(self, root: Path, /, *, stop_event: anyio.Event) -> AsyncGenerator[set[FileChange], None]: ...


_inotify: Events = partial(awatch, step=STEP_MS, debounce=100, watch_filter=None, force_polling=False)


class Watcher:
    """Watches one folder of skills: `run` listens, `wait` reports. One task runs each; both end by cancellation."""

    def __init__(self, folder: Path, *, is_polling: bool, check_s: float = CHECK_S, events: Events = _inotify) -> None:
        self.is_polling = is_polling
        self._folder = folder
        self._check_s = check_s
        self._events = events
        self._armed: _Identity = None  # the folder that inotify watches; None = polling or missing
        self._touched: set[str] = set()
        self._event = asyncio.Event()
        self._stop: anyio.Event  # ends the watch of the folder that is armed
        self._misses = 0  # changes in a row that were seen without an event

    async def run(self) -> None:
        """Watch the folder, and the one that takes its place; return once polling is the only way."""
        while not self.is_polling:
            self._armed = _identity(self._folder)
            if self._armed is None:
                await asyncio.sleep(POLL_S)
                continue
            try:
                await self._listen()
            except (OSError, RuntimeError) as error:  # the folder went away, no watches are left, watchfiles gave up
                if _identity(self._folder) is not None:
                    self._poll_from_now(str(error))

    async def wait(self) -> frozenset[str] | None:
        """Return the skills whose files were touched, once they have settled; None after a while without an event."""
        await self._quiet(self._check_s if self._armed else POLL_S)
        if not self._event.is_set():
            return None
        clock = asyncio.get_running_loop().time
        deadline = clock() + MAX_SETTLE_S
        while self._event.is_set() and clock() < deadline:
            self._event.clear()
            await self._quiet(SETTLE_S)
        self._event.clear()
        touched = frozenset(self._touched)
        self._touched.clear()
        return touched

    def look_again(self) -> None:
        """Let `wait` return soon though nothing is reported; where it polls, it does so anyway."""
        if self._armed is not None:
            self._event.set()

    def missed(self) -> None:
        """Note that something has changed though `wait` reported nothing."""
        if self._armed is None:
            return
        if self._armed != _identity(self._folder):
            self._stop.set()  # another folder stands there now: `run` watches that
            return
        self._misses += 1
        if self._misses >= MAX_MISSES:
            self._stop.set()
            self._poll_from_now("its file system reports no changes")

    async def _listen(self) -> None:
        self._stop = anyio.Event()
        root = self._folder.resolve()
        self._event.set()  # whatever changed before the watch stood
        async with aclosing(self._events(root, stop_event=self._stop)) as reports:
            async for changes in reports:
                self._touched |= {name for _, path in changes if (name := touched_skill(Path(path), root))}
                self._misses = 0
                self._event.set()
                if self._armed != _identity(self._folder):
                    return

    def _poll_from_now(self, reason: str) -> None:
        logger.warning("polling %s every %s s: %s", self._folder, POLL_S, reason)
        self.is_polling = True
        self._armed = None

    async def _quiet(self, limit_s: float) -> None:
        """Wait until the event is set, at most `limit_s`."""
        try:
            async with asyncio.timeout(limit_s):
                await self._event.wait()
        except TimeoutError:
            pass


def touched_skill(path: Path, root: Path) -> str | None:
    """Return the skill whose SKILL.md, hooks or tests this file may be; other changes show in the stamps."""
    parts = path.relative_to(root).parts if path.is_relative_to(root) else ()
    if len(parts) < 2 or not is_skill_file(parts[-1]):
        return None
    return parts[0] if len(parts) == 2 or parts[1] in ("hooks", "tests") else None


def _identity(folder: Path) -> _Identity:
    try:
        stat = folder.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino
