"""Threads of the tools' own: a slow search must not hold up what else of the server needs a thread."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, ParamSpec, TypeVar

MAX_THREADS: Final = 4
"""Work beyond that waits, and its call's time limit runs meanwhile."""

P = ParamSpec("P")
T = TypeVar("T")

_pool = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="tool")  # starts no thread before it is used


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Cancelling leaves the thread to finish by itself; give the work a Deadline where that takes long."""
    return await asyncio.get_running_loop().run_in_executor(_pool, lambda: work(*args, **kwargs))


class Deadline:
    """How long work in a thread may still take; `end_now` may be called from any thread."""

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self._at_s = time.monotonic() + limit_s

    @property
    def left_s(self) -> float:
        return max(0.0, self._at_s - time.monotonic())

    def end_now(self) -> None:
        self._at_s = 0.0
