"""Stored documents with versions, the same on every replica within a second.

All of them are kept in memory, so that a turn reads without waiting and goes on
reading while the database is down.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Final

import sqlalchemy as sa

from server.errors import StorageError
from server.storage.changes import count_change, follow_changes
from server.storage.database import Database
from server.storage.schema import documents

MAX_BODY_BYTES: Final = 64 << 10
MAX_DOCUMENTS: Final = 10_000


@dataclass(frozen=True, slots=True)
class StoredDocument:
    owner: str
    version: int
    """Version of the document: 1 for the first write, one more with each that follows."""
    body: bytes
    updated_by: str
    updated_us: int


OnChange = Callable[[Sequence[StoredDocument]], None]


class DocumentStore:
    def __init__(self, database: Database, *, max_documents: int = MAX_DOCUMENTS) -> None:
        self._database = database
        self._max_documents = max_documents
        self._known: dict[str, StoredDocument] = {}
        self._revision = 0
        self._refreshing = asyncio.Lock()
        self._listeners: list[OnChange] = []

    def get(self, owner: str) -> StoredDocument | None:
        return self._known.get(owner)

    def listen(self, on_change: OnChange) -> None:
        """Have `on_change` called in the event loop with the documents that are new; it must not wait.

        Changes that come close together may be told in one call.
        """
        self._listeners.append(on_change)

    async def refresh(self) -> None:
        """Read what others have written since. Raises StorageError."""
        async with self._refreshing:
            self._revision, changed = await self._database.read(lambda connection: _since(connection, self._revision))
            self._learn(changed)

    async def put(self, owner: str, body: bytes, *, if_version: int, by: str) -> StoredDocument | None:
        """Store the next version, or return None where another version than `if_version` is stored (0 for no document).

        When this returns, the document outlives the process and is in force here.
        Raises StorageError, and ValueError for a body too large.
        """
        if len(body) > MAX_BODY_BYTES:
            raise ValueError(f"a document of {len(body)} bytes; at most {MAX_BODY_BYTES} are allowed")
        updated_us = time.time_ns() // 1000
        new = StoredDocument(owner, if_version + 1, body, by, updated_us)
        revision = await self._database.write(lambda connection: _put(connection, new, self._max_documents))
        if revision is None:
            return None
        # What others wrote before us may not be here yet: `_revision` stays, and they are read with the next refresh.
        self._learn([new])
        return new

    async def watch(self) -> None:
        """Keep up with other replicas; runs until it is cancelled."""
        await follow_changes(self._database, "documents", self.refresh, "stored documents are unchanged")

    def _learn(self, changed: Iterable[StoredDocument]) -> None:
        new = [d for d in changed if (old := self._known.get(d.owner)) is None or d.version > old.version]
        self._known.update((document.owner, document) for document in new)
        if new:
            for on_change in self._listeners:
                on_change(new)


def _since(connection: sa.Connection, revision: int) -> tuple[int, list[StoredDocument]]:
    """Return the documents written after `revision`. Writes are numbered in commit order: none can be missed."""
    columns = (documents.c.owner, documents.c.version, documents.c.body, documents.c.updated_by, documents.c.updated_us)
    statement = sa.select(documents.c.revision, *columns).where(documents.c.revision > revision)
    rows = connection.execute(statement.order_by(documents.c.revision)).all()
    return (rows[-1][0] if rows else revision), [StoredDocument(*row[1:]) for row in rows]


def _put(connection: sa.Connection, new: StoredDocument, max_documents: int) -> int | None:
    """Return the write's revision, or None where another version is stored than the one before `new`."""
    revision = count_change(connection, "documents")
    version = connection.scalar(sa.select(documents.c.version).where(documents.c.owner == new.owner))
    if (version or 0) != new.version - 1:
        return None
    values = {**asdict(new), "revision": revision}
    if version is not None:
        connection.execute(sa.update(documents).where(documents.c.owner == new.owner).values(**values))
    else:
        if connection.execute(sa.select(sa.func.count()).select_from(documents)).scalar_one() >= max_documents:
            raise StorageError(f"{max_documents} documents are stored, which is the limit; delete some in the database")
        connection.execute(sa.insert(documents).values(**values))
    return revision
