"""Scans for secrets: their time limit, in processor time, and the places that they find."""

import math
import threading
import time
from bisect import insort
from collections.abc import Iterable
from typing import Final, NamedTuple

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
    """Start the clock of a scan in this thread, with the usual limit if none is given."""
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


class Span(NamedTuple):
    start: int
    end: int
    kind: str
    """Kind of the secret, for the counts; never any of the text."""


def merged(spans: Iterable[Span]) -> list[Span]:
    """Put spans in order, each place once: what overlaps becomes one span of the first one's kind."""
    ordered: list[Span] = []
    for span in spans:
        insort(ordered, span)  # nearly in order: sorting them at the end would hold the interpreter's lock
    out: list[Span] = []
    for span in ordered:
        check_time()
        if out and span.start < out[-1].end:
            out[-1] = out[-1]._replace(end=max(out[-1].end, span.end))
        else:
            out.append(span)
    return out
