"""The parts of the storage, started and stopped in order, and the watch over its database.

Loss and return of the database are noticed within 5 s, also while it is not used. SQLite is a file of this machine:
it is asked only after a failure, so that its return is noticed.
"""

import asyncio
import logging
import platform
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from server import config
from server.errors import ConfigError, StorageError, log_failure
from server.storage.approval_table import ApprovalTable
from server.storage.audit_log import AuditLog
from server.storage.database import Database, sever
from server.storage.documents import DocumentStore
from server.storage.page_sessions import PageSessionTable
from server.storage.questions import QuestionTable

if TYPE_CHECKING:
    import psycopg  # imported by `Database.connect`, where PostgreSQL is used

logger = logging.getLogger(__name__)

_LAST_WORDS_S: Final = 5.0
"""Time in which entries of the audit log may still be written while the server stops."""
_PAUSE_S: Final = 2.0
_ANSWER_S: Final = 2.0
"""Time without an answer after which the database counts as gone."""
_ATTEMPT_PAUSE_S: Final = 0.5


class Storage:
    def __init__(
        self, settings: config.StorageSettings, folder: Path, *, on_change: Callable[[], None] = lambda: None
    ) -> None:
        """Start nothing yet. `on_change`: the database has gone or is back. Raises ConfigError for an impossible url."""
        self._wait_s = settings.wait_s
        self.database = Database(settings, folder, on_change=on_change)
        self.documents = DocumentStore(self.database)
        self.approvals = ApprovalTable(self.database)
        self.questions = QuestionTable(self.database)
        self.page_sessions = PageSessionTable(self.database)
        self.audit_days = settings.audit_days
        self.audit = AuditLog(self.database, replica=platform.node() or "parley", keep_days=settings.audit_days)

    async def wait(self, stop: asyncio.Event) -> bool:
        """Wait for the database, for `storage.wait_s` at most; `running` finds out whether it is there. Return False if `stop` was set."""
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(wait_for_database(self.database, self._wait_s), name="database wait")
            stopping = tasks.create_task(stop.wait(), name="stop")
            await asyncio.wait([waiting, stopping], return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            stopping.cancel()
        return not stop.is_set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Connect, and read all documents and page sessions. Raises ConfigError where the database is not there.

        On leaving, what the audit log has taken is written, if that can be done in some seconds.
        """
        try:
            await self.database.start()
            try:
                await self.documents.refresh()
                await self.page_sessions.refresh()
            except StorageError as error:
                raise ConfigError(f"storage.url: {error}") from error
            async with self._at_work():
                yield
        finally:
            await self.database.aclose()

    @asynccontextmanager
    async def _at_work(self) -> AsyncIterator[None]:
        # awaited below: one that fails is logged, and the others go on, as in no TaskGroup
        log = asyncio.create_task(self.audit.run(), name="audit log")
        watches = (
            asyncio.create_task(self.documents.watch(), name="stored documents"),
            asyncio.create_task(self.page_sessions.watch(), name="page sessions"),
            asyncio.create_task(watch_database(self.database), name="database watch"),
        )
        for task in (log, *watches):
            task.add_done_callback(log_failure)
        try:
            yield
        finally:
            for task in watches:
                task.cancel()
            self.audit.stop()
            await asyncio.wait([log], timeout=_LAST_WORDS_S)
            if not log.done():
                logger.error("%d entries of the audit log are lost: the database is down", self.audit.queued)
                log.cancel()
            await asyncio.gather(log, *watches, return_exceptions=True)


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
