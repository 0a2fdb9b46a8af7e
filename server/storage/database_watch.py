"""Watch over the database: its loss and its return are noticed within 5 s, also while it is not used.

SQLite is a file of this machine: it is asked only after a failure, so that its return is noticed.
"""

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from server.errors import StorageError
from server.storage.database import Database, sever

if TYPE_CHECKING:
    import psycopg  # imported by `Database.connect`, where PostgreSQL is used

logger = logging.getLogger(__name__)

_PAUSE_S: Final = 2.0
_ANSWER_S: Final = 2.0
"""Time without an answer after which the database counts as gone."""
_ATTEMPT_PAUSE_S: Final = 0.5


async def watch_database(database: Database) -> None:
    """Ask every 2 s whether the database serves, and report it to `database`. Runs until cancelled."""
    while True:
        await asyncio.sleep(_PAUSE_S)
        try:
            if not database.is_sqlite:
                await _keep_asking(database)
            elif not database.is_up:
                await database.write(_ask)
        except TimeoutError:
            database.note_silence(for_s=_ANSWER_S)
        except StorageError:
            database.note_refusal()
            with suppress(StorageError, TimeoutError):  # the connection alone may have ended
                async with asyncio.timeout(_ANSWER_S):
                    await database.read(_ask)
        except Exception:  # whatever it is: without this task no outage would be noticed
            logger.exception("asking the database has failed, trying again")


async def wait_for_database(database: Database, limit_s: float) -> None:
    """Return when PostgreSQL accepts connections, but after `limit_s` at the latest; SQLite is always there."""
    if database.is_sqlite:
        return
    explained = None
    with suppress(TimeoutError):
        async with asyncio.timeout(limit_s):
            while (reason := await _reason_to_wait(database)) is not None:
                if reason != explained:
                    logger.warning("the start waits for the database, for %g s at most: %s", limit_s, reason)
                    explained = reason
                await asyncio.sleep(_ATTEMPT_PAUSE_S)


async def _reason_to_wait(database: Database) -> str | None:
    try:
        async with asyncio.timeout(_ANSWER_S):
            connection = await database.connect("parley start")
    except TimeoutError:
        return "no answer"
    except StorageError as error:
        return str(error)
    await connection.close()
    return None


async def _keep_asking(database: Database) -> None:
    """Ask on one connection until it fails. Raises TimeoutError for silence, and StorageError."""
    async with asyncio.timeout(_ANSWER_S):
        connection = await database.connect("parley watch")
    async with connection:
        while True:
            await _answered(connection)
            database.note_answer()
            await asyncio.sleep(_PAUSE_S)


async def _answered(connection: "psycopg.AsyncConnection[Any]") -> None:
    from psycopg import Error

    loop = asyncio.get_running_loop()
    silent = loop.call_later(_ANSWER_S, sever, connection)
    try:
        await connection.execute("SELECT 1")
    except Error as error:
        if loop.time() >= silent.when():
            raise TimeoutError from error
        raise StorageError(str(error)) from error
    finally:
        silent.cancel()


def _ask(connection: sa.Connection) -> None:
    connection.exec_driver_sql("SELECT 1")
