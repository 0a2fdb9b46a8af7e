"""An event loop whose clock is not the wall's, and that can cancel at any await.

Waiting costs nothing: when nobody is ready, the clock jumps to the next timer.
Every pass of the loop is a tick; `cancel_at` cancels a task between two ticks,
so that running one program again and again, one tick later each time, cancels
it at every await it has.
"""

import asyncio
import selectors
from typing import Any

_REAL_WAIT_S = 30.0  # for threads, on a busy machine


class _Selector(selectors.DefaultSelector):
    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0
        self.tick = 0
        self.victim: tuple[int, asyncio.Task[Any]] | None = None
        self.was_cancelled = False

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.tick += 1
        if self.victim is not None and self.tick >= self.victim[0]:
            self.was_cancelled = self.victim[1].cancel()
            self.victim = None
            timeout = 0
        ready = super().select(_REAL_WAIT_S if timeout is None else 0)
        if not ready and timeout is None:
            raise RuntimeError("every task waits, and nothing is left that could wake one")
        if not ready and timeout:
            self.now_s += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now_s

    @property
    def tick(self) -> int:
        return self._virtual.tick

    @property
    def was_cancelled(self) -> bool:
        """The task of `cancel_at` was still running when its tick came."""
        return self._virtual.was_cancelled

    def cancel_at(self, tick: int, task: asyncio.Task[Any]) -> None:
        self._virtual.victim = (tick, task)
        self._virtual.was_cancelled = False


def current_loop() -> VirtualLoop:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return loop
