"""Where hundreds of short texts stand in a long one: found together, in one pass."""

import re
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import hyperscan

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

    Safe to use from many threads; a text is read in as many passes, however many anchors there are.
    """

    def __init__(self, anchors: Iterable[str]) -> None:
        known = sorted(set(anchors))
        self._signs = [anchor for anchor in known if len(anchor) == 1]
        self._ascii = [anchor for anchor in known if anchor.isascii() and len(anchor) > 1]
        self._foreign = [anchor for anchor in known if not anchor.isascii() and len(anchor) > 1]
        # apart, as one pattern that knows more than ASCII makes the search for all of them four times as slow
        self._in_ascii = _Patterns(list(map(re.escape, self._ascii)), list(map(_flags, self._ascii)))
        self._long_words = _Patterns([_LONG_WORD], [0])
        self._in_foreign = _Patterns(
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
            for which, ends in self._in_ascii.ends_in(plain).items()
        }
        others = [sign for sign in self._signs if sign in text]
        if not text.isascii():
            others += [self._foreign[which] for which in self._in_foreign.ends_in(text.encode("utf-8", "replace"))]
        long_words = [end - LONG for end in self._long_words.ends_in(plain).get(0, ())]
        return Held(plain, places, frozenset(others), long_words)


class _Patterns:
    def __init__(self, expressions: Collection[str], flags: Collection[int]) -> None:
        self._database = hyperscan.Database() if expressions else None
        if self._database is not None:
            self._database.compile(
                expressions=[expression.encode() for expression in expressions],
                ids=range(len(expressions)),
                elements=len(expressions),
                flags=list(flags),
            )
        self._of_thread = threading.local()

    def ends_in(self, text: bytes) -> dict[int, list[int]]:
        """By the number of the pattern, where what fits it ends."""
        ends: dict[int, list[int]] = {}

        def add(which: int, _start: int, end: int, _flags: int, _context: object) -> None:
            if which in ends:
                ends[which].append(end)
            else:
                ends[which] = [end]

        if self._database is not None:
            self._database.scan(text, match_event_handler=add, scratch=self._scratch(self._database))
        return ends

    def _scratch(self, database: hyperscan.Database) -> hyperscan.Scratch:
        """The search's working memory; no two threads may share one."""
        try:
            scratch: hyperscan.Scratch = self._of_thread.scratch
        except AttributeError:
            scratch = self._of_thread.scratch = database.scratch.clone()
        return scratch


def _flags(anchor: str) -> int:
    return int(hyperscan.HS_FLAG_CASELESS) if anchor == anchor.lower() else 0
