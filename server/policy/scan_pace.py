"""Pace of a scan for secrets: the pauses it makes for other threads, and the processor time it may take."""

import math
import threading
import time
from typing import Final

LIMIT_S: Final = 2.0
"""Processor time of one scan; a mebibyte of settings, every second of which is a token, takes a seventh of it."""
_TURN_S: Final = 0.001
_PAUSE_S: Final = 0.00005


class ScanTooSlow(Exception):
    """A scan took longer than LIMIT_S, so what it has not read may hold secrets."""


class _Pace(threading.local):
    pause_at_s = 0.0
    end_at_s = math.inf
    """Processor time of this thread at which the scan that began last is given up."""


_pace = _Pace()


def begin_scan() -> None:
    """Start the clock of a scan in this thread."""
    _pace.end_at_s = time.thread_time() + LIMIT_S


def give_way() -> None:
    """Let other threads run, if this one has not done so for a millisecond. Raises ScanTooSlow.

    A thread that scans would hold the event loop for as long as the interpreter's
    switch interval, 5 ms. Every loop whose length a text decides calls this.
    """
    if time.perf_counter() < _pace.pause_at_s:
        return
    if time.thread_time() > _pace.end_at_s:
        raise ScanTooSlow(f"scanning it for secrets took longer than {LIMIT_S:g} s")
    if threading.current_thread() is not threading.main_thread():
        time.sleep(_PAUSE_S)
    _pace.pause_at_s = time.perf_counter() + _TURN_S
