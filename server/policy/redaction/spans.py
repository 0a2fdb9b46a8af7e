"""Where something secret stands in a text."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from server.approval.asking import REDACTED


class Span(NamedTuple):
    start: int
    end: int
    kind: str
    """What it is, for the counts; never any of the text."""


def merged(spans: Iterable[Span]) -> list[Span]:
    """In order, each place once: what overlaps is one span of the first one's kind."""
    out: list[Span] = []
    for span in sorted(spans):
        if out and span.start < out[-1].end:
            last = out[-1]
            out[-1] = Span(last.start, max(last.end, span.end), last.kind)
        elif span.end > span.start:
            out.append(span)
    return out


def replaced(text: str, spans: Iterable[Span]) -> str:
    """`spans` as `merged` gives them."""
    return "".join(_pieces(text, spans))


def _pieces(text: str, spans: Iterable[Span]) -> Iterator[str]:
    at = 0
    for span in spans:
        yield text[at : span.start]
        yield REDACTED
        at = span.end
    yield text[at:]
