"""What a human wants to be remembered, and what is not asked again."""

from collections.abc import Collection
from typing import Any

import pytest

from server.approval.broker import ApprovalBroker
from server.approval.remembered import Approved, keys_for
from server.policy.confirmation_handler import DangerJudge
from tests.session.asking import DONE, AskStep, Client, question
from tests.support.approvals import ApprovalsInMemory, memory_broker


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
    assert [facts.conversation for facts in client.agent.facts] == ["c1", "c1", "c2"]


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


def tool(description: str = "", **properties: Any) -> dict[str, Any]:
    return {"name": "save", "description": description, "parameters": {"type": "object", "properties": properties}}


@pytest.mark.parametrize("remember_for", ["arguments", "tool"])
@pytest.mark.parametrize(
    ("tools", "by"),
    [
        ([tool(path={"type": "string"})], "remembered"),
        ([tool(path={})], "timeout"),
        ([tool("Sends it.", path={"type": "string"})], "timeout"),
        ([], "timeout"),
    ],
    ids=["the same", "another schema", "another description", "the server's"],
)
async def test_a_yes_to_one_client_s_tool_covers_no_other_tool_of_that_name(
    tools: list[dict[str, Any]], by: str, remember_for: str
) -> None:
    memory = ApprovalsInMemory()
    async with Client([question("save"), DONE], remembered=memory) as first:
        first.chat(tools=[tool(path={"type": "string"})])
        first.answer((await first.asked())["id"], remember="always", remember_for=remember_for)
        await first.until("turn_end")
    async with Client([question("save", timeout_s=0.01), DONE], remembered=memory) as second:
        second.chat(tools=tools)
        await second.until("turn_end")

    assert [resolved_by for _, resolved_by in second.resolved()] == [by]


async def test_a_yes_to_a_tool_of_the_server_is_not_kept_for_a_client_s_that_it_hides() -> None:
    memory = ApprovalsInMemory()
    async with Client([question("save"), DONE], remembered=memory) as client:
        client.send("configure", tools=[tool()])
        await client.flushed()
        client.agent.tool_names = ("save",)
        client.chat()
        client.answer((await client.asked())["id"], remember="always", remember_for="tool")
        await client.until("turn_end")

    assert await memory.find("local", keys_for("save", {}, None))
    assert not await memory.find("local", keys_for("save", {}, None, [tool()["description"], tool()["parameters"]]))


class RevokedAtOnce(ApprovalsInMemory):
    async def find(self, user_id: str, keys: Collection[str]) -> bool:
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

    assert await memory.find("local", keys_for("read_file", {"path": "b"}, None))
    assert not await memory.find("local", keys_for("read_file", {"path": "a"}, None))


class BrokenStore(ApprovalsInMemory):
    async def find(self, user_id: str, keys: Collection[str]) -> bool:
        raise OSError("the database is down")

    async def remember(self, user_id: str, approved: Approved) -> None:
        raise OSError("the database is down")


async def test_a_store_that_is_down_means_that_the_user_is_asked_and_told(caplog: pytest.LogCaptureFixture) -> None:
    async with Client([question(), question(), DONE], remembered=BrokenStore()) as client:
        client.chat()
        client.answer((await client.asked())["id"], remember="always")
        await client.until("turn_end")

    assert client.resolved() == [(True, "user"), (True, "remembered")]
    assert [f["code"] for f in client.of("notice")] == ["approval_not_kept"]
    assert "the database is down" in caplog.text


def asking(*commands: str, tool: str = "shell", broker: ApprovalBroker | None = None) -> Client:
    steps: list[AskStep] = [question(tool, {"command": command}, permission="EXTERNAL") for command in commands]
    broker = broker or memory_broker(command_of=DangerJudge().command_of)
    return Client([*steps, DONE], broker=broker)


async def test_a_request_says_what_it_can_be_remembered_for() -> None:
    async with asking("git push origin main", "git push --force", "ls; git push", "sh deploy.sh") as client:
        client.chat()
        for number in range(4):
            client.answer((await client.asked(number + 1))["id"])
        await client.until("turn_end")

    offered = [(f["remember_for"], f.get("command_name")) for f in client.of("approval_request")]
    assert offered == [(["arguments", "command", "tool"], "git push"), *[(["arguments", "tool"], None)] * 3]


@pytest.mark.parametrize("remember", ["conversation", "always"])
async def test_a_command_is_remembered_with_any_arguments_but_worse_ones(remember: str) -> None:
    async with asking("git push", "git push origin x", "git push --force", "git commit") as client:
        client.chat()
        client.answer((await client.asked())["id"], remember=remember, remember_for="command")
        client.answer((await client.asked(2))["id"])
        client.answer((await client.asked(3))["id"])
        await client.until("turn_end")

    assert client.resolved() == [(True, "user"), (True, "remembered"), (True, "user"), (True, "user")]
    assert [f["arguments"]["command"] for f in client.of("approval_request")] == [
        "git push",
        "git push --force",
        "git commit",
    ]


async def test_a_command_is_remembered_for_its_tool_alone() -> None:
    broker = memory_broker(command_of=DangerJudge().command_of)
    async with asking("git push", broker=broker) as first:
        first.chat()
        first.answer((await first.asked())["id"], remember="always", remember_for="command")
        await first.until("turn_end")
    async with asking("git push", tool="bash", broker=broker) as second:
        second.chat()
        second.answer((await second.asked())["id"], approved=False)
        await second.until("turn_end")

    assert second.resolved() == [(False, "user")]


async def test_a_tool_is_remembered_whatever_its_arguments() -> None:
    async with asking("git push --force", "rm -rf /srv") as client:
        client.chat()
        client.answer((await client.asked())["id"], remember="always", remember_for="tool")
        await client.until("turn_end")

    assert client.resolved() == [(True, "user"), (True, "remembered")]


async def test_what_was_not_offered_is_refused_and_the_question_stays_open() -> None:
    async with asking("git push --force") as client:
        client.chat()
        request = await client.asked()
        client.answer(request["id"], remember="always", remember_for="command")
        error = await client.until("error")
        client.answer(request["id"], approved=False, remember_for="command")
        await client.until("turn_end")

    assert (error["code"], error["path"]) == ("frame_invalid", "$.remember_for")
    assert client.resolved() == [(False, "user")]


@pytest.mark.parametrize(("edited", "asked"), [("git push origin y", 1), ("git push --force", 2), ("git fetch", 2)])
async def test_a_command_that_was_edited_into_another_is_remembered_as_it_stands(edited: str, asked: int) -> None:
    async with asking("git push", "git push origin z") as client:
        client.chat()
        request = await client.asked()
        client.answer(request["id"], arguments={"command": edited}, remember="always", remember_for="command")
        if asked == 2:
            client.answer((await client.asked(2))["id"])
        await client.until("turn_end")

    assert len(client.of("approval_request")) == asked
