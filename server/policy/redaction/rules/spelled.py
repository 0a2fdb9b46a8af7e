"""Codes that are spoken: `your code is four, one, nine, nine`, `vier vier eins neun`."""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

from server.policy.redaction.page import Page
from server.policy.redaction.rules.windows import around
from server.policy.redaction.spans import Span

ANCHORS: Final = tuple(
    "three four five seven eight nine eins zwei drei vier fünf sechs sieben neun deux trois quatre cinq huit neuf uno dos tres cuatro "
    "cinco siete ocho nueve quattro cinque sette otto nove dois três sete oito twee drie vijf zeven negen dwa trzy cztery siedem osiem dziewięć "
    "два три четыре пять шесть семь восемь девять två fyra åtta seks syv".split()
)
_IN_PROGRAMS: Final = ("zero", "one", "two")
_OTHERS: Final = tuple(
    "oh six double triple null zwo acht zéro un sept cero seis uno due tre sei um quatro meia nul een één zes jeden pięć sześć ноль один noll ett fem sju nio".split()
)
"""Digits, too, but also other words."""
_APART: Final = frozenset((" ", ", ", ",", "-", ". ", ".. ", "... ", "… "))
_LEAST: Final = 4
_FAR: Final = 600
_NEAR: Final = 12
"""Characters between two digits, where another may stand."""
_LEAST_DIFFERENT: Final = 2
"""Telling words, before all are looked for."""
_ABOUT: Final = re.compile(
    r"code|pin\b|passw|passcode|kennwort|passwort|parole|password|contrase|clave|senha|código|codice|kod|код|парол|wachtwoord|mot de passe|number|nummer|numéro|unlock|entsperr|verif|combination|kombination|tan\b",
    re.IGNORECASE,
)


def spelled_spans(page: Page) -> Iterator[Span]:
    text = page.text
    telling = list(_digits(page, page.held.intersection(ANCHORS)))
    if not telling:
        return
    telling = sorted((*telling, *_digits(page, _IN_PROGRAMS)))
    if len({text[start:end].lower() for start, end in telling}) < _LEAST_DIFFERENT or not any(
        later[0] - earlier[1] <= _NEAR for earlier, later in pairwise(telling)
    ):
        return
    run: list[tuple[int, int]] = []
    for start, end in sorted((*telling, *_digits(page, _OTHERS))):
        if run and text[run[-1][1] : start] not in _APART:
            yield from _span(text, run)
            run = []
        run.append((start, end))
    yield from _span(text, run)


def _digits(page: Page, words: Iterable[str]) -> Iterator[tuple[int, int]]:
    text = page.text
    for word in words:
        for at in page.occurrences(word):
            end = at + len(word)
            if not (text[end : end + 1].isalnum() or (at and text[at - 1].isalnum())):
                yield at, end


def _span(text: str, run: list[tuple[int, int]]) -> Iterator[Span]:
    words = [text[start:end].lower() for start, end in run]
    if (
        len(run) >= _LEAST
        and len(set(words)) > 1
        and not _is_counted(words)
        and _ABOUT.search(around(text, run[0][0], before=_FAR, behind=_FAR))
    ):
        yield Span(run[0][0], run[-1][1], "code")


def _is_counted(words: list[str]) -> bool:
    """`one, two, three, four`"""
    return any(" ".join(words) in line for line in _COUNTED)


_COUNTED: Final = (
    "zero one two three four five six seven eight nine",
    "null eins zwei drei vier fünf sechs sieben acht neun",
    "un deux trois quatre cinq six sept huit neuf",
    "uno dos tres cuatro cinco seis siete ocho nueve",
    "uno due tre quattro cinque sei sette otto nove",
    "um dois três quatro cinco seis sete oito nove",
    "een twee drie vier vijf zes zeven acht negen",
    "один два три четыре пять шесть семь восемь девять",
    "nine eight seven six five four three two one",
    "jeden dwa trzy cztery pięć sześć siedem osiem dziewięć",
)
