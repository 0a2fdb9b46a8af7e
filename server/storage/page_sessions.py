"""Sessions of the page: who has logged in, from where; listed, and ended one by one on all replicas.

A session is open as long as its row is there. The ids of all are kept in memory,
so that a request is judged without waiting, also while the database is down.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final

import sqlalchemy as sa
from msgspec import Struct

from server.errors import StorageError
from server.storage.audit_entry import rfc3339
from server.storage.changes import count_change, follow_changes
from server.storage.database import Database
from server.storage.schema import is_beyond, numbers, page_sessions, storable

MAX_PER_USER: Final = 100
"""Sessions that one user may have; beyond it the oldest ends."""
MAX_LISTED: Final = 500


class PageSession(Struct, frozen=True, kw_only=True):
    id: str
    user: str
    address: str
    """Address of the login."""
    browser: str
    """`User-Agent` of the login."""
    created: str
    """Time of the login (RFC 3339, UTC)."""
    ends: str
    """Time at which the login ends (RFC 3339, UTC), earlier if it is revoked."""
    is_current: bool = False
    """Whether it is the session that asks for the list."""


class PageSessionTable:
    """Table of the page's logins. Every method but `is_open` and `has` raises StorageError."""

    def __init__(
        self, database: Database, *, now: Callable[[], float] = time.time, max_per_user: int = MAX_PER_USER
    ) -> None:
        self._database = database
        self._now = now
        self._max_per_user = max_per_user
        self._open = frozenset[str]()
        self._revision = -1
        self._refreshing = asyncio.Lock()

    def is_open(self, session_id: str) -> bool:
        """Return whether the session was open when replicas were last heard."""
        return session_id in self._open

    async def has(self, session_id: str) -> bool:
        """Return whether the session is open, asking the database for other replicas' new ones. False if that is down."""
        if session_id not in self._open:
            try:
                await self.refresh()
            except StorageError:
                return False
        return session_id in self._open

    async def add(self, session_id: str, user: str, *, address: str, browser: str, lasts_s: float) -> None:
        """Open it; when this returns, it outlives the process."""
        now_us = int(self._now() * 1_000_000)
        row = {
            "id": session_id,
            "user": user,
            "address": storable(address, 64),
            "browser": storable(browser, 256),
            "created_us": now_us,
            "ends_us": now_us + int(lasts_s * 1_000_000),
        }
        await self._database.write(lambda connection: _add(connection, row, self._max_per_user))
        await self.refresh()

    async def list(self, user: str | None) -> list[PageSession]:
        """Return the newest MAX_LISTED sessions, of all users without `user`."""
        is_wanted = page_sessions.c.ends_us > int(self._now() * 1_000_000)
        if user is not None:
            is_wanted &= page_sessions.c.user == user
        order = (page_sessions.c.created_us.desc(), page_sessions.c.id)
        statement = sa.select(page_sessions).where(is_wanted).order_by(*order).limit(MAX_LISTED)
        rows = await self._database.read(lambda connection: connection.execute(statement).all())
        return [
            PageSession(
                id=row.id,
                user=row.user,
                address=row.address,
                browser=row.browser,
                created=rfc3339(row.created_us),
                ends=rfc3339(row.ends_us),
            )
            for row in rows
        ]

    async def end(self, session_id: str, user: str | None = None) -> str | None:
        """End a session, of any user without `user`; return its user, or None where there is no such session."""
        is_it = page_sessions.c.id == storable(session_id, 32)
        if user is not None:
            is_it &= page_sessions.c.user == user
        ended = await self._database.write(lambda connection: _end(connection, is_it))
        await self.refresh()
        return ended

    async def refresh(self) -> None:
        """Read what others have changed since."""
        async with self._refreshing:
            revision, found = await self._database.read(lambda connection: _changed(connection, self._revision))
            if found is not None:
                self._revision, self._open = revision, found

    async def watch(self) -> None:
        """Keep up with other replicas; runs until it is cancelled."""
        text = "sessions that other replicas end stay open here"
        await follow_changes(self._database, "sessions", self.refresh, text)


def _changed(connection: sa.Connection, known: int) -> tuple[int, frozenset[str] | None]:
    """Return the revision, and the ids of all sessions if it is not the known one."""
    revision: int = connection.execute(sa.select(numbers.c.value).where(numbers.c.name == "sessions")).scalar_one()
    ids = None if revision == known else frozenset(connection.scalars(sa.select(page_sessions.c.id)))
    return revision, ids


def _add(connection: sa.Connection, row: dict[str, object], max_per_user: int) -> None:
    count_change(connection, "sessions")
    is_excess = is_beyond(page_sessions, row["user"], max_per_user - 1)
    connection.execute(sa.delete(page_sessions).where(is_excess | (page_sessions.c.ends_us <= row["created_us"])))
    connection.execute(sa.insert(page_sessions).values(**row))


def _end(connection: sa.Connection, is_it: sa.ColumnElement[bool]) -> str | None:
    count_change(connection, "sessions")
    user: str | None = connection.scalar(sa.delete(page_sessions).where(is_it).returning(page_sessions.c.user))
    return user
