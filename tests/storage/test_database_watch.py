"""server/storage/storage.py: outages of PostgreSQL that nobody's transaction meets."""

import asyncio
import logging
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
import sqlalchemy as sa

from server import config
from server.config import Secret
from server.errors import StorageError
from server.storage.database import Database
from server.storage.storage import watch_database
from tests.support.postgres import Postgres
from tests.support.server_process import ServerProcess, endpoint
from tests.support.waiting import LIMIT_S, until

logger = logging.getLogger(__name__)

NOTICED_S = 15.0
"""5 s are promised; the rest is for a machine that is busy with other things."""


def ask(connection: sa.Connection) -> None:
    connection.exec_driver_sql("SELECT 1")


@asynccontextmanager
async def watched(database: Database) -> AsyncIterator[None]:
    await database.start()
    watch = asyncio.create_task(watch_database(database))
    try:
        yield
    finally:
        watch.cancel()
        await asyncio.wait([watch])
        await database.aclose()


async def test_a_server_that_does_nothing_notices_that_the_database_has_gone_and_is_back(
    postgres: Postgres, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {"storage": {"url": postgres.new_database()}}
    async with ServerProcess(tmp_path, environ=endpoint("http://127.0.0.1:9/v1"), settings=settings) as server:

        def shown() -> tuple[int, str, str]:
            ready = requests.get(f"{server.url}/readyz", timeout=LIMIT_S)
            [stage] = [stage for stage in ready.json()["stages"] if stage["name"] == "storage"]
            metrics = requests.get(f"{server.url}/metrics", timeout=LIMIT_S).text
            [up] = [line for line in metrics.splitlines() if line.startswith("parley_storage_up ")]
            return ready.status_code, stage["state"], up

        async def seconds_until(wanted: tuple[int, str, str]) -> float:
            began = time.monotonic()
            while await asyncio.to_thread(shown) != wanted:
                await asyncio.sleep(0.05)
                assert time.monotonic() - began < NOTICED_S, wanted
            return time.monotonic() - began

        up, down = (200, "ready", "parley_storage_up 1.0"), (200, "missing", "parley_storage_up 0.0")
        await seconds_until(up)
        for leave, come_back in ((postgres.stop, postgres.start), (postgres.freeze, postgres.thaw)):
            await asyncio.to_thread(leave)
            try:
                gone_s = await seconds_until(down)
            finally:
                await asyncio.to_thread(come_back)
            back_s = await seconds_until(up)
            logger.info("%s: noticed after %.1f s, its return after %.1f s", leave.__name__, gone_s, back_s)


async def test_a_database_that_falls_silent_holds_up_no_reader_and_not_the_end(
    postgres: Postgres, tmp_path: Path
) -> None:
    database = Database(config.StorageSettings(url=Secret(postgres.new_database())), tmp_path)
    try:
        async with asyncio.timeout(LIMIT_S), watched(database):
            postgres.freeze()
            writing = asyncio.create_task(database.write(ask))
            async with asyncio.timeout(NOTICED_S):
                with pytest.raises(StorageError, match="PostgreSQL does not answer"):
                    await database.read(ask)
        with pytest.raises(StorageError, match="unavailable"):
            await writing
    finally:
        postgres.thaw()


async def test_an_answered_transaction_outweighs_a_connection_that_is_silent(tmp_path: Path) -> None:
    clock = [100.0]
    changes: list[bool] = []
    database = Database(
        config.StorageSettings(), tmp_path, clock=lambda: clock[0], on_change=lambda: changes.append(database.is_up)
    )
    await database.start()

    clock[0] = 101.5
    database.note_silence(for_s=2)
    assert changes == [True]
    clock[0] = 102.5
    database.note_silence(for_s=2)
    assert changes == [True, False]
    clock[0] = 200.0
    with pytest.raises(StorageError, match="keeps trying"):
        await database.read(ask)
    database.note_answer()
    await database.read(ask)
    assert changes == [True, False, True]
    await database.aclose()


@pytest.mark.slow
async def test_a_file_that_was_locked_is_noticed_to_be_free_again(tmp_path: Path) -> None:
    database = Database(config.StorageSettings(), tmp_path, lock_wait_s=0.05)
    async with watched(database):
        other = sqlite3.connect(tmp_path / "parley.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError, match="locked"):
            await database.write(ask)
        assert not database.is_up
        other.execute("ROLLBACK")
        other.close()

        await until(lambda: database.is_up)
