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
from tests.support.realtime_client import RealtimeClient, realtime_client
from tests.support.server_process import ServerProcess, endpoint

SEES = {"type": "realtime", "output_modalities": ["text"], "include": ["parley.approval_request"]}
MODES = [{}, {"auth": "token", "tokens": [{"user": "anna", "token": ANNA}]}]


class Maker:
    """A server on which every tool call is asked about, and its user, who makes keys."""

    def __init__(self, server: ServerProcess, headers: dict[str, str]) -> None:
        self.server = server
        self.headers = headers

    async def key(self, **wanted: Any) -> str:
        rest = Client(self.server)  # type: ignore[arg-type]  # only its address is asked for
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
    tree = {**settings(), "security": request.param}
    async with ServerProcess(tmp_path, environ=endpoint(model.url), settings=tree) as server:
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
