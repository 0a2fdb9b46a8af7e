"""A text with what several rules need of it, made once.

Rules begin with an anchor that must be there; which of them are was found before, all at once.
A text has few distinct words: what is asked of a word is asked of each once.
"""

import re
from collections.abc import Callable, Collection, Iterator
from functools import cached_property
from typing import Any, Final, TypeVar

from server.hooks.policy.redaction.anchors import LONG, Held

T = TypeVar("T")
_APART: Final = {ord(sign): " " for sign in "\"',:;=()[]{}<>|&?!*`\\%#^/@+\t\r\n\0"}
_FEW: Final = 4
"""So many words are faster looked for in the text than all its words among them."""


class Page:
    """Words are stretches of ASCII letters, digits, `_`, `-`, `.`, `~` and `$`; what else there is parts them."""

    def __init__(self, text: str, held: Held) -> None:
        """`held`: the anchors that stand in `text`."""
        self.text = text
        self.held = held.anchors
        self._has_long_word = held.has_long_word
        self.is_bare = not held.anchors and not held.has_long_word
        """No rule can find anything."""
        self.is_ascii = text.isascii()
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
    def plain(self) -> str:
        """As long as the text, with `?` for what is not ASCII: faster to search and ten times as fast to translate."""
        return self.text if self.is_ascii else self.text.encode("ascii", "replace").decode("ascii")

    @cached_property
    def _low_plain(self) -> str:
        return self.plain.lower()

    @cached_property
    def _apart(self) -> str:
        return f" {self.plain.translate(_APART)} "

    @cached_property
    def _tokens(self) -> list[str]:
        return self._apart.split()

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(self._tokens)

    @cached_property
    def _index(self) -> str:
        """Each word once."""
        return f" {' '.join(self.words)} "

    @cached_property
    def _low_index(self) -> str:
        return self._index.lower()

    @cached_property
    def long_words(self) -> list[str]:
        """Each word of at least 16 characters, once."""
        return [word for word in self.words if len(word) >= LONG] if self._has_long_word else []

    def has_word(self, word: str) -> bool:
        """Whether `word`, which is in small letters, is one of the words, in any case."""
        return f" {word} " in self._low_index

    def words_with(self, part: str) -> Iterator[str]:
        """Each word that holds `part`, which is in small letters; as it is written."""
        index, low = self._index, self._low_index
        at = low.find(part)
        while at >= 0:
            end = index.find(" ", at)
            yield index[index.rfind(" ", 0, at) + 1 : end]
            at = low.find(part, end)

    def words_like(self, low: str) -> Iterator[str]:
        """Each word that is `low`, which is in small letters; as it is written."""
        return (self._index[at + 1 : at + 1 + len(low)] for at in occurrences(self._low_index, f" {low} ", step=1))

    def places(self, wanted: Collection[str]) -> list[tuple[int, str]]:
        """Where each of the wanted words stands, in order."""
        apart, at = self._apart, 0
        found: list[tuple[int, str]] = []
        if len(wanted) <= _FEW:
            for word in wanted:
                end = len(word) + 1
                # a search looks for the last letter first, and most common of all is the space behind a word
                found += [(at, word) for at in occurrences(apart, f" {word}", step=end) if apart[at + end] == " "]
            return sorted(found)
        for word in filter(wanted.__contains__, self._tokens):
            at = apart.find(f" {word} ", at)
            found.append((at, word))
            at += len(word)
        return found

    def occurrences(self, anchor: str) -> Iterator[int]:
        """Every place where `anchor`, which is in small letters, stands in any case."""
        return occurrences(self._low_plain if anchor.isascii() else self._lower, anchor, step=len(anchor))


def occurrences(text: str, part: str, *, step: int) -> Iterator[int]:
    """Every place where `part` stands; after each, the search goes on `step` characters further."""
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + step)


def matches(page: Page, anchor: str, shape: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Where `shape` fits at `anchor`, which is ASCII; goes on behind each match, so that none is looked at twice."""
    sign = anchor.rstrip(" ")  # a search looks for the last letter first, and nothing is more common than a space
    at = page.plain.find(sign)
    while at >= 0:
        match = shape.match(page.text, at)
        if match is not None:
            yield match
        at = page.plain.find(sign, max(at + len(sign), match.end() if match else 0))
