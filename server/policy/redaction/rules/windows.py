"""Stretches around places in a text; those that touch are one, so that no letter is read twice."""

from collections.abc import Iterable, Iterator
from typing import Final

PARTS_TEXTS: Final = "\0"
"""What stands between the texts of a structure; no rule reads across."""


def windows(text: str, places: Iterable[int], *, before: int, behind: int) -> Iterator[tuple[int, int]]:
    """`places` in order."""
    start = end = -1
    for at in places:
        first = max(0, at - before)
        first = text.rfind(PARTS_TEXTS, first, at) + 1 or first
        if first > end or start < 0:
            if start >= 0:
                yield start, end
            start = first
        end = max(end, end_of(text, at, behind))
    if start >= 0:
        yield start, end


def end_of(text: str, at: int, behind: int) -> int:
    """`behind` characters further, or where the text ends that `at` lies in."""
    last = min(len(text), at + behind)
    parted = text.find(PARTS_TEXTS, at, last)
    return parted if parted >= 0 else last


def around(text: str, at: int, *, before: int, behind: int) -> str:
    """What stands before and behind `at`, in its text."""
    first = max(0, at - before)
    return text[text.rfind(PARTS_TEXTS, first, at) + 1 or first : end_of(text, at, behind)]
