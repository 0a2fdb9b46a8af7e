"""server/storage/questions.py, on both databases"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from server import config
from server.storage.database import Database
from server.storage.questions import QuestionTable, SharedQuestion
from server.storage.schema import MIGRATIONS, askers, documents, migrate, numbers, questions


@pytest.fixture
async def database(settings: config.StorageSettings, folder: Path) -> AsyncIterator[Database]:
    opened = Database(settings, folder)
    await opened.start()
    yield opened
    await opened.aclose()


@pytest.fixture
def table(database: Database) -> QuestionTable:
    return QuestionTable(database)


async def publish(table: QuestionTable, id_: str = "q1", *, asker: str = "one", left_s: float = 300) -> None:
    assert await table.publish(asker, id_=id_, user="ann", body="{}", left_s=left_s)


async def row(table: QuestionTable, id_: str = "q1") -> SharedQuestion:
    [found] = (await table.look(1 << 60, ids=[id_]))[1]
    return found


async def kill(database: Database, asker: str = "one") -> None:
    """Its lease is over."""
    over = sa.update(askers).where(askers.c.id == asker).values(until_us=1)
    await database.write(lambda connection: connection.execute(over))


async def test_a_question_is_seen_by_its_revision_its_id_and_its_user(table: QuestionTable) -> None:
    await publish(table)
    revision, [seen] = await table.look(0)

    assert (seen.id, seen.user, seen.body, seen.is_live, seen.answered_by) == ("q1", "ann", "{}", True, None)
    assert 290 < seen.left_s <= 300
    assert await table.look(revision) == (revision, [])
    for wanted in ({"ids": ["q1"]}, {"users": ["ann"]}):
        again, [known] = await table.look(revision, **wanted)
        assert (again, known.id) == (revision, "q1")
    assert await table.look(revision, users=["bob"]) == (revision, [])


async def test_a_question_is_published_once(table: QuestionTable) -> None:
    await publish(table)
    await table.answer("q1", "yes", by="me")
    await publish(table)

    assert [(seen.id, seen.answered_by) for seen in (await table.look(0))[1]] == [("q1", "me")]


async def test_of_answers_at_once_one_is_the_first_and_all_are_told_it(table: QuestionTable) -> None:
    await publish(table)

    told = await asyncio.gather(*(table.answer("q1", f"answer {n}", by=f"replica {n}") for n in range(8)))

    winners = {(seen.answered_by, seen.answer) for seen in told if seen is not None}
    assert len(winners) == 1
    assert len(told) == 8
    [(by, answer)] = winners
    assert (await row(table)).answered_by == by
    assert str(answer).removeprefix("answer ") == str(by).removeprefix("replica ")


async def test_what_is_over_takes_no_answer(table: QuestionTable, database: Database) -> None:
    await publish(table, "late", left_s=0)
    await publish(table, "settled")
    await publish(table, "orphan", asker="two")
    await table.settle("settled", "done")
    await kill(database, "two")

    for id_ in ("late", "settled", "orphan"):
        seen = await table.answer(id_, "yes", by="me")
        assert seen is not None
        assert (seen.is_live, seen.answered_by) == (False, None), id_
    assert await table.answer("never", "yes", by="me") is None


async def test_the_end_is_told_once_and_what_was_shown_and_answered_is_forgotten(table: QuestionTable) -> None:
    await publish(table)
    await table.answer("q1", "yes, with these words", by="me")
    await table.settle("q1", "approved")
    await table.settle("q1", "another end")

    seen = await row(table)
    assert (seen.outcome, seen.body, seen.answer, seen.answered_by, seen.is_live) == ("approved", "", None, "me", False)


async def test_every_write_is_a_change_that_others_can_see(table: QuestionTable) -> None:
    await publish(table)
    published, _ = await table.look(0)
    await table.answer("q1", "yes", by="me")
    answered, [then] = await table.look(published)
    await table.settle("q1", "end")
    settled, [now] = await table.look(answered)

    assert (then.answer, now.outcome) == ("yes", "end")
    assert published < answered < settled


async def test_a_lease_that_is_over_is_not_renewed(table: QuestionTable, database: Database) -> None:
    await publish(table)
    assert await table.renew("one")
    await kill(database)

    assert not await table.publish("one", id_="q2", user="ann", body="{}", left_s=300)
    assert not await table.renew("one")
    assert not (await row(table)).is_live


async def test_what_a_dead_process_had_asked_is_removed_and_what_others_ask_is_not(
    table: QuestionTable, database: Database
) -> None:
    await publish(table, "dead", asker="one")
    await publish(table, "alive", asker="two")
    await kill(database, "one")

    await table.forget_ended()

    assert [seen.id for seen in (await table.look(0))[1]] == ["alive"]


async def test_renewing_forgets_what_ended_a_minute_ago(table: QuestionTable, database: Database) -> None:
    for id_ in ("settled", "late", "open"):
        await publish(table, id_)
    await table.settle("settled", "end")

    def make_old(connection: sa.Connection) -> None:
        connection.execute(sa.update(questions).where(questions.c.id == "settled").values(settled_us=1))
        connection.execute(sa.update(questions).where(questions.c.id == "late").values(until_us=1))

    await database.write(make_old)
    await table.renew("one")

    assert [seen.id for seen in (await table.look(0))[1]] == ["open"]


async def test_who_goes_takes_its_questions_along(table: QuestionTable) -> None:
    await publish(table)
    await publish(table, "q2", asker="two")

    await table.release("one")

    assert [seen.id for seen in (await table.look(0))[1]] == ["q2"]


async def test_a_database_of_the_version_before_is_brought_up_and_keeps_what_it_holds(
    settings: config.StorageSettings, folder: Path
) -> None:
    database = Database(settings, folder)

    def first(connection: sa.Connection) -> None:
        numbers.create(connection)
        MIGRATIONS[0](connection)
        connection.execute(sa.insert(numbers), [{"name": "schema", "value": 1}, {"name": "documents", "value": 7}])
        kept = {"owner": "u:ann", "version": 1, "body": b"{}", "updated_by": "ann", "updated_us": 1, "revision": 7}
        connection.execute(sa.insert(documents).values(**kept))
        connection.execute(sa.text('CREATE INDEX parley_audit_user ON parley_audit ("user", ts_us, id)'))

    if database.is_sqlite:
        (folder / "parley.db").touch()
    await database.write(first)
    await database.write(migrate)

    table = QuestionTable(database)
    await publish(table)
    rows = await database.read(lambda connection: connection.execute(sa.select(numbers)).all())
    values = {row.name: row.value for row in rows if not row.name.startswith("clock_")}
    assert values == {"schema": 7, "documents": 7, "questions": 1, "sessions": 0}
    assert await database.read(lambda connection: connection.scalar(sa.select(documents.c.owner))) == "u:ann"
    listed = "SELECT name FROM sqlite_master" if database.is_sqlite else "SELECT indexname FROM pg_indexes"
    names = await database.read(lambda connection: set(connection.scalars(sa.text(listed))))
    assert "parley_audit_account" in names
    assert "parley_audit_user" not in names, "it is kept up with every write, and nothing is found by it"
    await database.aclose()
