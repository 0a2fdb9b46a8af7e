"""server/storage/documents.py and changes.py, on both databases"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server import config
from server.config import Secret
from server.errors import StorageError
from server.storage.database import Database
from server.storage.documents import MAX_BODY_BYTES, MAX_DOCUMENTS, DocumentStore
from tests.model.profile import examples
from tests.support.postgres import Postgres
from tests.support.waiting import LIMIT_S


@asynccontextmanager
async def replica(
    settings: config.StorageSettings, folder: Path, *, max_documents: int = MAX_DOCUMENTS
) -> AsyncIterator[DocumentStore]:
    """One that keeps up with the others."""
    database = Database(settings, folder)
    await database.start()
    store = DocumentStore(database, max_documents=max_documents)
    await store.refresh()
    watch = asyncio.create_task(store.watch())
    try:
        yield store
    finally:
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)
        await database.aclose()


async def until_changed(store: DocumentStore, owner: str) -> None:
    changed = asyncio.Event()
    store.listen(lambda new: changed.set() if owner in {stored.owner for stored in new} else None)
    async with asyncio.timeout(LIMIT_S):
        await changed.wait()


async def test_each_write_is_the_next_version_and_an_overtaken_one_changes_nothing(
    settings: config.StorageSettings, folder: Path
) -> None:
    async with replica(settings, folder) as store:
        first = await store.put("user:anna", b"1", if_version=0, by="anna")
        assert first is not None
        assert (first.version, store.get("user:anna")) == (1, first)

        assert await store.put("user:anna", b"too late", if_version=0, by="anna") is None
        assert await store.put("user:anna", b"too early", if_version=2, by="anna") is None
        second = await store.put("user:anna", b"2", if_version=1, by="operator")
        assert second is not None
        assert (second.version, second.body, second.updated_by) == (2, b"2", "operator")
        assert store.get("user:bert") is None

    async with replica(settings, folder) as store:  # after a restart
        assert store.get("user:anna") == second


async def test_of_writers_at_once_one_wins_each_version(settings: config.StorageSettings, folder: Path) -> None:
    async with replica(settings, folder) as one, replica(settings, folder) as two:
        for version in range(3):
            answers = await asyncio.gather(
                *(store.put("operator", b"x", if_version=version, by=str(i)) for i, store in enumerate((one, two) * 4))
            )
            assert len([answer for answer in answers if answer is not None]) == 1
        await one.refresh()
        await two.refresh()
        assert one.get("operator") == two.get("operator")


async def test_another_replica_hears_of_a_write(settings: config.StorageSettings, folder: Path) -> None:
    async with replica(settings, folder) as one, replica(settings, folder) as two:
        heard = asyncio.create_task(until_changed(two, "user:anna"))
        await asyncio.sleep(0)
        written = await one.put("user:anna", b"new", if_version=0, by="anna")

        await heard
        assert two.get("user:anna") == written


async def test_a_write_before_ours_that_we_have_not_read_is_not_lost(
    settings: config.StorageSettings, folder: Path
) -> None:
    async with replica(settings, folder) as one:
        database = Database(settings, folder)
        await database.start()
        deaf = DocumentStore(database)
        await one.put("user:anna", b"a", if_version=0, by="anna")
        await deaf.put("user:bert", b"b", if_version=0, by="bert")
        assert deaf.get("user:anna") is None

        await deaf.refresh()
        assert deaf.get("user:anna") == one.get("user:anna")
        await database.aclose()


async def test_while_the_database_is_away_reads_go_on_and_afterwards_the_replica_catches_up(
    postgres: Postgres, folder: Path
) -> None:
    settings = config.StorageSettings(url=Secret(postgres.new_database()))
    async with replica(settings, folder) as store:
        written = await store.put("operator", b"1", if_version=0, by="o")
        postgres.stop()
        try:
            with pytest.raises(StorageError):
                await store.put("operator", b"2", if_version=1, by="o")
            assert store.get("operator") == written
        finally:
            postgres.start()

        heard = asyncio.create_task(until_changed(store, "operator"))
        await asyncio.sleep(0)
        async with replica(settings, folder) as other:
            after = await other.put("operator", b"2", if_version=1, by="o")
            await heard
        assert store.get("operator") == after


async def test_there_are_limits_to_size_and_number(settings: config.StorageSettings, folder: Path) -> None:
    async with replica(settings, folder, max_documents=2) as store:
        with pytest.raises(ValueError, match="at most 65536"):
            await store.put("operator", b" " * (MAX_BODY_BYTES + 1), if_version=0, by="o")
        await store.put("a", b"a", if_version=0, by="o")
        await store.put("b", b"b", if_version=0, by="o")
        with pytest.raises(StorageError, match="2 documents"):
            await store.put("c", b"c", if_version=0, by="o")
        assert await store.put("b", b"b", if_version=1, by="o") is not None


async def test_a_file_that_cannot_be_asked_for_changes_stops_nothing(tmp_path: Path) -> None:
    async with replica(config.StorageSettings(), tmp_path) as store:
        await store.put("a", b"1", if_version=0, by="o")
        other = sqlite3.connect(tmp_path / "parley.db")
        other.execute("UPDATE parley_documents SET body = '2', version = 2, revision = 2")
        heard = asyncio.create_task(until_changed(store, "a"))
        await asyncio.sleep(0)
        other.commit()
        other.close()

        await heard
        assert (found := store.get("a")) is not None
        assert found.version == 2


WRITES = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 1), st.integers(0, 3)), max_size=8)


@examples(150)
@given(writes=WRITES)
def test_a_write_counts_exactly_if_it_names_the_version_before(
    tmp_path_factory: pytest.TempPathFactory, writes: list[tuple[str, int, int]]
) -> None:
    async def play() -> None:
        folder = tmp_path_factory.mktemp("replicas")
        databases = [Database(config.StorageSettings(), folder) for _ in range(2)]
        stores = [DocumentStore(database) for database in databases]
        for database in databases:
            await database.start()
        versions: dict[str, int] = {}
        for owner, who, version in writes:
            written = await stores[who].put(owner, b"x", if_version=version, by="")
            assert (written is not None) == (version == versions.get(owner, 0))
            if written is not None:
                versions[owner] = written.version
        for store in stores:
            await store.refresh()
            assert {o: d.version for o in "ab" if (d := store.get(o))} == versions
        for database in databases:
            await database.aclose()

    asyncio.run(play())
