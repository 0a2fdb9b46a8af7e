"""Questions to humans that replicas show for each other: published, answered once, settled by the one that asks.

A question is live until it is settled, its time is over, or its asker, a
process, has not renewed its lease: what a killed process had asked ends by
itself. All times are the database's, so that clocks of replicas may differ.
"""

import asyncio
import time
from collections.abc import Collection
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from server.storage.changes import count_change, watch_changes
from server.storage.database import Database
from server.storage.schema import askers, questions

LEASE_S: Final = 10.0
"""Time for which a process that says nothing counts as alive."""
MAX_BODY_CHARS: Final = 64 << 10
_KEPT_S: Final = 60.0
"""Time for which a question is kept after its end, for replicas that were away."""


@dataclass(frozen=True, slots=True)
class SharedQuestion:
    """A row, as it was when it was read."""

    id: str
    user: str
    asker: str
    body: str
    """Text of what is shown; empty once it is settled."""
    left_s: float
    """Seconds until silence is a no; below 0 when the time is over."""
    is_live: bool
    answer: str | None
    answered_by: str | None
    """The process whose answer was first."""
    outcome: str | None


class QuestionTable:
    """Table of the questions that replicas share. Every method raises StorageError."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def watch(self) -> AbstractAsyncContextManager[asyncio.Event]:
        """Provide an event, like `watch_changes`, that is set when there may be something to read."""
        return watch_changes(self._database, "questions")

    @property
    def retry_after_s(self) -> float:
        return self._database.retry_after_s

    async def publish(self, asker: str, *, id_: str, user: str, body: str, left_s: float) -> bool:
        """Add a question; return False if the asker's lease is over: it needs another name then. Idempotent."""

        def write(connection: sa.Connection) -> bool:
            if connection.scalar(sa.select(questions.c.id).where(questions.c.id == id_)) is not None:
                return True
            now_us = self._now_us(connection)
            if not self._renew(connection, asker, now_us):
                if connection.scalar(sa.select(askers.c.id).where(askers.c.id == asker)) is not None:
                    return False
                connection.execute(sa.insert(askers).values(id=asker, until_us=now_us + _micros(LEASE_S)))
            row = {
                "id": id_,
                "user": user,
                "asker": asker,
                "body": body,
                "until_us": now_us + _micros(left_s),
                "revision": count_change(connection, "questions"),
            }
            connection.execute(sa.insert(questions).values(**row))
            return True

        return await self._database.write(write)

    async def renew(self, asker: str) -> bool:
        """Extend the asker's lease, and forget what ended a minute ago; return False as `publish` does."""

        def write(connection: sa.Connection) -> bool:
            now_us = self._now_us(connection)
            is_renewed = self._renew(connection, asker, now_us)
            _forget(connection, now_us - _micros(_KEPT_S))
            return is_renewed

        return await self._database.write(write)

    async def forget_ended(self) -> None:
        """Delete old questions: those of dead askers at once, the rest after a minute."""

        def write(connection: sa.Connection) -> None:
            now_us = self._now_us(connection)
            connection.execute(sa.delete(questions).where(questions.c.asker.not_in(_alive(now_us))))
            _forget(connection, now_us - _micros(_KEPT_S))

        await self._database.write(write)

    async def answer(self, id_: str, answer: str, *, by: str) -> SharedQuestion | None:
        """Answer a live question that has no answer; return its row, with the answer that was first, unless it is gone."""

        def write(connection: sa.Connection) -> SharedQuestion | None:
            now_us = self._now_us(connection)
            is_open = (
                (questions.c.id == id_)
                & questions.c.answered_by.is_(None)
                & questions.c.outcome.is_(None)
                & (questions.c.until_us > now_us)
                & questions.c.asker.in_(_alive(now_us))
            )
            values = {"answer": answer, "answered_by": by, "revision": count_change(connection, "questions")}
            connection.execute(sa.update(questions).where(is_open).values(**values))
            found = connection.execute(_select().where(questions.c.id == id_)).first()
            return None if found is None else _read(found, now_us)

        return await self._database.write(write)

    async def settle(self, id_: str, outcome: str) -> None:
        """End a question with its asker's outcome; what was shown and answered is forgotten. Idempotent."""

        def write(connection: sa.Connection) -> None:
            now_us = self._now_us(connection)
            end = {
                "outcome": outcome,
                "settled_us": now_us,
                "body": "",
                "answer": None,
                "revision": count_change(connection, "questions"),
            }
            is_open = (questions.c.id == id_) & questions.c.outcome.is_(None)
            connection.execute(sa.update(questions).where(is_open).values(**end))

        await self._database.write(write)

    async def release(self, asker: str) -> None:
        """Remove an asker that goes, with what it had asked."""

        def write(connection: sa.Connection) -> None:
            connection.execute(sa.delete(questions).where(questions.c.asker == asker))
            connection.execute(sa.delete(askers).where(askers.c.id == asker))
            count_change(connection, "questions")

        await self._database.write(write)

    async def look(
        self, since: int, *, ids: Collection[str] = (), users: Collection[str] = ()
    ) -> tuple[int, list[SharedQuestion]]:
        """Return the revision now, and the rows that are newer than `since` or belong to `ids` or `users`."""

        def read(connection: sa.Connection) -> tuple[int, list[SharedQuestion]]:
            now_us = self._now_us(connection)
            wanted = (questions.c.revision > since) | questions.c.id.in_(ids) | questions.c.user.in_(users)
            rows = connection.execute(_select().where(wanted).order_by(questions.c.revision)).all()
            revision = max([since, *(row.revision for row in rows)])
            return revision, [_read(row, now_us) for row in rows]

        return await self._database.read(read)

    def _renew(self, connection: sa.Connection, asker: str, now_us: int) -> bool:
        is_alive = (askers.c.id == asker) & (askers.c.until_us > now_us)
        longer = sa.update(askers).where(is_alive).values(until_us=now_us + _micros(LEASE_S))
        return connection.execute(longer).rowcount > 0

    def _now_us(self, connection: sa.Connection) -> int:
        if connection.dialect.name == "postgresql":
            clock = sa.text("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
            now_us: int = connection.execute(clock).scalar_one()
            return now_us
        return _micros(time.time())


def _micros(seconds: float) -> int:
    return int(seconds * 1_000_000)


def _alive(now_us: int) -> sa.Select[tuple[str]]:
    return sa.select(askers.c.id).where(askers.c.until_us > now_us)


def _forget(connection: sa.Connection, before_us: int) -> None:
    connection.execute(sa.delete(questions).where(questions.c.until_us < before_us))
    connection.execute(sa.delete(questions).where(questions.c.settled_us < before_us))
    connection.execute(sa.delete(askers).where(askers.c.until_us < before_us))


def _select() -> sa.Select[tuple[object, ...]]:
    lease = sa.func.coalesce(askers.c.until_us, 0).label("lease_us")
    joined = questions.outerjoin(askers, askers.c.id == questions.c.asker)
    return sa.select(questions, lease).select_from(joined)


def _read(row: sa.Row[tuple[object, ...]], now_us: int) -> SharedQuestion:
    return SharedQuestion(
        id=row.id,
        user=row.user,
        asker=row.asker,
        body=row.body,
        left_s=(row.until_us - now_us) / 1_000_000,
        is_live=row.outcome is None and row.until_us > now_us and row.lease_us > now_us,
        answer=row.answer,
        answered_by=row.answered_by,
        outcome=row.outcome,
    )
