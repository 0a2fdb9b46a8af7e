"""Approvals that a user wants remembered: kept by a key of the call, listed, revoked."""

import contextlib
import secrets
import time
from collections.abc import Callable, Collection
from typing import Final, Literal

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy.exc import IntegrityError

from server.storage.audit_entry import rfc3339
from server.storage.database import Database
from server.storage.schema import approvals, is_beyond, storable

MAX_PER_USER: Final = 500
"""Approvals kept of one user; beyond it the oldest is forgotten: its call is asked about again."""


class RememberedApproval(Struct, frozen=True, kw_only=True):
    id: str
    user: str
    tool: str
    remember_for: Literal["arguments", "command", "tool"]
    """Coverage: the tool with these arguments, with any of a command, or with any at all."""
    command_name: str | None
    """The command that is covered, such as "git push"."""
    shown: str
    """The call's arguments, in outline; or the command's name."""
    origin: str
    """Name of the handler or hook that had asked."""
    created: str
    """Time of the approval (RFC 3339, UTC)."""


class ApprovalTable:
    """Table of the approvals that users had remembered. Every method raises StorageError."""

    def __init__(
        self, database: Database, *, now: Callable[[], float] = time.time, max_per_user: int = MAX_PER_USER
    ) -> None:
        self._database = database
        self._max_per_user = max_per_user
        self._now = now

    async def has(self, user: str, keys: Collection[str]) -> bool:
        statement = sa.select(approvals.c.id).where((approvals.c.user == user) & approvals.c.key.in_(keys)).limit(1)
        return await self._database.read(lambda connection: connection.scalar(statement)) is not None

    async def add(
        self, user: str, key: str, *, tool: str, shown: str, origin: str, remember_for: str = "arguments"
    ) -> None:
        """Remember an approval. Idempotent: the same is remembered once."""
        row = {
            "id": secrets.token_urlsafe(12),
            "user": user,
            "key": key,
            "tool": storable(tool, 256),
            "remember_for": remember_for,
            "shown": storable(shown, 4000),
            "origin": storable(origin, 128),
            "created_us": int(self._now() * 1_000_000),
        }
        with contextlib.suppress(IntegrityError):  # another replica was faster
            await self._database.write(lambda connection: _add(connection, row, self._max_per_user))

    async def list(self, user: str) -> list[RememberedApproval]:
        """Return the user's approvals, the newest first."""
        statement = sa.select(approvals).where(approvals.c.user == user)
        ordered = statement.order_by(approvals.c.created_us.desc(), approvals.c.id)
        rows = await self._database.read(lambda connection: connection.execute(ordered).all())
        return [
            RememberedApproval(
                id=row.id,
                user=row.user,
                tool=row.tool,
                remember_for=row.remember_for,
                command_name=row.shown if row.remember_for == "command" else None,
                shown=row.shown,
                origin=row.origin,
                created=rfc3339(row.created_us),
            )
            for row in rows
        ]

    async def remove(self, user: str, approval_id: str) -> bool:
        """Forget an approval; return whether the user had it."""
        is_it = (approvals.c.user == user) & (approvals.c.id == storable(approval_id, 32))
        gone = await self._database.write(lambda connection: connection.execute(sa.delete(approvals).where(is_it)))
        return gone.rowcount > 0


def _add(connection: sa.Connection, row: dict[str, object], max_per_user: int) -> None:
    is_it = (approvals.c.user == row["user"]) & (approvals.c.key == row["key"])
    connection.execute(sa.delete(approvals).where(is_it))
    connection.execute(sa.delete(approvals).where(is_beyond(approvals, row["user"], max_per_user - 1)))
    connection.execute(sa.insert(approvals).values(**row))
