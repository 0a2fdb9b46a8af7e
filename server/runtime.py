"""The process's own affairs: signals, and what the garbage collector looks at."""

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Callable
from typing import Final

SETTLED_S: Final = 2.0


class Signals:
    """Turns signals into events: stop, or read the configuration again.

    Listens from its construction on; needs a running loop.
    """

    def __init__(self) -> None:
        self.stop = asyncio.Event()
        """Event set by SIGTERM or SIGINT; a second signal ends the process at once."""
        self.reload = asyncio.Event()
        """Event set by SIGHUP. One that comes because our terminal was closed means stop, as it does to any program."""
        self.at_once: Callable[[], None] = lambda: None
        """Callback before a second signal ends the process, for what would outlive it; must not wait."""
        self._had_terminal = _has_terminal()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_stop, number)
        loop.add_signal_handler(signal.SIGHUP, self._on_hangup)

    def _on_stop(self, number: int) -> None:
        if self.stop.is_set():
            self.at_once()
            os._exit(128 + number)  # everything else we started ends when its pipes do
        self.stop.set()

    def _on_hangup(self) -> None:
        if self._had_terminal and not _has_terminal():
            self.stop.set()
        else:
            self.reload.set()


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


async def freeze_when_loaded(
    *, settled_s: float = SETTLED_S, loaded: Callable[[], int] = lambda: len(sys.modules)
) -> None:
    """Wait until no module was loaded for `settled_s`, then hide every object from the garbage collector.

    A full collection looks at every object. With the 170,000 that packages bring along it holds the event loop
    for 0.1 s; and it comes so rarely that reference cycles (a session knows its socket, the socket its session)
    pile up by tens of megabytes in between. Frozen objects are still freed, unless they are part of a cycle.
    """
    before, now = 0, loaded()
    while now != before:
        await asyncio.sleep(settled_s)
        before, now = now, loaded()
    gc.freeze()
    gc.collect()  # of nothing: a full one is due by how much the last one has found, which was all that
