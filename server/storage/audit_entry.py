"""Entries of the audit log: cut to size and written; and the chain of hashes over a replica's days. Pure.

A day's first entry covers the day before, each entry the one before it. What
this finds: an entry changed, left out, put in or moved; a day taken out between
others. What it cannot: the newest entries or days gone together with the day's
own row, or everything from some entry on written anew with new hashes. For those
the last hash of a day, which the server logged when it closed it, is compared.
"""

import hashlib
import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from msgspec import Struct

from server.storage.schema import storable

MAX_VALUE_BYTES: Final = 16 << 10
MAX_TEXT: Final = 2000
FIRST: Final = "0" * 64
"""Hash that stands before a replica's first day."""
GAP: Final = "gap"
"""The phase of an entry that stands for entries that are missing."""
PRUNED: Final = "pruned"
"""The outcome of an entry that stands for a day that was deleted as too old."""

_VALUES: Final = ("arguments", "details")
_FILTERED: Final = {"user": 256, "session": 64, "turn": 64, "tool": 256, "phase": 32, "outcome": 32, "handler": 64}


class AuditEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An event of a tool call, of the policy or of an approval, already redacted."""

    phase: str
    """A stage of the policy, or what else happened: `policy`, `approval`, `gap`."""
    outcome: str = ""
    """`called`, `approved`, `modified`, `denied`, `ran`, `failed`, `skipped`, `stored`, `revoked`, …"""
    user: str = ""
    session: str = ""
    turn: str = ""
    call: str = ""
    tool: str = ""
    handler: str = ""
    """Name of the handler that decided, or that wrote this."""
    arguments: Any = None
    result: str = ""
    """A summary; never the whole of a long one."""
    result_bytes: int | None = None
    duration_ms: float | None = None
    approval: str = ""
    """Source of a human's answer: `user`, `voice`, `timeout`, …"""
    error_type: str = ""
    """Class of the exception with which the call failed, such as `TimeoutError`."""
    message: str = ""
    address: str = ""
    details: dict[str, Any] = {}
    ts_us: int = msgspec.field(default_factory=lambda: time.time_ns() // 1000)
    """Microseconds since 1970."""


class AuditRecord(Struct, frozen=True, kw_only=True):
    """An entry in its place in the log."""

    id: int
    replica: str
    day: str
    number: int
    """Place of the entry in the replica's day, from 1."""
    ts: str
    """Time of the entry (RFC 3339, UTC)."""
    entry: msgspec.Raw
    """An AuditEntry as it was written, what was empty left out."""
    hash: str


def body_of(entry: AuditEntry) -> str:
    """Return the entry as canonical JSON to keep, hash and search. Never fails: what cannot be written is named."""
    tree: dict[str, Any] = {"phase": entry.phase}
    for name in entry.__struct_fields__:
        value = getattr(entry, name)
        if name in _VALUES:
            if value not in (None, {}):
                tree[name] = msgspec.Raw(_bounded(value))
        elif value not in (None, ""):
            tree[name] = _short(value) if isinstance(value, str) else value
    try:
        return msgspec.json.encode(tree, order="deterministic").decode()
    except UnicodeEncodeError:
        plain = {name: json.loads(bytes(value)) if name in _VALUES else value for name, value in tree.items()}
        return _canonical(plain).decode()


def columns_of(body: str) -> dict[str, Any]:
    """Return the values of the columns that the log is filtered by, from the body alone."""
    tree = json.loads(body)
    return {"ts_us": tree["ts_us"]} | {name: storable(tree.get(name, ""), limit) for name, limit in _FILTERED.items()}


def rfc3339(ts_us: int) -> str:
    seconds, micros = divmod(ts_us, 1_000_000)
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S") + f".{micros:06d}Z"


def _bounded(value: Any) -> bytes:
    """Return `value` as JSON, or the beginning of its text where it is too long to keep."""
    data = _canonical(value)
    if len(data) <= MAX_VALUE_BYTES:
        return data
    return _canonical({"cut": True, "bytes": len(data), "begins": data[:MAX_TEXT].decode("utf-8", "replace")})


def _canonical(value: Any) -> bytes:
    """Return JSON, equal for equal values; half a surrogate pair becomes its escape, which any database takes."""
    try:
        return msgspec.json.encode(value, enc_hook=_kind, order="deterministic")
    except (TypeError, ValueError, RecursionError):
        pass
    try:
        return json.dumps(msgspec.to_builtins(value), sort_keys=True, separators=(",", ":"), default=_kind).encode()
    except (TypeError, ValueError, RecursionError):  # keys that cannot be sorted or written, circles
        return msgspec.json.encode({"unwritable": type(value).__name__})


def _kind(value: object) -> str:
    """Return the type's name in place of what JSON has no form for; its own words might be long, or fail."""
    return f"<{type(value).__name__}>"


def _short(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"


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


@dataclass(frozen=True, slots=True)
class PrunedDay:
    """A day that was deleted as too old, as an entry of the log tells."""

    replica: str
    day: str
    entries: int
    last_hash: str


def day_hash(replica: str, day: str, previous: str) -> str:
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
    """Yield where the replicas' days, in order, do not follow one another. The oldest may follow a pruned one."""
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
    """Hash each part with its length before it: no two lists of parts give the same bytes."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()
