"""The storage as a whole: started, stopped, and what is written in between."""

from pathlib import Path

import pytest

from server import config
from server.errors import ConfigError
from server.storage.audit_entry import AuditEntry
from server.storage.audit_query import AuditFilter, read_page
from server.storage.storage import Storage


async def test_what_was_taken_is_there_after_the_end(settings: config.StorageSettings, folder: Path) -> None:
    first, second = Storage(settings, folder), Storage(settings, folder)

    async with first.running():
        first.audit.append(AuditEntry(phase="policy", message="the last words"))
        await first.documents.put("operator", b"{}", if_version=0, by="somebody")
    async with second.running():
        page = await read_page(second.database, AuditFilter(), limit=10)
        document = second.documents.get("operator")

    assert [record.number for record in page.entries] == [1]
    assert document is not None
    assert document.version == 1


async def test_a_database_that_is_none_keeps_the_server_from_starting(folder: Path) -> None:
    (folder / "parley.db").write_bytes(b"no database" * 1000)

    with pytest.raises(ConfigError, match=r"data\.dir: .*parley\.db is unavailable"):
        async with Storage(config.StorageSettings(), folder).running():
            pytest.fail("it runs")


async def test_what_ends_the_server_early_still_closes_the_database(folder: Path) -> None:
    storage = Storage(config.StorageSettings(), folder)

    with pytest.raises(ZeroDivisionError):
        async with storage.running():
            raise ZeroDivisionError

    with pytest.raises(RuntimeError, match="shutdown"):
        await storage.database.read(lambda _connection: None)
