"""Stretches around places in a text; those that touch are one, so that no letter is read twice."""

from collections.abc import Iterable, Iterator


def windows(places: Iterable[int], *, before: int, behind: int) -> Iterator[tuple[int, int]]:
    """`places` in order; the last end may lie behind the text's."""
    start = end = -1
    for at in places:
        if at - before > end:
            if end >= 0:
                yield start, end
            start = max(0, at - before)
        end = at + behind
    if end >= 0:
        yield start, end
