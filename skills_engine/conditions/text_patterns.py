"""Patterns that are found in a text, and globs that fit a name (L1-43)."""

import re
from collections.abc import Iterable, Sequence
from fnmatch import translate
from functools import cached_property
from typing import Any, NamedTuple
from unicodedata import normalize

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

_EXPRESSION = re.compile(r"/(.+)/(i?)", re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_MARKS = re2.compile(r"(\pM{30})\pM+")
"""Runs of more combining characters than any language writes: to sort n of them, NFKC takes n² steps."""
_UNSPACED = re2.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\x{3040}-\x{30ff}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Hangul}]"
)
"""A character of a script in which no spaces stand around a word; ー is kana, though of no script in Unicode."""


class PatternError(ValueError):
    """The pattern is no expression that can be searched in linear time. The text says why."""


class SearchedText:
    """A text in the forms that patterns are searched in, and what was found in it: nothing is done twice."""

    def __init__(self, text: str) -> None:
        # surrogatepass, ignore: half of a surrogate pair is left out; one byte more shows where a character ends
        self._encoded = text[: MAX_TEXT_BYTES + 1].encode(errors="surrogatepass")[: MAX_TEXT_BYTES + 1]
        self._found: dict[str, bool] = {}

    @property
    def size(self) -> int:
        """Number of bytes; of a text that is cut, more than MAX_TEXT_BYTES."""
        return len(self._encoded)

    @cached_property
    def folded(self) -> str:
        return _folded(self.beginning(MAX_TEXT_BYTES).decode(errors="ignore"))

    def beginning(self, size: int) -> bytes:
        """Return at most so many bytes, in whole characters."""
        if len(self._encoded) > size:
            while self._encoded[size] & 0xC0 == 0x80:  # in the middle of a character
                size -= 1
        return self._encoded[:size]

    def has(self, pattern: "Pattern") -> bool:
        found = self._found.get(pattern.written)
        if found is None:
            found = self._found[pattern.written] = pattern.is_in(self)
        return found


class Pattern(NamedTuple):
    """A text of whole words, or an expression: `/…/` or `/…/i`."""

    written: str
    compiled: Any
    folded: str = ""
    """The words of a text, as they are compared."""
    steps: int = 0
    """The size of an expression."""
    max_bytes: int = MAX_TEXT_BYTES
    """The part of a text that is looked at."""

    def is_in(self, text: SearchedText) -> bool:
        if self.folded:
            return self.folded in text.folded and self.compiled.search(text.folded) is not None
        return self.compiled.search(text.beginning(self.max_bytes)) is not None


class Patterns:
    """A list of which one has to be found; those that are texts are looked for first."""

    def __init__(self, patterns: Sequence[str]) -> None:
        """Compile them. Raises PatternError."""
        if broken := next(filter(_SURROGATE.search, patterns), None):
            raise PatternError(f"{quoted(broken)} holds half of a surrogate pair: write the character itself")
        expressions = {pattern: found for pattern in patterns if (found := _EXPRESSION.fullmatch(pattern))}
        words = (_words(pattern) for pattern in patterns if pattern not in expressions)
        self.each = [*words, *(_expression(pattern, *found.groups()) for pattern, found in expressions.items())]

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


def _folded(text: str) -> str:
    if not text.isascii():
        text = normalize("NFKC", _MARKS.sub(r"\1", text))
    return text.casefold()


def _words(pattern: str) -> Pattern:
    text = _folded(pattern)
    before = "" if _UNSPACED.match(text[0]) else r"(?<!\w)"
    after = "" if _UNSPACED.match(text[-1]) else r"(?!\w)"
    return Pattern(pattern, re.compile(before + re.escape(text) + after), folded=text)


def _expression(pattern: str, inner: str, ignore_case: str) -> Pattern:
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = MAX_EXPRESSION_MEMORY_BYTES
    options.case_sensitive = not ignore_case
    try:
        expression = re2.compile(inner, options)
    except re2.error as error:
        why = error.args[0].decode()
        raise PatternError(
            f"{quoted(pattern)} is no expression that can be searched in linear time (RE2): {why:.100}"
        ) from error
    options.encoding = re2.Options.Encoding.LATIN1  # in which the size of `\pL` does not count
    try:
        steps = re2.compile(inner.encode(), options).programsize
    except re2.error:  # \x{4e00} and the like, which Latin-1 has not
        steps = expression.programsize
    if steps > MAX_EXPRESSION_STEPS:
        raise PatternError(
            f"{quoted(pattern)} is too large an expression: {steps} steps of at most {MAX_EXPRESSION_STEPS}; "
            "write smaller repetitions"
        )
    return Pattern(pattern, expression, steps=steps, max_bytes=min(MAX_TEXT_BYTES, MAX_WORK // steps))
