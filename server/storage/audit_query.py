"""Reading the audit log: filtered, a page at a time, newest first or as it was written; and verifying all of it."""

import base64
import json
import time
from collections.abc import AsyncGenerator, Callable
from functools import partial
from typing import Annotated, Any, Final

import msgspec
import sqlalchemy as sa
from msgspec import Meta, Struct

from server.bounded.fair_share import account_of
from server.storage.audit_entry import GAP, PRUNED, AuditRecord, Day, DayCheck, Link, PrunedDay, check_days, rfc3339
from server.storage.audit_log import GRACE, oldest_kept
from server.storage.database import Database
from server.storage.schema import AUDIT_ACCOUNT, audit, audit_days, storable

MAX_PAGE: Final = 500

Text = Annotated[str, Meta(max_length=256)]
_PAGE: Final = 100  # entries hashed in a thread, which no other thread interrupts: a millisecond


class EntryFields(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Values that an entry has to have, those that are given."""

    user: Text | None = None
    """User, together with the holders of the user's Realtime keys."""
    session: Text | None = None
    turn: Text | None = None
    tool: Text | None = None
    """Whole name of the tool, or its beginning and `*`."""
    phase: Text | None = None
    outcome: Text | None = None
    handler: Text | None = None
    text: Text | None = None
    """Text anywhere in the entry; upper and lower case of A-Z do not differ."""


class AuditFilter(EntryFields, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A filter for entries: all given fields must match."""

    since_us: int | None = None
    until_us: int | None = None
    """End of the time span, itself not included."""


class AuditPage(Struct, frozen=True, kw_only=True):
    entries: list[AuditRecord]
    next: str | None
    """`cursor` of the page that follows, or null if this is the last."""


class BadCursor(ValueError):
    """A cursor that no page gave."""


async def read_page(
    database: Database, wanted: AuditFilter, *, limit: int, cursor: str | None = None, oldest_first: bool = False
) -> AuditPage:
    """Read one page. Entries added meanwhile neither repeat nor hide others. Raises BadCursor, StorageError."""
    after = _read_cursor(cursor) if cursor else None
    size = min(limit, MAX_PAGE)

    def read(connection: sa.Connection) -> AuditPage:
        statement = _select(wanted, after, oldest_first, connection.dialect.name).limit(size + 1)
        rows = connection.execute(statement).all()
        last = rows[size - 1] if len(rows) > size else None
        entries = [_record(row) for row in rows[:size]]
        return AuditPage(entries=entries, next=None if last is None else _cursor(last.ts_us, last.id))

    return await database.read(read)


async def read_all(database: Database, wanted: AuditFilter) -> AsyncGenerator[list[AuditRecord], None]:
    """Yield every entry, oldest first, in pages; hold one page at a time and no transaction between them."""
    cursor: str | None = None
    while True:
        page = await read_page(database, wanted, limit=MAX_PAGE, cursor=cursor, oldest_first=True)
        yield page.entries
        if page.next is None:
            return
        cursor = page.next


def _select(wanted: AuditFilter, after: tuple[int, int] | None, oldest_first: bool, dialect: str) -> sa.Select[Any]:
    conditions: list[sa.ColumnElement[bool]] = [
        audit.c[name] == storable(value, 256)
        for name in ("session", "turn", "phase", "outcome", "handler")
        if (value := getattr(wanted, name)) is not None
    ]
    if wanted.user is not None:
        user = storable(wanted.user, 256)
        conditions.append(sa.literal_column(AUDIT_ACCOUNT[dialect]) == account_of(user))
        if user != account_of(user):  # `==` would let SQLite put the name into the account's expression: no index
            conditions.append(audit.c.user.between(user, user))
    if wanted.tool is not None and wanted.tool.endswith("*"):
        conditions.append(audit.c.tool.startswith(storable(wanted.tool[:-1], 256), autoescape=True))
    elif wanted.tool is not None:
        conditions.append(audit.c.tool == storable(wanted.tool, 256))
    if wanted.since_us is not None:
        conditions.append(audit.c.ts_us >= wanted.since_us)
    if wanted.until_us is not None:
        conditions.append(audit.c.ts_us < wanted.until_us)
    if wanted.text:
        conditions.append(audit.c.body.icontains(_as_written(wanted.text), autoescape=True))
    place = sa.tuple_(audit.c.ts_us, audit.c.id)
    if after is not None:
        conditions.append(place > after if oldest_first else place < after)
    order = (audit.c.ts_us, audit.c.id) if oldest_first else (audit.c.ts_us.desc(), audit.c.id.desc())
    return sa.select(audit).where(*conditions).order_by(*order)


def _as_written(text: str) -> str:
    return msgspec.json.encode(text.encode("utf-8", "replace").decode()).decode()[1:-1]


def _record(row: sa.Row[Any]) -> AuditRecord:
    return AuditRecord(
        id=row.id,
        replica=row.replica,
        day=row.day,
        number=row.number,
        ts=rfc3339(row.ts_us),
        entry=msgspec.Raw(row.body.encode()),
        hash=row.hash,
    )


def _cursor(ts_us: int, row_id: int) -> str:
    return base64.urlsafe_b64encode(f"{ts_us}.{row_id}".encode()).decode().rstrip("=")


def _read_cursor(cursor: str) -> tuple[int, int]:
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode("ascii")
        first, _, second = text.partition(".")
        place = int(first), int(second)
        if not all(0 <= number < 1 << 63 for number in place):
            raise ValueError
    except ValueError:
        raise BadCursor("not a valid cursor; use `next` of the previous page") from None
    return place


def entry_of(record: AuditRecord) -> dict[str, Any]:
    """Return the entry, parsed; half surrogate pairs included."""
    tree: dict[str, Any] = json.loads(bytes(record.entry))
    return tree


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
