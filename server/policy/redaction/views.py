"""What a text says once an encoding is undone: percent signs, entities, lists of arguments, base64.

A view is read by the same rules as the text; its places lead back to where the letters stood.
"""

import binascii
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Final

from server.policy.redaction.page import Page
from server.policy.redaction.spans import Span

_PERCENT: Final = re.compile(r"%([0-9A-Fa-f]{2})")
_PERCENT_RUN: Final = re.compile(r"[^\s\"'<>`]+")
_TELLING: Final = frozenset(("%3a", "%3d", "%22", "%27", "%40"))
_ENTITY: Final = re.compile(r"&(?:quot|apos|amp|lt|gt|#34|#39|#x22|#x27);", re.IGNORECASE)
_ENTITIES: Final = {
    "quot": '"',
    "apos": "'",
    "amp": "&",
    "lt": "<",
    "gt": ">",
    "#34": '"',
    "#39": "'",
    "#x22": '"',
    "#x27": "'",
}
_ENTITY_SIGNS: Final = frozenset(f"&{name};" for name in _ENTITIES)
_FLAG_SIGNS: Final = frozenset(('"-', "'-"))
ANCHORS: Final = (*_TELLING, *_ENTITY_SIGNS, *_FLAG_SIGNS)
_NEXT_ARGUMENT: Final = re.compile(r"[\"'],\s?[\"']")
_BASE64_RUN: Final = re.compile(r"[A-Za-z0-9+/]{16,65536}+={0,2}")
_LONGEST_RUN: Final = 4096
_MOST_ENCODED: Final = 64
"""Pieces of base64 that are decoded; more is a file."""


class View:
    """Pieces of a text, decoded, a line each."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._starts: list[int] = []
        self._places: list[int] = []
        self._length = 0

    def add(self, piece: str, place: int) -> None:
        """`piece` stands for what begins at `place`; pieces are added in order."""
        self._starts.append(self._length)
        self._places.append(place)
        self._pieces.append(piece)
        self._length += len(piece)

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def span(self, found: Span) -> Span:
        """Where it stands in the text that this is a view of."""
        return Span(self._place(found.start), self._place(found.end - 1) + 1, found.kind)

    def _place(self, at: int) -> int:
        which = bisect_right(self._starts, at) - 1
        return self._places[which] + at - self._starts[which]


def views_of(page: Page) -> Iterator[View]:
    """None for most texts."""
    text = page.text
    if page.held & _TELLING:
        yield _view(text, _runs(text, "%"), _PERCENT, lambda match: chr(int(match[1], 16)))
    if page.held & _ENTITY_SIGNS:
        yield _view(text, _lines(text, "&"), _ENTITY, lambda match: _ENTITIES[match[0][1:-1].lower()])
    for sign in sorted(page.held & _FLAG_SIGNS)[:1]:
        yield _view(text, _lines(text, sign), _NEXT_ARGUMENT, lambda _: " ")


def _view(
    text: str, stretches: Iterator[tuple[int, int]], code: re.Pattern[str], decode: Callable[[re.Match[str]], str]
) -> View:
    view = View()
    for start, end in stretches:
        at = start
        for match in code.finditer(text, start, end):
            view.add(text[at : match.start()], at)
            view.add(decode(match), match.start())
            at = match.end()
        view.add(text[at:end] + "\n", at)
    return view


def _runs(text: str, sign: str) -> Iterator[tuple[int, int]]:
    """Stretches without spaces and quotes that hold the sign."""
    done = 0
    at = text.find(sign)
    while at >= 0:
        start = max(done, at - _LONGEST_RUN)
        head = text[start:at]
        start += max(head.rfind(c) for c in " \t\r\n\"'<>`") + 1
        run = _PERCENT_RUN.match(text, at)
        done = run.end() if run else at + 1
        yield start, done
        at = text.find(sign, done)


def _lines(text: str, sign: str) -> Iterator[tuple[int, int]]:
    at = text.find(sign)
    while at >= 0:
        start = text.rfind("\n", 0, at) + 1
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        yield start, end
        at = text.find(sign, end)


def encoded_in(page: Page) -> Iterator[tuple[int, int, str]]:
    """Where base64 of a text stands, and that text."""
    done = 0
    wanted = sorted(at for word, places in page.long_words.items() if _may_be_text(word) for at in places)
    for at in wanted[:_MOST_ENCODED]:
        if at >= done and (run := _BASE64_RUN.match(page.text, at)):
            done = run.end()
            if (text := _decoded(run[0])) is not None:
                yield at, done, text


def _may_be_text(word: str) -> bool:
    """Cheap: whether the first letters decode to letters."""
    if not word[:16].isalnum():
        return False
    head = binascii.a2b_base64(word[:16]).replace(b"\0", b"")
    return head.isascii() and head.decode("ascii").isprintable()


def _decoded(run: str) -> str | None:
    run = run.rstrip("=")
    if len(run) % 4 == 1:
        run = run[:-1]
    given = binascii.a2b_base64(run + "=" * (-len(run) % 4))
    try:
        text = given.decode("utf-16-le" if given[1:2] == b"\0" else "utf-8")
    except UnicodeDecodeError:
        return None
    return text if all(letter.isprintable() or letter in "\r\n\t" for letter in text) else None
