"""Steady time: how long the wall clock has run beside one that cannot be set. What is old is deleted only after enough."""

import time
from collections.abc import Callable
from typing import Final

import sqlalchemy as sa

from server.storage.schema import CLOCK_SEEN, CLOCK_STEADY, numbers

NEEDED_S: Final = 2 * 86_400.0
"""Steady time before the wall clock is believed; also the longest time without a server that does not begin it anew."""
_TOLERANCE_S: Final = 600.0
"""Difference between the clocks of replicas, and by which a clock may be corrected."""


def monotonic_s() -> float:
    """Return seconds of a clock that cannot be set, and that goes on while the machine sleeps, where there is one."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class SteadyTime:
    """Measures steady time from look to look; kept in the database, so it goes on over restarts and for all replicas."""

    def __init__(self, now: Callable[[], float], clock: Callable[[], float]) -> None:
        """`now` is the wall clock."""
        self._now = now
        self._clock = clock
        self._looked_at_s: float | None = None  # by `clock`; None: not in this process

    def look(self, connection: sa.Connection) -> bool:
        """Return whether the wall clock can be believed. For a transaction that writes, every minute or so.

        A wall clock that has gone further than the other one, or back, ends steady time. Before the
        first look of a process there is nothing to compare it with: it may have gone on by NEEDED_S.
        """
        now_s, clock_s = self._now(), self._clock()
        values = {row.name: row.value for row in connection.execute(sa.select(numbers))}
        step_s = now_s - values[CLOCK_SEEN] / 1e6
        passed_s = 0.0 if self._looked_at_s is None else clock_s - self._looked_at_s
        longest_s = NEEDED_S if self._looked_at_s is None else passed_s + _TOLERANCE_S
        self._looked_at_s = clock_s
        steady_s = 0.0
        if -_TOLERANCE_S <= step_s <= longest_s:
            steady_s = min(NEEDED_S, values[CLOCK_STEADY] / 1e6 + max(0.0, min(step_s, passed_s)))
        for name, value_s in ((CLOCK_SEEN, now_s), (CLOCK_STEADY, steady_s)):
            row = sa.update(numbers).where(numbers.c.name == name)
            connection.execute(row.values(value=int(value_s * 1e6)))
        return steady_s >= NEEDED_S
