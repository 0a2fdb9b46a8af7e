"""One entry of the audit log, and how it is cut to size and written. Pure."""

import json
import time
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from msgspec import Struct

from server.storage.schema import storable

MAX_VALUE_BYTES: Final = 16 << 10
MAX_TEXT: Final = 2000
GAP: Final = "gap"
"""The phase of an entry that stands for entries that were lost."""


_TEXTS: Final = (
    "outcome",
    "user",
    "session",
    "turn",
    "call",
    "tool",
    "handler",
    "result",
    "approval",
    "message",
    "address",
)
_NUMBERS: Final = ("result_bytes", "duration_ms")
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
    """Its place in the replica's day, from 1."""
    ts: str
    """RFC 3339, UTC."""
    entry: msgspec.Raw
    """An AuditEntry as it was written, what was empty left out."""
    hash: str


def body_of(entry: AuditEntry) -> str:
    """The entry as canonical JSON: what is kept, hashed and searched. Never fails: what cannot be written is named."""
    return _short_body(entry) or _cut_body(entry)


def _short_body(entry: AuditEntry) -> str:
    """Empty: it is too long to stay whole, or something in it is empty or cannot be written."""
    if entry.arguments == {}:
        return ""
    try:
        data = msgspec.json.encode(entry, enc_hook=_kind, order="sorted")
    except (TypeError, ValueError, RecursionError):
        return ""
    return data.decode() if len(data) <= MAX_TEXT else ""


def _cut_body(entry: AuditEntry) -> str:
    tree: dict[str, Any] = {"phase": entry.phase, "ts_us": entry.ts_us}
    for name in _TEXTS:
        if text := getattr(entry, name):
            tree[name] = _short(text)
    for name in _NUMBERS:
        if (number := getattr(entry, name)) is not None:
            tree[name] = number
    for name in _VALUES:
        if (value := getattr(entry, name)) not in (None, {}):
            tree[name] = msgspec.Raw(_bounded(value))
    try:
        return msgspec.json.encode(tree, order="deterministic").decode()
    except UnicodeEncodeError:
        plain = {name: json.loads(bytes(value)) if name in _VALUES else value for name, value in tree.items()}
        return _canonical(plain).decode()


def columns_of(body: str) -> dict[str, Any]:
    """Return the values of the columns that the log is filtered by, from the body alone."""
    tree = json.loads(body)
    columns: dict[str, Any] = {name: storable(tree.get(name, ""), limit) for name, limit in _FILTERED.items()}
    return {"ts_us": tree["ts_us"], **columns}


def rfc3339(ts_us: int) -> str:
    seconds, micros = divmod(ts_us, 1_000_000)
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S") + f".{micros:06d}Z"


def _bounded(value: Any) -> bytes:
    """`value` as JSON, or the beginning of its text where it is too long to keep."""
    data = _canonical(value)
    if len(data) <= MAX_VALUE_BYTES:
        return data
    return _canonical({"cut": True, "bytes": len(data), "begins": data[:MAX_TEXT].decode("utf-8", "replace")})


def _canonical(value: Any) -> bytes:
    """Equal values give equal bytes. Half a surrogate pair is written as its escape, which any database takes."""
    try:
        return msgspec.json.encode(value, enc_hook=_kind, order="deterministic")
    except (TypeError, ValueError, RecursionError):
        pass
    try:
        return json.dumps(msgspec.to_builtins(value), sort_keys=True, separators=(",", ":"), default=_kind).encode()
    except (TypeError, ValueError, RecursionError):  # keys that cannot be sorted or written, circles
        return msgspec.json.encode({"unwritable": type(value).__name__})


def _kind(value: object) -> str:
    """In place of what JSON has no form for; its own words might be long, or fail."""
    return f"<{type(value).__name__}>"


def _short(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"
