"""server/session/approvals.py: a turn asks, a human answers, silence is no."""

import asyncio

import pytest

from server import config
from server.accounts.principal import Principal
from server.approval.asking import Answer
from tests.session.asking import DONE, Client, in_virtual_time, question
from tests.session.fakes import Pause, call, kinds
from tests.support.approvals import memory_broker

# one question


async def test_a_question_is_shown_and_its_answer_goes_back_to_who_asked() -> None:
    async with Client([question("delete", {"path": "a"}, permission="WRITE"), DONE]) as client:
        client.chat(id="t1")
        request = await client.asked()
        client.answer(request["id"])
        await client.until("turn_end")

    assert kinds(client.frames)[:3] == ["turn_start", "approval_request", "approval_resolved"]
    assert request == {
        "type": "approval_request",
        "turn_id": "t1",
        "id": request["id"],
        "tool": "delete",
        "arguments": {"path": "a"},
        "message": "May I?",
        "timeout_ms": 300_000,
        "origin": "guard",
        "permission": "WRITE",
        "by_voice": False,
        "remember_for": ["arguments", "tool"],
    }
    assert client.of("approval_resolved") == [
        {"type": "approval_resolved", "turn_id": "t1", "id": request["id"], "approved": True, "by": "user"}
    ]
    assert client.agent.answers == [Answer(approved=True, by="user")]


async def test_a_refusal_takes_its_reason_along_and_nothing_else() -> None:
    async with Client([question(), DONE]) as client:
        client.chat()
        request = await client.asked()
        client.answer(
            request["id"], approved=False, reason=" wrong file " + "x" * 600, arguments={"path": "b"}, remember="always"
        )
        await client.until("turn_end")
        client.chat()
        await client.asked(2)

    [answer] = client.agent.answers
    assert (answer.approved, answer.outcome, answer.arguments) == (False, "denied", None)
    assert answer.reason is not None
    assert answer.reason.startswith("wrong file xx")
    assert len(answer.reason) == 500


async def test_a_second_answer_and_one_to_nothing_are_each_a_notice() -> None:
    pause = Pause()
    async with Client([question(), pause, DONE]) as client:
        client.chat()
        request = await client.asked()
        client.answer(request["id"])
        client.answer(request["id"], approved=False)
        client.answer("made-up")
        await pause.reached.wait()
        pause.resume.set()
        await client.until("turn_end")

    assert client.resolved() == [(True, "user")]
    assert [f["code"] for f in client.of("notice")] == ["approval_unknown"] * 2
    assert client.agent.answers[0].approved


def test_silence_is_a_no_after_the_time_that_was_told() -> None:
    async def work() -> None:
        asked = [question(timeout_s=7), question()]
        async with Client([*asked, DONE], approval=config.ApprovalSettings(timeout_s=20)) as client:
            client.chat()
            end = await client.until("turn_end")

            assert asyncio.get_running_loop().time() == 27
        assert end["reason"] == "completed"
        assert [f["timeout_ms"] for f in client.of("approval_request")] == [7000, 20_000]
        assert client.resolved() == [(False, "timeout")] * 2
        assert [answer.outcome for answer in client.agent.answers] == ["timeout"] * 2

    in_virtual_time(work())


def test_the_time_of_humans_is_not_the_turns() -> None:
    async def work() -> None:
        limits = config.LimitsSettings(max_turn_s=10)
        async with Client([question(), question(), DONE], [Pause()], limits=limits) as client:
            client.chat()
            assert (await client.until("turn_end"))["reason"] == "completed"
            assert asyncio.get_running_loop().time() == 600
            client.chat()
            assert (await client.until("turn_end", 2))["reason"] == "error"
            assert asyncio.get_running_loop().time() == 610

    in_virtual_time(work())


async def test_a_question_without_words_is_asked_in_the_users_language() -> None:
    async with Client([question(message="")]) as client:
        client.send("configure", language="de")
        client.chat()
        request = await client.asked()

    assert request["message"] == "Darf ich read_file benutzen?"


# several


async def test_questions_of_one_batch_are_asked_one_at_a_time_in_their_order() -> None:
    batch = [question(f"tool{number}") for number in range(3)]
    async with Client([batch, DONE]) as client:
        client.chat()
        for number in range(3):
            request = await client.asked(number + 1)
            assert len(client.of("approval_request")) == number + 1
            client.answer(request["id"], approved=number != 1)
        await client.until("turn_end")

    assert [f["tool"] for f in client.of("approval_request")] == ["tool0", "tool1", "tool2"]
    assert [answer.approved for answer in client.agent.answers] == [True, False, True]


# ends


@pytest.mark.parametrize("ending", ["interrupt", "chat"])
async def test_a_turn_that_ends_closes_its_question_first_and_asks_no_other(ending: str) -> None:
    async with Client([[question("first"), question("second")]], [DONE]) as client:
        client.chat(id="t1")
        request = await client.asked()
        if ending == "chat":
            client.chat(id="t2")
        else:
            client.send(ending)
        client.answer(request["id"])
        await client.flushed()
        await client.session.aclose()

    frames = [frame for frame in client.frames if frame.get("turn_id") == "t1"]
    assert kinds(frames) == ["turn_start", "approval_request", "approval_resolved", "turn_end"]
    assert (frames[2]["approved"], frames[2]["by"]) == (False, "cancelled")
    assert [f["code"] for f in client.of("notice")] == ["approval_unknown"]
    assert client.agent.answers == []


async def test_the_asking_of_a_cancelled_task_is_closed_as_cancelled() -> None:
    pause = Pause()
    async with Client([[question()], pause]) as client:
        client.chat(id="t1")
        await client.asked()
        [task] = [task for task in asyncio.all_tasks() if task.get_name() == "turn t1"]
        task.cancel()
        await client.until("turn_end")

    assert client.resolved() == [(False, "cancelled")]


async def test_a_lost_connection_is_a_no_for_every_client_that_was_asked() -> None:
    broker = memory_broker()
    async with Client([question()], broker=broker) as asking, Client(broker=broker) as other:
        other.session.greet()
        asking.chat()
        request = await asking.asked()
        await other.asked()
        await asking.session.aclose()
        resolved = await other.until("approval_resolved")

    assert (resolved["id"], resolved["approved"], resolved["by"]) == (request["id"], False, "disconnect")
    assert broker.find("local", request["id"]) is None


async def test_who_asks_for_a_turn_that_is_over_gets_a_no_and_nobody_is_shown_anything() -> None:
    pause = Pause()
    async with Client([pause]) as client:
        client.chat()
        await pause.reached.wait()
        [late] = client.agent.asks
        client.send("interrupt")

        answer = await late.ask(question())

    assert (answer.approved, answer.outcome) == (False, "cancelled")
    assert client.of("approval_request", "approval_resolved") == []


async def test_a_question_is_closed_before_anything_else_of_the_end() -> None:
    async with Client([call("c1"), question()]) as client:
        client.chat()
        await client.asked()
        client.send("interrupt")
        await client.until("turn_end")

    assert kinds(client.frames)[-3:] == ["approval_resolved", "tool_result", "turn_end"]


# what a turn is about


async def test_who_asks_knows_whose_turn_it_is() -> None:
    principal = Principal("10.0.0.1", is_local=False, user_id="ann")
    async with Client([DONE], principal=principal) as client:
        client.send("configure", language="de", conversation="c1")
        client.send(
            "chat",
            id="t1",
            messages=[{"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}],
        )
        await client.until("turn_end")

    [facts] = client.agent.facts
    assert facts is not None
    assert (facts.session_id, facts.turn_id, facts.user_id) == (client.session.id, "t1", "ann")
    assert (facts.conversation, facts.language, facts.address) == ("c1", "de", "10.0.0.1")
    assert facts.user_message == "one\ntwo"
