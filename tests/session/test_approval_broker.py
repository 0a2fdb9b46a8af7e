"""server/approval/broker.py: who is shown what, and the first answer wins."""

from collections.abc import Callable

from server.approval.asking import Answer, AnsweredBy
from server.approval.broker import OpenQuestion
from tests.session.asking import question
from tests.support.approvals import memory_broker

YES = Answer(approved=True, by="user")


class Reader:
    """A client that notes what it is told, and may do something when it is shown a question."""

    def __init__(self, on_show: Callable[[OpenQuestion], None] | None = None) -> None:
        self.told: list[str] = []
        self._on_show = on_show

    def show(self, opened: OpenQuestion) -> None:
        self.told.append(opened.id)
        if self._on_show is not None:
            self._on_show(opened)

    def close(self, opened: OpenQuestion, by: AnsweredBy, *, approved: bool) -> None:
        self.told.append(f"{opened.id} {approved} {by}")


def ask(asker: Reader, id_: str = "q1") -> OpenQuestion:
    return OpenQuestion(
        id=id_,
        user="ann",
        turn_id="t1",
        asker=asker,
        question=question(),
        message="May I?",
        until_s=0.0,
        by_voice=False,
    )


async def test_a_client_that_joins_twice_is_shown_a_question_once() -> None:
    broker, asker, other = memory_broker(), Reader(), Reader()
    for _ in range(2):
        broker.join("ann", other)
    broker.open(opened := ask(asker))
    broker.join("ann", other)
    broker.settle(opened, YES, client=other)
    broker.leave("ann", other)
    broker.leave("ann", other)

    assert other.told == ["q1", "q1 True user"]
    assert asker.told == ["q1", "q1 True other_client"]
    assert broker._clients == {}


async def test_a_question_that_ends_while_it_is_shown_is_shown_to_nobody_else() -> None:
    broker, other = memory_broker(), Reader()
    slow = Reader(lambda opened: broker.settle(opened, Answer(approved=False, by="disconnect")))
    broker.join("ann", slow)
    broker.join("ann", other)

    assert broker.open(opened := ask(slow))
    assert opened.answered.result().by == "disconnect"
    assert slow.told == ["q1", "q1 False disconnect"]
    assert other.told == []


async def test_the_first_of_two_answers_counts() -> None:
    broker, asker = memory_broker(), Reader()
    broker.open(opened := ask(asker))
    broker.settle(opened, YES, client=asker)
    broker.settle(opened, Answer(approved=False, by="timeout"))

    assert opened.answered.result() == YES
    assert asker.told == ["q1", "q1 True user"]
    assert broker.find("ann", "q1") is None


async def test_whoever_has_left_is_told_the_end_of_its_own_question_only() -> None:
    broker, asker, other = memory_broker(), Reader(), Reader()
    broker.join("ann", asker)
    broker.join("ann", other)
    broker.open(opened := ask(asker))
    broker.leave("ann", asker)
    broker.leave("ann", other)
    broker.settle(opened, Answer(approved=False, by="disconnect"))

    assert asker.told == ["q1", "q1 False disconnect"]
    assert other.told == ["q1"]
