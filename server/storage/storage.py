"""The parts of the storage, started and stopped in order."""

import asyncio
import logging
import platform
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from server import config
from server.errors import ConfigError, StorageError, log_failure
from server.storage.approval_table import ApprovalTable
from server.storage.audit_log import AuditLog
from server.storage.database import Database
from server.storage.database_watch import wait_for_database, watch_database
from server.storage.documents import DocumentStore
from server.storage.page_sessions import PageSessionTable
from server.storage.questions import QuestionTable

logger = logging.getLogger(__name__)

_LAST_WORDS_S: Final = 5.0
"""Time in which entries of the audit log may still be written while the server stops."""


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
        waiting = asyncio.create_task(wait_for_database(self.database, self._wait_s), name="database wait")
        stopping = asyncio.create_task(stop.wait(), name="stop")
        try:
            await asyncio.wait([waiting, stopping], return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
            stopping.cancel()
            await asyncio.gather(waiting, stopping, return_exceptions=True)
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
