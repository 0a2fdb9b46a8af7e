"""Cookies that hold a session."""

import re
from collections.abc import Iterator
from typing import Final

from server.policy.redaction.page import Page, matches
from server.policy.redaction.plausible import is_random
from server.policy.redaction.spans import Span

_COOKIE_HEADER: Final = re.compile(
    r"cookie(?:[\"'],\s*[\"']value)?[\"']?\s*[:=\u2192]>?\s*[\"']?(?P<s>[^\r\n]{8,4096})", re.IGNORECASE
)
_COOKIE_FLAG: Final = re.compile(r"(?:-b|--cookie) [\"'](?P<s>[^\"'\n]{8,4096})")
_COOKIE_FILE: Final = re.compile(
    r"\t(?:TRUE|FALSE)\t\d{1,12}\t(?P<n>[\w.-]{1,64})\t(?P<v>[^\s]{12,2048})"
)  # Netscape's format
_SHAPES: Final = {"cookie": _COOKIE_HEADER, "-b ": _COOKIE_FLAG}
_OF_FILE: Final = "\tTRUE\t"
ANCHORS: Final = (*_SHAPES, _OF_FILE)
_COOKIE: Final = re.compile(r"(?P<n>[\w.%\-]{1,64})=(?P<v>[^;\s\"',]{12,2048})")
_NO_SESSION: Final = re.compile(
    r"_?(?:ga|gid|gat|fbp|fbc|gcl|utm|hj|ajs|mp|amplitude|optimizely|_utm|consent|locale|lang|theme|ab|tz|path|domain|expires)",
    re.IGNORECASE,
)


def cookie_spans(page: Page) -> Iterator[Span]:
    for cookie in matches(page, _OF_FILE, _COOKIE_FILE):
        if not _NO_SESSION.match(cookie["n"]) and is_random(cookie["v"], at_least=16):
            yield Span(cookie.start("v"), cookie.end("v"), "cookie")
    for anchor in page.held & _SHAPES.keys():
        shape = _SHAPES[anchor]
        done = 0
        for at in page.occurrences(anchor):
            if at < done or (header := shape.match(page.text, at)) is None:
                continue
            done = header.end()
            for cookie in _COOKIE.finditer(page.text, header.start("s"), header.end("s")):
                value = cookie["v"]
                if not _NO_SESSION.match(cookie["n"]) and is_random(value, at_least=16) and not value.startswith("GA1"):
                    yield Span(cookie.start("v"), cookie.end("v"), "cookie")
