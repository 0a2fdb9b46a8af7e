"""A call whose arguments the human has edited."""

import pytest

from tests.session.asking import DONE, Client, question


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


async def test_an_edit_that_would_run_a_redaction_is_one_error_that_says_why_and_the_question_stays_open() -> None:
    asked = question(arguments={"command": "login [REDACTED]"}, real={"command": "login s3cret"})
    async with Client([asked, DONE]) as client:
        client.chat()
        id_ = (await client.asked())["id"]
        client.answer(id_, arguments={"command": "login [REDACTED] [REDACTED]"})
        error = await client.until("error")
        client.answer(id_, arguments={"command": "login -v [REDACTED]"})
        await client.until("turn_end")

    assert (error["code"], error["path"]) == ("frame_invalid", "$.arguments")
    assert "[REDACTED] stands for a secret" in error["message"]
    assert [answer.arguments for answer in client.agent.answers] == [{"command": "login -v s3cret"}]


@pytest.mark.parametrize("arguments", ["[1]", '"text"', "7", "true", "[" * 60 + "]" * 60])
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


async def test_arguments_nested_deeper_than_a_frame_may_be_are_one_error_and_the_question_stays_open() -> None:
    async with Client([question(), DONE]) as client:
        client.chat()
        id_ = (await client.asked())["id"]
        send_arguments(client, id_, '{"a":' * 900 + "2" + "}" * 900)
        error = await client.until("error")
        client.answer(id_, approved=False)
        await client.until("turn_end")

    assert (error["code"], error["path"]) == ("frame_malformed", "$")
    assert client.resolved() == [(False, "user")]


def send_arguments(client: Client, id_: str, arguments: str) -> None:
    client.session.receive_text(f'{{"type":"approval","id":"{id_}","approved":true,"arguments":{arguments}}}'.encode())
