"""What the start has loaded lasts as long as the process: the garbage collector need not look at it again and again.

A full collection looks at every object. With the 170,000 that the packages bring along it holds the
event loop for 0.1 s; and it comes so seldom that what clients leave behind in rings (a session knows
its socket, the socket its session) piles up by tens of megabytes in between.
"""

import asyncio
import gc
import sys
from collections.abc import Callable
from typing import Final

SETTLED_S: Final = 2.0


async def freeze_when_loaded(
    *, settled_s: float = SETTLED_S, loaded: Callable[[], int] = lambda: len(sys.modules)
) -> None:
    """Wait until no module was loaded for `settled_s`, then take all objects there are out of the collector's sight.

    Those that are dropped later are still freed, unless they form a ring.
    """
    before, now = 0, loaded()
    while now != before:
        await asyncio.sleep(settled_s)
        before, now = now, loaded()
    gc.freeze()
    gc.collect()  # of nothing: a full one is due by how much the last one has found, which was all that
