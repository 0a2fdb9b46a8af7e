"""Holders of Realtime keys and questions about tool calls: whose they see, and which they may answer."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.rest.conftest import Client
from tests.gateway.test_approvals import TOKYO, answer, results, settings
from tests.gateway.test_login import ANNA, bearer
from tests.support.client import client
from tests.support.openai_script import calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.parley import Parley, parley
from tests.support.realtime_client import RealtimeClient, realtime_client

SEES = {"type": "realtime", "output_modalities": ["text"], "include": ["parley.approval_request"]}
MODES = [{}, {"auth": "token", "tokens": [{"user": "anna", "token": ANNA}]}]


class Maker:
    """A server on which every tool call is asked about, and its user, who makes keys."""

    def __init__(self, server: Parley, headers: dict[str, str]) -> None:
        self.server = server
        self.headers = headers

    async def key(self, **wanted: Any) -> str:
        rest = Client(self.server)
        rest.headers = self.headers
        made = await rest.post("/v1/realtime/client_secrets", {"session": SEES, **wanted})
        assert made.status == 200, made.body
        return str(made.body["value"])

    @asynccontextmanager
    async def holder(self, key: str) -> AsyncIterator[RealtimeClient]:
        """A page of another origin that has been given the key."""
        async with realtime_client(
            self.server.url, additional_headers=bearer(key), origin="https://shop.example"
        ) as it:
            yield it


@pytest.fixture(params=MODES, ids=["local", "token"])
async def maker(request: pytest.FixtureRequest, tmp_path: Path, model: OpenAIServer) -> AsyncIterator[Maker]:
    async with parley(tmp_path, model.url, {**settings(), "security": request.param}) as server:
        yield Maker(server, bearer(ANNA) if request.param else {})


async def test_the_holder_of_a_key_neither_sees_nor_answers_what_its_maker_is_asked(
    maker: Maker, model: OpenAIServer
) -> None:
    model.queue(calls(TOKYO), text("Then not."))
    key = await maker.key(approvals=True)
    async with maker.holder(key) as holder, client(maker.server.ws_url, additional_headers=maker.headers) as page:
        await page.chat()
        question = await page.until("approval_request")
        await holder.send("parley.approval", id=question["id"], approved=True)
        refused = await holder.until("error", "parley.approval_resolved")
        await page.send("approval", id=question["id"], approved=False)
        await page.until("turn_end")

    assert "parley.approval_request" not in {event["type"] for event in holder.events}
    assert refused["error"]["code"] == "approval_unknown"
    [result] = results(page.frames)
    assert result["ending"] == "denied"


async def test_a_key_without_approvals_has_such_calls_refused_at_once_and_its_makers_page_is_not_asked(
    maker: Maker, model: OpenAIServer
) -> None:
    model.queue(calls(TOKYO), text("Then not."))
    async with client(maker.server.ws_url, additional_headers=maker.headers) as page:
        async with maker.holder(await maker.key()) as holder:
            await holder.say("What time is it?")
            done = await holder.respond()
        shown = await page.pong()

    assert done["status"] == "completed"
    told = [message["content"] for message in model.requests[1].messages if message["role"] == "tool"]
    assert "made without `approvals: true`" in told[0]
    assert "parley.approval_request" not in {event["type"] for event in holder.events}
    assert "approval_request" not in {frame["type"] for frame in shown}


async def test_a_key_with_approvals_answers_the_questions_of_its_own_connection_alone(
    maker: Maker, model: OpenAIServer
) -> None:
    model.queue(calls(TOKYO), text("Noon."))
    key = await maker.key(approvals=True, user="visitor")
    async with (
        client(maker.server.ws_url, additional_headers=maker.headers) as page,
        maker.holder(key) as other,
        maker.holder(key) as holder,
    ):
        await holder.say("What time is it?")
        await holder.send("response.create")
        question = await holder.until("parley.approval_request")
        await other.send("parley.approval", id=question["id"], approved=False)
        refused = await other.until("error")
        await page.send("approval", id=question["id"], approved=False)
        notice = await page.until("notice")
        await holder.send("parley.approval", id=question["id"], approved=True)
        await holder.until("response.done")

    assert (refused["error"]["code"], notice["code"]) == ("approval_unknown", "approval_unknown")
    assert "parley.approval_request" not in {event["type"] for event in other.events}
    assert "approval_request" not in {frame["type"] for frame in page.frames}
    [told] = [message["content"] for message in model.requests[1].messages if message["role"] == "tool"]
    assert "Asia/Tokyo" in told


async def test_what_the_maker_has_approved_for_good_is_asked_of_its_keys_again(
    maker: Maker, model: OpenAIServer
) -> None:
    model.queue(calls(TOKYO), text("Noon."), calls(TOKYO), text("Noon."), calls(TOKYO), text("Then not."))
    async with client(maker.server.ws_url, additional_headers=maker.headers) as page:
        await page.chat()
        await answer(page, remember="always")
        await page.until("turn_end")
        remembered = await page.turn()
    async with maker.holder(await maker.key(approvals=True)) as holder:
        await holder.say("What time is it?")
        await holder.send("response.create")
        question = await holder.until("parley.approval_request")
        await holder.send("parley.approval", id=question["id"], approved=False)
        await holder.until("response.done")

    assert [frame["by"] for frame in remembered if frame["type"] == "approval_resolved"] == ["remembered"]
