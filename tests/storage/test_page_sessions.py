"""server/storage/page_sessions.py, on both databases"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from server import config
from server.errors import StorageError
from server.storage.database import Database
from server.storage.page_sessions import PageSessionTable
from tests.support.waiting import until


@asynccontextmanager
async def replica(settings: config.StorageSettings, folder: Path, **options: Any) -> AsyncIterator[PageSessionTable]:
    database = Database(settings, folder)
    await database.start()
    table = PageSessionTable(database, **options)
    await table.refresh()
    try:
        yield table
    finally:
        await database.aclose()


async def add(table: PageSessionTable, session_id: str, user: str = "anna", *, lasts_s: float = 100) -> None:
    await table.add(session_id, user, address="10.0.0.7", browser="Firefox\0", lasts_s=lasts_s)


async def test_a_session_is_open_on_every_replica_at_once_and_ended_on_all_of_them(
    settings: config.StorageSettings, folder: Path
) -> None:
    async with replica(settings, folder) as one, replica(settings, folder) as two:
        watching = asyncio.create_task(two.watch())
        await add(one, "s1")
        await add(one, "s2")

        assert await two.has("s1")
        assert await two.has("s2")
        assert not await two.has("s3")
        assert await one.end("s1", "bert") is None
        assert await one.end("s1", "anna") == "anna"
        assert not one.is_open("s1")
        await until(lambda: not two.is_open("s1"))
        assert two.is_open("s2")
        assert await two.end("s2") == "anna"
        assert await one.end("s2") is None
        watching.cancel()


async def test_the_open_ones_are_listed_the_newest_first_and_what_is_over_goes(
    settings: config.StorageSettings, folder: Path
) -> None:
    clock = [0.0]
    async with replica(settings, folder, now=lambda: clock[0]) as table:
        for number, user in enumerate(("anna", "bert", "anna")):
            clock[0] = number
            await add(table, f"s{number}", user, lasts_s=10 * (number + 1))

        assert [(s.id, s.created, s.ends) for s in await table.list("anna")] == [
            ("s2", "1970-01-01T00:00:02.000000Z", "1970-01-01T00:00:32.000000Z"),
            ("s0", "1970-01-01T00:00:00.000000Z", "1970-01-01T00:00:10.000000Z"),
        ]
        [bert] = await table.list("bert")
        assert (bert.user, bert.address, bert.browser) == ("bert", "10.0.0.7", "Firefox\ufffd")
        clock[0] = 10.0
        assert [s.id for s in await table.list(None)] == ["s2", "s1"]
        assert table.is_open("s0")  # until the next one begins; its cookie is over anyway
        await add(table, "s3")
        assert not table.is_open("s0")


async def test_beyond_the_limit_of_a_user_the_oldest_ends(settings: config.StorageSettings, folder: Path) -> None:
    clock = iter(range(100))
    async with replica(settings, folder, now=lambda: next(clock), max_per_user=2) as table:
        await add(table, "of bert", "bert")
        for number in range(3):
            await add(table, f"s{number}")

        assert [table.is_open(name) for name in ("of bert", "s0", "s1", "s2")] == [True, False, True, True]


class Down(Database):
    """A database that went away after it was read."""

    is_down = False

    async def read(self, transaction: Any) -> Any:
        if self.is_down:
            raise StorageError("gone")
        return await super().read(transaction)


async def test_while_the_database_is_down_known_sessions_stay_open_and_unknown_ones_are_none(folder: Path) -> None:
    database = Down(config.StorageSettings(), folder)
    await database.start()
    table = PageSessionTable(database)
    await add(table, "s1")

    database.is_down = True

    assert await table.has("s1")
    assert not await table.has("s2")
    with pytest.raises(StorageError):
        await table.list(None)
    await database.aclose()
