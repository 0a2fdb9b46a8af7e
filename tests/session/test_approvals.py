"""server/session/approvals.py and approval_desk.py: a turn asks, humans answer, silence is no."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from server import config
from server.agent.chunks import LLMChunk
from server.hooks.approval.approvals import ApprovalsInMemory
from server.hooks.types import Answer
from server.session.approval_desk import MAX_OPEN, ApprovalDesk
from server.session.filler import Filler
from server.session.results import SpokenSentence
from server.session.turn_clock import TurnClock
from server.session.visitor import Visitor
from tests.model.virtual_loop import VirtualLoop
from tests.session.asking import AskStep, Client, question
from tests.session.fakes import Pause, call, kinds
from tests.session.speech_fakes import CHUNK, FakeSynthesizer, speech

DONE = LLMChunk(text="Done.")


def in_virtual_time(work: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(work)


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
        async with Client([*asked, DONE], approval=config.Approval(timeout_s=20)) as client:
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
        limits = config.Limits(max_turn_s=10)
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
    desk = ApprovalDesk()
    async with Client([question()], desk=desk) as asking, Client(desk=desk) as other:
        other.session.greet()
        asking.chat()
        request = await asking.asked()
        await other.asked()
        await asking.session.aclose()
        resolved = await other.until("approval_resolved")

    assert (resolved["id"], resolved["approved"], resolved["by"]) == (request["id"], False, "disconnect")
    assert desk.find("local", request["id"]) is None


async def test_who_asks_for_a_turn_that_is_over_gets_a_no_and_nobody_is_shown_anything() -> None:
    pause = Pause()
    async with Client([pause]) as client:
        client.chat()
        await pause.reached.wait()
        turn, facts = client.session._turn, client.agent.facts[0]
        assert turn is not None
        assert facts is not None
        late = client.session._approvals.asker(turn, facts, TurnClock())
        client.send("interrupt")

        answer = await late.ask(question())

    assert (answer.approved, answer.outcome) == (False, "cancelled")
    assert client.of("approval_request", "approval_resolved") == []


# another client of the same user


async def test_another_client_of_the_user_may_answer_and_the_first_answer_wins() -> None:
    desk = ApprovalDesk()
    async with (
        Client([question(), DONE], desk=desk) as asking,
        Client(desk=desk) as phone,
        Client(desk=desk) as third,
    ):
        for each in (asking, phone, third):
            each.session.greet()
        asking.chat(id="t1")
        request = await phone.asked()
        phone.answer(request["id"], remember="conversation")
        third.answer(request["id"], approved=False)
        await asking.until("turn_end")
        for each in (phone, third):
            await each.flushed()

    assert "turn_id" not in request
    assert (request["id"], request["tool"]) == (asking.of("approval_request")[0]["id"], "read_file")
    assert (asking.resolved(), phone.resolved(), third.resolved()) == (
        [(True, "other_client")],
        [(True, "user")],
        [(True, "other_client")],
    )
    assert [f["code"] for f in third.of("notice")] == ["approval_unknown"]
    assert not [f for each in (phone, third) for f in each.frames if "turn_id" in f]
    assert asking.agent.answers == [Answer(approved=True, by="other_client")]


async def test_a_client_that_comes_later_is_shown_what_is_open_after_its_ready() -> None:
    desk = ApprovalDesk()
    async with Client([question(), DONE], desk=desk) as asking, Client(desk=desk) as late:
        asking.chat()
        request = await asking.asked()
        late.session.greet()
        frames = await late.flushed()
        late.answer(request["id"], approved=False)
        await asking.until("turn_end")

    assert kinds(frames) == ["ready", "approval_request"]
    assert asking.resolved() == [(False, "other_client")]


async def test_a_client_that_has_left_is_shown_no_more() -> None:
    desk = ApprovalDesk()
    async with Client([question(), DONE], desk=desk) as asking, Client(desk=desk) as other:
        other.session.greet()
        asking.chat()
        request = await other.asked()
        await other.session.aclose()
        other.answer(request["id"])
        await asking.flushed()
        asking.answer(request["id"], approved=False)
        await asking.until("turn_end")

    assert other.resolved() == []


async def test_another_user_neither_sees_nor_answers_the_question() -> None:
    desk = ApprovalDesk()
    ann, bob = (Visitor("10.0.0.1", is_local=False, user_id=name) for name in ("ann", "bob"))
    async with Client([question(), DONE], desk=desk, visitor=ann) as asking, Client(desk=desk, visitor=bob) as other:
        other.session.greet()
        asking.chat()
        request = await asking.asked()
        other.answer(request["id"])
        frames = await other.flushed()
        asking.answer(request["id"], approved=False)
        await asking.until("turn_end")

    assert kinds(frames) == ["ready", "notice"]
    assert frames[1]["code"] == "approval_unknown"
    assert asking.resolved() == [(False, "user")]


async def test_strangers_behind_one_address_are_not_one_user() -> None:
    desk = ApprovalDesk()
    stranger = Visitor("10.0.0.1", is_local=False, user_id="anonymous@10.0.0.1")
    plans: list[AskStep] = [question(), DONE]
    async with (
        Client(plans, desk=desk, visitor=stranger) as asking,
        Client(plans, desk=desk, visitor=stranger) as other,
    ):
        other.session.greet()
        asking.chat()
        request = await asking.asked()
        other.answer(request["id"])
        asking.answer(request["id"], remember="always")
        await asking.until("turn_end")
        other.chat()
        await other.asked()

    assert kinds(other.frames)[:4] == ["ready", "notice", "turn_start", "approval_request"]
    assert not await desk.remembered.find(stranger.user_id, "read_file", {"path": "a"})


async def test_a_user_has_a_bounded_number_of_open_questions() -> None:
    desk = ApprovalDesk()
    async with Client([question(), DONE], desk=desk) as last:
        asking = [Client([question()], desk=desk) for _ in range(MAX_OPEN)]
        for each in asking:
            await each.__aenter__()
            each.chat()
            await each.asked()
        last.chat()
        await last.until("turn_end")
        for each in asking:
            await each.__aexit__()

    assert last.of("approval_request") == []
    assert [f["code"] for f in last.of("notice")] == ["approvals_full"]
    assert [(a.approved, a.outcome) for a in last.agent.answers] == [(False, "cancelled")]
    assert desk._open == {}


# edited arguments


async def test_edited_arguments_come_back_and_secrets_left_alone_are_put_back() -> None:
    asked = question(
        arguments={"path": "a", "key": "***"},
        real={"path": "a", "key": "s3cret"},
    )
    async with Client([asked, asked, DONE]) as client:
        client.chat()
        client.answer((await client.asked())["id"], arguments={"path": "b", "key": "***"})
        client.answer((await client.asked(2))["id"], arguments={"path": "a", "key": "***"})
        await client.until("turn_end")

    assert [answer.arguments for answer in client.agent.answers] == [{"path": "b", "key": "s3cret"}, None]
    assert "s3cret" not in str(client.frames)


@pytest.mark.parametrize("arguments", ["[1]", '"text"', "7", "true", "[" * 900 + "]" * 900])
async def test_arguments_that_are_no_object_are_one_error_and_the_question_stays_open(arguments: str) -> None:
    async with Client([question(), DONE]) as client:
        client.chat()
        id_ = (await client.asked())["id"]
        send_arguments(client, id_, arguments)
        frames = await client.flushed()
        client.answer(id_, approved=False)
        await client.until("turn_end")

    assert [(f["code"], f["path"]) for f in frames[2:]] == [("frame_invalid", "$.arguments")]
    assert client.resolved() == [(False, "user")]


async def test_arguments_nested_too_deep_to_be_compared_are_one_error() -> None:
    nested: Any = 1
    for _ in range(900):
        nested = {"a": nested}
    async with Client([question(arguments=nested), DONE]) as client:
        client.chat()
        id_ = (await client.asked())["id"]
        send_arguments(client, id_, '{"a":' * 900 + "2" + "}" * 900)
        error = await client.until("error")
        client.answer(id_, approved=False)
        await client.until("turn_end")

    assert (error["code"], error["path"]) == ("frame_invalid", "$.arguments")
    assert client.resolved() == [(False, "user")]


def send_arguments(client: Client, id_: str, arguments: str) -> None:
    client.session.receive_text(f'{{"type":"approval","id":"{id_}","approved":true,"arguments":{arguments}}}'.encode())


# what is remembered


async def test_what_is_remembered_for_a_conversation_is_not_asked_there_again() -> None:
    async with Client([question(), DONE]) as client:
        client.send("configure", conversation="c1")
        client.chat()
        client.answer((await client.asked())["id"], remember="conversation")
        await client.until("turn_end")
        client.chat(id="t2")
        await client.until("turn_end", 2)
        client.send("configure", conversation="c2")
        client.chat()
        await client.asked(2)

    told = client.of("approval_resolved")[1]
    assert (told["turn_id"], told["approved"], told["by"], told["tool"]) == ("t2", True, "remembered", "read_file")
    assert [answer.by for answer in client.agent.answers] == ["user", "remembered"]
    assert [facts.conversation for facts in client.agent.facts if facts] == ["c1", "c1", "c2"]


async def test_what_is_remembered_is_one_call_and_no_other() -> None:
    calls = [("read_file", {"path": "a"}), ("read_file", {"path": "b"}), ("x", {"path": "a"})]
    plans: list[list[AskStep]] = [[question(*call)] for call in calls]
    async with Client(*plans) as client:
        for number in range(3):
            client.chat()
            client.answer((await client.asked(number + 1))["id"], remember="conversation")
            await client.until("turn_end", number + 1)

    assert client.resolved() == [(True, "user")] * 3


async def test_what_is_remembered_for_good_counts_on_every_connection_of_the_user() -> None:
    memory = ApprovalsInMemory()
    async with Client([question(real={"path": "a", "key": "s"}), DONE], remembered=memory) as first:
        first.chat()
        first.answer((await first.asked())["id"], remember="always")
        await first.until("turn_end")
    async with Client([question(real={"path": "a", "key": "s"}), question(), DONE], remembered=memory) as second:
        second.chat()
        second.answer((await second.asked())["id"], approved=False)
        await second.until("turn_end")

    assert second.resolved() == [(True, "remembered"), (False, "user")]


class RevokedAtOnce(ApprovalsInMemory):
    async def find(self, user_id: str, tool: str, arguments: Any) -> bool:
        return False


async def test_what_is_revoked_is_asked_about_again_on_the_connection_that_had_approved_it() -> None:
    async with Client([question(), question(), DONE], remembered=RevokedAtOnce()) as client:
        client.chat()
        client.answer((await client.asked())["id"], remember="always")
        client.answer((await client.asked(2))["id"], approved=False)
        await client.until("turn_end")

    assert client.resolved() == [(True, "user"), (False, "user")]


async def test_an_edited_call_is_remembered_as_it_was_approved() -> None:
    memory = ApprovalsInMemory()
    async with Client([question(), DONE], remembered=memory) as client:
        client.chat()
        client.answer((await client.asked())["id"], arguments={"path": "b"}, remember="always")
        await client.until("turn_end")

    assert await memory.find("local", "read_file", {"path": "b"})
    assert not await memory.find("local", "read_file", {"path": "a"})


class BrokenStore:
    async def find(self, user_id: str, tool: str, arguments: Any) -> bool:
        raise OSError("the database is down")

    async def remember(self, user_id: str, tool: str, arguments: Any, *, origin: str) -> None:
        raise OSError("the database is down")


async def test_a_store_that_is_down_means_that_the_user_is_asked_and_told(caplog: pytest.LogCaptureFixture) -> None:
    async with Client([question(), question(), DONE], remembered=BrokenStore()) as client:
        client.chat()
        client.answer((await client.asked())["id"], remember="always")
        await client.until("turn_end")

    assert client.resolved() == [(True, "user"), (True, "remembered")]
    assert [f["code"] for f in client.of("notice")] == ["approval_not_kept"]
    assert "the database is down" in caplog.text


# what a turn is about


async def test_who_asks_knows_whose_turn_it_is() -> None:
    visitor = Visitor("10.0.0.1", is_local=False, user_id="ann")
    async with Client([DONE], visitor=visitor) as client:
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


# aloud


def test_while_a_human_is_asked_nothing_is_said_to_fill_the_silence() -> None:
    async def work() -> None:
        pause = Pause()
        async with Client([pause, question(), DONE]) as client:
            client.chat()
            await pause.reached.wait()
            turn = client.session._turn
            assert turn is not None
            said: list[str | None] = []

            def note(sentence: SpokenSentence) -> Callable[[], None]:
                said.append(sentence.spoken)
                return said.clear

            turn.aloud = note
            filler = Filler(config.Filler(after_ms=700, text="One moment."), turn)
            filler.note(call("1"))
            pause.resume.set()
            await client.asked()
            await asyncio.sleep(1)
            assert said == ["May I? Please answer on the screen."]

    in_virtual_time(work())


async def test_in_a_spoken_turn_the_question_is_said_and_leaves_nothing_in_the_reply() -> None:
    voice = FakeSynthesizer()
    plan: list[AskStep] = [LLMChunk(text="Let me look."), LLMChunk(reply_end=True), question(), DONE]
    async with Client(plan, speech=speech(synthesizer=voice)) as client:
        client.chat()
        request = await client.asked()
        await client.until("sentence_end", 2)
        client.answer(request["id"])
        await client.until("turn_end")

    said = client.of("sentence")
    assert voice.texts == ["Let me look.", "May I? Say yes or no.", "Done."]
    assert [(s["text"], s["spoken"], s.get("approval")) for s in said] == [
        ("Let me look.", None, None),
        ("", "May I? Say yes or no.", request["id"]),
        ("Done.", None, None),
    ]
    shown = "".join(f["delta"] for f in client.of("text"))
    assert shown == "".join(s["text"] for s in said) == "Let me look.Done."


async def test_a_question_that_is_answered_before_it_could_be_said_is_not_said() -> None:
    pause = Pause()
    voice = FakeSynthesizer({"Let me look.": [CHUNK, pause, CHUNK]})
    plan: list[AskStep] = [LLMChunk(text="Let me look."), LLMChunk(reply_end=True), question(permission="WRITE"), DONE]
    async with Client(plan, speech=speech(synthesizer=voice)) as client:
        client.chat()
        request = await client.asked()
        await pause.reached.wait()
        client.answer(request["id"])
        pause.resume.set()
        await client.until("turn_end")

    assert [s["text"] for s in client.of("sentence")] == ["Let me look.", "Done."]
