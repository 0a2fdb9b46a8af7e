"""Time limit of a scan for secrets, in processor time."""

import math
import threading
import time
from typing import Final

LIMIT_S: Final = 2.0
"""Processor time of one scan; a mebibyte of settings, every second of which is a token, takes a seventh of it."""
_INTERVAL_S: Final = 0.0002
"""Time between two looks at the processor's clock, which takes a system call."""


class ScanTooSlow(Exception):
    """A scan took longer than its limit, so what it has not read may hold secrets."""


class _Clock(threading.local):
    check_at_s = 0.0
    end_at_s = math.inf
    """Processor time of this thread at which the scan that began last is given up."""
    limit_s = LIMIT_S


_clock = _Clock()


def begin_scan(limit_s: float | None = None) -> None:
    """Start the clock of a scan in this thread; None: with the usual limit."""
    _clock.limit_s = LIMIT_S if limit_s is None else limit_s
    _clock.end_at_s = time.thread_time() + _clock.limit_s


def check_time() -> None:
    """Raise ScanTooSlow where the scan is over its limit. Every loop whose length a text decides calls this."""
    now_s = time.perf_counter()
    if now_s < _clock.check_at_s:
        return
    if time.thread_time() > _clock.end_at_s:
        raise ScanTooSlow(f"scanning it for secrets took longer than {_clock.limit_s:g} s")
    _clock.check_at_s = now_s + _INTERVAL_S
