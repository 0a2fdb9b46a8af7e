"""Verification of the audit log: reads all of it, a page at a time, while entries are written."""

import time
from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec
import sqlalchemy as sa

from server.storage.audit_entry import GAP, PRUNED, Day, DayCheck, Link, PrunedDay, check_days
from server.storage.audit_log import GRACE, oldest_kept
from server.storage.database import Database
from server.storage.schema import audit, audit_days

_PAGE: Final = 100  # entries hashed in a thread, which no other thread interrupts: a millisecond


class _PrunedEntry(msgspec.Struct):
    details: PrunedDay


class AuditVerification(msgspec.Struct, frozen=True, kw_only=True):
    is_whole: bool
    """Whether nothing was found to be wrong; docs/operations.md says what cannot be found this way."""
    days: list[Day]
    """Days by replica, then by date; those that are being pruned are left out."""
    problems: list[str]
    """Problems in words, the first of each day: what follows a break tells nothing."""
    pruned: list[PrunedDay]
    """Days that were deleted as too old, as far as the entries that tell of it are kept."""


async def verify(database: Database, *, keep_days: int, now: Callable[[], float] = time.time) -> AuditVerification:
    """Check the whole log; write nothing. Raises StorageError; cancelled, it stops at the end of a page.

    A day may lack entries while it is being pruned: if it says so, is closed, and is older than `keep_days`.
    """
    oldest, columns = oldest_kept(now() + GRACE.total_seconds(), keep_days), audit_days.c
    is_whole = sa.not_(columns.pruned_us.is_not(None) & columns.closed_us.is_not(None) & (columns.day < oldest))
    days = await database.read(partial(_days, is_whole))
    problems = [*check_days(days), *await database.read(_strays)]
    problems += [problem for day in days if (problem := await _check(database, day, is_whole)) is not None]
    pruned = await database.read(_pruned)
    return AuditVerification(is_whole=not problems, days=days, problems=problems, pruned=pruned)


async def _check(database: Database, day: Day, is_whole: sa.ColumnElement[bool]) -> str | None:
    check = DayCheck(day)
    is_over, problem = False, None
    while not is_over:
        is_over, problem = await database.read(partial(_check_page, day, check, is_whole))
    return problem


def _days(is_whole: sa.ColumnElement[bool], connection: sa.Connection) -> list[Day]:
    statement = sa.select(audit_days).where(is_whole)
    rows = connection.execute(statement.order_by(audit_days.c.replica, audit_days.c.day))
    return [
        Day(row.replica, row.day, row.previous, row.entries, row.last_hash, is_closed=row.closed_us is not None)
        for row in rows
    ]


def _check_page(
    day: Day, check: DayCheck, is_whole: sa.ColumnElement[bool], connection: sa.Connection
) -> tuple[bool, str | None]:
    """Return whether that was all, and what is wrong, from one view of the day's row and its (growing) entries."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    is_it = (audit_days.c.replica == day.replica) & (audit_days.c.day == day.day) & is_whole
    row = connection.execute(sa.select(audit_days.c.entries, audit_days.c.last_hash).where(is_it)).first()
    if row is None:  # pruned meanwhile
        return True, None
    its = sa.select(audit).where((audit.c.replica == day.replica) & (audit.c.day == day.day))
    if check.count:  # else also what was put before the first
        its = its.where(audit.c.number > check.count)
    rows = connection.execute(its.order_by(audit.c.number).limit(_PAGE)).all()
    if problem := check.feed(Link(entry.number, entry.body, entry.hash, entry._asdict()) for entry in rows):
        return True, problem
    return (True, check.end(row.entries, row.last_hash)) if len(rows) < _PAGE else (False, None)


def _pruned(connection: sa.Connection) -> list[PrunedDay]:
    told = sa.select(audit.c.body).where((audit.c.phase == GAP) & (audit.c.outcome == PRUNED))
    bodies = connection.scalars(told.order_by(audit.c.ts_us, audit.c.id))
    return [msgspec.json.decode(body, type=_PrunedEntry, strict=False).details for body in bodies]


def _strays(connection: sa.Connection) -> list[str]:
    is_its = (audit_days.c.replica == audit.c.replica) & (audit_days.c.day == audit.c.day)
    of_no_day = sa.select(audit.c.replica, audit.c.day).where(~sa.exists().where(is_its)).distinct()
    rows = connection.execute(of_no_day.order_by(audit.c.replica, audit.c.day))
    return [f"{row.replica} {row.day}: there are entries, but the day's own row is missing" for row in rows]
