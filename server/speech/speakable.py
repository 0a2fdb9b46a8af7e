"""The spoken text of a reply: code, tables, addresses and tags are shown but not read out, formulas in words. Pure."""

import html
import re
from typing import Final

from server.speech.formulas import Formulas

_FENCE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})")
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
"""With more marks in a line nobody could follow the emphasis: they are left out, not paired."""
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


class SpokenText:
    """Given the slices of one reply in order, knows which of them stand in a code block or a formula."""

    def __init__(self, language: str | None = None) -> None:
        """`language` (BCP 47): in which formulas are said; None: English."""
        self._formulas = Formulas(language)
        self.begin_reply()

    def begin_reply(self) -> None:
        """Close what the reply before has left open."""
        self._formulas.close()
        self._fence: str | None = None  # what closes the block we are in
        self._is_line_start = True

    def spoken(self, text: str) -> str | None:
        """Return what is spoken for this slice: None = just as it stands, "" = nothing."""
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
            self._formulas.close()
            return ""
        if starts:
            line = _QUOTE.sub("", line)
        line = self._formulas.replace(line, is_whole=is_whole)
        if starts:
            if _TABLE_ROW.match(line) or _RULE.match(line):
                return ""
            line = _without_heading(line)
            line = _BULLET.sub("", line)
        return _inline(line)


def _without_heading(line: str) -> str:
    found = _HEADING.match(line)
    return line if found is None else line[found.end() :].rstrip("# \t")


def _inline(line: str) -> str:
    line = _IMAGE.sub(r"\1", line)
    line = _LINK.sub(r"\1", line)
    line = _ADDRESS.sub("", line)
    if "<" in line:
        line = _CODE_OR_TAG.sub(lambda found: found[1] or ("" if found[2] else " "), line)
    line = _CODE.sub(r"\1", line)
    if sum(map(line.count, "*_~")) > _MAX_MARKS:
        line = _MARKS.sub(" ", line)
    for _ in range(3):  # emphasis in emphasis
        line = _EMPHASIS.sub(r"\2", line)
    line = _ESCAPE.sub(r"\1", line)
    return _ENTITY.sub(lambda found: html.unescape(found[0]), _EMOJI.sub("", line))
