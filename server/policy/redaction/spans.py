"""Places of secrets in a text, and the pauses that a long scan makes."""

import threading
import time
from bisect import insort
from collections.abc import Iterable
from typing import Final, NamedTuple

_TURN_S: Final = 0.001
_PAUSE_S: Final = 0.00005
_turns = threading.local()


class Span(NamedTuple):
    start: int
    end: int
    kind: str
    """Kind of the secret, for the counts; never any of the text."""


def give_way() -> None:
    """Let other threads run, if this one has not done so for a millisecond.

    A thread that scans would hold the event loop for as long as the interpreter's
    switch interval, 5 ms. Every loop whose length a text decides calls this.
    """
    now = time.perf_counter()
    if now < getattr(_turns, "ends", 0.0):
        return
    if threading.current_thread() is not threading.main_thread():
        time.sleep(_PAUSE_S)
    _turns.ends = time.perf_counter() + _TURN_S


def merged(spans: Iterable[Span]) -> list[Span]:
    """Put spans in order, each place once: what overlaps becomes one span of the first one's kind."""
    ordered: list[Span] = []
    for span in spans:
        insort(ordered, span)  # nearly in order: sorting them at the end would hold the interpreter's lock
    out: list[Span] = []
    for span in ordered:
        give_way()
        if out and span.start < out[-1].end:
            out[-1] = out[-1]._replace(end=max(out[-1].end, span.end))
        else:
            out.append(span)
    return out
