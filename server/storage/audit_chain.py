"""The chain of hashes over a replica's days: made, and checked. Pure.

A day's first entry covers the day before, each entry the one before it. What
this finds: an entry changed, left out, put in or moved; a day taken out between
others. What it cannot: the newest entries or days gone together with the day's
own row, or everything from some entry on written anew with new hashes. For those
the last hash of a day, which the server logged when it closed it, is compared.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from server.storage.audit_entry import columns_of

FIRST: Final = "0" * 64
"""Stands before a replica's first day."""


@dataclass(frozen=True, slots=True)
class Link:
    number: int
    body: str
    hash: str
    columns: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Day:
    replica: str
    day: str
    previous: str
    entries: int
    last_hash: str
    is_closed: bool


def day_hash(replica: str, day: str, previous: str) -> str:
    """Return the hash that the day's first entry covers."""
    return _hash("day", replica, day, previous)


def next_hash(before: str, number: int, body: str) -> str:
    return _hash("entry", before, str(number), body)


class DayCheck:
    """A day's entries, given piece by piece in their order: `feed` them, then `end`. Each says what is wrong, in words.

    After a first answer nothing that follows tells anything.
    """

    def __init__(self, day: Day) -> None:
        self._where = f"{day.replica} {day.day}"
        self._last = day_hash(day.replica, day.day, day.previous)
        self.count = 0
        """Entries that are as they were written."""

    def feed(self, links: Iterable[Link]) -> str | None:
        for link in links:
            if link.number != self.count + 1:
                return f"{self._where}: entry {self.count + 1} is missing or out of place (found {link.number})"
            if next_hash(self._last, link.number, link.body) != link.hash:
                return f"{self._where}: entry {link.number} was changed, or does not follow the entry before"
            if wrong := _differing(link):
                return f"{self._where}: entry {link.number}: the column {wrong} differs from the entry"
            self._last, self.count = link.hash, self.count + 1
        return None

    def end(self, entries: int, last_hash: str) -> str | None:
        """Compare with the day's own row as it is now: today's day grows while it is read."""
        if self.count == entries and self._last == last_hash:
            return None
        return f"{self._where}: ends with entry {self.count}, but {entries} were written"


def check_days(days: Iterable[Day]) -> Iterator[str]:
    """Whether the replicas' days, in order, follow one another. The oldest may follow one that was pruned."""
    last: dict[str, Day] = {}
    for day in days:
        before = last.get(day.replica)
        if before is not None and day.previous != before.last_hash:
            yield f"{day.replica} {day.day}: does not follow {before.day}: a day between them is missing or was changed"
        last[day.replica] = day


def _differing(link: Link) -> str | None:
    try:
        expected = columns_of(link.body)
    except (ValueError, KeyError):
        return "body"
    return next((name for name, value in expected.items() if link.columns[name] != value), None)


def _hash(*parts: str) -> str:
    """Each part with its length before it: no two lists of parts give the same bytes."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()
