"""Approvals that a user wants remembered: their keys, kept in the database."""

import asyncio
import hashlib
import hmac
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from server.approval.asking import RememberFor
from server.storage.approval_table import ApprovalTable

_MAX_SHOWN: Final = 60
_MAX_SHOWN_ARGUMENTS: Final = 20
_MASKED_FROM: Final = 16
_MAX_READ: Final = 1000

Redact = Callable[[Any], tuple[Any, Mapping[str, int]]]
"""Function that returns a JSON value without its secrets, and how many there were."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Approved:
    """A call, a command of a tool or a whole tool that a user need not be asked about again."""

    tool: str
    remember_for: RememberFor
    value: Any = None
    """The arguments or the command's name, or None if a whole tool is approved."""
    origin: str = ""
    """Name of the handler or hook that had asked."""
    definition: Any = None
    """The `Question.definition`: an approval of one client's tool covers no other of the same name."""

    @property
    def key(self) -> str:
        """Key of the approval. Short arguments, such as a PIN, can be guessed from it: it stays in memory."""
        parts = [self.tool, self.value]
        if self.remember_for != "arguments":
            parts.insert(0, self.remember_for)
        if self.definition is not None:
            parts.append(self.definition)
        return hashlib.sha256(canonical_json(parts).encode()).hexdigest()


def keys_for(tool: str, arguments: Any, command: str | None, definition: Any = None) -> list[str]:
    """Return the keys of all approvals that cover a call. `command`: its name, where it is a plain command."""
    covering: list[tuple[RememberFor, Any]] = [("arguments", arguments), ("tool", None)]
    if command is not None:
        covering.append(("command", command))
    return [Approved(tool=tool, remember_for=by, value=value, definition=definition).key for by, value in covering]


class RememberedApprovals:
    """Approvals that users gave for good, in the database, which gets only keyed hashes. Every method raises StorageError."""

    def __init__(self, table: ApprovalTable, redact: Redact, hash_keys: Sequence[bytes]) -> None:
        """Keep approvals under the first of `hash_keys` and find them under all; replicas share the keys."""
        self._table = table
        self._redact = redact
        self._hash_keys = hash_keys

    async def find(self, user_id: str, keys: Collection[str]) -> bool:
        """Return whether the user has approved one of `keys`. An exception counts as no: the human is asked."""
        return await self._table.has(user_id, [_keyed(secret, key) for secret in self._hash_keys for key in keys])

    async def remember(self, user_id: str, approved: Approved) -> None:
        """Keep an approval; it is kept when this returns."""
        shown = approved.value or ""
        if approved.remember_for == "arguments":
            shown = await asyncio.to_thread(outline, approved.value, self._redact)
        await self._table.add(
            user_id,
            _keyed(self._hash_keys[0], approved.key),
            tool=approved.tool,
            remember_for=approved.remember_for,
            shown=shown,
            origin=approved.origin,
        )


def _keyed(secret: bytes, key: str) -> str:
    return hmac.digest(secret, key.encode(), "sha256").hex()


def canonical_json(arguments: Any) -> str:
    """Return one text for equal JSON: keys sorted, nothing between tokens, ASCII. 1, 1.0 and true differ."""
    return json.dumps(arguments, sort_keys=True, separators=(",", ":"))


def outline(arguments: Any, redact: Redact) -> str:
    """Return what the user's list shows of a call: enough to know it again, no file, no long text, no key or token.

    These are the real arguments, and they go to the database: secrets are taken
    out, and of a long word that is neither path nor address only the beginning
    is shown. Takes milliseconds: for a thread.
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
