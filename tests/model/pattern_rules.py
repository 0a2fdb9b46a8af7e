"""L1-43 in plain words: how a pattern is found in a text, and how a glob fits a name."""

import re
import unicodedata
from collections.abc import Hashable, Sequence
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
        self.done: dict[tuple[str, Hashable], int] = {}

    def search(self, pattern: str, text: str, place: Hashable) -> None:
        """Count the search of an expression in the text at this place."""
        self.done[pattern, place] = steps_of(pattern) * len(looked_at(pattern, text).encode())
        if sum(self.done.values()) > WORK_IN_AN_INJECTION:
            raise TooMuchWork


def is_found(pattern: str, text: str) -> bool:
    text = looked_at(pattern, text)
    expression = expression_of(pattern)
    if expression is not None:
        flags = re.ASCII | (re.IGNORECASE if expression[1] else 0)
        return re.search(expression[0], text, flags) is not None
    wanted, text = _folded(pattern), _folded(text)
    for start in range(len(text) - len(wanted) + 1):
        end = start + len(wanted)
        if text[start:end] != wanted:
            continue
        is_free_before = start == 0 or _is_unspaced(wanted[0]) or not _is_of_word(text[start - 1])
        is_free_after = end == len(text) or _is_unspaced(wanted[-1]) or not _is_of_word(text[end])
        if is_free_before and is_free_after:
            return True
    return False


def is_any_found(patterns: Sequence[str], text: str, work: Work, place: Hashable) -> bool:
    """Look for the texts first, then for the expressions, until one is found. Raises TooMuchWork."""
    expressions = [pattern for pattern in patterns if expression_of(pattern)]
    if any(is_found(pattern, text) for pattern in patterns if pattern not in expressions):
        return True
    for pattern in expressions:
        work.search(pattern, text, place)
        if is_found(pattern, text):
            return True
    return False


def _folded(text: str) -> str:
    kept, marks = "", 0
    for character in text:
        marks = marks + 1 if unicodedata.category(character)[0] == "M" else 0
        kept += character if marks <= 30 else ""
    return unicodedata.normalize("NFKC", kept).casefold()


def _is_of_word(character: str) -> bool:
    return character == "_" or unicodedata.category(character)[0] in "LN"


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
