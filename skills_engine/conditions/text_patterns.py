"""Patterns that are found in a text, and globs that fit a name (L1-43)."""

import re
from collections.abc import Iterable, Sequence
from fnmatch import translate
from functools import cached_property
from typing import Any
from unicodedata import normalize

import re2

from skills_engine.diagnostics import quoted

MAX_TEXT_BYTES = 64 * 1024
"""The part of a text that is looked at."""
MAX_EXPRESSION_MEMORY_BYTES = 1 << 20
MAX_EXPRESSION_STEPS = 2000
"""The size of a compiled expression: at the limit, 64 KiB of a text made for it take up to 2 s; ordinary ones take 1 ms."""

_EXPRESSION = re.compile(r"/(.+)/(i?)", re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNSPACED = re2.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\x{3040}-\x{30ff}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Hangul}]"
)
"""A character of a script in which no spaces stand around a word; ー is kana, though of no script in Unicode."""


class PatternError(ValueError):
    """The pattern is no expression that can be searched in linear time. The text says why."""


class SearchedText:
    """A text in the forms that patterns are searched in, each made once."""

    def __init__(self, text: str) -> None:
        # surrogatepass, ignore: half of a surrogate pair, or of a character that the limit cuts, is left out
        self.encoded = text[:MAX_TEXT_BYTES].encode(errors="surrogatepass")[:MAX_TEXT_BYTES]

    @cached_property
    def folded(self) -> str:
        return _folded(self.encoded.decode(errors="ignore"))


class Patterns:
    """A list of which one has to be found: `/…/` and `/…/i` are expressions, anything else is a text of whole words."""

    def __init__(self, patterns: Sequence[str]) -> None:
        """Compile them. Raises PatternError."""
        if broken := next(filter(_SURROGATE.search, patterns), None):
            raise PatternError(f"{quoted(broken)} holds half of a surrogate pair: write the character itself")
        expressions = {pattern: found for pattern in patterns if (found := _EXPRESSION.fullmatch(pattern))}
        self._expressions = [_expression(pattern, *found.groups()) for pattern, found in expressions.items()]
        self._words = [_words(_folded(pattern)) for pattern in patterns if pattern not in expressions]

    def are_found_in(self, text: SearchedText) -> bool:
        if self._words:
            folded = text.folded
            for word, alone in self._words:
                if word in folded and alone.search(folded):
                    return True
        return any(expression.search(text.encoded) for expression in self._expressions)


class Globs:
    """A list of names, of which one has to fit the whole name, exactly or as a glob; case counts."""

    def __init__(self, globs: Iterable[str]) -> None:
        self._names = frozenset(globs)
        self._globs = re.compile("|".join(map(translate, sorted(self._names))) or "(?!)")

    def fit(self, name: str) -> bool:
        return name in self._names or self._globs.match(name) is not None


def is_in_range(tag: str, language_range: str) -> bool:
    """Tell whether the language tag is in the range by basic filtering (RFC 4647, 3.3.1)."""
    tag, language_range = tag.lower(), language_range.lower()
    return language_range in ("*", tag) or tag.startswith(f"{language_range}-")


def _folded(text: str) -> str:
    return normalize("NFKC", text).casefold()


def _words(text: str) -> tuple[str, re.Pattern[str]]:
    """Return the text, and the expression that finds it with no letter, digit or `_` beside it."""
    before = "" if _UNSPACED.match(text[0]) else r"(?<!\w)"
    after = "" if _UNSPACED.match(text[-1]) else r"(?!\w)"
    return text, re.compile(before + re.escape(text) + after)


def _expression(pattern: str, inner: str, ignore_case: str) -> Any:
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
    return expression
