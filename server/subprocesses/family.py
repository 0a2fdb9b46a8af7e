"""Everything that came of a child process, and its end.

On Linux the server becomes the parent of orphans (PR_SET_CHILD_SUBREAPER), so
that what a child started stays among its descendants, even if it called setsid;
whose it is, a mark in its environment tells. It is signalled through pidfds: no
process that got an old number is hit. Elsewhere only the child's own process
group is ended.
"""

import asyncio
import ctypes
import logging
import os
import signal
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

logger = logging.getLogger(__name__)

MARK: Final = "PARLEY_HOOK_LIFE"
"""An environment variable of every child, its value different in every life."""

IS_LINUX: Final = sys.platform == "linux"

_PR_SET_CHILD_SUBREAPER: Final = 36
_MAX_ROUNDS: Final = 5  # of killing, for those that were forked in the meantime
_KILL_WAIT_S: Final = 2.0  # a killed process that does not go hangs in the kernel


class Seen(NamedTuple):
    """A process as /proc showed it."""

    pid: int
    parent: int
    group: int
    session: int
    started: int  # in ticks since the machine did: with `pid`, one process for ever
    is_zombie: bool


def adopt_orphans(is_wanted: bool) -> bool:
    """Become, or cease to be, the parent of orphaned descendants. False where the system has no such thing."""
    if not IS_LINUX:
        return False
    return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(is_wanted), 0, 0, 0) == 0)


def look_around() -> dict[int, Seen]:
    """Every process there is. Takes milliseconds: for a thread."""
    if not IS_LINUX:
        return {}
    with os.scandir("/proc") as entries:
        seen = (_look_at(int(entry.name)) for entry in entries if entry.name.isdigit())
        return {process.pid: process for process in seen if process is not None}


def _look_at(pid: int) -> Seen | None:
    try:
        _, _, rest = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")  # the name before it may hold anything
    except OSError:
        return None
    state, parent, group, session, *more = rest.split()
    return Seen(pid, int(parent), int(group), int(session), int(more[15]), state in (b"Z", b"X"))


class Family:
    """The processes that came of one child."""

    def __init__(self, leader: int, mark: str) -> None:
        self.leader = leader
        self._entry = f"{MARK}={mark}".encode()
        self._known = dict[int, int]()  # pid → started, of those alive when we last looked

    def members(self, around: Mapping[int, Seen]) -> list[Seen]:
        """Those that live, without the leader. Reads /proc: for a thread."""
        ours = _descendants(os.getpid(), around)
        roots = {self.leader} | {pid for pid in ours if self._is_root(around[pid])}
        found = roots.union(*(_descendants(root, around) for root in roots)) - {self.leader}
        alive = [around[pid] for pid in sorted(found) if pid in around and not around[pid].is_zombie]
        self._known = {process.pid: process.started for process in alive}
        return alive

    def _is_root(self, process: Seen) -> bool:
        return (
            self.leader in (process.group, process.session)
            or self._known.get(process.pid) == process.started
            or (not process.is_zombie and self._is_marked(process.pid))
        )

    def _is_marked(self, pid: int) -> bool:
        try:
            return self._entry in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            return False

    async def end(self, by: float) -> None:
        """SIGTERM to the members, SIGKILL at loop time `by`; those that we inherited are reaped."""
        if not IS_LINUX:
            if self.signal_group(signal.SIGTERM):
                await asyncio.sleep(max(0.0, by - asyncio.get_running_loop().time()))
                self.signal_group(signal.SIGKILL)
            return
        handles = list[int]()
        try:
            await self._signal_members(signal.SIGTERM, by, handles)
            await self._kill(handles)
        finally:
            for handle in handles:
                reap(os.P_PIDFD, handle)
                os.close(handle)
        for pid in await asyncio.to_thread(self._dead):
            reap(os.P_PID, pid)

    async def _kill(self, handles: list[int]) -> None:
        for _ in range(_MAX_ROUNDS):
            kill_by = asyncio.get_running_loop().time() + _KILL_WAIT_S
            if not await self._signal_members(signal.SIGKILL, kill_by, handles):
                return
        logger.error("processes of a child outlive SIGKILL: %s", sorted(self._known))

    def signal_group(self, number: signal.Signals) -> bool:
        """To all of the leader's group. False: there is nobody in it."""
        try:
            os.killpg(self.leader, number)
        except (ProcessLookupError, PermissionError):  # macOS says the latter of a group that has just ended
            return False
        return True

    async def _signal_members(self, number: signal.Signals, by: float, handles: list[int]) -> bool:
        """Wait until loop time `by` for those that were signalled; `handles` gets theirs. False: there were none."""
        new = await asyncio.to_thread(self._open)
        handles += new
        for handle in new:
            with suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(handle, number)
        await _all_ended(new, by)
        return bool(new)

    def _open(self) -> list[int]:
        return [handle for member in self.members(look_around()) if (handle := _handle(member)) is not None]

    def _dead(self) -> list[int]:
        """Those of the group that we inherited when they were dead already."""
        return [
            process.pid
            for process in look_around().values()
            if process.is_zombie
            and process.parent == os.getpid()
            and self.leader in (process.group, process.session)
            and process.pid != self.leader
        ]


def _descendants(pid: int, around: Mapping[int, Seen]) -> set[int]:
    children = dict[int, list[int]]()
    for process in around.values():
        children.setdefault(process.parent, []).append(process.pid)
    found = set[int]()
    waiting = [pid]
    while waiting:
        born = [child for child in children.get(waiting.pop(), ()) if child not in found]
        found.update(born)
        waiting += born
    return found


def _handle(process: Seen) -> int | None:
    """A pidfd; None: it is gone, or its number is another's already."""
    try:
        handle = os.pidfd_open(process.pid)
    except OSError:
        return None
    now = _look_at(process.pid)
    if now is None or now.started != process.started:
        os.close(handle)
        return None
    return handle


async def _all_ended(handles: Iterable[int], by: float) -> None:
    """Wait for processes by their pidfds, until loop time `by` at the latest."""
    loop = asyncio.get_running_loop()
    waiting = set(handles)
    done = asyncio.Event()

    def ended(handle: int) -> None:
        loop.remove_reader(handle)
        waiting.discard(handle)
        if not waiting:
            done.set()

    for handle in list(waiting):
        loop.add_reader(handle, ended, handle)
    try:
        if waiting:
            async with asyncio.timeout_at(by):
                await done.wait()
    except TimeoutError:
        logger.debug("%d processes of a child have not ended", len(waiting))
    finally:
        for handle in waiting:
            loop.remove_reader(handle)


def reap(kind: int, number: int) -> bool:
    try:
        return os.waitid(kind, number, os.WEXITED | os.WNOHANG) is not None
    except ChildProcessError:
        return False  # another's child: of a process that lives, or of who waited for it
