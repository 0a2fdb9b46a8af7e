"""The whole server with an operator (`local`, without login) and two users."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientResponse, ClientSession

from tests.support.openai_server import OpenAIServer
from tests.support.parley import Parley, parley

TOKENS = {
    "anna": "anna-token-of-more-than-enough-length-0123456789",
    "bert": "bert-token-of-more-than-enough-length-9876543210",
}


@pytest.fixture
async def server(tmp_path: Path, model: OpenAIServer) -> AsyncIterator[Parley]:
    tokens = [{"user": user, "token": token} for user, token in TOKENS.items()]
    async with parley(tmp_path, model.url, {"security": {"tokens": tokens}}) as running:
        yield running


@dataclass
class Reply:
    status: int
    body: Any
    headers: Any

    @property
    def tag(self) -> str:
        return str(self.headers["ETag"])

    @property
    def code(self) -> str:
        return str(self.body["error"]["code"])


class Client:
    """Asks as a user, or without a name as the operator on this machine."""

    def __init__(self, server: Parley, user: str | None = None) -> None:
        self._url = server.url
        self.headers = {} if user is None else {"Authorization": f"Bearer {TOKENS[user]}"}

    async def get(self, path: str, **headers: str) -> Reply:
        return await self.ask("GET", path, headers=headers)

    async def delete(self, path: str) -> Reply:
        return await self.ask("DELETE", path)

    async def post(self, path: str, body: Any, *, tag: str | None = None) -> Reply:
        return await self.ask("POST", path, headers={} if tag is None else {"If-Match": tag}, json=body)

    async def ask(self, method: str, path: str, **options: Any) -> Reply:
        headers = {**self.headers, **options.pop("headers", {})}
        async with (
            ClientSession() as http,
            http.request(method, self._url + path, headers=headers, **options) as answer,
        ):
            return Reply(answer.status, await _body(answer), answer.headers)


async def _body(answer: ClientResponse) -> Any:
    return await answer.json() if answer.content_type == "application/json" else await answer.text()


@pytest.fixture
def operator(server: Parley) -> Client:
    return Client(server)


@pytest.fixture
def anna(server: Parley) -> Client:
    return Client(server, "anna")


@pytest.fixture
def bert(server: Parley) -> Client:
    return Client(server, "bert")
