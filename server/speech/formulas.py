"""LaTeX in a reply → the words in which it is said. Pure; one reader for the slices of one reply."""

import re
from typing import Final

from server.speech.formula_reader import said
from server.speech.formula_words import words_of

MAX_DISPLAY_CHARS: Final = 4000
"""Of a display formula over several lines; what goes on longer is none."""

# A formula holds neither another one's beginning nor a line's end: hostile lines cost as little as others.
_CLOSED: Final = re.compile(
    r"(?P<code>(?<!`)`++[^`\n]++`++|\\\$)"
    r"|\\\((?P<round>(?:[^\\\n]|\\(?![()]))+)\\\)"
    r"|\\\[(?P<square>(?:[^\\\n]|\\(?![\[\]]))+)\\\]"
    r"|\$\$(?P<display>[^$\n]+)\$\$"
    r"|(?<![A-Za-z0-9_$])\$(?P<dollar>[^\s$](?:[^$\n]*[^\s$])?)\$(?=(?:th|st|nd|rd|s)\b|[^A-Za-z0-9_$]|\Z)"
)
_MARKS: Final = re.compile(r"[\\^_{=]")
_SIGNS: Final = re.compile(r"[\\^_{}=+*/<>\d]")
_PROSE: Final = re.compile(r"[A-Za-z]{4}|\w\s+\w")
_WORD: Final = re.compile(r"[A-Za-z]{2}")
_BEFORE_DISPLAY: Final = " \t>"


class Formulas:
    """Given the lines of one reply in order, knows which of them stand in a display formula."""

    def __init__(self, language: str | None) -> None:
        """`language` (BCP 47): in which it is said."""
        self._words = words_of(language)
        self._closer: str | None = None  # what ends the display formula that an earlier line began
        self._inside = ""  # of that formula

    def of(self, line: str, *, is_whole: bool) -> str:
        """The line with words for its formulas. A display formula over several lines is said where it ends.

        `is_whole`: an empty one is an empty line, which ends a formula unsaid.
        """
        if self._closer is not None:
            return self._go_on(line, is_whole=is_whole)
        if "$" not in line and "\\" not in line:
            return line
        line = _CLOSED.sub(self._said, line)
        for opener, closer in (("$$", "$$"), ("\\[", "\\]")):
            before, found, rest = line.partition(opener)
            is_alone = not before.strip(_BEFORE_DISPLAY) and (not rest.strip() or _MARKS.search(rest))
            if found and (is_alone or (opener == "\\[" and not rest.strip())):
                self._closer, self._inside = closer, rest
                return before
        return line

    def give_up(self) -> None:
        """What was taken for a formula is none, or never ends: from here on all is said again."""
        self._closer, self._inside = None, ""

    def _go_on(self, line: str, *, is_whole: bool) -> str:
        assert self._closer is not None
        content, closer, rest = line.partition(self._closer)
        self._inside += f" {content}"
        if closer:
            formula = self._inside
            self.give_up()
            words = said(formula, self._words).rstrip(".,;:")
            return f"{words}. {self.of(rest, is_whole=is_whole)}"
        if (is_whole and not line.strip() and self._inside.strip()) or len(self._inside) > MAX_DISPLAY_CHARS:
            self.give_up()
        return ""

    def _said(self, found: re.Match[str]) -> str:
        kind, formula = str(found.lastgroup), found[str(found.lastgroup)]
        if kind == "code" or not _is_formula(kind, formula):
            return found[0]
        return said(formula, self._words)


def _is_formula(kind: str, content: str) -> bool:
    """A dollar may be money, a price class or a variable of a shell's, `\\(` and `\\[` an escaped bracket."""
    match kind:
        case "dollar":
            return _MARKS.search(content) is not None or not _PROSE.search(content)
        case "round" | "square":
            return _SIGNS.search(content) is not None or not _PROSE.search(content)
    return _MARKS.search(content) is not None or not _WORD.search(content)
