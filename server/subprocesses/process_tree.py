"""All processes that came of one child process: found, ended and reaped.

On Linux the server becomes the parent of orphans (PR_SET_CHILD_SUBREAPER), so
that what a child started stays among our descendants, even if it called setsid;
a mark tells to which child it belongs, in its environment and, for programs that
empty theirs, as a resource limit: every process inherits both. Signals go through
pidfds, so they never hit another process that got an old number. Elsewhere only
the child's own process group is ended.
"""

import asyncio
import ctypes
import hashlib
import logging
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

logger = logging.getLogger(__name__)

MARK: Final = "PARLEY_HOOK_LIFE"
"""An environment variable of every child; each process that is started gets another value."""

IS_LINUX: Final = sys.platform == "linux"
LOOK_EVERY_S: Final = 5.0

_PR_SET_CHILD_SUBREAPER: Final = 36
_MARKED_FROM_US: Final = 1 << 52
"""Least RLIMIT_RTTIME that is a mark: 142 years of real-time scheduling, which limit no process."""
_MAX_ROUNDS: Final = 5  # of killing, for those that were forked in the meantime
_KILL_WAIT_S: Final = 2.0  # a killed process that does not go hangs in the kernel


class ProcessInfo(NamedTuple):
    pid: int
    parent: int
    group: int
    session: int
    started: int  # in ticks since the machine did: with `pid`, one process for ever
    is_zombie: bool


def adopt_orphans() -> None:
    """Become the parent of orphaned descendants, where the system has such a thing."""
    if IS_LINUX:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def list_processes() -> dict[int, ProcessInfo]:
    """Read every process there is from /proc. Takes milliseconds: for a thread."""
    if not IS_LINUX:
        return {}
    with os.scandir("/proc") as entries:
        found = (_read_process(int(entry.name)) for entry in entries if entry.name.isdigit())
        return {process.pid: process for process in found if process is not None}


def _read_process(pid: int) -> ProcessInfo | None:
    try:
        _, _, rest = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")  # the name before it may hold anything
    except OSError:
        return None
    state, parent, group, session, *more = rest.split()
    return ProcessInfo(pid, int(parent), int(group), int(session), int(more[15]), state in (b"Z", b"X"))


class ProcessTree:
    """The processes that came of one child, the `leader`."""

    def __init__(self, leader: int, mark: str) -> None:
        self.leader = leader
        self._entry = f"{MARK}={mark}".encode()
        self._limit_us = _MARKED_FROM_US + int.from_bytes(hashlib.sha256(mark.encode()).digest()[:6])
        self._known = dict[int, int]()  # pid → started, of those alive when we last looked

    def mark_leader(self) -> None:
        """Set the limit that tells what comes of the leader; to be called as soon as it is started."""
        if IS_LINUX:
            with suppress(OSError, ValueError):  # it is gone already, or the system allows no such limit
                resource.prlimit(self.leader, resource.RLIMIT_RTTIME, (self._limit_us, resource.RLIM_INFINITY))

    def alive(self, processes: Mapping[int, ProcessInfo]) -> list[ProcessInfo]:
        """Return those that live, without the leader, and remember them. Reads /proc: for a thread."""
        ours = _descendants([os.getpid()], processes)
        roots = {self.leader} | {pid for pid in ours if self._is_root(processes[pid])}
        found = (roots | _descendants(roots, processes)) - {self.leader}
        alive = [processes[pid] for pid in sorted(found) if pid in processes and not processes[pid].is_zombie]
        self._known = {process.pid: process.started for process in alive}
        return alive

    def _is_root(self, process: ProcessInfo) -> bool:
        return (
            self.leader in (process.group, process.session)
            or self._known.get(process.pid) == process.started
            or (not process.is_zombie and self._is_marked(process.pid))
        )

    def _is_marked(self, pid: int) -> bool:
        folder = Path(f"/proc/{pid}")
        try:
            limits = (folder / "limits").read_text("ascii", "replace")
            return f" {self._limit_us} " in limits or self._entry in (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            return False

    async def end(self, by: float) -> None:
        """Send SIGTERM to all but the leader, SIGKILL at loop time `by`; reap those that we inherited."""
        if not IS_LINUX:
            if self.signal_group(signal.SIGTERM):
                await asyncio.sleep(max(0.0, by - asyncio.get_running_loop().time()))
                self.signal_group(signal.SIGKILL)
            return
        handles = list[int]()
        try:
            await self._signal_alive(signal.SIGTERM, by, handles)
            await self._kill(handles)
        finally:
            for handle in handles:
                _reap(os.P_PIDFD, handle)
                os.close(handle)
        for pid in await asyncio.to_thread(self._inherited_dead):
            _reap(os.P_PID, pid)

    async def _kill(self, handles: list[int]) -> None:
        for _ in range(_MAX_ROUNDS):
            kill_by = asyncio.get_running_loop().time() + _KILL_WAIT_S
            if not await self._signal_alive(signal.SIGKILL, kill_by, handles):
                return
        logger.error("processes of a child outlive SIGKILL: %s", sorted(self._known))

    def signal_group(self, number: signal.Signals) -> bool:
        """Send a signal to the leader's process group; return whether any process received it."""
        try:
            os.killpg(self.leader, number)
        except (ProcessLookupError, PermissionError):  # macOS says the latter of a group that has just ended
            return False
        return True

    async def _signal_alive(self, number: signal.Signals, by: float, handles: list[int]) -> bool:
        """Signal them, add their pidfds to `handles`, wait for them until loop time `by`; return whether there were any."""
        new = await asyncio.to_thread(self._open)
        handles += new
        for handle in new:
            with suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(handle, number)
        await _all_ended(new, by)
        return bool(new)

    def _open(self) -> list[int]:
        return [handle for process in self.alive(list_processes()) if (handle := _open_pidfd(process)) is not None]

    def _inherited_dead(self) -> list[int]:
        """Return those of the leader's group or session that were dead already when they came to us."""
        return [
            process.pid
            for process in list_processes().values()
            if process.is_zombie
            and process.parent == os.getpid()
            and self.leader in (process.group, process.session)
            and process.pid != self.leader
        ]


class OrphanReaper:
    """Reaps dead processes that came to us because their parents are gone, and that no code waits for.

    Nothing tells any more to which child they belonged. What Python started is
    reaped at once by the code that started it; so what is dead at two looks in a
    row is an orphan.
    """

    def __init__(self) -> None:
        self._dead = set[tuple[int, int]]()

    @property
    def has_dead(self) -> bool:
        """Whether the last look found some that may be orphans."""
        return bool(self._dead)

    async def watch(self, trees: Callable[[], Sequence[ProcessTree]]) -> None:
        """Look every LOOK_EVERY_S, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            await self.look(trees())

    async def look(self, trees: Sequence[ProcessTree]) -> None:
        """Let each tree remember what it has started, before that can hide; reap orphans."""
        processes = await asyncio.to_thread(list_processes)
        for tree in trees:
            await asyncio.to_thread(tree.alive, processes)
        self.reap(processes, [tree.leader for tree in trees])

    def reap(self, processes: Mapping[int, ProcessInfo], leaders: Iterable[int]) -> int:
        """Reap what was dead at the last look, too, but no `leaders`; return how many that were."""
        here, spared = os.getpid(), set(leaders)
        dead = {
            (process.pid, process.started)
            for process in processes.values()
            if process.is_zombie and process.parent == here and process.pid not in spared
        }
        stale, self._dead = dead & self._dead, dead
        return sum(_reap(os.P_PID, pid) for pid, _ in stale)


def _descendants(roots: Iterable[int], processes: Mapping[int, ProcessInfo]) -> set[int]:
    found = set[int]()
    parents = set(roots)
    while parents:
        parents = {process.pid for process in processes.values() if process.parent in parents} - found
        found |= parents
    return found


def _open_pidfd(process: ProcessInfo) -> int | None:
    """Return None if it is gone, or its number is another's already."""
    try:
        handle = os.pidfd_open(process.pid)
    except OSError:
        return None
    now = _read_process(process.pid)
    if now is None or now.started != process.started:
        os.close(handle)
        return None
    return handle


async def _all_ended(handles: Iterable[int], by: float) -> None:
    """Wait for processes by their pidfds, until loop time `by` at the latest."""
    loop = asyncio.get_running_loop()
    ends = {handle: loop.create_future() for handle in handles}

    def ended(handle: int) -> None:
        loop.remove_reader(handle)
        ends[handle].set_result(None)

    for handle in ends:
        loop.add_reader(handle, ended, handle)
    try:
        if ends:
            await asyncio.wait(ends.values(), timeout=max(0.0, by - loop.time()))
    finally:
        for handle in ends:
            loop.remove_reader(handle)


def _reap(kind: int, number: int) -> bool:
    try:
        return os.waitid(kind, number, os.WEXITED | os.WNOHANG) is not None
    except ChildProcessError:
        return False  # another's child: of a process that lives, or of one that waited for it
