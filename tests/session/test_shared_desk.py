"""server/session/shared_desk.py: replicas on one database, and the user's clients at each."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from server import config
from server.hooks.approval.approvals import ApprovalsInMemory
from server.hooks.approval.shared_questions import Answered, to_text
from server.hooks.types import LOCAL_USER, Answer, AnsweredBy, Remember
from server.session.approval_desk import OpenQuestion
from server.session.shared_desk import SharedDesk
from server.storage.database import Database
from server.storage.questions import MAX_BODY_CHARS, QuestionTable
from server.storage.schema import askers, questions
from tests.session.asking import question

YES = Answer(approved=True, by="user")
NO = Answer(approved=False, by="user")
LIMIT_S = 20.0


class Reader:
    """A client that notes what it is told."""

    def __init__(self) -> None:
        self.shown: list[OpenQuestion] = []
        self.closed: list[tuple[str, bool, str]] = []
        self._told = asyncio.Event()

    def show(self, opened: OpenQuestion) -> None:
        self.shown.append(opened)
        self._told.set()

    def close(self, opened: OpenQuestion, by: AnsweredBy, *, approved: bool) -> None:
        self.closed.append((opened.id, approved, by))
        self._told.set()

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(LIMIT_S):
            while not is_so():
                self._told.clear()
                await self._told.wait()

    async def is_shown(self, count: int = 1) -> OpenQuestion:
        """The question that is the first (second, …) it is shown."""
        await self.until(lambda: len(self.shown) >= count)
        return self.shown[count - 1]

    async def is_told_the_end(self, count: int = 1) -> tuple[str, bool, str]:
        await self.until(lambda: len(self.closed) >= count)
        return self.closed[count - 1]


@dataclass
class Replica:
    desk: SharedDesk
    database: Database
    running: asyncio.Task[None]

    def client(self, user: str = "ann") -> Reader:
        reader = Reader()
        self.desk.join(user, reader)
        return reader

    def ask(self, asker: Reader, user: str = "ann", *, limit_s: float = 300, **what: Any) -> OpenQuestion:
        opened = OpenQuestion(
            id=secrets.token_hex(8),
            user=user,
            turn_id="t1",
            asker=asker,
            question=question(**what),
            message="May I?",
            until_s=asyncio.get_running_loop().time() + limit_s,
            by_voice=False,
        )
        assert self.desk.open(opened)
        return opened

    async def stop(self) -> None:
        self.running.cancel()
        await asyncio.wait([self.running])

    async def rows(self) -> int:
        count = sa.select(sa.func.count()).select_from(questions)
        return int(await self.database.read(lambda connection: connection.execute(count).scalar_one()))


@asynccontextmanager
async def replica(folder: Path) -> AsyncIterator[Replica]:
    database = Database(config.Storage(), folder)
    await database.start()
    desk = SharedDesk(config.Approval(), ApprovalsInMemory(), QuestionTable(database))
    opened = Replica(desk, database, asyncio.create_task(desk.run()))
    yield opened
    await opened.stop()
    await database.aclose()


@pytest.fixture
async def here_and_there(tmp_path: Path) -> AsyncIterator[tuple[Replica, Replica]]:
    async with AsyncExitStack() as stack:
        here, there = [await stack.enter_async_context(replica(tmp_path)) for _ in range(2)]
        yield here, there


def wish(opened: OpenQuestion, remember: Remember) -> None:
    """As a client does with its yes."""
    opened.remember = remember


async def tell_all(here: Replica, there: Replica) -> None:
    """Returns when `there` has read all that `here` has told: questions are told, and read, in their order."""
    user = secrets.token_hex(8)
    reader = there.client(user)
    here.ask(here.client(user), user)
    await reader.is_shown()


async def test_a_client_at_another_replica_is_shown_the_question_and_its_answer_counts(
    here_and_there: tuple[Replica, Replica],
) -> None:
    here, there = here_and_there
    asker, other = here.client(), there.client()
    opened = here.ask(asker, arguments={"key": "***", "n": 1}, real={"key": "secret", "n": 1}, permission="WRITE")

    seen = await other.is_shown()
    assert (seen.id, seen.question.tool, seen.message) == (opened.id, "read_file", "May I?")
    assert (seen.question.arguments, seen.question.permission) == ({"key": "***", "n": 1}, "WRITE")
    assert 290 < seen.until_s - asyncio.get_running_loop().time() <= 300
    assert there.desk.find("ann", opened.id) is seen
    seen.remember = "always"
    there.desk.settle(seen, Answer(approved=True, by="user", arguments={"key": "***", "n": 2}), client=other)

    answer = await asyncio.wait_for(opened.answered, LIMIT_S)
    assert answer == Answer(approved=True, by="other_client", arguments={"key": "secret", "n": 2})
    assert opened.remember == "always"
    assert await other.is_told_the_end() == (opened.id, True, "user")
    assert asker.closed == [(opened.id, True, "other_client")]


async def test_an_edit_elsewhere_that_would_run_a_redaction_is_a_no_that_says_why(
    here_and_there: tuple[Replica, Replica],
) -> None:
    here, there = here_and_there
    asker, other = here.client(), there.client()
    opened = here.ask(asker, arguments={"command": "login [REDACTED]"}, real={"command": "login s3cret"})
    seen = await other.is_shown()

    wish(seen, "always")
    edited = {"command": "login [REDACTED] [REDACTED]"}
    there.desk.settle(seen, Answer(approved=True, by="user", arguments=edited), client=other)

    answer = await asyncio.wait_for(opened.answered, LIMIT_S)
    assert (answer.approved, answer.by, answer.arguments, opened.remember) == (False, "other_client", None, "no")
    assert answer.reason is not None
    assert answer.reason.startswith("[REDACTED] stands for a secret")
    assert await other.is_told_the_end() == (opened.id, False, "user")


async def test_the_askers_own_answer_closes_it_everywhere(here_and_there: tuple[Replica, Replica]) -> None:
    here, there = here_and_there
    asker, other, third = here.client(), there.client(), there.client()
    opened = here.ask(asker)
    await other.is_shown()

    wish(opened, "conversation")
    here.desk.settle(opened, YES, client=asker)

    for reader in (other, third):
        assert await reader.is_told_the_end() == (opened.id, True, "other_client")
    assert asker.closed == [(opened.id, True, "user")]
    assert opened.remember == "conversation"


async def test_of_two_answers_at_once_one_counts_everywhere(here_and_there: tuple[Replica, Replica]) -> None:
    here, there = here_and_there
    asker, other = here.client(), there.client()
    for number in range(1, 11):
        opened = here.ask(asker)
        there.desk.settle(await other.is_shown(number), YES, client=other)
        here.desk.settle(opened, NO, client=asker)

        answer = await asyncio.wait_for(opened.answered, LIMIT_S)
        (_, is_yes_there, by_there), (_, is_yes_here, by_here) = await other.is_told_the_end(number), asker.closed[-1]
        assert is_yes_there == is_yes_here == answer.approved
        assert (by_there, by_here) == (("user", "other_client") if answer.approved else ("other_client", "user"))
    assert len(asker.closed) == len(other.closed) == 10


async def test_an_answer_that_was_first_elsewhere_counts_before_one_given_here(
    here_and_there: tuple[Replica, Replica],
) -> None:
    here, there = here_and_there
    asker, other = here.client(), there.client()
    opened = here.ask(asker)
    await other.is_shown()
    first = to_text(Answered(approved=False, reason="not today", arguments=None, remember="no"))
    await QuestionTable(there.database).answer(opened.id, first, by="elsewhere")

    wish(opened, "always")
    here.desk.settle(opened, YES, client=asker)
    late = here.desk.find("ann", opened.id)

    assert late is None, "an answer is being judged: later ones come too late"
    answer = await asyncio.wait_for(opened.answered, LIMIT_S)
    assert answer == Answer(approved=False, by="other_client", reason="not today")
    assert opened.remember == "no"
    assert asker.closed == [(opened.id, False, "other_client")]


async def test_an_answer_that_came_too_late_leaves_nothing_to_be_remembered(
    here_and_there: tuple[Replica, Replica],
) -> None:
    here, there = here_and_there
    asker, other = here.client(), there.client()
    opened = here.ask(asker)
    await other.is_shown()

    wish(opened, "always")
    here.desk.settle(opened, YES, client=asker)
    here.desk.settle(opened, Answer(approved=False, by="cancelled"))

    assert (opened.answered.result().by, opened.remember) == ("cancelled", "no")
    assert await other.is_told_the_end() == (opened.id, False, "cancelled")
    assert asker.closed == [(opened.id, False, "cancelled")]


async def test_silence_and_a_lost_asker_close_it_everywhere(here_and_there: tuple[Replica, Replica]) -> None:
    here, there = here_and_there
    asker, other = here.client(), there.client()
    ends: tuple[AnsweredBy, ...] = ("timeout", "disconnect", "cancelled")
    for number, by in enumerate(ends, 1):
        opened = here.ask(asker)
        await other.is_shown(number)
        here.desk.settle(opened, Answer(approved=False, by=by))
        assert await other.is_told_the_end(number) == (opened.id, False, by)
        assert there.desk.find("ann", opened.id) is None


async def test_a_client_that_connects_while_it_is_open_is_shown_it(here_and_there: tuple[Replica, Replica]) -> None:
    here, there = here_and_there
    asker = here.client()
    opened = here.ask(asker)
    await tell_all(here, there)

    late = there.client()

    assert (await late.is_shown()).id == opened.id


async def test_a_spoken_no_counts_at_once(here_and_there: tuple[Replica, Replica]) -> None:
    here, there = here_and_there
    asker, other = here.client(), there.client()
    opened = here.ask(asker)
    await other.is_shown()

    here.desk.settle(opened, Answer(approved=False, by="voice"), client=asker)

    assert asker.closed == [(opened.id, False, "voice")]
    assert await other.is_told_the_end() == (opened.id, False, "other_client")


async def test_nobody_else_is_shown_it(here_and_there: tuple[Replica, Replica]) -> None:
    here, there = here_and_there
    stranger, other = there.client("bob"), there.client()
    here.ask(here.client())
    await other.is_shown()
    await tell_all(here, there)

    assert stranger.shown == []
    assert there.desk.find("bob", other.shown[0].id) is None


@pytest.mark.parametrize("user", [LOCAL_USER, "anonymous@10.0.0.1 s1"])
async def test_whoever_has_not_logged_in_is_asked_here_alone(
    here_and_there: tuple[Replica, Replica], user: str
) -> None:
    here, there = here_and_there
    other = there.client(user)
    here.ask(here.client(user), user)
    await tell_all(here, there)

    assert other.shown == []
    assert await here.rows() == 1  # of `tell_all`


async def test_a_process_that_dies_leaves_no_question_behind(here_and_there: tuple[Replica, Replica]) -> None:
    here, there = here_and_there
    other = there.client()
    opened = here.ask(here.client())
    await other.is_shown()

    over = sa.update(askers).values(until_us=1)  # as after its lease, without the waiting
    await there.database.write(lambda connection: connection.execute(over))

    assert await other.is_told_the_end() == (opened.id, False, "disconnect")
    await tell_all(there, here)
    assert await there.rows() == 1  # of `tell_all`


async def test_an_answer_to_a_dead_process_is_told_as_none(here_and_there: tuple[Replica, Replica]) -> None:
    here, there = here_and_there
    other = there.client()
    opened = here.ask(here.client())
    seen = await other.is_shown()
    over = sa.update(askers).values(until_us=1)
    await there.database.write(lambda connection: connection.execute(over))

    there.desk.settle(seen, YES, client=other)

    assert await other.is_told_the_end() == (opened.id, False, "disconnect")


async def test_a_process_that_stops_takes_its_questions_back(here_and_there: tuple[Replica, Replica]) -> None:
    here, there = here_and_there
    other = there.client()
    opened = here.ask(here.client())
    await other.is_shown()

    await here.stop()

    assert await other.is_told_the_end() == (opened.id, False, "disconnect")
    assert await there.rows() == 0


async def test_after_its_lease_has_lapsed_a_process_asks_under_another_name(
    here_and_there: tuple[Replica, Replica],
) -> None:
    here, there = here_and_there
    asker, other = here.client(), there.client()
    first = here.ask(asker)
    await other.is_shown()
    over = sa.update(askers).values(until_us=1)
    await there.database.write(lambda connection: connection.execute(over))

    second = here.ask(asker)
    await other.is_shown(2)
    here.desk.settle(first, YES, client=asker)

    assert (await asyncio.wait_for(first.answered, LIMIT_S)).approved
    there.desk.settle(other.shown[-1], YES, client=other)
    assert (await asyncio.wait_for(second.answered, LIMIT_S)).by == "other_client"


async def test_while_the_database_is_away_the_answer_given_here_counts(
    here_and_there: tuple[Replica, Replica],
) -> None:
    here, there = here_and_there
    asker, other = here.client(), there.client()
    opened = here.ask(asker)
    await other.is_shown()
    await here.database.aclose()  # its threads take nothing more

    here.desk.settle(opened, YES, client=asker)
    here.desk.settle(opened, NO, client=asker)

    assert await asyncio.wait_for(opened.answered, LIMIT_S) == YES
    assert asker.closed == [(opened.id, True, "user")]


async def test_what_is_too_large_is_asked_here_alone(here_and_there: tuple[Replica, Replica]) -> None:
    here, there = here_and_there
    asker, other = here.client(), there.client()
    large = here.ask(asker, arguments={"text": "x" * MAX_BODY_CHARS})
    small = here.ask(asker)

    assert (await other.is_shown()).id == small.id
    here.desk.settle(large, YES, client=asker)
    assert large.answered.result() == YES
    assert len(other.shown) == 1


async def test_what_is_answered_before_it_could_be_told_is_never_told(
    here_and_there: tuple[Replica, Replica],
) -> None:
    here, there = here_and_there
    asker, other = here.client(), there.client()
    quick = here.ask(asker)
    here.desk.settle(quick, YES, client=asker)
    slow = here.ask(asker)

    assert quick.answered.result() == YES
    assert (await other.is_shown()).id == slow.id
    assert len(other.shown) == 1


async def test_its_end_leaves_nothing_of_what_was_shown(here_and_there: tuple[Replica, Replica]) -> None:
    here, there = here_and_there
    asker, other = here.client(), there.client()
    opened = here.ask(asker, arguments={"to": "somebody-in-particular"})
    await other.is_shown()
    here.desk.settle(opened, YES, client=asker)
    await other.is_told_the_end()

    row = await here.database.read(lambda connection: connection.execute(sa.select(questions)).one())
    assert "somebody-in-particular" not in str(tuple(row))
