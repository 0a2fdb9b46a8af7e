"""A server whose policy each test finds empty, and views of the policy page."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, Page

from tests.e2e.conftest import EXPECTED_ERRORS
from tests.e2e.policy.policy_page import Opened, forget
from tests.support.openai_server import OpenAIServer
from tests.support.server_process import ServerProcess, endpoint

SETTINGS = {"agent": {"planning": False}, "hooks": {"approval": {"timeout_s": 120}}}


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def lasting_governed(
    tmp_path_factory: pytest.TempPathFactory, lasting_model: OpenAIServer
) -> AsyncIterator[ServerProcess]:
    process = ServerProcess(tmp_path_factory.mktemp("governed"), environ=endpoint(lasting_model.url), settings=SETTINGS)
    async with process as server:
        yield server


@pytest_asyncio.fixture(loop_scope="session")
async def governed(lasting_governed: ServerProcess) -> ServerProcess:
    """Its audit log and the versions of its documents go on from test to test."""
    await forget(lasting_governed)
    return lasting_governed


@pytest_asyncio.fixture(loop_scope="session")
async def opened(context: BrowserContext, governed: ServerProcess) -> AsyncIterator[Opened]:
    """Opens a view of the policy page; at the end none may have complained."""
    complaints: list[str] = []

    async def open_view(view: str, url: str = governed.url) -> Page:
        tab = await context.new_page()
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        await tab.goto(f"{url}/policy.html#/{view}")
        return tab

    yield open_view
    assert [line for line in complaints if not EXPECTED_ERRORS.search(line)] == []
