"""Dead processes that nobody waits for, and the watch over what children start."""

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from server.subprocesses.family import Family, Seen, look_around, reap

LOOK_EVERY_S: Final = 5.0


class Orphans:
    """Dead processes that came to us because their parents are gone, and that nobody waits for.

    Whose they were cannot be told any more. What Python started is reaped by
    who started it, at once; so what is dead at two looks in a row is an orphan.
    """

    def __init__(self) -> None:
        self._dead = set[tuple[int, int]]()

    @property
    def has_dead(self) -> bool:
        """At the last look there were some that may be orphans."""
        return bool(self._dead)

    def reap(self, around: Mapping[int, Seen], leaders: Iterable[int]) -> int:
        """Call it at most every second or so; returns how many are gone now. `leaders` are not touched."""
        here, spared = os.getpid(), set(leaders)
        dead = {
            (process.pid, process.started)
            for process in around.values()
            if process.is_zombie and process.parent == here and process.pid not in spared
        }
        stale, self._dead = dead & self._dead, dead
        return sum(reap(os.P_PID, pid) for pid, _ in stale)

    async def look(self, families: Sequence[Family]) -> None:
        """Know what these have started before it can hide, and reap what nobody else will. Call it every LOOK_EVERY_S."""
        around = await asyncio.to_thread(look_around)
        for family in families:
            await asyncio.to_thread(family.members, around)
        self.reap(around, [family.leader for family in families])
