"""Changes that another process has written: counted, announced, and heard of.

PostgreSQL announces them by NOTIFY; of SQLite the file's change counter is read.
"""

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from typing import Final

import sqlalchemy as sa

from server.errors import StorageError
from server.storage.database import Database
from server.storage.schema import numbers

logger = logging.getLogger(__name__)

_POLL_S: Final = 0.25
_SILENCE_S: Final = 15.0
"""Time without a notification after which the tables are read all the same: a pooler may have lost our LISTEN."""
_ANSWER_S: Final = 5.0
_RETRY_FROM_S: Final = 0.5
_RETRY_TO_S: Final = 5.0
_FOLLOW_RETRY_S: Final = 1.0


def count_change(connection: sa.Connection, name: str) -> int:
    """Return the change's revision, and announce it. Counted first in a transaction, it makes its writers take turns."""
    count = sa.update(numbers).where(numbers.c.name == name).values(value=numbers.c.value + 1)
    revision: int = connection.execute(count.returning(numbers.c.value)).scalar_one()
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_notify(_channel(name), str(revision))))
    return revision


async def follow_changes(database: Database, name: str, refresh: Callable[[], Awaitable[None]], unchanged: str) -> None:
    """Call `refresh` whenever something may have changed, until cancelled; `unchanged` begins the log line of a failure."""
    async with watch_changes(database, name) as changed:
        while True:
            await changed.wait()
            changed.clear()
            try:
                await refresh()
            except StorageError as error:
                logger.warning("%s: %s", unchanged, error)
                await asyncio.sleep(max(_FOLLOW_RETRY_S, database.retry_after_s))
                changed.set()
            except Exception:  # a listener has failed: the next change is applied all the same
                logger.exception("a change of stored %s was not applied everywhere", name)


def _channel(name: str) -> str:
    return f"parley_{name}"


@asynccontextmanager
async def watch_changes(database: Database, name: str) -> AsyncIterator[asyncio.Event]:
    """Yield an event that is set when something may have changed: at first, on every word, after every lost connection.

    Many changes are one event; clear it before you look.
    """
    changed = asyncio.Event()
    changed.set()
    watch = _poll_file(database, changed) if database.is_sqlite else _listen(database, _channel(name), changed)
    task = asyncio.create_task(watch, name="storage changes")  # awaited below
    try:
        yield changed
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _poll_file(database: Database, changed: asyncio.Event) -> None:
    """Poll `data_version`, which differs when another connection has committed; asking costs some microseconds."""
    while True:
        try:
            with closing(sqlite3.connect(str(database.url.database), timeout=0)) as connection:
                known: int | None = None
                while True:
                    [version] = connection.execute("PRAGMA data_version").fetchone()
                    if version != known:
                        known = version
                        changed.set()
                    await asyncio.sleep(_POLL_S)
        except sqlite3.Error as error:
            logger.warning("cannot see changes of %s: %s", database.url.database, error)
        await asyncio.sleep(_RETRY_TO_S)


async def _listen(database: Database, channel: str, changed: asyncio.Event) -> None:
    import psycopg  # only where PostgreSQL is used
    from psycopg import sql

    wait_s = _RETRY_FROM_S
    while True:
        try:
            connection = await database.connect("parley changes")
            async with connection:
                await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
                wait_s = _RETRY_FROM_S
                while True:
                    changed.set()  # at first: for what was not heard
                    async for _ in connection.notifies(timeout=_SILENCE_S, stop_after=1):
                        changed.set()
                    async with asyncio.timeout(_ANSWER_S):
                        await connection.execute("SELECT 1")
        except (psycopg.Error, OSError, StorageError) as error:  # TimeoutError too
            logger.info("PostgreSQL reports no changes now; trying again: %s", type(error).__name__)
        except Exception:  # whatever it is: without this task no change would be heard of again
            logger.exception("listening to PostgreSQL has failed, trying again")
        await asyncio.sleep(wait_s)
        wait_s = min(_RETRY_TO_S, 2 * wait_s)
