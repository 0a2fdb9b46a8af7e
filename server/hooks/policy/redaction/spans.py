"""A text to be searched, and where something secret stands in it."""

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final, NamedTuple

REDACTED: Final = "[REDACTED]"


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


_APART: Final = {ord(sign): " " for sign in "\"',:;=()[]{}<>|&?!*`\\%#^/@+\t\r\n"}
LEAST_RUN: Final = 16


class Page:
    """A text with what several rules need of it, made once."""

    def __init__(self, text: str) -> None:
        self.text = text
        lower = text.lower()
        if len(lower) != len(text):  # few letters grow when they are made small; positions have to stay
            lower = "".join(low if len(low := letter.lower()) == 1 else letter for letter in text)
        self.lower = lower

    @cached_property
    def _apart(self) -> str:
        # one character for one, and a translation that is ten times as fast
        plain = self.text if self.text.isascii() else self.text.encode("ascii", "replace").decode("ascii")
        return plain.translate(_APART)

    @cached_property
    def _tokens(self) -> list[str]:
        return self._apart.split()

    @cached_property
    def words(self) -> frozenset[str]:
        """What stands between signs and spaces, as it is written; `_`, `-` and `.` hold words together."""
        return frozenset(self._tokens)

    @cached_property
    def index(self) -> str:
        """Each word once: where a part of a word is not in here, it is not in the text, and this is shorter."""
        return " ".join(self.words)

    @cached_property
    def low_index(self) -> str:
        return self.index.lower()

    @cached_property
    def low_words(self) -> frozenset[str]:
        return frozenset(word.lower() for word in self.words)

    @cached_property
    def runs(self) -> list[tuple[int, str]]:
        """Every stretch of at least 16 letters, digits, `_`, `-`, `.`, `~` and `$`, with its place."""
        found: list[tuple[int, str]] = []
        at = 0
        for run in self._tokens:
            if len(run) >= LEAST_RUN:
                at = self._apart.find(run, at)
                found.append((at, run))
                at += len(run)
        return found


def occurrences(text: str, anchor: str) -> Iterator[int]:
    """Every place where `anchor` stands."""
    at = text.find(anchor)
    while at >= 0:
        yield at
        at = text.find(anchor, at + len(anchor))


def matches(text: str, anchor: str, shape: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Where `shape` fits at `anchor`; goes on behind each match, so that none is looked at twice."""
    at = text.find(anchor)
    while at >= 0:
        match = shape.match(text, at)
        if match is not None:
            yield match
        at = text.find(anchor, max(at + len(anchor), match.end() if match else 0))
