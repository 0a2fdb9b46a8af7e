"""Patterns that are found in a text, and globs that fit a name (L1-43, L1-54)."""

import re
from collections.abc import Iterable, Sequence
from fnmatch import translate
from functools import cache, cached_property
from string import ascii_letters, digits
from typing import Any, NamedTuple
from unicodedata import category, normalize

import re2

from skills_engine.diagnostics import quoted

MAX_TEXT_BYTES = 64 * 1024
"""Bytes of a text that are searched, except by large expressions, which search fewer."""
MAX_WORK = 4_000_000
"""Limit of what an expression searches in one text: its steps × bytes, of which each takes up to 6 ns."""
LONG_TEXT_BYTES = 4 * 1024
"""Size from which on a text is searched in a thread, if there is an event loop to be kept free."""
MAX_EXPRESSION_MEMORY_BYTES = 1 << 20
MAX_EXPRESSION_STEPS = 2000
"""The size of a compiled expression."""

GRAM_CHARS = 3
"""Length of the runs of characters by which a text shows that it has none of many patterns."""

_EXPRESSION = re.compile(r"/(.+)/(i?)", re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
MAX_MARKS = 30
_MARKS = re2.compile(rf"(\pM{{{MAX_MARKS}}})\pM+")
"""Runs of more combining characters than any language writes: to sort n of them, NFKC takes n² steps."""
_UNSPACED = re2.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\x{3040}-\x{30ff}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Hangul}]"
)
"""A character of a script in which no spaces stand around a word; ー is kana, though of no script in Unicode."""
_ASCII_FORMS = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a\u201b\u02bc\u00b4\u2039\u203a", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb", '"')
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | {"\u00ad": None}
)
"""Typographic quotes, apostrophes and hyphens as keyboards write them; the soft hyphen goes."""
_SPACES = re.compile(r"\s+")
_MARK = re.compile("[\u0300-\u036f]")
_DIACRITICS = re2.compile(r"([\p{Latin}\p{Greek}])[\x{300}-\x{36f}]+")


_TOKENS = re.compile(r"\\[pP]\{[^}]*\}|\\[pP]?.|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]|\{[0-9,]+\}|.", re.DOTALL)
"""The parts of an expression: an escape, a class, a repetition, or a character."""
_UNREAD_ESCAPE = re.compile(r"\\[^\WbBdDsSwWpPAz]")
"""An escape that may stand for letters: `\\x41`, `\\Q`."""
_LITERALS = frozenset(ascii_letters + digits)
_RANKS = {ord(letter): rank for rank, letter in enumerate(" etaoinsrhldcumfpgwybvk")}
"""Frequent characters by their rank; all others count as rarer."""


class PatternError(ValueError):
    """The pattern is no expression that can be searched in linear time. The text says why."""


class SearchedText:
    """A text in the forms that patterns are searched in, and what was found in it: nothing is done twice."""

    def __init__(self, text: str) -> None:
        # surrogatepass, ignore: half of a surrogate pair is left out; one byte more shows where a character ends
        self._encoded = text[: MAX_TEXT_BYTES + 1].encode(errors="surrogatepass")[: MAX_TEXT_BYTES + 1]
        self._found: dict[str, bool] = {}
        self._asked = 0  # how often for a list of patterns
        self._captured: dict[str, str | None] = {}

    @property
    def size(self) -> int:
        """Number of bytes; of a text that is cut, more than MAX_TEXT_BYTES."""
        return len(self._encoded)

    @cached_property
    def written(self) -> str:
        return self.beginning(MAX_TEXT_BYTES).decode(errors="ignore")

    @cached_property
    def folded(self) -> str:
        return _folded(self.written)

    @cached_property
    def plain(self) -> str:
        """The folded text without diacritics."""
        return _without_diacritics(self.folded)

    @cached_property
    def _grams(self) -> frozenset[str]:
        """Every run of three characters of the folded text, with diacritics and without."""
        texts = (self.folded,) if self.plain == self.folded else (self.folded, self.plain)
        return frozenset(text[at : at + GRAM_CHARS] for text in texts for at in range(len(text) - GRAM_CHARS + 1))

    def lacks(self, grams: frozenset[str] | None) -> bool:
        """Return whether none of these is in the text; False also as long as that is not worth finding out."""
        if grams is None:
            return False
        self._asked += 1
        return self._asked > len(self._encoded) // 16 and self._grams.isdisjoint(grams)

    def beginning(self, size: int) -> bytes:
        """Return at most so many bytes, in whole characters."""
        if len(self._encoded) > size:
            while self._encoded[size] & 0xC0 == 0x80:  # in the middle of a character
                size -= 1
        return self._encoded[:size]

    def capture(self, pattern: "Pattern") -> str | None:
        """Return what the group of the expression finds, or None for nothing."""
        if pattern.written not in self._captured:
            found = pattern.compiled.search(self.beginning(pattern.max_bytes))
            group = None if found is None else found[1]
            self._captured[pattern.written] = None if group is None else group.decode(errors="ignore")
        return self._captured[pattern.written]

    def has(self, pattern: "Pattern") -> bool:
        found = self._found.get(pattern.written)
        if found is None:
            found = self._found[pattern.written] = pattern.is_in(self)
        return found


class Pattern(NamedTuple):
    """A text of whole words, or an expression: `/…/` or `/…/i`."""

    written: str
    compiled: Any = None
    """The expression."""
    words: "WholeWords | None" = None
    """The words of a text."""
    steps: int = 0
    """The size of an expression."""
    max_bytes: int = MAX_TEXT_BYTES
    """The part of a text that is looked at."""

    def is_in(self, text: SearchedText) -> bool:
        if self.words is not None:
            words = self.words
            return words.stand_in(text.folded) or (words.is_plain and words.stand_in(text.plain))
        return self.compiled.search(text.beginning(self.max_bytes)) is not None


class WholeWords(NamedTuple):
    """A text that is found as whole words, as it is compared."""

    text: str
    is_beginning: bool
    """Whether further letters may follow: a `*` stood at the end."""
    is_bound_before: bool
    """Whether no letter, digit or `_` may stand before it."""
    is_bound_after: bool
    is_plain: bool
    """Whether it has no diacritics, and so is also found where a text has them."""

    @classmethod
    def of(cls, pattern: str) -> "WholeWords":
        """Raises PatternError."""
        text = _folded(pattern)
        if not text:
            raise PatternError(f"{quoted(pattern)} has no character that is searched")
        is_beginning = len(text) > 1 and text[-1] == "*" and _is_letter(text[-2])
        if is_beginning:
            text = text[:-1]
        return cls(text, is_beginning, _is_bound(text[0]), _is_bound(text[-1]), _without_diacritics(text) == text)

    def stand_in(self, text: str) -> bool:
        start = text.find(self.text)
        while start >= 0:
            end = start + len(self.text)
            while self.is_beginning and end < len(text) and _is_letter(text[end]):
                end += 1
            is_cut = self.is_bound_before and start > 0 and _is_of_word(text[start - 1])
            if not is_cut and not (self.is_bound_after and end < len(text) and _is_of_word(text[end])):
                return True
            start = text.find(self.text, start + 1)
        return False


class Patterns:
    """A list of which one has to be found; those that are texts are looked for first."""

    def __init__(self, patterns: Sequence[str]) -> None:
        """Compile them. Raises PatternError."""
        if broken := next(filter(_SURROGATE.search, patterns), None):
            raise PatternError(f"{quoted(broken)} holds half of a surrogate pair: write the character itself")
        expressions = {pattern: found for pattern in patterns if (found := _EXPRESSION.fullmatch(pattern))}
        words = (Pattern(one, words=WholeWords.of(one)) for one in patterns if one not in expressions)
        self.each = [*words, *(_expression(pattern, *found.groups()) for pattern, found in expressions.items())]
        self.expressions = [pattern for pattern in self.each if pattern.steps]
        self.steps = sum(pattern.steps for pattern in self.expressions)
        literals = [text for one in self.each for text in ([one.words.text] if one.words else _literals(one.written))]
        self.grams = frozenset(map(_rare_gram, literals)) if min(map(len, literals)) >= GRAM_CHARS else None
        """A run of characters of each pattern, of which one is in each text where something is found, if all have one."""

    def are_found_in(self, text: SearchedText) -> bool:
        return any(map(text.has, self.each))


class Globs:
    """A list of names, of which one has to fit the whole name, exactly or as a glob; case counts."""

    def __init__(self, globs: Iterable[str]) -> None:
        self._names = frozenset(globs)
        self._globs = re.compile("|".join(map(translate, sorted(self._names))) or "(?!)")

    def fit(self, name: str) -> bool:
        return name in self._names or self._globs.match(name) is not None


def is_in_range(tag: str, language_range: str) -> bool:
    """Return whether the language tag is in the range by basic filtering (RFC 4647, 3.3.1)."""
    tag, language_range = tag.lower(), language_range.lower()
    return language_range in ("*", tag) or tag.startswith(f"{language_range}-")


def _literals(expression: str) -> list[str]:
    """Return for each alternative of an expression letters or digits that are in the folded text wherever it is found."""
    runs, depth = [[""]], 0
    for part in _TOKENS.findall(expression[1:].rpartition("/")[0]):
        if _UNREAD_ESCAPE.match(part):
            return [""]
        depth += (part == "(") - (part == ")")
        if depth == 0 and part == "|":
            runs.append([""])
        elif depth == 0 and part in _LITERALS:
            runs[-1][-1] += part.lower()
        else:
            if depth == 0 and part[0] in "*?{":
                runs[-1][-1] = runs[-1][-1][:-1]
            runs[-1].append("")
    return [max(of_alternative, key=len) for of_alternative in runs]


def _rare_gram(text: str) -> str:
    """Return the run of characters around the rarest one."""
    ranks = text.translate(_RANKS)
    start = min(max(ranks.index(max(ranks)) - 1, 0), len(text) - GRAM_CHARS)
    return text[start : start + GRAM_CHARS]


def _folded(text: str) -> str:
    if not text.isascii():
        text = text.translate(_ASCII_FORMS)
        text = normalize("NFKC", _MARKS.sub(r"\1", text) if len(text) > MAX_MARKS else text)
    return _SPACES.sub(" ", text.casefold())


def _without_diacritics(text: str) -> str:
    if text.isascii():
        return text
    text = normalize("NFD", text)
    return normalize("NFC", _DIACRITICS.sub(r"\1", text) if _MARK.search(text) else text).replace("ё", "е")


def _is_letter(character: str) -> bool:
    return character.isalpha() or category(character)[0] == "M"


def _is_of_word(character: str) -> bool:
    return character.isalnum() or character == "_" or category(character)[0] == "M"


def _is_bound(end: str) -> bool:
    """Return whether words must end here: not beside a symbol, nor in a script without spaces."""
    return _is_of_word(end) and (end.isascii() or _UNSPACED.match(end) is None)


def capturing(pattern: str) -> Pattern:
    """Return an expression with one group, whose text `SearchedText.capture` finds. Raises PatternError."""
    found = _EXPRESSION.fullmatch(pattern)
    if found is None or _SURROGATE.search(pattern):
        raise PatternError(f"match: expected an expression /…/ or /…/i, got {quoted(pattern)}")
    expression = _expression(pattern, *found.groups(), captures=True)
    if expression.compiled.groups != 1:
        raise PatternError(f"match: expected exactly one group ( ), {quoted(pattern)} has {expression.compiled.groups}")
    return expression


def are_alike(text: str, wanted: str) -> bool:
    """Return whether the texts are the same as a whole, however they are written (L1-54)."""
    text, wanted = _folded(text), _folded(wanted)
    return text == wanted or (_without_diacritics(wanted) == wanted and _without_diacritics(text) == wanted)


@cache
def _options(ignore_case: bool, captures: bool) -> tuple[Any, Any]:
    """Return the options of expressions, and those to measure them by: in Latin-1 the size of `\\pL` does not count."""
    utf8, latin = re2.Options(), re2.Options()
    for options in (utf8, latin):
        options.log_errors = False
        options.never_capture = not captures
        options.max_mem = MAX_EXPRESSION_MEMORY_BYTES
        options.case_sensitive = not ignore_case
    latin.encoding = re2.Options.Encoding.LATIN1
    return utf8, latin


def _expression(pattern: str, inner: str, ignore_case: str, *, captures: bool = False) -> Pattern:
    options, in_latin = _options(bool(ignore_case), captures)
    try:
        expression = re2.compile(inner, options)
    except re2.error as error:
        why = error.args[0].decode()
        raise PatternError(
            f"{quoted(pattern)} is no expression that can be searched in linear time (RE2): {why:.100}"
        ) from error
    try:
        steps = re2.compile(inner.encode(), in_latin).programsize
    except re2.error:  # \x{4e00} and the like, which Latin-1 has not
        steps = expression.programsize
    if steps > MAX_EXPRESSION_STEPS:
        raise PatternError(
            f"{quoted(pattern)} is too large an expression: {steps} steps of at most {MAX_EXPRESSION_STEPS}; "
            "write smaller repetitions"
        )
    return Pattern(pattern, expression, steps=steps, max_bytes=min(MAX_TEXT_BYTES, MAX_WORK // steps))
