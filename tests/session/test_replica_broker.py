"""server/approval/replica_broker.py: replicas on one database, and the user's clients at each."""

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
from server.accounts.principal import LOCAL_USER
from server.approval.asking import Answer, AnsweredBy, Remember
from server.approval.broker import OpenQuestion
from server.approval.replica_broker import ReplicaBroker
from server.approval.shared_questions import Answered, to_text
from server.storage.database import Database
from server.storage.questions import MAX_BODY_CHARS, QuestionTable
from server.storage.schema import askers, questions
from tests.session.asking import question
from tests.support.approvals import ApprovalsInMemory, no_command
from tests.support.waiting import LIMIT_S

YES = Answer(approved=True, by="user")
NO = Answer(approved=False, by="user")


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
    broker: ReplicaBroker
    database: Database
    running: asyncio.Task[None]

    def client(self, user: str = "ann") -> Reader:
        reader = Reader()
        self.broker.join(user, reader)
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
        assert self.broker.open(opened)
        return opened

    async def stop(self) -> None:
        self.running.cancel()
        await asyncio.gather(self.running, return_exceptions=True)  # one test closes its database under it

    async def lapse(self) -> None:
        """As after every replica's lease, without the waiting."""
        over = sa.update(askers).values(until_us=1)
        await self.database.write(lambda connection: connection.execute(over))

    async def rows(self) -> int:
        count = sa.select(sa.func.count()).select_from(questions)
        return int(await self.database.read(lambda connection: connection.execute(count).scalar_one()))


@dataclass
class Meeting:
    """One user's clients: `asker`, whose turn runs at the replica here, and `other` there."""

    here: Replica
    there: Replica
    asker: Reader
    other: Reader

    async def ask(self, **what: Any) -> tuple[OpenQuestion, OpenQuestion]:
        """The asker's next question: as it stands here, and as the other is shown it."""
        opened = self.here.ask(self.asker, **what)
        return opened, await self.other.is_shown(len(self.other.shown) + 1)

    def answer_here(self, opened: OpenQuestion, answer: Answer) -> None:
        self.here.broker.settle(opened, answer, client=self.asker)

    def answer_there(self, seen: OpenQuestion, answer: Answer) -> None:
        self.there.broker.settle(seen, answer, client=self.other)


@asynccontextmanager
async def replica(folder: Path) -> AsyncIterator[Replica]:
    database = Database(config.StorageSettings(), folder)
    await database.start()
    broker = ReplicaBroker(config.ApprovalSettings(), ApprovalsInMemory(), QuestionTable(database), no_command)
    opened = Replica(broker, database, asyncio.create_task(broker.run()))
    yield opened
    await opened.stop()
    await database.aclose()


@pytest.fixture
async def here_and_there(tmp_path: Path) -> AsyncIterator[tuple[Replica, Replica]]:
    async with AsyncExitStack() as stack:
        here, there = [await stack.enter_async_context(replica(tmp_path)) for _ in range(2)]
        yield here, there


@pytest.fixture
def met(here_and_there: tuple[Replica, Replica]) -> Meeting:
    here, there = here_and_there
    return Meeting(here, there, asker=here.client(), other=there.client())


def wish(opened: OpenQuestion, remember: Remember) -> None:
    """As a client does with its yes."""
    opened.remember = remember


async def tell_all(here: Replica, there: Replica) -> None:
    """Returns when `there` has read all that `here` has told: questions are told, and read, in their order."""
    user = secrets.token_hex(8)
    reader = there.client(user)
    here.ask(here.client(user), user)
    await reader.is_shown()


async def test_a_client_at_another_replica_is_shown_the_question_and_its_answer_counts(met: Meeting) -> None:
    opened, seen = await met.ask(arguments={"key": "***", "n": 1}, real={"key": "secret", "n": 1}, permission="WRITE")

    assert (seen.id, seen.question.tool, seen.message) == (opened.id, "read_file", "May I?")
    assert (seen.question.arguments, seen.question.permission) == ({"key": "***", "n": 1}, "WRITE")
    assert 290 < seen.until_s - asyncio.get_running_loop().time() <= 300
    assert met.there.broker.find("ann", opened.id) is seen
    seen.remember = "always"
    met.answer_there(seen, Answer(approved=True, by="user", arguments={"key": "***", "n": 2}))

    answer = await asyncio.wait_for(opened.answered, LIMIT_S)
    assert answer == Answer(approved=True, by="other_client", arguments={"key": "secret", "n": 2})
    assert opened.remember == "always"
    assert await met.other.is_told_the_end() == (opened.id, True, "user")
    assert met.asker.closed == [(opened.id, True, "other_client")]


async def test_an_edit_elsewhere_that_would_run_a_redaction_is_a_no_that_says_why(met: Meeting) -> None:
    opened, seen = await met.ask(arguments={"command": "login [REDACTED]"}, real={"command": "login s3cret"})

    wish(seen, "always")
    edited = {"command": "login [REDACTED] [REDACTED]"}
    met.answer_there(seen, Answer(approved=True, by="user", arguments=edited))

    answer = await asyncio.wait_for(opened.answered, LIMIT_S)
    assert (answer.approved, answer.by, answer.arguments, opened.remember) == (False, "other_client", None, "no")
    assert answer.reason is not None
    assert answer.reason.startswith("[REDACTED] stands for a secret")
    assert await met.other.is_told_the_end() == (opened.id, False, "user")


async def test_the_askers_own_answer_closes_it_everywhere(met: Meeting) -> None:
    third = met.there.client()
    opened, _ = await met.ask()

    wish(opened, "conversation")
    met.answer_here(opened, YES)

    for reader in (met.other, third):
        assert await reader.is_told_the_end() == (opened.id, True, "other_client")
    assert met.asker.closed == [(opened.id, True, "user")]
    assert opened.remember == "conversation"


async def test_of_two_answers_at_once_one_counts_everywhere(met: Meeting) -> None:
    for number in range(1, 11):
        opened, seen = await met.ask()
        met.answer_there(seen, YES)
        met.answer_here(opened, NO)

        answer = await asyncio.wait_for(opened.answered, LIMIT_S)
        _, is_yes_there, by_there = await met.other.is_told_the_end(number)
        _, is_yes_here, by_here = met.asker.closed[-1]
        assert is_yes_there == is_yes_here == answer.approved
        assert (by_there, by_here) == (("user", "other_client") if answer.approved else ("other_client", "user"))
    assert len(met.asker.closed) == len(met.other.closed) == 10


async def test_an_answer_that_was_first_elsewhere_counts_before_one_given_here(met: Meeting) -> None:
    opened, _ = await met.ask()
    first = to_text(Answered(approved=False, reason="not today", arguments=None, remember="no"))
    await QuestionTable(met.there.database).answer(opened.id, first, by="elsewhere")

    wish(opened, "always")
    met.answer_here(opened, YES)
    late = met.here.broker.find("ann", opened.id)

    assert late is None, "an answer is being judged: later ones come too late"
    answer = await asyncio.wait_for(opened.answered, LIMIT_S)
    assert answer == Answer(approved=False, by="other_client", reason="not today")
    assert opened.remember == "no"
    assert met.asker.closed == [(opened.id, False, "other_client")]


async def test_an_answer_that_came_too_late_leaves_nothing_to_be_remembered(met: Meeting) -> None:
    opened, _ = await met.ask()

    wish(opened, "always")
    met.answer_here(opened, YES)
    met.here.broker.settle(opened, Answer(approved=False, by="cancelled"))

    assert (opened.answered.result().by, opened.remember) == ("cancelled", "no")
    assert await met.other.is_told_the_end() == (opened.id, False, "cancelled")
    assert met.asker.closed == [(opened.id, False, "cancelled")]


async def test_silence_and_a_lost_asker_close_it_everywhere(met: Meeting) -> None:
    ends: tuple[AnsweredBy, ...] = ("timeout", "disconnect", "cancelled")
    for number, by in enumerate(ends, 1):
        opened, _ = await met.ask()
        met.here.broker.settle(opened, Answer(approved=False, by=by))
        assert await met.other.is_told_the_end(number) == (opened.id, False, by)
        assert met.there.broker.find("ann", opened.id) is None


async def test_a_client_that_connects_while_it_is_open_is_shown_it(here_and_there: tuple[Replica, Replica]) -> None:
    here, there = here_and_there
    asker = here.client()
    opened = here.ask(asker)
    await tell_all(here, there)

    late = there.client()

    assert (await late.is_shown()).id == opened.id


async def test_a_spoken_no_counts_at_once(met: Meeting) -> None:
    opened, _ = await met.ask()

    met.answer_here(opened, Answer(approved=False, by="voice"))

    assert met.asker.closed == [(opened.id, False, "voice")]
    assert await met.other.is_told_the_end() == (opened.id, False, "other_client")


async def test_nobody_else_is_shown_it(here_and_there: tuple[Replica, Replica]) -> None:
    here, there = here_and_there
    stranger, other = there.client("bob"), there.client()
    here.ask(here.client())
    await other.is_shown()
    await tell_all(here, there)

    assert stranger.shown == []
    assert there.broker.find("bob", other.shown[0].id) is None


@pytest.mark.parametrize("user", [LOCAL_USER, "anonymous@10.0.0.1 s1", "anna/shop s1"])
async def test_whoever_has_not_logged_in_and_the_holder_of_a_key_is_asked_here_alone(
    here_and_there: tuple[Replica, Replica], user: str
) -> None:
    here, there = here_and_there
    other = there.client(user)
    here.ask(here.client(user), user)
    await tell_all(here, there)

    assert other.shown == []
    assert await here.rows() == 1  # of `tell_all`


async def test_a_process_that_dies_leaves_no_question_behind(met: Meeting) -> None:
    opened, _ = await met.ask()

    await met.there.lapse()

    assert await met.other.is_told_the_end() == (opened.id, False, "disconnect")
    await tell_all(met.there, met.here)
    assert await met.there.rows() == 1  # of `tell_all`


async def test_an_answer_to_a_dead_process_is_told_as_none(met: Meeting) -> None:
    opened, seen = await met.ask()
    await met.there.lapse()

    met.answer_there(seen, YES)

    assert await met.other.is_told_the_end() == (opened.id, False, "disconnect")


async def test_a_process_that_stops_takes_its_questions_back(met: Meeting) -> None:
    opened, _ = await met.ask()

    await met.here.stop()

    assert await met.other.is_told_the_end() == (opened.id, False, "disconnect")
    assert await met.there.rows() == 0


async def test_after_its_lease_has_lapsed_a_process_asks_under_another_name(met: Meeting) -> None:
    first, _ = await met.ask()
    await met.there.lapse()

    second, seen = await met.ask()
    met.answer_here(first, YES)

    assert (await asyncio.wait_for(first.answered, LIMIT_S)).approved
    met.answer_there(seen, YES)
    assert (await asyncio.wait_for(second.answered, LIMIT_S)).by == "other_client"


async def test_while_the_database_is_away_the_answer_given_here_counts(met: Meeting) -> None:
    opened, _ = await met.ask()
    await met.here.database.aclose()  # its threads take nothing more

    met.answer_here(opened, YES)
    met.answer_here(opened, NO)

    assert await asyncio.wait_for(opened.answered, LIMIT_S) == YES
    assert met.asker.closed == [(opened.id, True, "user")]


async def test_what_is_too_large_is_asked_here_alone(met: Meeting) -> None:
    large = met.here.ask(met.asker, arguments={"text": "x" * MAX_BODY_CHARS})
    small = met.here.ask(met.asker)

    assert (await met.other.is_shown()).id == small.id
    met.answer_here(large, YES)
    assert large.answered.result() == YES
    assert len(met.other.shown) == 1


async def test_what_is_answered_before_it_could_be_told_is_never_told(met: Meeting) -> None:
    quick = met.here.ask(met.asker)
    met.answer_here(quick, YES)
    slow = met.here.ask(met.asker)

    assert quick.answered.result() == YES
    assert (await met.other.is_shown()).id == slow.id
    assert len(met.other.shown) == 1


async def test_its_end_leaves_nothing_of_what_was_shown(met: Meeting) -> None:
    opened, _ = await met.ask(arguments={"to": "somebody-in-particular"})
    met.answer_here(opened, YES)
    await met.other.is_told_the_end()

    row = await met.here.database.read(lambda connection: connection.execute(sa.select(questions)).one())
    assert "somebody-in-particular" not in str(tuple(row))
