"""Where hundreds of short texts stand in a long one: found together, in one pass."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import hyperscan

from server.policy.patterns import Patterns

LONG: Final = 16
"""From so many characters on a word is a long one."""
_LONG_WORD: Final = rf"(?:^|[^\w.~$-])[\w.~$-]{{{LONG}}}"


class Held(NamedTuple):
    """What a text holds. Words are stretches of ASCII letters, digits, `_`, `-`, `.`, `~` and `$`."""

    plain: bytes
    """The text, with `?` for each letter that is not ASCII: places are the same."""
    places: Mapping[str, Sequence[int]]
    """Of each anchor in ASCII, of more than one letter, that the text holds: where it begins, in order."""
    others: frozenset[str]
    """The other anchors that it holds."""
    long_words: Sequence[int]
    """Where words of at least 16 characters begin, in order."""


class Anchors:
    """An anchor with a capital letter is found as it is written; one without, in any case.

    Safe to use from many threads; a text is read three times at most, however many anchors there are.
    """

    def __init__(self, anchors: Iterable[str]) -> None:
        known = sorted(set(anchors))
        self._signs = [anchor for anchor in known if len(anchor) == 1]
        self._ascii = [anchor for anchor in known if anchor.isascii() and len(anchor) > 1]
        self._foreign = [anchor for anchor in known if not anchor.isascii() and len(anchor) > 1]
        # apart, as one pattern that knows more than ASCII makes the search for all of them four times as slow
        self._in_ascii = Patterns(list(map(re.escape, self._ascii)), list(map(_flags, self._ascii)))
        self._long_words = Patterns([_LONG_WORD], [0])
        self._in_foreign = Patterns(
            list(map(re.escape, self._foreign)),
            [
                _flags(anchor) | hyperscan.HS_FLAG_UTF8 | hyperscan.HS_FLAG_UCP | hyperscan.HS_FLAG_SINGLEMATCH
                for anchor in self._foreign
            ],
        )

    def in_(self, text: str) -> Held:
        plain = text.encode("ascii", "replace")
        places = {
            (anchor := self._ascii[which]): [end - len(anchor) for end in ends]
            for which, ends in _ends(self._in_ascii, plain).items()
        }
        others = [sign for sign in self._signs if sign in text]
        if not text.isascii():
            others += [self._foreign[which] for which in _ends(self._in_foreign, text.encode("utf-8", "replace"))]
        long_words = [end - LONG for end in _ends(self._long_words, plain).get(0, ())]
        return Held(plain, places, frozenset(others), long_words)


def _ends(patterns: Patterns, text: bytes) -> dict[int, list[int]]:
    """By the number of the pattern, where what fits it ends."""
    ends: dict[int, list[int]] = {}

    def add(which: int, _start: int, end: int, _flags: int, _context: object) -> None:
        if which in ends:
            ends[which].append(end)
        else:
            ends[which] = [end]

    patterns.each(text, add)
    return ends


def _flags(anchor: str) -> int:
    return int(hyperscan.HS_FLAG_CASELESS) if anchor == anchor.lower() else 0
