"""What a human wants to be remembered, and what is not asked again."""

from typing import Any

import pytest

from server.approval.remembered import ApprovalsInMemory
from tests.session.asking import DONE, AskStep, Client, question


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
