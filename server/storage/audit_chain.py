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
    """An entry as it stands in the database."""

    number: int
    body: str
    hash: str
    columns: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Day:
    """A day's own row."""

    replica: str
    day: str
    previous: str
    entries: int
    last_hash: str
    is_closed: bool


def day_hash(replica: str, day: str, previous: str) -> str:
    """What the day's first entry covers."""
    return _hash("day", replica, day, previous)


def next_hash(before: str, number: int, body: str) -> str:
    return _hash("entry", before, str(number), body)


def check_day(day: Day, links: Iterable[Link]) -> Iterator[str]:
    """What is wrong with the day, in words; nothing = it is as it was written. Stops at the first break."""
    where = f"{day.replica} {day.day}"
    last, count = day_hash(day.replica, day.day, day.previous), 0
    for link in links:
        if link.number != count + 1:
            yield f"{where}: entry {count + 1} is missing or out of place (found {link.number})"
            return
        if next_hash(last, link.number, link.body) != link.hash:
            yield f"{where}: entry {link.number} is not what was written, or does not follow the entry before"
            return
        if wrong := _differing(link):
            yield f"{where}: entry {link.number}: the column {wrong} does not tell what the entry says"
            return
        last, count = link.hash, count + 1
    if count != day.entries or last != day.last_hash:
        yield f"{where}: ends with entry {count}, but {day.entries} were written"


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
