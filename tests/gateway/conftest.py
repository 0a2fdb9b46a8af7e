"""A scripted model, and the whole server in the test's own event loop before it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.openai_server import OpenAIServer
from tests.support.parley import Parley, parley


@pytest.fixture
async def model() -> AsyncIterator[OpenAIServer]:
    async with OpenAIServer() as server:
        yield server


@pytest.fixture
async def server(tmp_path: Path, model: OpenAIServer) -> AsyncIterator[Parley]:
    async with parley(tmp_path, model.url, {"agent": {"planning": False}}) as running:
        yield running
