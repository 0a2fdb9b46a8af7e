"""A text with what several rules need of it, made once.

Rules begin with an anchor that must be there; where each of them stands was found before, all at once.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Final, TypeVar

from server.policy.redaction.anchors import Held

T = TypeVar("T")
_SIGNS: Final = b"\"',:;=()[]{}<>|&?!*`\\%#^/@+\t\r\n\0"
_APART: Final = bytes.maketrans(_SIGNS, b" " * len(_SIGNS))


class Page:
    """Words are stretches of ASCII letters, digits, `_`, `-`, `.`, `~` and `$`; what else there is parts them."""

    def __init__(self, text: str, held: Held) -> None:
        """`held`: what stands in `text`."""
        self.text = text
        self.is_ascii = text.isascii()
        self.held = frozenset((*held.places, *held.others))
        """The anchors that stand in the text."""
        self.is_bare = not self.held and not held.long_words
        """No rule can find anything."""
        self._plain = held.plain
        self._places = held.places
        self._long_words = held.long_words
        self._made: dict[Callable[[Page], Any], Any] = {}

    def once(self, make: Callable[["Page"], T]) -> T:
        """What `make` finds, for several rules that need it."""
        if make not in self._made:
            self._made[make] = make(self)
        found: T = self._made[make]
        return found

    @cached_property
    def _lower(self) -> str:
        """As long as the text: positions are the same."""
        lower = self.text.lower()
        if len(lower) != len(self.text):  # few letters grow when they are made small
            lower = "".join(low if len(low := letter.lower()) == 1 else letter for letter in self.text)
        return lower

    @cached_property
    def _apart(self) -> str:
        """The words with spaces between them, each one place further than in the text."""
        return f" {self._plain.translate(_APART).decode('ascii')} "

    @cached_property
    def long_words(self) -> dict[str, list[int]]:
        """Each word of at least 16 characters, once, with where it begins wherever it stands, in order."""
        apart = self._apart if self._long_words else ""
        found: dict[str, list[int]] = {}
        for at in self._long_words:
            found.setdefault(apart[at + 1 : apart.index(" ", at + 1)], []).append(at)
        return found

    def is_word(self, start: int, end: int) -> bool:
        """Whether no word goes on before `start` or behind `end`."""
        return self._apart[start] == " " == self._apart[end + 1]

    def words_like(self, anchors: Iterable[str]) -> list[tuple[int, str]]:
        """Each word that is one of the anchors, which are ASCII, in any case, with where it begins; in no order."""
        apart = self._apart
        return [
            (at, apart[at + 1 : at + 1 + len(anchor)])
            for anchor in anchors
            for at in self._places.get(anchor, ())
            if apart[at] == " " == apart[at + 1 + len(anchor)]
        ]

    def words_with(self, anchors: Iterable[str]) -> list[tuple[int, str]]:
        """Each word in which one of the anchors stands, which are ASCII, with where it begins, in order."""
        apart = self._apart
        found: dict[int, str] = {}
        for anchor in anchors:
            end = 0
            for at in self._places.get(anchor, ()):
                if at >= end:
                    start = apart.rfind(" ", 0, at + 1)
                    end = apart.index(" ", at + 1)
                    found[start] = apart[start + 1 : end]
        return sorted(found.items())

    def occurrences(self, part: str) -> Sequence[int]:
        """Every place where `part`, which is in small letters, stands in any case; an anchor, as anchors are found."""
        places = self._places.get(part)
        if places is not None:
            return places
        return list(_occurrences(self.text if part == part.upper() else self._lower, part))


def _occurrences(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + len(part))


def matches(page: Page, anchor: str, shape: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Where `shape` fits at `anchor`, which is ASCII; goes on behind each match, so that none is looked at twice."""
    done = 0
    for at in page.occurrences(anchor):
        if at >= done and (match := shape.match(page.text, at)) is not None:
            yield match
            done = match.end()
