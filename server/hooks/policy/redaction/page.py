"""A text with what several rules need of it, made once.

A text has few distinct words, and rules begin with a word that must be there:
it is looked for among the distinct words, and in the text only if it is one.
"""

import re
from collections.abc import Collection, Iterator
from functools import cached_property
from typing import Final

_APART: Final = {ord(sign): " " for sign in "\"',:;=()[]{}<>|&?!*`\\%#^/@+\t\r\n\0"}
_FEW: Final = 8
"""So many words are faster looked for in the text than all its words among them."""
_ASCII: Final = bytes(range(128))


class Page:
    """Words are stretches of ASCII letters, digits, `_`, `-`, `.`, `~` and `$`; what else there is parts them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.is_ascii = text.isascii()

    @cached_property
    def lower(self) -> str:
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
    def _apart(self) -> str:
        return f" {self.plain.translate(_APART)} "

    @cached_property
    def _tokens(self) -> list[str]:
        return self._apart.split()

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(self._tokens)

    @cached_property
    def low_words(self) -> frozenset[str]:
        return frozenset(self.low_index.split())

    @cached_property
    def index(self) -> str:
        """Each word once: where a part of a word is not in here, it is not in the text, and this is shorter."""
        return f" {' '.join(self.words)} "

    @cached_property
    def low_index(self) -> str:
        return self.index.lower()

    @cached_property
    def endings(self) -> frozenset[str]:
        """The last four letters of each word that has so many."""
        return frozenset(word[-4:] for word in self.words)

    @cached_property
    def long_words(self) -> list[str]:
        """Each word of at least 16 characters, once."""
        return [word for word in self.words if len(word) >= 16]

    @cached_property
    def _foreign(self) -> bytes:
        return b"" if self.is_ascii else self.lower.encode("utf-8", "replace").translate(None, _ASCII)

    def may_hold(self, part: str) -> bool:
        """False: `part`, in small letters, is in no word. Cheap, and now and then true in vain."""
        if part.isascii():
            return part in self.low_index
        return not self.is_ascii and part.encode().translate(None, _ASCII) in self._foreign

    def words_with(self, part: str) -> Iterator[str]:
        """Each word that holds `part`, which is in small letters; as it is written."""
        index, low = self.index, self.low_index
        at = low.find(part)
        while at >= 0:
            end = index.find(" ", at)
            yield index[index.rfind(" ", 0, at) + 1 : end]
            at = low.find(part, end)

    def places(self, wanted: Collection[str]) -> list[tuple[int, str]]:
        """Where each of the wanted words stands, in order."""
        if len(wanted) <= _FEW:
            return sorted((at, word) for word in wanted for at in self._places_of(word))
        apart, at = self._apart, 0
        found: list[tuple[int, str]] = []
        for word in [token for token in self._tokens if token in wanted]:
            at = apart.find(f" {word} ", at)
            found.append((at, word))
            at += len(word)
        return found

    def _places_of(self, word: str) -> Iterator[int]:
        alone = f" {word} "
        at = self._apart.find(alone)
        while at >= 0:
            yield at
            at = self._apart.find(alone, at + len(word) + 1)


def occurrences(text: str, anchor: str) -> Iterator[int]:
    """Every place where `anchor` stands."""
    at = text.find(anchor)
    while at >= 0:
        yield at
        at = text.find(anchor, at + len(anchor))


def matches(page: Page, anchor: str, shape: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Where `shape` fits at `anchor`, which is ASCII; goes on behind each match, so that none is looked at twice."""
    at = page.plain.find(anchor)
    while at >= 0:
        match = shape.match(page.text, at)
        if match is not None:
            yield match
        at = page.plain.find(anchor, max(at + len(anchor), match.end() if match else 0))
