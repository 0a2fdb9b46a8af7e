"""What was asked for on one line, and told on the next: `what's the gate code?` and below `Kim: 4471, push hard`."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from server.hooks.policy.redaction.key_names import STRONG
from server.hooks.policy.redaction.page import Page
from server.hooks.policy.redaction.rules.code_values import CODE, is_code
from server.hooks.policy.redaction.rules.names import Name
from server.hooks.policy.redaction.rules.opened import code_cues
from server.hooks.policy.redaction.rules.password_looks import TOKEN, looks_chosen, trimmed
from server.hooks.policy.redaction.spans import Span

_STAMP: Final = r"(?:\[[^\]\n]{1,32}\] ?|\d[\d/.:,T -]{3,22}(?: à [\d:]{4,8})? ?[-–]? ?)?"
_SPEAKER: Final = r"(?:<?[^\W\d_][\w .()'’-]{0,23}>? ?[:：] ?)?"
_ASKED: Final = re.compile(
    rf"(?P<rest>[^\n\x00?？]{{0,50}})(?P<asked>[?？]{{0,3}})[^\n\x00]{{0,24}}\r?\n(?:[ \t>]{{0,12}}\r?\n)?[ \t]{{0,8}}(?P<prefix>(?:[>–—•*-] {{0,2}}){{0,4}}(?P<stamp>{_STAMP}){_SPEAKER}[\"'“„«`*]{{0,2}})(?P<s>{TOKEN}{{3,64}})"
)
_LOOK: Final = 78
_STAMPED: Final = 26
_MAY_BE_ASKED: Final = re.compile(r"[?？]|\n.{0,20}(?:\d:\d|\[)")
_TIME: Final = re.compile(r"\d:\d\d|\[")
_NETWORKS: Final = ("wifi", "wi-fi", "wlan", "와이파이", "internet")
ANCHORS: Final = _NETWORKS
_GOES_ON: Final = re.compile(r"[\"'”»`*]{0,2}(?:[.,;!)]|\s|\Z)")


def answer_spans(page: Page, names: Sequence[Name]) -> Iterator[Span]:
    text = page.text
    if "\n" not in text:
        return
    cues = {name.end for name in names if name.strength in STRONG or name.strength == "code"}
    cues.update(code_cues(page))
    cues.update(at + len(word) for word in page.held.intersection(_NETWORKS) for at in page.occurrences(word))
    for end in sorted(cues):
        line_ends = text.find("\n", end, end + _LOOK)
        if line_ends < 0 or not _MAY_BE_ASKED.search(text, end, line_ends + _STAMPED):
            continue
        found = _ASKED.match(text, end)
        if found is not None and (span := _told(text, found)) is not None:
            yield span


def _told(text: str, found: re.Match[str]) -> Span | None:
    is_asked = bool(found["asked"])
    is_chat = _TIME.search(found["stamp"]) is not None
    if not (is_asked or (is_chat and len(found["rest"]) < 24)) or not _GOES_ON.match(text, found.end("s")):
        return None
    start = found.start("s")
    code = CODE.match(text, start)
    if code is not None and is_code(text, start, code.end(), is_sure=False):
        return Span(start, code.end(), "code")
    value = trimmed(found["s"])
    return Span(start, start + len(value), "prose") if looks_chosen(value) >= 2 else None
