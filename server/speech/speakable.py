"""The spoken text of a reply: code, tables, addresses and tags are shown but not read out, formulas in words. Pure.

A model that writes `<voice>` tags decides for itself what is spoken.
"""

import html
import re
from collections import deque
from typing import Final

from server.speech.formulas import Formulas

_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_TABLE_ROW: Final = re.compile(r"^\s*\|.*\|?\s*$")
_RULE: Final = re.compile(r"^\s*([-*_])(?:\s*\1){2,}\s*$")
# No part of a pattern can begin within another one's: hostile lines cost as little as others.
_TARGET: Final = r"\([^()\s]*(?:\([^()\s]*\)[^()\s]*)?(?:\s+\"[^\"()]*\")?\)"
_IMAGE: Final = re.compile(r"!\[([^\[\]\n]*)\]" + _TARGET)
_LINK: Final = re.compile(r"\[([^\[\]\n]+)\]" + _TARGET)
_ADDRESS: Final = re.compile(r"<?\b(?:https?://|www\.)[^\s<>\"'”’）】]*[^\s<>\"'”’）】.,;:!?)\]]>?", re.IGNORECASE)
_HEADING: Final = re.compile(r"^\s{0,3}#{1,6}\s+")
_BULLET: Final = re.compile(r"^(\s*)[-*+•]\s+(?:\[[ xX]\]\s+)?")
_QUOTE: Final = re.compile(r"^\s*(?:>\s?)+")
_EMPHASIS: Final = re.compile(r"(\*{1,3}|(?<!\w)_{1,3}|~~)(?=\S)(.+?)(?<=\S)\1(?!(?<=_)\w)")
_MARKS: Final = re.compile(r"[*_~]+")
_MAX_MARKS: Final = 48
"""Limit of marks in a line whose emphasis is followed; of more, all are left out, not paired."""
_CODE: Final = re.compile(r"`+([^`\n]+)`+")
_ESCAPE: Final = re.compile(r"\\([\\`*_{}\[\]()#+\-.!|~>$])")
_EMOJI: Final = re.compile(
    "[\U0001f000-\U0001faff\u2600-\u27bf\u2190-\u21ff\u2b00-\u2bff\u2300-\u23ff\ufe0f\u200d\u20e3\U000e0020-\U000e007f]+"
)
_SPACE: Final = re.compile(r"[ \t]+")
CONTROLS: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters except tabs and line ends, and codes for a terminal's colours."""
_CODE_OR_TAG: Final = re.compile(
    r"(`+[^`\n]+`+)"
    r"|</?(?:(a|b|big|code|del|em|font|i|ins|kbd|mark|s|small|span|strong|sub|sup|u|emphasis|prosody|say-as)"  # in words
    r"|blockquote|body|br|center|dd|details|div|dl|dt|h[1-6]|hr|html|img|li|ol|p|pre|summary|table|tbody|td|th|thead|tr|ul"
    r"|speak|break)(?:[ \t/][^<>\n]*)?>",
    re.IGNORECASE,
)
_ENTITY: Final = re.compile(r"&(?:amp|lt|gt|quot|apos|nbsp|#39);")

MAX_ATTRIBUTES_CHARS: Final = 128

_TAGS: Final = ("<voice>", "</voice>")
_ATTRIBUTES: Final = rf"[ \t][^<>\n]{{0,{MAX_ATTRIBUTES_CHARS}}}"
_TAG: Final = re.compile(rf"<(/?)voice({_ATTRIBUTES})?>", re.IGNORECASE)
_BEGUN_TAG: Final = re.compile(rf"</?voice{_ATTRIBUTES}", re.IGNORECASE)
_BACKTICKS: Final = re.compile("`+")
_MAX_HEAD_CHARS: Final = 32


class SpokenText:
    """Knows which slices of one reply, given in order, stand in a code block or a formula."""

    def __init__(self, language: str | None = None) -> None:
        """`language` (BCP 47, English by default): in which formulas are said."""
        self._language = language
        self.begin_reply()

    def begin_reply(self) -> None:
        """Close what the reply before has left open."""
        self._formulas: Formulas | None = None  # since a line with a mark of one: most replies have none
        self._fence: str | None = None  # what closes the block we are in
        self._is_line_start = True

    def spoken(self, text: str) -> str | None:
        """Return what is spoken for this slice ("" for nothing), or None if that is the slice as it stands."""
        spoken = _SPACE.sub(" ", " ".join(self._lines(CONTROLS.sub(" ", text)))).strip()
        if not any(character.isalnum() for character in spoken):
            return ""
        return None if spoken == text.strip() else spoken

    def _lines(self, text: str) -> list[str]:
        spoken_lines = []
        pieces = text.split("\n")
        for number, line in enumerate(pieces):
            starts = number > 0 or self._is_line_start
            is_whole = starts and number + 1 < len(pieces)
            if (spoken := self._line(line, starts=starts, is_whole=is_whole)) and spoken.strip():
                spoken_lines.append(spoken.strip())
        self._is_line_start = not pieces[-1].strip() if len(pieces) > 1 else self._is_line_start and not text.strip()
        return spoken_lines

    def _line(self, line: str, *, starts: bool, is_whole: bool) -> str:
        fence = _FENCE.match(line) if starts else None
        if self._fence is not None:
            if fence and fence[1].startswith(self._fence):
                self._fence = None
            return ""
        if fence:
            self._fence = fence[1]
            self._formulas = None
            return ""
        if starts:
            line = _QUOTE.sub("", line)
        if self._formulas is not None or "$" in line or "\\" in line:
            self._formulas = self._formulas or Formulas(self._language)
            line = self._formulas.replace(line, is_whole=is_whole)
        if starts:
            if _TABLE_ROW.match(line) or _RULE.match(line):
                return ""
            if heading := _HEADING.match(line):
                line = line[heading.end() :].rstrip("# \t")
            line = _BULLET.sub("", line)
        return _inline(line)


def _inline(line: str) -> str:
    line = _IMAGE.sub(r"\1", line)
    line = _LINK.sub(r"\1", line)
    line = _ADDRESS.sub("", line)
    if "<" in line:
        line = _CODE_OR_TAG.sub(lambda match: match[1] or ("" if match[2] else " "), line)
    line = _CODE.sub(r"\1", line)
    if sum(map(line.count, "*_~")) > _MAX_MARKS:
        line = _MARKS.sub(" ", line)
    for _ in range(3):  # emphasis in emphasis
        line = _EMPHASIS.sub(r"\2", line)
    line = _ESCAPE.sub(r"\1", line)
    return _ENTITY.sub(lambda entity: html.unescape(entity[0]), _EMOJI.sub("", line))


class VoiceTags:
    """Tags `<voice>…</voice>`: only the text between them is spoken, and they are never shown.

    Until a model reply holds its first tag everything is spoken; from then on only
    what is tagged. An opening tag may have attributes, which mean nothing. In code,
    fenced or in backticks, a tag is text. Text that may become a tag is withheld, at
    most MAX_ATTRIBUTES_CHARS and a few.
    """

    def __init__(self) -> None:
        self._held = ""
        self.begin_reply()
        self._spans: deque[tuple[int, bool]] = deque()  # of what was given out and not yet passed to `voiced`

    def feed(self, delta: str) -> str:
        """Return the text to show, as far as it is certain."""
        text = self._held + delta
        visible: list[str] = []
        at = 0
        while at < len(text):
            bracket = text.find("<", at)
            at = self._emit(text, at, len(text) if bracket < 0 else bracket, visible)
            if at == len(text):
                break
            tag = None if self._code.is_open else _tag(text, at)
            if tag is not None:
                self._turn(is_closing=tag[1] == "/")
                at += len(tag)
            elif not self._code.is_open and _may_become_tag(text, at):
                break
            else:
                at = self._emit(text, at, at + 1, visible)
        self._held = text[at:]
        return "".join(visible)

    def flush(self) -> str:
        """Return what was withheld: the reply is over, so it was no tag."""
        held, self._held = self._held, ""
        self._record(held)
        return held

    def begin_reply(self) -> None:
        """Begin another reply, after `flush`; it is spoken until it holds a tag of its own."""
        self._is_voiced = True
        self._is_open = False
        self._code = _Code()  # of what was given out

    def voiced(self, text: str) -> str | None:
        """Return the part to be spoken of the next slice of the text given out, or None if that is all of it."""
        at, pieces = 0, []
        while at < len(text) and self._spans:
            length, is_voiced = self._spans.popleft()
            taken = min(length, len(text) - at)
            if taken < length:
                self._spans.appendleft((length - taken, is_voiced))
            if is_voiced:
                pieces.append(text[at : at + taken])
            at += taken
        spoken = "".join(pieces)
        return None if len(spoken) == len(text) else spoken

    def _turn(self, *, is_closing: bool) -> None:
        """Handle a tag. One that closes what was never opened changes nothing."""
        if self._is_open or not is_closing:
            self._is_voiced = self._is_open = not is_closing

    def _emit(self, text: str, start: int, end: int, visible: list[str]) -> int:
        if start < end:
            visible.append(text[start:end])
            self._record(text[start:end])
            self._code.feed(text[start:end])
        return end

    def _record(self, text: str) -> None:
        if not text:
            return
        length = 0
        if self._spans and self._spans[-1][1] is self._is_voiced:
            length, _ = self._spans.pop()
        self._spans.append((length + len(text), self._is_voiced))


class _Code:
    """The code in a text: whether what follows stands in a fenced block, or between backticks on its line."""

    def __init__(self) -> None:
        self._fence: str | None = None  # what closes the block
        self._head = ""  # of the line: its first characters
        self._opener = 0  # backticks that opened code on this line; 0: it is closed
        self._run = 0  # backticks in a row at the very end

    @property
    def is_open(self) -> bool:
        return self._fence is not None or self._opener_after_run() > 0 or _FENCE.match(self._head) is not None

    def feed(self, text: str) -> None:
        for number, line in enumerate(text.split("\n")):
            if number:
                self._end_line()
            self._head = (self._head + line[:_MAX_HEAD_CHARS])[:_MAX_HEAD_CHARS]
            line = "`" * self._run + line
            for run in _BACKTICKS.finditer(line):
                self._run = len(run[0])
                if run.end() < len(line):
                    self._opener, self._run = self._opener_after_run(), 0

    def _opener_after_run(self) -> int:
        return {0: self._run, self._run: 0}.get(self._opener, self._opener)

    def _end_line(self) -> None:
        if mark := _FENCE.match(self._head):
            if self._fence is None:
                self._fence = mark[1]
            elif mark[1].startswith(self._fence):
                self._fence = None
        self._head, self._opener, self._run = "", 0, 0


def _tag(text: str, at: int) -> str | None:
    match = _TAG.match(text, at)
    if match is None:
        return None
    attributes = (match[2] or "").strip()
    return match[0] if not attributes or ("=" in attributes and not match[1]) else None


def _may_become_tag(text: str, at: int) -> bool:
    head = text[at : at + len(_TAGS[1])].lower()
    return any(tag.startswith(head) for tag in _TAGS) or _BEGUN_TAG.fullmatch(text, at) is not None
