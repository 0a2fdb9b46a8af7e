"""Approvals that a user wants remembered: their keys, kept in memory or in the database."""

import asyncio
import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from server.storage.approvals import ApprovalTable

_MAX_REMEMBERED_HERE: Final = 10_000
_MAX_SHOWN: Final = 60
_MAX_SHOWN_ARGUMENTS: Final = 20
_MASKED_FROM: Final = 16
_MAX_READ: Final = 1000

Redact = Callable[[Any], tuple[Any, Mapping[str, int]]]
"""Returns a JSON value without its secrets, and how many there were."""


class RememberedApprovals(Protocol):
    """What a user has approved for good. The key is the tool and the canonical arguments: an exact match."""

    async def find(self, user_id: str, tool: str, arguments: Any) -> bool:
        """Whether this very call was approved. An exception counts as no: the human is asked."""
        ...

    async def remember(self, user_id: str, tool: str, arguments: Any, *, origin: str) -> None:
        """Returns when it is kept. `origin`: which handler or hook had asked."""
        ...


class ApprovalsInMemory:
    """Remembers until the process ends; beyond a limit the oldest is asked about again."""

    def __init__(self, limit: int = _MAX_REMEMBERED_HERE) -> None:
        self._limit = limit
        self._keys: OrderedDict[tuple[str, str], None] = OrderedDict()

    async def find(self, user_id: str, tool: str, arguments: Any) -> bool:
        return (user_id, call_key(tool, arguments)) in self._keys

    async def remember(self, user_id: str, tool: str, arguments: Any, *, origin: str) -> None:  # noqa: ARG002 - protocol
        self._keys[user_id, call_key(tool, arguments)] = None
        if len(self._keys) > self._limit:
            self._keys.popitem(last=False)


def canonical_json(arguments: Any) -> str:
    """One text for equal JSON: keys sorted, nothing between tokens, ASCII. 1, 1.0 and true differ."""
    return json.dumps(arguments, sort_keys=True, separators=(",", ":"))


def call_key(tool: str, arguments: Any) -> str:
    """What "remember this call" is kept under; holds nothing of the arguments, which may be secret."""
    return hashlib.sha256(canonical_json([tool, arguments]).encode()).hexdigest()


class StoredApprovals:
    """RememberedApprovals in the database."""

    def __init__(self, table: ApprovalTable, redact: Redact) -> None:
        self._table = table
        self._redact = redact

    async def find(self, user_id: str, tool: str, arguments: Any) -> bool:
        """Raises StorageError."""
        return await self._table.has(user_id, call_key(tool, arguments))

    async def remember(self, user_id: str, tool: str, arguments: Any, *, origin: str) -> None:
        """Raises StorageError."""
        shown = await asyncio.to_thread(outline, arguments, self._redact)
        await self._table.add(user_id, call_key(tool, arguments), tool=tool, shown=shown, origin=origin)


def outline(arguments: Any, redact: Redact) -> str:
    """What the user's list shows of a call: enough to know it again, no file, no long text, no key or token.

    These are the real arguments, and whoever reads the database reads what is
    written here: secrets go, and of a long word that is neither path nor
    address only the beginning is shown. Takes milliseconds: for a thread.
    """
    if not isinstance(arguments, dict):
        return _short(redact(_text(arguments))[0])
    texts = {name: _text(value) for name, value in list(arguments.items())[:_MAX_SHOWN_ARGUMENTS]}
    return canonical_json({name: _short(text) for name, text in redact(texts)[0].items()})


def _text(value: Any) -> str:
    return (value if isinstance(value, str) else canonical_json(value))[:_MAX_READ]


def _short(text: str) -> str:
    shown = " ".join(_masked(word) for word in text[: _MAX_SHOWN + 1].split(" "))
    return shown if len(text) <= _MAX_SHOWN else f"{shown[:_MAX_SHOWN]}…"


def _masked(word: str) -> str:
    is_readable = len(word) < _MASKED_FROM or any(mark in word for mark in "/@")
    return word if is_readable else f"{word[:4]}…"
