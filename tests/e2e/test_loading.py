"""A server whose model is not there yet."""

from collections.abc import Callable
from pathlib import Path

from playwright.async_api import expect

from tests.e2e.parley_page import ParleyPage
from tests.support.server_process import ServerProcess

AWAY = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": "test-key"}  # is to tell its model's name


async def test_waiting_for_a_model_leaves_the_browser_s_console_empty(
    new_page: Callable[[str], ParleyPage], tmp_path: Path
) -> None:
    async with ServerProcess(tmp_path, environ=AWAY) as server:
        page = new_page(server.url)
        await page.open()
        async with page.tab.expect_response("**/stages"):
            await expect(page.tab.get_by_text("could not load its model")).to_be_visible()

        assert page.complaints == []
        await page.close()
