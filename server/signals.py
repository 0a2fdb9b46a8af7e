"""What the operator tells the process: stop, or read the configuration anew."""

import asyncio
import os
import signal
from collections.abc import Callable


class Signals:
    """Listens from its making on; needs a running loop."""

    def __init__(self) -> None:
        self.stop = asyncio.Event()
        """SIGTERM or SIGINT; a second one ends the process at once."""
        self.reload = asyncio.Event()
        """SIGHUP. One that comes because our terminal was closed means stop, as it does to any program."""
        self.at_once: Callable[[], None] = lambda: None
        """Called before a second signal ends the process, for what would outlive it; must not wait."""
        self._had_terminal = _has_terminal()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_stop, number)
        loop.add_signal_handler(signal.SIGHUP, self._on_hangup)

    def _on_stop(self, number: int) -> None:
        if self.stop.is_set():
            self.at_once()
            os._exit(128 + number)  # what else we started ends when its pipes do
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
