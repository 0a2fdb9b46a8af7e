"""What was asked for on one line, and told on the next: `what's the gate code?` and below `Kim: 4471, push hard`."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from server.policy.redaction.page import Page
from server.policy.redaction.rules.code_values import CODE, is_code
from server.policy.redaction.rules.names import Name
from server.policy.redaction.rules.opened import code_cues
from server.policy.redaction.rules.password_looks import TOKEN, is_odd_word, looks_chosen, trimmed
from server.policy.redaction.rules.stating_words import REPLIES, SPELLED, USERS
from server.policy.redaction.spans import Span

_STAMP: Final = r"(?:\[[^\]\n]{1,32}\] ?|\d[\d/.:,T -]{3,22}(?: à [\d:]{4,8})? ?[-–]? ?)?"
_SPEAKER: Final = r"(?:<[^\W\d_][\w .()'’-]{0,23}> |[^\W\d_][\w .()'’-]{0,23} ?[:：|] ?)?"
_HEADER: Final = r"(?:[^\W\d_][^\n]{0,30}? (?:\w{2,12} )?\d{1,2}[:.h]\d\d[^\n]{0,8}\r?\n)?"
"""Of a turn, where name and time have a line of their own."""
_ASKED: Final = re.compile(
    rf"(?P<rest>[^\n\x00?？]{{0,50}})(?P<asked>[?？]{{0,3}})[^\n\x00]{{0,24}}\r?\n(?:[ \t>]{{0,12}}\r?\n)?{_HEADER}[ \t]{{0,8}}(?P<prefix>(?:[>–—•*-] {{0,2}}){{0,4}}(?P<stamp>{_STAMP}){_SPEAKER}[\"'“„«`*]{{0,2}})(?P<s>{TOKEN}{{3,64}})"
)
_LOOK: Final = 78
_STAMPED: Final = 26
_LABEL: Final = 32
_LOOK_BACK: Final = 140
_ALONE: Final = re.compile(rf"[ ]?[:：]?[ \t]*\r?\n(?P<s>{TOKEN}{{4,64}})[ \t]*(?:\r?\n|\Z|\x00)")
_LABEL_ABOVE: Final = re.compile(
    rf"(?<![^\W_])(?:{USERS})[^\n:：]{{0,24}}(?:[:：][^\S\n]*\S[^\n]{{0,60}}|[:：]?[ \t]*\r?\n[^\n]{{2,60}})\r?\n\Z",
    re.IGNORECASE,
)
_WISHES: Final = (
    "please",
    "pls",
    "plz",
    "bitte",
    "stp",
    "svp",
    "por favor",
    "per favore",
    "proszę",
    "prosím",
    "пожалуйста",
    "alsjeblieft",
)
_MAY_BE_ASKED: Final = re.compile(r"[?？]|\n.{0,20}(?:\d:\d|\[)")
_NO_WISH: Final = frozenset(":;()[]{}\"'`")
"""Ends of lines of programs."""
_INDENTED: Final = frozenset(" \t#/*")
_BEGINS: Final = re.compile(rf"{_STAMP}{_SPEAKER}(?P<w>[^\W\d_]+)")
_ASKING: Final = frozenset(
    "what whats which who anyone anybody someone need gimme send wie was welches welcher wer weiß hat jemand gib schick brauche quel quelle quels qui c'est donne cuál cual qué que quién alguien dame qual quale quem che chi qualcuno dammi "
    "wat welk wie iemand jakie jaki jaka kto jaké jaký vad vilket någon hva hvad hvilken noen nogen mikä onko какой какие какая кто скиньте скинь дайте дай".split()
)
_TIME: Final = re.compile(r"\d:\d\d|\[")
_NETWORKS: Final = ("wifi", "wi-fi", "wlan", "와이파이", "internet")
ANCHORS: Final = _NETWORKS
_ENDS_LINE: Final = re.compile(r"[\"'”»`*]{0,2}[.!]?[ \t]*(?:\r?\n|\Z|\x00)")
_GOES_ON: Final = re.compile(r"[\"'”»`*]{0,2}(?:[.,;!)]|\s|\Z)")


def answer_spans(page: Page, names: Sequence[Name]) -> Iterator[Span]:
    text = page.text
    if "\n" not in text:
        return
    passwords = {name.end for name in names if name.strength == "password"}
    cues = passwords | {name.end for name in names if name.strength in ("strong", "code")}
    cues.update(code_cues(page))
    cues.update(at + len(word) for word in page.held.intersection(_NETWORKS) for at in page.occurrences(word))
    for end in sorted(cues):
        line_ends = text.find("\n", end, end + _LOOK)
        if line_ends < 0 or not (
            _MAY_BE_ASKED.search(text, end, line_ends + _STAMPED) or _is_wished(text, end, line_ends)
        ):
            continue
        found = _ASKED.match(text, end)
        if found is not None and (span := _told(text, found, is_password=end in passwords)) is not None:
            yield span
    yield from _below_labels(text, passwords)


def _is_wished(text: str, end: int, line_ends: int) -> bool:
    """Whether its line asks for it without a question mark."""
    if text[line_ends - 1] in _NO_WISH:
        return False
    if text[end:line_ends].rstrip(" \r.!,").lower().endswith(_WISHES):
        return True
    start = text.rfind("\n", max(0, end - _LOOK_BACK), end) + 1
    if text[start] in _INDENTED or not text[line_ends - 1].isalpha():
        return False
    begins = _BEGINS.match(text, start, end)
    return begins is not None and begins["w"].lower() in _ASKING


def _below_labels(text: str, passwords: Iterable[int]) -> Iterator[Span]:
    """A label and a value by turns, each on its line: user, password."""
    for end in passwords:
        if (line := _ALONE.match(text, end)) is None:
            continue
        start = text.rfind("\n", 0, end) + 1
        value = trimmed(line["s"])
        is_labelled = line[0].lstrip()[:1] in (":", "：") or _LABEL_ABOVE.search(
            text, max(0, start - _LOOK_BACK), start
        )
        if (
            end - start <= _LABEL
            and is_labelled
            and (looks_chosen(value) >= 2 or (is_odd_word(value, is_quoted=False) and value.lower() not in REPLIES))
        ):
            yield Span(line.start("s"), line.start("s") + len(value), "prose")


def _told(text: str, found: re.Match[str], *, is_password: bool) -> Span | None:
    is_asked = bool(found["asked"]) or _is_wished(text, found.start(), found.end("rest"))
    is_chat = _TIME.search(found["stamp"]) is not None
    if not (is_asked or (is_chat and len(found["rest"]) < 24)) or not _GOES_ON.match(text, found.end("s")):
        return None
    start = found.start("s")
    code = CODE.match(text, start)
    if code is not None and is_code(text, start, code.end(), is_sure=False):
        return Span(start, code.end(), "code")
    value = trimmed(found["s"])
    is_one = looks_chosen(value) >= 2 or (is_asked and is_password and _is_answer(text, start, value))
    return Span(start, start + len(value), "prose") if is_one else None


def _is_answer(text: str, start: int, value: str) -> bool:
    """A word, and nothing but how it is written."""
    end = start + len(value)
    is_whole = _ENDS_LINE.match(text, end) is not None or SPELLED.match(text, end) is not None
    return is_whole and is_odd_word(value, is_quoted=False) and value.lower() not in REPLIES
