"""server/storage/approval_table.py, on both databases"""

import asyncio
from pathlib import Path

import sqlalchemy as sa

from server import config
from server.storage.approval_table import ApprovalTable
from server.storage.database import Database


async def test_what_a_user_remembers_is_found_listed_and_revoked(
    settings: config.StorageSettings, folder: Path
) -> None:
    database = Database(settings, folder)
    await database.start()
    clock = [1.0]
    table = ApprovalTable(database, now=lambda: clock[0])
    for key in ("k1", "k2", "k1"):
        await table.add("anna", key, tool="send\0", shown='{"to": "bert"}', origin="ask_human")
        clock[0] += 1

    assert await table.has("anna", ["k1"])
    assert not await table.has("bert", ["k1"])
    assert [(a.tool, a.created) for a in await table.list("anna")] == [
        ("send\ufffd", "1970-01-01T00:00:03.000000Z"),
        ("send\ufffd", "1970-01-01T00:00:02.000000Z"),
    ]
    [newest, _] = await table.list("anna")
    assert not await table.remove("bert", newest.id)
    assert not await table.remove("anna", "\0")
    assert await table.remove("anna", newest.id)
    assert not await table.has("anna", ["k1"])
    assert await table.has("anna", ["k2"])
    await database.aclose()


async def test_approvals_that_an_older_database_kept_without_a_key_are_forgotten(
    settings: config.StorageSettings, folder: Path
) -> None:
    database = Database(settings, folder)
    await database.start()
    await database.write(_go_back_to_version_2)
    await database.aclose()

    database = Database(settings, folder)
    await database.start()
    table = ApprovalTable(database)
    await table.add("anna", "k2", tool="shell", shown="git push", origin="", remember_for="command")
    found = {(a.remember_for, a.command_name, a.shown) for a in await table.list("anna")}
    assert found == {("command", "git push", "git push")}
    assert not await table.has("anna", ["k1"])
    await database.aclose()


def _go_back_to_version_2(connection: sa.Connection) -> None:
    connection.execute(sa.text("ALTER TABLE parley_approvals DROP COLUMN remember_for"))
    connection.execute(sa.text("UPDATE parley_numbers SET value = 2 WHERE name = 'schema'"))
    connection.execute(sa.text("DELETE FROM parley_numbers WHERE name LIKE 'clock%' OR name = 'sessions'"))
    connection.execute(sa.text("DROP TABLE parley_sessions"))
    columns = 'id, "user", key, tool, shown, origin, created_us'
    values = "'a', 'anna', 'k1', 'send', '{}', 'guard', 1"
    connection.execute(sa.text(f"INSERT INTO parley_approvals ({columns}) VALUES ({values})"))


async def test_the_oldest_is_forgotten_at_the_limit(settings: config.StorageSettings, folder: Path) -> None:
    database = Database(settings, folder)
    await database.start()
    clock = iter(range(10**9))
    table = ApprovalTable(database, now=lambda: next(clock), max_per_user=5)
    for number in range(5 + 3):
        await table.add("anna", str(number), tool="t", shown="", origin="")
    await asyncio.gather(*(table.add("bert", "same", tool="t", shown="", origin="") for _ in range(4)))

    assert len(await table.list("anna")) == 5
    assert not await table.has("anna", ["2"])
    assert await table.has("anna", ["3"])
    assert len(await table.list("bert")) == 1
    await database.aclose()
