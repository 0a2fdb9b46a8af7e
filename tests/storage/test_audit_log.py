"""server/storage/audit_log.py, audit_entry.py and audit_query.py, on both databases"""

import asyncio
import json
import logging
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from server import config
from server.config import Secret
from server.storage.audit_entry import (
    MAX_VALUE_BYTES,
    AuditEntry,
    Day,
    DayCheck,
    Link,
    body_of,
    columns_of,
    day_hash,
    next_hash,
)
from server.storage.audit_log import NEEDED_S, USER_BYTES_A_MINUTE, AuditLog, SteadyTime
from server.storage.audit_query import AuditFilter, AuditVerification, BadCursor, entry_of, read_all, read_page, verify
from server.storage.database import Database
from server.storage.schema import CLOCK_STEADY, audit, audit_days, numbers
from tests.support.postgres import Postgres

DAY_S = 86_400
NOON = datetime(2026, 11, 22, 12, tzinfo=UTC).timestamp()


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def opened(settings: config.StorageSettings, folder: Path) -> AsyncIterator[Database]:
    database = Database(settings, folder)
    await database.start()
    try:
        yield database
    finally:
        await database.aclose()


async def write(database: Database, entries: list[AuditEntry], *, clock: Clock | None = None, **options: Any) -> None:
    """In a run of its own: as a server that is started, writes and is stopped."""
    log = AuditLog(database, **{"replica": "one", "keep_days": 90, "now": clock or Clock(), **options})
    for entry in entries:
        log.append(entry)
    log.stop()
    await log.run()
    assert log.queued == 0


def entries(count: int, **fields: Any) -> list[AuditEntry]:
    return [AuditEntry(phase="pre_tool_use", tool=f"tool{i}", ts_us=i, **fields) for i in range(count)]


async def change(database: Database, statement: sa.Executable) -> None:
    await database.write(lambda connection: connection.execute(statement))


async def verified(database: Database, *, now: float = NOON, keep_days: int = 90) -> AuditVerification:
    return await verify(database, keep_days=keep_days, now=lambda: now)


async def problems(database: Database) -> list[str]:
    return (await verified(database)).problems


async def test_the_chain_holds_over_batches_runs_days_and_replicas(
    settings: config.StorageSettings, folder: Path
) -> None:
    clock = Clock()
    async with opened(settings, folder) as database:
        await write(database, entries(1201), clock=clock)
        await write(database, entries(2), clock=clock)
        await write(database, entries(1), clock=clock, replica="two")
        clock.now += DAY_S
        await write(database, entries(1), clock=clock)

        found = await verified(database)
        days, wrong = found.days, found.problems
        assert wrong == []
        assert [(day.replica, day.day, day.entries, day.is_closed) for day in days] == [
            ("one", "2026-11-22", 1203, True),
            ("one", "2026-11-23", 1, False),
            ("two", "2026-11-22", 1, True),
        ]
        assert days[1].previous == days[0].last_hash


def nth(number: int) -> sa.ColumnElement[bool]:
    return (audit.c.number == number) & (audit.c.day == "2026-11-22")


async def test_what_is_changed_left_out_moved_or_put_in_is_found(
    settings: config.StorageSettings, folder: Path
) -> None:
    async with opened(settings, folder) as database:
        clock = Clock()
        for _ in range(3):
            await write(database, entries(5), clock=clock)
            clock.now += DAY_S
        rows = await database.read(lambda connection: connection.execute(sa.select(audit)).all())
        days = await database.read(lambda connection: connection.execute(sa.select(audit_days)).all())
        two = next(row for row in rows if row.number == 2)

        async def broken_by(*statements: sa.Executable) -> list[str]:
            for statement in statements:
                await change(database, statement)
            found = await problems(database)
            for table, kept in ((audit, rows), (audit_days, days)):
                await change(database, sa.delete(table))
                await change(database, sa.insert(table).values([row._asdict() for row in kept]))
            assert await problems(database) == []
            return found

        edited = two.body.replace("tool1", "other")
        rehashed = next_hash(next(row.hash for row in rows if row.number == 1), 2, edited)
        forged = {**two._asdict(), "id": 10_000, "number": 6}
        first_day, middle = audit.c.day == "2026-11-22", audit_days.c.day == "2026-11-23"

        assert "entry 2 was changed" in (await broken_by(sa.update(audit).where(nth(2)).values(body=edited)))[0]
        assert "the column tool" in (await broken_by(sa.update(audit).where(nth(2)).values(tool="other")))[0]
        changed = sa.update(audit).where(nth(2)).values(body=edited, tool="other", hash=rehashed)
        assert "entry 3 was changed" in (await broken_by(changed))[0]
        assert "entry 3 is missing" in (await broken_by(sa.delete(audit).where(nth(3))))[0]
        assert "ends with entry 4" in (await broken_by(sa.delete(audit).where(nth(5))))[0]
        assert "entry 6 was changed" in (await broken_by(sa.insert(audit).values(forged)))[0]
        swap = [sa.update(audit).where(nth(a)).values(number=b) for a, b in ((2, 99), (3, 2), (99, 3))]
        assert "entry 2 was changed" in (await broken_by(*swap))[0]
        day_gone = [sa.delete(audit).where(audit.c.day == "2026-11-23"), sa.delete(audit_days).where(middle)]
        assert "does not follow 2026-11-22" in (await broken_by(*day_gone))[0]
        assert "the day's own row is missing" in "".join(await broken_by(sa.delete(audit_days).where(middle)))
        assert len(await broken_by(sa.delete(audit).where(first_day))) == 1


def problem_of(day: Day, links: list[Link]) -> str | None:
    check = DayCheck(day)
    return check.feed(links) or check.end(day.entries, day.last_hash)


BODIES = st.lists(
    st.text(max_size=5).map(lambda text: body_of(AuditEntry(phase="p", message=text, ts_us=1))), min_size=1
)


@given(BODIES, st.data())
def test_any_change_to_any_entry_is_found(bodies: list[str], data: st.DataObject) -> None:
    last = day_hash("r", "d", "0")
    links: list[Link] = []
    for number, body in enumerate(bodies, 1):
        last = next_hash(last, number, body)
        links.append(Link(number, body, last, columns_of(body)))
    day = Day("r", "d", "0", len(links), last, is_closed=True)
    assert problem_of(day, links) is None

    place = data.draw(st.integers(0, len(links) - 1))
    link = links[place]
    match data.draw(st.sampled_from(["edit", "drop", "repeat", "swap"])):
        case "edit":
            body = body_of(AuditEntry(phase="other", ts_us=1))
            links[place] = Link(link.number, body, link.hash, columns_of(body))
        case "drop":
            del links[place]
        case "repeat":
            links.insert(place, link)
        case "swap":
            links[place], links[-1] = links[-1], links[place]
            if place == len(links) - 1:
                return
    assert problem_of(day, links) is not None


async def be_steady(database: Database) -> None:
    """As if the clock had been steady for two days."""
    row = sa.update(numbers).where(numbers.c.name == CLOCK_STEADY)
    await change(database, row.values(value=int(NEEDED_S * 1e6)))


async def test_a_clock_that_jumps_by_400_days_prunes_nothing_while_it_runs_or_before_it_starts(
    settings: config.StorageSettings, folder: Path
) -> None:
    clock = Clock()
    async with opened(settings, folder) as database:
        await write(database, entries(3), clock=clock)
        await be_steady(database)
        await write(database, entries(1), clock=clock)
        clock.now += 400 * DAY_S
        for _ in range(3):
            await write(database, entries(1), clock=clock)
            clock.now += 60
        found = await verified(database, now=clock.now)
        assert ([day.entries for day in found.days], found.pruned, found.problems) == ([4, 3], [], [])

        await be_steady(database)
        await write(database, [], clock=clock)
        found = await verified(database, now=clock.now)
        assert [day.entries for day in found.pruned] == [4]


async def test_steady_time_is_measured_over_restarts_and_begins_anew_when_a_clock_jumps(
    settings: config.StorageSettings, folder: Path
) -> None:
    wall, steady = [NOON], [5.0]

    def process() -> SteadyTime:
        return SteadyTime(lambda: wall[0], lambda: steady[0])

    async with opened(settings, folder) as database:

        async def run(time: SteadyTime, hours: float) -> bool:
            is_steady = await database.write(time.look)
            for _ in range(int(hours * 2)):
                wall[0] += 1800
                steady[0] += 1800
                is_steady = await database.write(time.look)
            return is_steady

        assert not await run(process(), 30)
        wall[0] += DAY_S  # nobody ran
        assert not await run(process(), 17.5)
        running = process()
        assert await run(running, 0.5)
        wall[0] += DAY_S / 24  # the clock is set
        assert not await run(running, 47.5)
        assert await run(running, 0.5)
        wall[0] -= DAY_S
        assert not await run(running, 47.5)
        assert await run(running, 0.5)
        wall[0] += 3 * DAY_S
        assert not await run(process(), 47.5)
        assert await run(running, 0.5)


async def test_a_closed_day_is_logged_once_and_old_ones_are_pruned_whole(
    settings: config.StorageSettings, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    caplog.set_level(logging.INFO, "server.storage.audit_log")
    async with opened(settings, folder) as database:
        await write(database, entries(3), clock=clock, keep_days=2)
        for _ in range(3):
            clock.now += DAY_S
            await be_steady(database)
            await write(database, entries(1), clock=clock, keep_days=2)

        found = await verified(database)
        days, wrong = found.days, found.problems
        assert wrong == []
        assert [(day.replica, day.day, day.entries, day.last_hash) for day in found.pruned] == [
            ("one", "2026-11-22", 3, days[0].previous)
        ]
        assert [day.day for day in days] == ["2026-11-23", "2026-11-24", "2026-11-25"]
        closed = [record.getMessage() for record in caplog.records if "is closed" in record.getMessage()]
        assert len(closed) == 3
        assert closed[0].startswith("audit day 2026-11-22 of one is closed: 3 entries, last hash ")
        assert days[0].previous == closed[0][-64:]


async def test_only_a_day_that_may_be_pruned_may_say_so_and_lack_entries(
    settings: config.StorageSettings, folder: Path
) -> None:
    clock = Clock()
    async with opened(settings, folder) as database:
        await write(database, entries(3), clock=clock)
        clock.now += DAY_S
        await write(database, entries(1), clock=clock)
        going = sa.update(audit_days).where(audit_days.c.day == "2026-11-22")
        await change(database, going.values(pruned_us=1))
        assert (await verified(database, now=clock.now)).problems == []
        await change(database, sa.delete(audit).where(nth(1)))

        assert "entry 1 is missing" in (await verified(database, now=clock.now)).problems[0]
        clock.now += 3 * DAY_S
        assert "entry 1 is missing" in (await verified(database, now=clock.now, keep_days=4)).problems[0]
        found = await verified(database, now=clock.now, keep_days=3)
        assert (found.problems, [day.day for day in found.days]) == ([], ["2026-11-23"])
        await change(database, going.values(closed_us=None))
        assert "entry 1 is missing" in (await verified(database, now=clock.now, keep_days=3)).problems[0]


async def test_a_day_is_closed_only_when_it_is_over_on_every_clock(
    settings: config.StorageSettings, folder: Path
) -> None:
    clock = Clock()
    async with opened(settings, folder) as database:
        await write(database, entries(1), clock=clock)
        clock.now = NOON + DAY_S / 2 + 60  # a minute past midnight
        await write(database, [], clock=clock, replica="fast")
        assert [day.is_closed for day in (await verified(database)).days] == [False]
        clock.now += 600
        await write(database, [], clock=clock, replica="fast")
        clock.now = NOON  # of a replica whose clock is late: its closed day stays closed
        await write(database, entries(1), clock=clock)

        found = await verified(database)
        days, wrong = found.days, found.problems
        assert wrong == []
        assert [(day.day, day.is_closed) for day in days] == [("2026-11-22", True), ("2026-11-23", False)]


async def test_processes_of_one_name_share_its_chain(settings: config.StorageSettings, folder: Path) -> None:
    async with opened(settings, folder) as one, opened(settings, folder) as two:
        await asyncio.gather(*(write(database, entries(20)) for database in (one, two) * 5))

        found = await verified(one)
        days, wrong = found.days, found.problems
        assert (days[0].entries, wrong) == (200, [])


async def test_beyond_the_queue_entries_are_counted_and_a_gap_stands_in_their_place(
    settings: config.StorageSettings, folder: Path
) -> None:
    async with opened(settings, folder) as database:
        log = AuditLog(database, replica="one", keep_days=9, now=Clock(), max_queued=3)
        for entry in entries(5):
            log.append(entry)
        assert (log.queued, log.dropped) == (3, 2)
        running = asyncio.create_task(log.run())
        await log.flush()
        log.append(AuditEntry(phase="after"))
        log.stop()
        await running

        page = await read_page(database, AuditFilter(), limit=9)
        written = sorted(((record.number, entry_of(record)) for record in page.entries), key=lambda pair: pair[0])
        assert [entry["phase"] for _, entry in written] == [*["pre_tool_use"] * 3, "gap", "after"]
        assert written[3][1]["details"] == {"lost": 2}
        assert await problems(database) == []


async def test_beyond_a_users_quota_entries_are_left_out_and_an_entry_of_the_chain_says_how_many(
    settings: config.StorageSettings, folder: Path
) -> None:
    clock = [0.0]
    async with opened(settings, folder) as database:
        log = AuditLog(database, replica="one", keep_days=9, now=Clock(), clock=lambda: clock[0])
        sizes = {"text": "x" * 16_000}
        flood = [*entries(100, user="anna/1", arguments=sizes), *entries(100, user="anna/2", arguments=sizes)]  # 3.3 MB
        for entry in flood:
            log.append(entry)
        log.append(AuditEntry(phase="other", user="bert"))
        clock[0] += 60
        log.append(AuditEntry(phase="later", user="anna"))
        log.stop()
        await log.run()

        gone = log.left_out
        assert len(flood) - gone == USER_BYTES_A_MINUTE // 16_800
        page = await read_page(database, AuditFilter(), limit=200)
        others = [
            (entry["phase"], entry.get("user"), entry.get("outcome"), entry.get("details"))
            for entry in map(entry_of, page.entries)
            if entry["phase"] != "pre_tool_use"
        ]
        assert sorted(others, key=str) == [
            ("gap", "anna", "left_out", {"left_out": gone}),
            ("later", "anna", None, None),
            ("other", "bert", None, None),
        ]
        assert await problems(database) == []
        await change(database, sa.delete(audit).where(audit.c.phase == "gap"))
        assert await problems(database) != []


async def test_entries_wait_for_a_database_that_is_away(postgres: Postgres, folder: Path) -> None:
    settings = config.StorageSettings(url=Secret(postgres.new_database()))
    async with opened(settings, folder) as database:
        log = AuditLog(database, replica="one", keep_days=9)
        running = asyncio.create_task(log.run())
        log.append(AuditEntry(phase="before"))
        await log.flush()
        postgres.stop()
        try:
            for entry in entries(30):
                log.append(entry)
            await asyncio.sleep(0)
        finally:
            postgres.start()
        async with asyncio.timeout(30):
            await log.flush()
        log.stop()
        await running

        assert (await verified(database)).days[0].entries == 31
        assert log.dropped == 0


async def test_hostile_values_are_written_and_read_back(settings: config.StorageSettings, folder: Path) -> None:
    circle: list[Any] = []
    circle.append(circle)
    hostile: list[Any] = [
        {"nul": "a\0b", "half": "\ud800", "quote": '"', "名前": "値", "big": 2**80, "float": 1e300},
        circle,
        {1: "a", "b": 2},
        object(),
        "x" * (MAX_VALUE_BYTES + 1),
        [[[[]]]],
    ]
    async with opened(settings, folder) as database:
        await write(
            database,
            [
                AuditEntry(phase="p\0", tool="\ud800t" * 300, user="u" * 999, message="m" * 9999, arguments=value)
                for value in hostile
            ],
        )

        assert await problems(database) == []
        page = await read_page(database, AuditFilter(), limit=10)
        found = [entry_of(record)["arguments"] for record in reversed(page.entries)]
        assert found[0]["名前"] == "値"
        assert found[0]["nul"] == "a\0b"
        assert found[1] == {"unwritable": "list"}
        assert found[3].startswith("<object")
        assert found[4]["cut"] is True
        assert found[5] == [[[[]]]]
        assert len(entry_of(page.entries[0])["message"]) == 2000


async def test_filters_name_what_an_entry_has_to_fit(settings: config.StorageSettings, folder: Path) -> None:
    def phases(**fields: Any) -> AuditFilter:
        return AuditFilter(**fields)

    async with opened(settings, folder) as database:
        await write(
            database,
            [
                AuditEntry(phase="a", tool="mail__send", user="anna", session="s", turn="t", outcome="ran", ts_us=10),
                AuditEntry(
                    phase="b", tool="mail_read", user="bert", handler="h", arguments={"to": 'say "50%_"'}, ts_us=20
                ),
                AuditEntry(phase="c", tool="read_file", user="anna", message="Grüße", ts_us=30),
                AuditEntry(phase="d", ts_us=40),
                AuditEntry(phase="e", user="anna/a_shop", ts_us=50),
                AuditEntry(phase="f", user="annabel/x", ts_us=60),
            ],
        )

        async def found(wanted: AuditFilter) -> str:
            page = await read_page(database, wanted, limit=10)
            return "".join(entry_of(record)["phase"] for record in page.entries)

        for wanted, expected in (
            (AuditFilter(), "fedcba"),
            (AuditFilter(user="anna"), "eca"),
            (AuditFilter(user="anna/a_shop"), "e"),
            (AuditFilter(user="ann_"), ""),
            (AuditFilter(tool="mail*"), "ba"),
            (AuditFilter(tool="mail_*"), "ba"),
            (AuditFilter(tool="mail__*"), "a"),
            (AuditFilter(tool="mail"), ""),
            (AuditFilter(tool="read_file"), "c"),
            (AuditFilter(phase="a"), "a"),
            (AuditFilter(session="s", turn="t", outcome="ran"), "a"),
            (AuditFilter(handler="h"), "b"),
            (AuditFilter(since_us=20, until_us=40), "cb"),
            (AuditFilter(text='SAY "50%_"'), "b"),
            (AuditFilter(text="%"), "b"),
            (AuditFilter(text="Grüße"), "c"),
            (AuditFilter(text="\\"), ""),
            (AuditFilter(user="\0\ud800"), ""),
            (AuditFilter(text="\0\ud800"), ""),
        ):
            assert await found(wanted) == expected, wanted


@pytest.mark.parametrize("user", ["anna", "anna/shop"])
async def test_the_entries_of_one_user_are_found_without_reading_those_of_others(tmp_path: Path, user: str) -> None:
    asked: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_more: Any) -> None:
        asked.append((statement, parameters))

    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    try:
        async with opened(config.StorageSettings(), tmp_path) as database:
            await read_page(database, AuditFilter(user=user), limit=10)
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", note)

    statement, parameters = asked[-1]
    with closing(sqlite3.connect(tmp_path / "parley.db")) as connection:
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)]
    assert plan == ["SEARCH parley_audit USING INDEX parley_audit_account (<expr>=?)"]


async def test_pages_neither_repeat_nor_leave_out(settings: config.StorageSettings, folder: Path) -> None:
    async with opened(settings, folder) as database:
        await write(database, [AuditEntry(phase="p", tool=str(i), ts_us=i // 3) for i in range(25)])
        seen: list[str] = []
        cursor: str | None = None
        while True:
            page = await read_page(database, AuditFilter(), limit=4, cursor=cursor)
            seen += [entry_of(record)["tool"] for record in page.entries]
            await write(database, [AuditEntry(phase="p", tool="new", ts_us=10**15)])
            if (cursor := page.next) is None:
                break
        assert seen == [str(i) for i in reversed(range(25))]

        exported = [entry_of(record)["tool"] async for page in read_all(database, AuditFilter()) for record in page]
        assert exported[:25] == [str(i) for i in range(25)]


@pytest.mark.parametrize("cursor", ["", "x", "ü", "MTIz", "LTEuLTE", "OTk5OTk5OTk5OTk5OTk5OTk5OTk5OS4x", "\0"])
async def test_a_cursor_that_is_none_is_refused(tmp_path: Path, cursor: str) -> None:
    async with opened(config.StorageSettings(), tmp_path) as database:
        if not cursor:
            assert (await read_page(database, AuditFilter(), limit=1, cursor=cursor)).entries == []
            return
        with pytest.raises(BadCursor):
            await read_page(database, AuditFilter(), limit=1, cursor=cursor)


def test_equal_entries_give_equal_bodies_whatever_the_order_of_their_keys() -> None:
    one = AuditEntry(phase="p", arguments={"a": 1, "b": {"x": 1, "y": 2}}, ts_us=1)
    two = AuditEntry(phase="p", arguments={"b": {"y": 2, "x": 1}, "a": 1}, ts_us=1)

    assert body_of(one) == body_of(two)
    assert json.loads(body_of(one)) == {"phase": "p", "arguments": {"a": 1, "b": {"x": 1, "y": 2}}, "ts_us": 1}


def test_no_field_of_an_entry_is_left_out_of_its_body() -> None:
    values: dict[str, Any] = {"result_bytes": 0, "duration_ms": 0.5, "arguments": [], "details": {"a": 1}, "ts_us": 7}
    fields: dict[str, Any] = {name: values.get(name, f"the {name}") for name in AuditEntry.__struct_fields__}

    for hostile in ("", "\ud800"):
        entry = AuditEntry(**{**fields, "message": "m" + hostile})
        assert json.loads(body_of(entry)) == {**fields, "message": "m" + hostile}
