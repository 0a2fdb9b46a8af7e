"""L1-43 and L1-54 in plain words: how a pattern is found in a text, and how a glob fits a name."""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

import re2

LOOKED_AT = 64 * 1024
WORK_IN_A_TEXT = 4_000_000
WORK_IN_AN_INJECTION = 10 * WORK_IN_A_TEXT
UNSPACED = ("CJK ", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "HANGUL")


def expression_of(pattern: str) -> tuple[str, bool] | None:
    """Return what stands between the strokes and whether case is ignored; None for a text."""
    for end, ignores_case in (("/i", True), ("/", False)):
        if pattern.startswith("/") and pattern.endswith(end) and len(pattern) > len(end) + 1:
            return pattern[1 : -len(end)], ignores_case
    return None


@cache
def steps_of(pattern: str) -> int:
    """Return the size of an expression as RE2 counts it: the one thing here that only RE2 can say."""
    expression = expression_of(pattern)
    assert expression is not None
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.case_sensitive = not expression[1]
    options.encoding = re2.Options.Encoding.LATIN1
    return int(re2.compile(expression[0].encode(), options).programsize)


def looked_at(pattern: str, text: str) -> str:
    """Return the beginning of the text in which the pattern is searched, in whole characters."""
    size = LOOKED_AT if expression_of(pattern) is None else min(LOOKED_AT, WORK_IN_A_TEXT // steps_of(pattern))
    return text.encode()[:size].decode(errors="ignore")


class TooMuchWork(Exception):
    """The expressions of an injection have more to search than they may."""


class Work:
    """What the expressions of one injection have searched: each in each text, once."""

    def __init__(self) -> None:
        self.done: dict[tuple[str, str, str], int] = {}

    def search(self, pattern: str, text: str, purpose: str = "") -> None:
        """Count the search of an expression in a text, wherever that stands; a `match` counts beside a condition."""
        self.done[pattern, text, purpose] = steps_of(pattern) * len(looked_at(pattern, text).encode())
        if sum(self.done.values()) > WORK_IN_AN_INJECTION:
            raise TooMuchWork


def is_found(pattern: str, text: str) -> bool:
    text = looked_at(pattern, text)
    expression = expression_of(pattern)
    if expression is not None:
        flags = re.ASCII | (re.IGNORECASE if expression[1] else 0)
        return re.search(expression[0], text, flags) is not None
    wanted, text = folded(pattern), folded(text)
    if wanted == "":
        return False
    if _stands_in(wanted, text):
        return True
    return without_diacritics(wanted) == wanted and _stands_in(wanted, without_diacritics(text))


def _stands_in(wanted: str, text: str) -> bool:
    """L1-43 and L1-54: as whole words; with `*` behind a last letter, as their beginning."""
    is_beginning = wanted.endswith("*") and _is_letter(wanted[-2:-1])
    wanted = wanted.removesuffix("*") if is_beginning else wanted
    for start in range(len(text) - len(wanted) + 1):
        end = start + len(wanted)
        if text[start:end] != wanted:
            continue
        while is_beginning and _is_letter(text[end : end + 1]):
            end += 1
        is_free_before = _may_touch(wanted[0]) or not _is_of_word(text[start - 1 : start])
        is_free_after = _may_touch(wanted[-1]) or not _is_of_word(text[end : end + 1])
        if is_free_before and is_free_after:
            return True
    return False


def are_alike(one: str, other: str) -> bool:
    """L1-52: texts compared whole, in either form of L1-54; `other` is what the author wrote."""
    one, other = folded(one), folded(other)
    return one == other or (without_diacritics(other) == other and without_diacritics(one) == other)


def is_any_found(patterns: Sequence[str], text: str, work: Work) -> bool:
    """Look for the texts first, then for the expressions, until one is found. Raises TooMuchWork."""
    expressions = [pattern for pattern in patterns if expression_of(pattern)]
    if any(is_found(pattern, text) for pattern in patterns if pattern not in expressions):
        return True
    for pattern in expressions:
        work.search(pattern, text)
        if is_found(pattern, text):
            return True
    return False


def folded(text: str) -> str:
    text = "".join("'" if c in "\u2018\u2019\u201a\u201b\u02bc\u00b4\u2039\u203a" else c for c in text)
    text = "".join('"' if c in "\u201c\u201d\u201e\u201f\u00ab\u00bb" else c for c in text)
    text = "".join("-" if c in "\u2010\u2011\u2012\u2013\u2014\u2015\u2212" else c for c in text if c != "\u00ad")
    kept, marks = "", 0
    for character in text:
        marks = marks + 1 if unicodedata.category(character)[0] == "M" else 0
        kept += character if marks <= 30 else ""
    text = unicodedata.normalize("NFKC", kept).casefold()
    kept = ""
    for character in text:
        if not character.isspace():
            kept += character
        elif not kept.endswith(" "):
            kept += " "
    return kept


def without_diacritics(text: str) -> str:
    """L1-54: U+0300 to U+036F right behind a Latin or Greek letter go, and ё is е."""
    kept, is_behind = "", False
    for character in unicodedata.normalize("NFD", text):
        is_diacritic = 0x300 <= ord(character) <= 0x36F
        if not (is_diacritic and is_behind):
            kept += character
            is_behind = unicodedata.name(character, "").startswith(("LATIN ", "GREEK "))
            is_behind = is_behind and unicodedata.category(character)[0] == "L"
    return unicodedata.normalize("NFC", kept).replace("ё", "е")


def _may_touch(end: str) -> bool:
    """Whether other words may stand right beside this end of a pattern."""
    return _is_unspaced(end) or not _is_of_word(end)


def _is_letter(character: str) -> bool:
    return character != "" and unicodedata.category(character)[0] in "LM"


def _is_of_word(character: str) -> bool:
    return character == "_" or (character != "" and unicodedata.category(character)[0] in "LMN")


def _is_unspaced(character: str) -> bool:
    return unicodedata.name(character, "").startswith(UNSPACED) or character in "々〇"


def fits_glob(glob: str, name: str) -> bool:
    """The whole name, letter by letter; case counts."""
    if glob == "":
        return name == ""
    if glob[0] == "*":
        return any(fits_glob(glob[1:], name[at:]) for at in range(len(name) + 1))
    if name == "":
        return False
    if glob[0] == "[" and "]" in glob[2:]:
        end = glob.index("]", 2)
        if glob[1] == "!" and end == 2:  # [!]…]: the first character of a set is never its end
            end = glob.index("]", 3) if "]" in glob[3:] else 0
        if end:
            inside = glob[1:end]
            is_in = _is_in_set(name[0], inside[1:]) is False if inside[0] == "!" else _is_in_set(name[0], inside)
            return is_in and fits_glob(glob[end + 1 :], name[1:])
    return glob[0] in ("?", name[0]) and fits_glob(glob[1:], name[1:])


def _is_in_set(character: str, inside: str) -> bool:
    while inside:
        if len(inside) >= 3 and inside[1] == "-":
            if inside[0] <= character <= inside[2]:
                return True
            inside = inside[3:]
        else:
            if inside[0] == character:
                return True
            inside = inside[1:]
    return False


def fits_any(globs: Sequence[str], name: str) -> bool:
    return any(fits_glob(glob, name) for glob in globs)
