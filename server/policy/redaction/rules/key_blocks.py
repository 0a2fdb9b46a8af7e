"""Private keys between their lines of BEGIN and END."""

import re
from collections.abc import Iterator
from typing import Final

from server.policy.redaction.page import Page
from server.policy.redaction.spans import Span

ANCHORS: Final = tuple("PRIVATE KEY,STATIC KEY,Static key,KEY SEED,NKEY SEED,USER JWT,LICENSE,LICENCE".split(","))
_WHAT: Final = r"(?:[A-Za-z0-9]+ ){0,4}(?:PRIVATE KEY(?: BLOCK)?|STATIC KEY(?: V\d)?|Static key V\d|KEY SEED|SEED|USER JWT|LICEN[SC]E(?: KEY)?)"
_BEGIN: Final = re.compile(rf"BEGIN {_WHAT} ?-----?")
_END: Final = re.compile(rf"-----?-? ?END {_WHAT} ?-----?-?")
_DASHES: Final = re.compile(r"-{0,5} ?\Z")
_BODY: Final = re.compile(r"(?:[A-Za-z0-9+/=\s\\\"',>|#*]|[nr\-:](?=[A-Za-z0-9+/=\s\\]))*+")
_LEAST: Final = 24
_LONGEST: Final = 32_768


def key_block_spans(page: Page) -> Iterator[Span]:
    """The whole block; one whose end is missing (cut off) as far as it looks like one."""
    text = page.text
    done = 0
    for at in page.occurrences("begin ") if not page.held.isdisjoint(ANCHORS) else ():
        begin = _BEGIN.match(text, at)
        if begin is None or at < done:
            continue
        body_end, stop = _ends(text, begin.end())
        body = text[begin.end() : min(body_end, begin.end() + 400)]
        if sum(letter.isalnum() for letter in body) >= _LEAST and "." not in body[:_LEAST]:
            done = stop
            dashes = _DASHES.search(text, max(0, at - 6), at)
            yield Span(dashes.start() if dashes else at, stop, "private_key")


def _ends(text: str, at: int) -> tuple[int, int]:
    """Of the body that begins at `at`, and of its END, unless another block begins before."""
    last = min(len(text), at + _LONGEST)
    other = text.find("BEGIN ", at, last)
    if end := _END.search(text, at, last if other < 0 else other):
        return end.start(), end.end()
    body = _BODY.match(text, at, last)
    stop = body.end() if body else at
    return stop, stop
