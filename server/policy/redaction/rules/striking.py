"""What nobody writes but as a password: `Wisteria&Gin42`, `brother#22`; in texts that speak of logins, codes or networks."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from server.policy.redaction.page import Page
from server.policy.redaction.rules.names import Name
from server.policy.redaction.rules.password_looks import looks_chosen
from server.policy.redaction.rules.windows import windows
from server.policy.redaction.spans import Span

_STRIKING: Final = re.compile(
    r"(?<![^\s\"'`„“«‘(（>|：→])(?P<s>(?=[^\W\d_])(?=\S{0,160}[0-9A-Z])(?!\S{0,160}\*\*)[^\W_]{2,24}(?:[!#$%&*+~^§@.-]{1,2}[^\W_]{1,24}){1,5}[!#$*]{0,2})(?=[\"'`”»’)）<.,;:]{0,2}(?:\s|\Z|\|)|\\n)"
)
_WITHIN: Final = 400
"""Characters from a word for a password or a network."""
_SIGN: Final = re.compile(r"[!#$%&*~^§]")
_CODE_LINE: Final = re.compile(r"[={}\\]|\)\s*[;{]|^\s*(?://|#!|\$ |import |from |def |return )|://|\w\(|->")
ANCHORS: Final = ("wifi", "wi-fi", "wlan", "login", "passphrase")


def striking_spans(page: Page, names: Sequence[Name]) -> Iterator[Span]:
    places = [name.end for name in names if name.strength == "password"]
    places += [at for word in page.held.intersection(ANCHORS) for at in page.occurrences(word)]
    text = page.text
    stretches = windows(text, sorted(places), before=_WITHIN, behind=_WITHIN)
    for found in (found for start, end in stretches for found in _STRIKING.finditer(text, start, end)):
        value = found["s"]
        if _SIGN.search(value) is None or looks_chosen(value) < 3 or not _is_mixed(value):
            continue
        start = text.rfind("\n", 0, found.start()) + 1
        end = text.find("\n", found.end())
        line = (
            text[max(start, found.start() - 160) : found.start()]
            + text[found.end() : min(end if end >= 0 else len(text), found.end() + 80)]
        )
        if _CODE_LINE.search(line) is None:
            yield Span(found.start("s"), found.end("s"), "prose")


def _is_mixed(value: str) -> bool:
    """Not `Fritz!Box`, not `R&D`."""
    has_more = any(letter.isdigit() for letter in value) or len(_SIGN.findall(value)) > 1
    return has_more and sum(letter.isalpha() for letter in value) >= 4 and len(value) >= 7
