"""The audit log: entries are taken without waiting and written in batches by one task.

An entry is safe once it is written, a moment later; where a connection breaks in
a commit, a batch may stand twice. What the queue cannot take while the database
is away is counted, and a gap entry stands in its place; so is what a user causes
beyond USER_BYTES_A_MINUTE.
"""

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa

from server.bounded.fair_share import account_of
from server.bounded.limits import WriteQuotas
from server.errors import StorageError
from server.storage.audit_entry import FIRST, GAP, PRUNED, AuditEntry, body_of, columns_of, day_hash, next_hash
from server.storage.database import Database
from server.storage.schema import CLOCK_SEEN, CLOCK_STEADY, audit, audit_days, numbers

logger = logging.getLogger(__name__)

USER_BYTES_A_MINUTE: Final = 1 << 20
"""Bytes that one user's entries may take on the disk in a minute, in the long run."""
MAX_QUEUED: Final = 10_000
MAX_QUEUED_BYTES: Final = 32 << 20
_ROW_BYTES: Final = 700  # of an entry's columns, hash and places in indexes
_BATCH: Final = 500
_PRUNE_ROWS: Final = 5_000
_HOUSEKEEPING_S: Final = 60.0
_RETRY_S: Final = 0.5
GRACE: Final = timedelta(minutes=10)
"""Time after a day at which it is closed: clocks of replicas differ, and it must be over for all of them."""
NEEDED_S: Final = 2 * 86_400.0
"""Steady time before the wall clock is believed; also the longest time without a server that does not begin it anew."""
_TOLERANCE_S: Final = 600.0
"""Difference between the clocks of replicas, and by which a clock may be corrected."""


def monotonic_s() -> float:
    """Return seconds of a clock that cannot be set, and that goes on while the machine sleeps, where there is one."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class SteadyTime:
    """Measures steady time from look to look; kept in the database, so it goes on over restarts and for all replicas."""

    def __init__(self, now: Callable[[], float], clock: Callable[[], float]) -> None:
        """`now` is the wall clock."""
        self._now = now
        self._clock = clock
        self._looked_at_s: float | None = None  # by `clock`; None before the first look in this process

    def look(self, connection: sa.Connection) -> bool:
        """Return whether the wall clock can be believed. For a transaction that writes, every minute or so.

        A wall clock that has gone further than the other one, or back, ends steady time. Before the
        first look of a process there is nothing to compare it with: it may have gone on by NEEDED_S.
        """
        now_s, clock_s = self._now(), self._clock()
        values = {row.name: row.value for row in connection.execute(sa.select(numbers))}
        step_s = now_s - values[CLOCK_SEEN] / 1e6
        passed_s = 0.0 if self._looked_at_s is None else clock_s - self._looked_at_s
        longest_s = NEEDED_S if self._looked_at_s is None else passed_s + _TOLERANCE_S
        self._looked_at_s = clock_s
        steady_s = 0.0
        if -_TOLERANCE_S <= step_s <= longest_s:
            steady_s = min(NEEDED_S, values[CLOCK_STEADY] / 1e6 + max(0.0, min(step_s, passed_s)))
        for name, value_s in ((CLOCK_SEEN, now_s), (CLOCK_STEADY, steady_s)):
            row = sa.update(numbers).where(numbers.c.name == name)
            connection.execute(row.values(value=int(value_s * 1e6)))
        return steady_s >= NEEDED_S


class AuditLog:
    """The audit log of this replica: `run` writes what `append` takes."""

    def __init__(
        self,
        database: Database,
        *,
        replica: str,
        keep_days: int,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = monotonic_s,
        max_queued: int = MAX_QUEUED,
        user_bytes_a_minute: int = USER_BYTES_A_MINUTE,
    ) -> None:
        self._database = database
        self._replica = replica[:128]
        self._keep_days = keep_days
        self._now = now
        self._clock = clock
        self._steady_time = SteadyTime(now, clock)
        self._quotas = WriteQuotas(user_bytes_a_minute)
        self._max_queued = max_queued
        self._queue: deque[str] = deque()
        self._queued_bytes = 0
        self._arrived = asyncio.Event()
        self._written = asyncio.Condition()
        self._gap = 0  # entries lost since the last one that the queue took
        self._is_behind = False
        self._is_stopping = False
        self.dropped = 0
        """Entries lost since the start, in all."""

    def append(self, entry: AuditEntry) -> None:
        """Queue an entry; never wait or raise. Beyond the queue's limit or the user's quota, count and report it."""
        body = body_of(entry)
        if self._quotas.admit(account_of(entry.user), len(body) + _ROW_BYTES, self._clock()):
            self._enqueue(body)

    def _enqueue(self, body: str) -> None:
        if len(self._queue) >= self._max_queued or self._queued_bytes + len(body) > MAX_QUEUED_BYTES:
            if not self._gap:
                logger.error("the audit log is full: entries are lost until the database is back")
            self._gap += 1
            self.dropped += 1
            return
        self._put_gap()
        self._put(body)

    def _tell_left_out(self) -> None:
        for user, count in self._quotas.take_left_out().items():
            text = f"{count} entries of this user were left out: too many in a minute"
            logger.warning("audit log, user %s: %s", user or "unknown", text)
            entry = _own_entry("left_out", text, {"left_out": count}, int(self._now() * 1_000_000), user=user)
            self._enqueue(body_of(entry))

    @property
    def left_out(self) -> int:
        """Entries left out since the start because their users had caused too many."""
        return self._quotas.left_out

    @property
    def queued(self) -> int:
        return len(self._queue)

    async def flush(self) -> None:
        """Wait until what was taken so far is written, for as long as the database is away."""
        async with self._written:
            await self._written.wait_for(lambda: not self._queue)

    async def run(self) -> None:
        """Write, close days and prune, until `stop`; then write what is left and return."""
        next_housekeeping = 0.0
        while True:
            if time.monotonic() >= next_housekeeping:
                self._tell_left_out()
                await self._keep_house()
                next_housekeeping = time.monotonic() + _HOUSEKEEPING_S
            if self._queue:
                if not await self._write_batch():
                    await asyncio.sleep(max(_RETRY_S, self._database.retry_after_s))
            elif self._is_stopping:
                return
            else:
                self._arrived.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_HOUSEKEEPING_S):
                        await self._arrived.wait()

    def stop(self) -> None:
        """Have `run` end when all is written; the owner waits for it as long as it likes."""
        self._tell_left_out()
        self._put_gap()
        self._is_stopping = True
        self._arrived.set()

    def _put_gap(self) -> None:
        if self._gap:
            text = f"{self._gap} entries before this one were lost: the database was down for too long"
            self._put(body_of(_own_entry("lost", text, {"lost": self._gap}, int(self._now() * 1_000_000))))
            self._gap = 0

    def _put(self, body: str) -> None:
        self._queue.append(body)
        self._queued_bytes += len(body)
        self._arrived.set()

    async def _write_batch(self) -> bool:
        """Write what is queued, up to a batch; return False where the database does not serve: nothing is lost then."""
        batch = [self._queue[index] for index in range(min(_BATCH, len(self._queue)))]
        today = self._today()
        try:
            await self._database.write(lambda connection: _append(connection, self._replica, today, batch))
        except StorageError as error:
            if not self._is_behind:
                logger.warning("the audit log is waiting: %s", error)
            self._is_behind = True
            return False
        except Exception:  # an entry that no database takes: a defect of ours must not stop the log
            logger.exception("%d entries of the audit log could not be written: they are lost", len(batch))
            self.dropped += len(batch)
            self._gap += len(batch)
        if self._is_behind:
            logger.info("the audit log is being written again")
            self._is_behind = False
        for body in batch:
            self._queue.popleft()
            self._queued_bytes -= len(body)
        if not self._queue:
            async with self._written:
                self._written.notify_all()
        return True

    async def _keep_house(self) -> None:
        ended = (datetime.fromtimestamp(self._now(), UTC) - GRACE).date().isoformat()
        oldest = oldest_kept(self._now(), self._keep_days)
        now_us = int(self._now() * 1_000_000)
        try:
            closed = await self._database.write(lambda connection: _close_days(connection, ended, now_us))
            for replica, day, entries, last_hash in closed:
                logger.info("audit day %s of %s is closed: %d entries, last hash %s", day, replica, entries, last_hash)
            if await self._database.write(self._steady_time.look):
                while await self._database.write(lambda connection: self._prune(connection, oldest, now_us)):
                    pass
        except StorageError as error:
            logger.debug("days of the audit log cannot be closed now: %s", error)
        except Exception:  # a defect in closing and pruning must not stop the writing
            logger.exception("days of the audit log could not be closed or pruned")

    def _prune(self, connection: sa.Connection, oldest: str, now_us: int) -> bool:
        """Delete some entries of the oldest closed day, at last the day itself; return whether one is too old."""
        is_old = (audit_days.c.day < oldest) & audit_days.c.closed_us.is_not(None)
        found = connection.execute(sa.select(audit_days).where(is_old).order_by(audit_days.c.day).limit(1)).first()
        if found is None:
            return False
        this_day = (audit_days.c.replica == found.replica) & (audit_days.c.day == found.day)
        connection.execute(sa.update(audit_days).where(this_day).values(pruned_us=now_us))
        its = (audit.c.replica == found.replica) & (audit.c.day == found.day)
        rows = sa.select(audit.c.id).where(its).limit(_PRUNE_ROWS)
        if connection.execute(sa.delete(audit).where(audit.c.id.in_(rows))).rowcount == 0:
            connection.execute(sa.delete(audit_days).where(this_day))
            details = {name: found._mapping[name] for name in ("replica", "day", "entries", "last_hash")}
            text = f"{found.entries} entries of {found.day} were deleted: they were older than {self._keep_days} days"
            body = body_of(_own_entry(PRUNED, text, details, now_us))
            _append(connection, self._replica, self._today(), [body])
        return True

    def _today(self) -> str:
        return datetime.fromtimestamp(self._now(), UTC).date().isoformat()


def oldest_kept(now_s: float, keep_days: int) -> str:
    """Return the day, as in 2026-11-22, before which closed days are pruned."""
    return (datetime.fromtimestamp(now_s, UTC).date() - timedelta(days=keep_days)).isoformat()


def _own_entry(outcome: str, message: str, details: dict[str, Any], ts_us: int, *, user: str = "") -> AuditEntry:
    """Make an entry that stands for entries that are missing."""
    return AuditEntry(
        phase=GAP, outcome=outcome, user=user, handler="audit_log", message=message, details=details, ts_us=ts_us
    )


def _append(connection: sa.Connection, replica: str, today: str, bodies: list[str]) -> None:
    """Add entries to the replica's chain. Its day's row is locked meanwhile: processes of one name take turns."""
    day, entries, last = _open_day(connection, replica, today)
    rows: list[dict[str, Any]] = []
    for number, body in enumerate(bodies, entries + 1):
        last = next_hash(last, number, body)
        place = {"replica": replica, "day": day, "number": number, "body": body, "hash": last}
        rows.append({**place, **columns_of(body)})
    connection.execute(sa.insert(audit), rows)
    this_day = (audit_days.c.replica == replica) & (audit_days.c.day == day)
    connection.execute(sa.update(audit_days).where(this_day).values(entries=entries + len(rows), last_hash=last))


def _open_day(connection: sa.Connection, replica: str, today: str) -> tuple[str, int, str]:
    """Return the day to write to, its entries and last hash. No closed day is opened again, nor an earlier one."""
    if connection.dialect.name == "postgresql":  # SQLite has one writer at a time
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(sa.func.hashtext(f"parley audit {replica}"))))
    columns = (audit_days.c.day, audit_days.c.entries, audit_days.c.last_hash, audit_days.c.closed_us)
    newest = sa.select(*columns).where(audit_days.c.replica == replica).order_by(audit_days.c.day.desc()).limit(1)
    found = connection.execute(newest).first()
    if found is not None and found.closed_us is None and found.day >= today:
        return found.day, found.entries, found.last_hash
    day = today
    if found is not None and found.day >= today:
        day = (datetime.fromisoformat(found.day) + timedelta(days=1)).date().isoformat()
    previous = FIRST if found is None else found.last_hash
    start = day_hash(replica, day, previous)
    row = {"replica": replica, "day": day, "previous": previous, "entries": 0, "last_hash": start}
    connection.execute(sa.insert(audit_days).values(**row))
    return day, 0, start


def _close_days(connection: sa.Connection, ended: str, now_us: int) -> list[tuple[str, str, int, str]]:
    """Close all days before `ended` and return those that this replica closed (each day goes to one replica)."""
    is_over = (audit_days.c.day < ended) & audit_days.c.closed_us.is_(None)
    close = sa.update(audit_days).where(is_over).values(closed_us=now_us)
    closed = close.returning(audit_days.c.replica, audit_days.c.day, audit_days.c.entries, audit_days.c.last_hash)
    return [(row[0], row[1], row[2], row[3]) for row in connection.execute(closed)]
