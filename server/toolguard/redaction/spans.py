"""Places of secrets in a text."""

from bisect import insort
from collections.abc import Iterable
from typing import NamedTuple

from server.toolguard.scan_pace import check_time


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
