"""RememberedApprovals in the database."""

import asyncio
from typing import Any, Final

from server.hooks.approval.approvals import call_key, canonical_json
from server.policy.redaction.redact import redact
from server.storage.approvals import ApprovalTable

_MAX_SHOWN: Final = 60
_MAX_SHOWN_ARGUMENTS: Final = 20
_MASKED_FROM: Final = 16
_MAX_READ: Final = 1000


class StoredApprovals:
    def __init__(self, table: ApprovalTable) -> None:
        self._table = table

    async def find(self, user_id: str, tool: str, arguments: Any) -> bool:
        """Raises StorageError."""
        return await self._table.has(user_id, call_key(tool, arguments))

    async def remember(self, user_id: str, tool: str, arguments: Any, *, origin: str) -> None:
        """Raises StorageError."""
        shown = await asyncio.to_thread(outline, arguments)
        await self._table.add(user_id, call_key(tool, arguments), tool=tool, shown=shown, origin=origin)


def outline(arguments: Any) -> str:
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
