"""Who is shown a question, and who may answer it: every client of its user, and nobody else."""

from dataclasses import replace

from server.accounts.principal import Principal
from server.approval.asking import Answer
from server.approval.broker import MAX_OPEN
from server.approval.remembered import keys_for
from tests.session.asking import DONE, AskStep, Client, question
from tests.session.fakes import kinds
from tests.session.speech_fakes import FakeSynthesizer, speech
from tests.support.approvals import memory_broker


async def test_another_client_of_the_user_may_answer_and_the_first_answer_wins() -> None:
    broker = memory_broker()
    async with (
        Client([replace(question(), call_id="call_1"), DONE], broker=broker) as asking,
        Client(broker=broker) as phone,
        Client(broker=broker) as third,
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

    assert asking.of("approval_request")[0]["call_id"] == "call_1"
    assert not {"turn_id", "call_id"} & request.keys()
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
    broker = memory_broker()
    async with Client([question(), DONE], broker=broker) as asking, Client(broker=broker) as late:
        asking.chat()
        request = await asking.asked()
        late.session.greet()
        frames = await late.flushed()
        late.answer(request["id"], approved=False)
        await asking.until("turn_end")

    assert kinds(frames) == ["ready", "approval_request"]
    assert asking.resolved() == [(False, "other_client")]


async def test_a_client_that_has_left_is_shown_no_more() -> None:
    broker = memory_broker()
    async with Client([question(), DONE], broker=broker) as asking, Client(broker=broker) as other:
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
    broker = memory_broker()
    ann, bob = (Principal("10.0.0.1", is_local=False, user_id=name) for name in ("ann", "bob"))
    async with (
        Client([question(), DONE], broker=broker, principal=ann) as asking,
        Client(broker=broker, principal=bob) as other,
    ):
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
    broker = memory_broker()
    stranger = Principal("10.0.0.1", is_local=False, user_id="anonymous@10.0.0.1")
    plans: list[AskStep] = [question(), DONE]
    async with (
        Client(plans, broker=broker, principal=stranger) as asking,
        Client(plans, broker=broker, principal=stranger) as other,
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
    assert [frame["code"] for frame in asking.of("notice")] == ["approval_not_kept"]
    assert not await broker.remembered.find(stranger.user_id, keys_for("read_file", {"path": "a"}, None))


async def test_a_key_neither_uses_nor_leaves_what_counts_for_its_makers_other_conversations() -> None:
    broker = memory_broker()
    anna = Principal("10.0.0.1", is_local=False, user_id="anna", is_logged_in=True)
    plans: list[AskStep] = [question(), DONE]
    async with (
        Client(plans, plans, broker=broker, principal=anna) as maker,
        Client(plans, plans, broker=broker, principal=replace(anna, user_id="anna/visitor")) as holder,
    ):
        holder.chat()
        holder.answer((await holder.asked())["id"], remember="always")
        await holder.until("turn_end")
        maker.chat()
        maker.answer((await maker.asked())["id"], remember="always")
        await maker.until("turn_end")
        keys = keys_for("read_file", {"path": "a"}, None)
        assert [await broker.remembered.find(user, keys) for user in ("anna", "anna/visitor")] == [True, False]

    assert [frame["code"] for frame in holder.of("notice")] == ["approval_not_kept"]
    assert maker.of("notice") == []


async def test_a_key_that_may_not_approve_is_not_asked_aloud_either() -> None:
    holder = Principal("10.0.0.1", is_local=False, user_id="anna/visitor", is_logged_in=True, may_approve=False)
    voice = FakeSynthesizer()
    async with Client([question(), DONE], principal=holder, speech=speech(synthesizer=voice)) as asking:
        asking.chat()
        await asking.until("turn_end")

    [answer] = asking.agent.answers
    assert (answer.approved, answer.outcome) == (False, "no_client")
    assert answer.reason is not None
    assert "approvals: true" in answer.reason
    assert voice.texts == ["Done."]
    assert asking.of("approval_request", "approval_resolved") == []


async def test_a_user_has_a_bounded_number_of_open_questions() -> None:
    broker = memory_broker()
    async with Client([question(), DONE], broker=broker) as last:
        asking = [Client([question()], broker=broker) for _ in range(MAX_OPEN)]
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
    assert broker._open == {}
