"""Many regular expressions held against one text: only those are tried some of whose own words stand in it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from re import _casefix, _constants, _parser  # type: ignore[attr-defined]  # nothing public takes an expression apart
from typing import Any, Final, Generic, TypeVar

import hyperscan

from server.policy.patterns import Patterns

T = TypeVar("T")

_SAME_LETTERS: Final[dict[int, int | None]] = {
    **{letter: min(letter, *others) for letter, others in _casefix._EXTRA_CASES.items()},
    ord("\N{COMBINING DOT ABOVE}"): None,
}
"""What re.IGNORECASE takes for the same, and `lower` does not: both kinds of s and sigma; of `İ` it makes `i` and a dot."""
_WITHOUT_WIDTH: Final = (_constants.AT, _constants.ASSERT, _constants.ASSERT_NOT)
_IGNORING: Final = re.compile(r"\(\?\w*i")
_REPEATS: Final = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)


class Anchored(Generic[T]):
    """Regular expressions in their order, each with what it tells.

    The words that each of their alternatives needs are read from the expressions themselves, and found in one pass.
    Safe to use from many threads.
    """

    def __init__(self, shapes: Iterable[tuple[re.Pattern[str], T]]) -> None:
        self._told: list[T] = []
        self._shapes: list[tuple[_Shape, int]] = []  # every alternative, and which of `_told` it tells
        for shape, told in shapes:
            self._shapes += [(_Shape(alternative), len(self._told)) for alternative in _alternatives(shape)]
            self._told.append(told)
        numbered = [(at, shape) for at, (shape, _) in enumerate(self._shapes)]
        both = ([one for one in numbered if one[1].ignores_case is ignores] for ignores in (True, False))
        self._finders = [_Finder(some) for some in both if some]

    def held(self, text: str) -> Iterator[T]:
        """What those tell that may fit somewhere; the others do not."""
        return (self._told[which] for which in sorted({self._shapes[at][1] for at in self._held(text)}))

    def first(self, text: str) -> T | None:
        """What the first that fits somewhere tells."""
        for at in sorted(self._held(text)):
            shape, which = self._shapes[at]
            if shape.fits(text):
                return self._told[which]
        return None

    def _held(self, text: str) -> set[int]:
        return set(chain.from_iterable(finder.held(text) for finder in self._finders))


class _Shape:
    """One alternative, and what its expression says of what fits it."""

    def __init__(self, shape: re.Pattern[str]) -> None:
        items = _parser.parse(shape.pattern, shape.flags)
        self._shape = shape
        self.ignores_case = bool(shape.flags & re.IGNORECASE or _IGNORING.search(shape.pattern))
        self.words = _words(items)
        """One of these stands in it; empty: it needs none."""
        self._starts = frozenset[str]() if self.ignores_case else _starts(items)
        """It begins with one of these; empty: with anything."""

    def fits(self, text: str) -> bool:
        """Somewhere."""
        if not self._starts:
            return self._shape.search(text) is not None
        return any(self._shape.match(text, at) for start in self._starts for at in _places(start, text))


class _Finder:
    """The words of numbered alternatives, which either all mind case or all ignore it."""

    def __init__(self, shapes: Sequence[tuple[int, _Shape]]) -> None:
        self._folds = shapes[0][1].ignores_case
        self._always = [at for at, shape in shapes if not shape.words]
        by_word: dict[str, list[int]] = {}
        for at, shape in shapes:
            for word in shape.words:
                by_word.setdefault(_folded(word) if self._folds else word, []).append(at)
        self._by_word = list(by_word.values())
        self._words = Patterns(list(map(re.escape, by_word)), [hyperscan.HS_FLAG_SINGLEMATCH] * len(by_word))

    def held(self, text: str) -> Iterable[int]:
        """The numbers of those that may fit, some more than once."""
        found: list[int] = []
        folded = _folded(text) if self._folds else text
        self._words.each(folded.encode("utf-8", "replace"), lambda word, *_: found.append(word))
        return chain(self._always, *(self._by_word[word] for word in found)) if found else self._always


def _folded(text: str) -> str:
    low = text.lower()
    return low if low.isascii() else low.translate(_SAME_LETTERS)


_SIGNS: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[()|]", re.DOTALL)


def _alternatives(shape: re.Pattern[str]) -> Iterator[re.Pattern[str]]:
    """`a(?:b|c)|d` → `a(?:b|c)`, `d`"""
    depth, start = 0, 0
    for sign in _SIGNS.finditer(shape.pattern):
        depth += {"(": 1, ")": -1}.get(sign[0], 0)
        if sign[0] == "|" and depth == 0:
            yield re.compile(shape.pattern[start : sign.start()], shape.flags)
            start = sign.end()
    yield re.compile(shape.pattern[start:], shape.flags) if start else shape


def _places(part: str, text: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def _starts(items: Sequence[tuple[Any, Any]]) -> frozenset[str]:
    """One of these begins whatever fits; empty: nothing is known."""
    letters = ""
    for op, argument in items:
        if op is _constants.LITERAL:
            letters += chr(argument)
        elif letters:
            break
        elif op not in _WITHOUT_WIDTH:
            return _starts_of_part(op, argument)
    return frozenset((letters,)) if letters else frozenset()


def _starts_of_part(op: Any, argument: Any) -> frozenset[str]:
    if op is _constants.SUBPATTERN:
        return _starts(argument[-1])
    if op is _constants.BRANCH:
        branches = [_starts(branch) for branch in argument[1]]
        return frozenset().union(*branches) if all(branches) else frozenset()
    return frozenset()


def _words(items: Sequence[tuple[Any, Any]]) -> frozenset[str]:
    """Of a sequence: one of these stands in whatever fits; those of its part that tell most. Empty: it needs none."""
    parts = [frozenset[str]()]
    letters = ""
    for op, argument in items:
        if op is _constants.LITERAL:
            letters += chr(argument)
            continue
        starts = _starts_of_part(op, argument)
        parts += [frozenset(letters + start for start in starts or ("",)), _words_of_part(op, argument)]
        letters = ""
    best = max((*parts, frozenset((letters,))), key=_worth)
    return best if _worth(best) > (0, 0) else frozenset()


def _words_of_part(op: Any, argument: Any) -> frozenset[str]:
    if op is _constants.SUBPATTERN:
        return _words(argument[-1])
    if op is _constants.ATOMIC_GROUP:
        return _words(argument)
    if op is _constants.ASSERT:
        return _words(argument[1])
    if op in _REPEATS and argument[0] > 0:
        return _words(argument[2])
    if op is _constants.BRANCH:
        branches = [_words(branch) for branch in argument[1]]
        return frozenset().union(*branches) if all(branches) else frozenset()
    return frozenset()


def _worth(words: frozenset[str]) -> tuple[int, int]:
    return min(map(len, words), default=0), -len(words)
