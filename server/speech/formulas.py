"""LaTeX in a reply → the words in which it is spoken; formulas.toml holds the words.

Without it, the voice spells the formulas of a maths lesson mark by mark.
"""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

MAX_CHARS: Final = 300
MAX_WORDS: Final = 24
"""Limits of a formula; beyond them it is not read, but named (*formula*)."""
_MAX_STRUCTURES: Final = 3 * MAX_WORDS
MAX_DISPLAY_CHARS: Final = 4000
"""Length of a display formula over several lines; anything that goes on longer is not a formula."""
# A formula holds neither the beginning of another one nor the end of a line, so that hostile lines stay linear.
_CLOSED: Final = re.compile(
    r"(?P<code>(?<!`)`++[^`\n]++`++|\\\$)"
    r"|\\\((?P<round>(?:[^\\\n]|\\(?![()]))+)\\\)"
    r"|\\\[(?P<square>(?:[^\\\n]|\\(?![\[\]]))+)\\\]"
    r"|\$\$(?P<display>[^$\n]+)\$\$"
    r"|(?<![A-Za-z0-9_$])\$(?P<dollar>[^\s$](?:[^$\n]*[^\s$])?)\$(?=(?:th|st|nd|rd|s)\b|[^A-Za-z0-9_$]|\Z)"
)
_MARKS: Final = re.compile(r"[\\^_{=]")
_SIGNS: Final = re.compile(r"[\\^_{}=+*/<>\d]")
_WORD: Final = re.compile(r"[A-Za-z]{2}")
_PROSE: Final = re.compile(r"[A-Za-z]{4}|\w\s+\w")

_TOKEN: Final = re.compile(
    r"\\(?:text(?:bf|it|rm)?|mathrm|operatorname)\s*\{([^{}]*)\}"
    r"|\\[A-Za-z]+|\\.|\d+(?:[.,]\d+)*|[A-Za-z]{4,}|[^\W\d_A-Za-z²³]+|\S",
    re.DOTALL,
)
_PART: Final = r"([^\s{}^_\\]+)"
_STRUCTURE: Final = re.compile(
    rf"\\(frac) {_PART} {_PART}|\\(sqrt) (?!\[){_PART}|(?<!\S){_PART} ([\^_]) {_PART}|(\{{)([^{{}}^_\\]*)\}}"
)
_JOINER: Final = "\0"  # between the words of one part
_NEEDLESS_SPACE: Final = re.compile(r"\s+(?=[),.:;%\]])|(?<=[(\[])\s+")
_GREEK: Final = frozenset(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau phi chi psi omega".split()
)
_SILENT: Final = frozenset(
    "left right big Big bigl bigr Bigl Bigr quad qquad displaystyle textstyle , ; : ! mathbf mathit mathsf mathbb "
    "mathcal boxed vec".split()
)
_TABLE: Final[dict[str, dict[str, str]]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_SIGN_OF: Final = {name: names.split()[0] for names in _TABLE for name in names.split()}


class Formulas:
    """Knows which lines of one reply, given in order, stand in a display formula."""

    def __init__(self, language: str | None) -> None:
        self._words = words_in(language)
        self.close()

    def close(self) -> None:
        """Leave the display formula that is open, if there is one; what follows is spoken."""
        self._closer: str | None = None  # what ends the display formula that an earlier line began
        self._inside = ""  # the text of that formula

    def replace(self, line: str, *, is_whole: bool) -> str:
        """Return the line with words for its formulas. A display formula over several lines is read where it ends.

        `is_whole`: an empty one is an empty line, which ends an open formula unread.
        """
        if self._closer is not None:
            return self._continue(line, self._closer, is_whole=is_whole)
        line = _CLOSED.sub(self._replaced, line) if "$" in line or "\\" in line else line
        for opener, closer in (("$$", "$$"), ("\\[", "\\]")):
            before, mark, rest = line.partition(opener)
            is_alone = not before.strip(" \t>") and (not rest.strip() or _MARKS.search(rest))
            if mark and (is_alone or (opener == "\\[" and not rest.strip())):
                self._closer, self._inside = closer, rest
                return before
        return line

    def _continue(self, line: str, closer: str, *, is_whole: bool) -> str:
        content, end, rest = line.partition(closer)
        self._inside += f" {content}"
        if end:
            words = formula_in_words(self._inside, self._words).rstrip(".,;:")
            self.close()
            return f"{words}. {self.replace(rest, is_whole=is_whole)}"
        if (is_whole and not line.strip() and self._inside.strip()) or len(self._inside) > MAX_DISPLAY_CHARS:
            self.close()
        return ""

    def _replaced(self, match: re.Match[str]) -> str:
        kind, content = str(match.lastgroup), match[str(match.lastgroup)]
        # A dollar may be money or a shell variable; `\(` and `\[` may be an escaped bracket.
        marks, prose = {"dollar": (_MARKS, _PROSE), "display": (_MARKS, _WORD)}.get(kind, (_SIGNS, _PROSE))
        is_formula = kind != "code" and (marks.search(content) or not prose.search(content))
        return formula_in_words(content, self._words) if is_formula else match[0]


def words_in(language: str | None) -> Mapping[str, str]:
    """Return sign → word. `language`: BCP 47, English if None; one without words reads letters and numbers only."""
    name = (language or "en").partition("-")[0].lower()
    words = {names.split()[0]: translations.get(name, "") for names, translations in _TABLE.items()}
    return {**words, "formula": words["formula"] or "formula"}


def formula_in_words(formula: str, words: Mapping[str, str]) -> str:
    """Return what stands between the delimiters in words, or the word *formula* where no listener could follow."""
    text = formula.replace("{,}", ",") if len(formula) <= MAX_CHARS else "{"  # `{,}` stands between thousands
    text = re.sub(r"frac\s*(\d)\s*(?=\d)", r"frac{\1}", text)  # `\frac12` is one over two
    text = " ".join(filter(None, (_in_words(token, words) for token in _TOKEN.finditer(text))))
    for _ in range(_MAX_STRUCTURES):  # the leftmost structure whose parts are plain becomes one part
        text, replaced = _STRUCTURE.subn(lambda match: _joined(match, words), text, count=1)
        if not replaced:
            break
    text = _NEEDLESS_SPACE.sub("", " ".join(text.replace(_JOINER, " ").split()))
    return words["formula"] if re.search(r"[\\{}^_]", text) or len(text.split()) > MAX_WORDS else text


def _in_words(token: re.Match[str], words: Mapping[str, str]) -> str:
    """Return one token as a part, as a mark of structure (`{}^_`, `\\frac`, `\\sqrt`), or as `\\` if it has no word."""
    sign = token[0]
    name = _SIGN_OF.get(sign.lstrip("\\"), sign.lstrip("\\"))
    if token[1] is not None:
        return " ".join(token[1].split())
    if sign in "²³":
        return "^ 2" if sign == "²" else "^ 3"
    if sign in "(),.:;%[]{}^_" or sign == "\\%" or sign.isalnum() or sign[0].isdigit():
        return name
    if name in ("frac", "sqrt"):
        return f"\\{name}"
    if sign[0] == "\\" and (name in _SILENT or not name.strip()):
        return ""
    letter = name.removeprefix("var")
    return letter if letter.lower() in _GREEK else words.get(name, "").replace(" ", _JOINER) or "\\"


def _joined(structure: re.Match[str], words: Mapping[str, str]) -> str:
    match [part for part in structure.groups() if part is not None]:
        case ["{", inside]:
            text = inside.strip()
        case ["frac" | "sqrt" as kind, *parts]:
            text = (words[kind] or "\\").format(*parts)
        case [base, "^", exponent] if exponent not in (words["°"], words["'"]):
            text = (words.get(f"^{exponent}") or words["^"] or "\\").format(base, exponent)
        case parts:
            text = f"{parts[0]} {parts[-1]}"
    return text.replace(" ", _JOINER)
