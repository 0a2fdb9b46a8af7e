"""Which of hundreds of short texts stand in a long one: found together, in one pass."""

import re
import threading
from collections.abc import Iterable
from typing import Final, NamedTuple

import hyperscan

LONG: Final = 16
"""From so many characters on a word is a long one."""
_LONG_WORD: Final = rf"[\w.~$-]{{{LONG}}}"


class Held(NamedTuple):
    anchors: frozenset[str]
    has_long_word: bool


class Anchors:
    """An anchor with a capital letter is found as it is written; one without, in any case.

    Safe to use from many threads; the text is read in one pass, however many anchors there are.
    """

    def __init__(self, anchors: Iterable[str]) -> None:
        self._anchors = sorted(set(anchors))
        self._patterns = hyperscan.Database()
        self._patterns.compile(
            expressions=[_LONG_WORD.encode(), *(re.escape(anchor).encode() for anchor in self._anchors)],
            ids=range(len(self._anchors) + 1),
            elements=len(self._anchors) + 1,
            flags=[hyperscan.HS_FLAG_SINGLEMATCH, *map(_flags, self._anchors)],
        )
        self._of_thread = threading.local()

    def in_(self, text: str) -> Held:
        """Those that stand in `text`, and whether a long word does."""
        ids: list[int] = []
        self._patterns.scan(
            text.encode("utf-8", "replace"),
            match_event_handler=lambda id_, _start, _end, _flags, _context: ids.append(id_),
            scratch=self._scratch(),
        )
        return Held(frozenset([self._anchors[id_ - 1] for id_ in ids if id_]), 0 in ids)

    def _scratch(self) -> hyperscan.Scratch:
        """The search's working memory; no two threads may share one."""
        try:
            scratch: hyperscan.Scratch = self._of_thread.scratch
        except AttributeError:
            scratch = self._of_thread.scratch = self._patterns.scratch.clone()
        return scratch


def _flags(anchor: str) -> int:
    flags = int(hyperscan.HS_FLAG_SINGLEMATCH)
    if anchor == anchor.lower():
        flags |= hyperscan.HS_FLAG_CASELESS
    if not anchor.isascii():
        flags |= hyperscan.HS_FLAG_UTF8 | hyperscan.HS_FLAG_UCP
    return flags
