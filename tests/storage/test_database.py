"""server/storage/database.py and schema.py"""

import asyncio
import sqlite3
import threading
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from server import config
from server.config import Secret
from server.errors import ConfigError, StorageError
from server.storage.database import Database
from server.storage.schema import MIGRATIONS, documents, numbers
from tests.support.postgres import Postgres


def count(connection: sa.Connection) -> int:
    return connection.execute(sa.select(sa.func.count()).select_from(documents)).scalar_one()


async def test_replicas_that_start_together_make_the_tables_once(
    settings: config.StorageSettings, folder: Path
) -> None:
    replicas = [Database(settings, folder) for _ in range(5)]

    await asyncio.gather(*(database.start() for database in replicas))
    for database in replicas:
        assert await database.read(count) == 0
        rows = await database.read(lambda connection: connection.execute(sa.select(numbers)).all())
        assert {row.name: row.value for row in rows} == {
            "schema": len(MIGRATIONS),
            "documents": 0,
            "questions": 0,
            "sessions": 0,
            "clock_seen_us": 0,
            "clock_steady_us": 0,
        }
        await database.start()  # idempotent
        await database.aclose()


async def test_a_database_of_a_later_version_is_not_touched(settings: config.StorageSettings, folder: Path) -> None:
    database = Database(settings, folder)
    await database.start()
    await database.write(
        lambda connection: connection.execute(sa.update(numbers).where(numbers.c.name == "schema").values(value=99))
    )

    with pytest.raises(ConfigError, match="version 99, this program knows 7"):
        await database.start()
    await database.aclose()


async def test_an_error_of_the_database_shows_no_values(settings: config.StorageSettings, folder: Path) -> None:
    database = Database(settings, folder)
    await database.start()
    twice = [{"name": "same", "value": 47_114_711}] * 2

    with pytest.raises(IntegrityError) as failed:
        await database.write(lambda connection: connection.execute(sa.insert(numbers).values(twice)))
    assert "INSERT INTO parley_numbers" in str(failed.value)
    assert "47114711" not in str(failed.value)
    await database.aclose()


async def test_the_file_is_its_owners_alone_and_waits_for_the_disk(tmp_path: Path) -> None:
    database = Database(config.StorageSettings(), tmp_path)
    await database.start()

    assert {path.stat().st_mode & 0o777 for path in tmp_path.glob("parley.db*")} == {0o600}
    pragmas = await database.read(
        lambda connection: [
            connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous")
        ]
    )
    assert pragmas == ["wal", 2]
    await database.aclose()


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("nonsense", "storage.url: not a database url"),
        ("mysql://me:hush@there/db", "storage.url: only PostgreSQL can be named"),
        ("sqlite:///parley.db", "storage.url: only PostgreSQL can be named"),
        ("postgresql://me:hush@there:port/db", "storage.url: not a database url"),
    ],
)
def test_a_url_that_cannot_be_meant_is_said_without_being_shown(tmp_path: Path, url: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told) as caught:
        Database(config.StorageSettings(url=Secret(url)), tmp_path)

    assert "hush" not in str(caught.value)


async def test_no_database_at_start_is_said_with_the_cure(tmp_path: Path) -> None:
    nobody = Database(config.StorageSettings(url=Secret("postgresql://me:hush@127.0.0.1:1/db")), tmp_path)
    with pytest.raises(ConfigError, match=r"storage.url: .*start PostgreSQL or correct the url") as caught:
        await nobody.start()
    assert "hush" not in str(caught.value)
    await nobody.aclose()

    (tmp_path / "parley.db").write_text("no database, but a text that somebody has put in its place")
    broken = Database(config.StorageSettings(), tmp_path)
    with pytest.raises(ConfigError, match=r"data.dir: .*parley.db"):
        await broken.start()
    await broken.aclose()


async def test_a_database_that_cannot_hold_every_text_is_refused(postgres: Postgres, tmp_path: Path) -> None:
    import psycopg

    with psycopg.connect(postgres.url("postgres"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE old ENCODING 'LATIN1' TEMPLATE template0")
    database = Database(config.StorageSettings(url=Secret(postgres.url("old"))), tmp_path)

    with pytest.raises(ConfigError, match="encoded in LATIN1"):
        await database.start()
    await database.aclose()


async def test_while_the_database_is_away_nobody_waits_for_it_and_then_it_serves_again(
    postgres: Postgres, tmp_path: Path
) -> None:
    clock = [0.0]
    database = Database(config.StorageSettings(url=Secret(postgres.new_database())), tmp_path, clock=lambda: clock[0])
    await database.start()

    postgres.stop()
    try:
        with pytest.raises(StorageError, match="PostgreSQL"):
            await database.read(count)
        with pytest.raises(StorageError, match="keeps trying"):
            await database.read(count)
        assert database.retry_after_s == 0.5
        clock[0] = 0.6
        with pytest.raises(StorageError, match="PostgreSQL"):
            await database.read(count)
        assert database.retry_after_s == pytest.approx(1.0)
    finally:
        postgres.start()
    clock[0] = 9.0
    assert await database.read(count) == 0
    assert database.retry_after_s == 0
    await database.aclose()


async def test_a_file_that_somebody_keeps_locked_is_told_and_loses_nothing(tmp_path: Path) -> None:
    database = Database(config.StorageSettings(), tmp_path, lock_wait_s=0.05)
    await database.start()
    other = sqlite3.connect(tmp_path / "parley.db", isolation_level=None)
    other.execute("PRAGMA busy_timeout=0")
    other.execute("BEGIN IMMEDIATE")

    assert await database.read(count) == 0  # readers do not wait for a writer
    with pytest.raises(StorageError, match=r"parley.db is unavailable: database is locked"):
        await database.write(count)
    other.execute("ROLLBACK")
    other.close()
    await database.aclose()


async def test_more_than_can_wait_are_refused(tmp_path: Path) -> None:
    database = Database(config.StorageSettings(), tmp_path)
    await database.start()
    gate = threading.Event()
    waiting = [asyncio.create_task(database.read(lambda _: gate.wait())) for _ in range(256)]
    await asyncio.sleep(0)

    with pytest.raises(StorageError, match="is busy"):
        await database.read(count)
    gate.set()
    assert all(await asyncio.gather(*waiting))
    assert await database.read(count) == 0
    await database.aclose()


async def test_callers_that_leave_make_no_room_before_their_transactions_are_over(tmp_path: Path) -> None:
    database = Database(config.StorageSettings(), tmp_path)
    await database.start()
    gate = threading.Event()
    waiting = [asyncio.create_task(database.read(lambda _: gate.wait())) for _ in range(256)]
    await asyncio.sleep(0)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)

    with pytest.raises(StorageError, match="is busy"):
        await database.read(count)
    gate.set()
    await database.aclose()


async def test_what_takes_too_long_is_broken_off_and_the_database_serves_on(
    settings: config.StorageSettings, folder: Path
) -> None:
    database = Database(settings, folder, statement_s=1)
    await database.start()
    endless = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000) SELECT max(i) FROM n"
    )

    with pytest.raises(StorageError, match=r"interrupted|timeout"):
        await database.read(lambda connection: connection.exec_driver_sql(endless).scalar())
    assert database.retry_after_s == 0
    assert await database.read(count) == 0
    await database.aclose()
