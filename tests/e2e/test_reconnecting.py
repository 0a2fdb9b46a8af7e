"""A server that goes away and comes back."""

import signal
from collections.abc import Callable
from pathlib import Path

from playwright.async_api import expect

from tests.e2e.parley_page import ParleyPage
from tests.support.openai_server import OpenAIServer
from tests.support.ports import lasting_port
from tests.support.server_process import ServerProcess, endpoint


async def test_a_server_that_restarts_is_found_again_and_the_conversation_goes_on(
    new_page: Callable[[str], ParleyPage], model: OpenAIServer, skills: Path, tmp_path: Path
) -> None:
    settings = {"skills": {"dir": str(skills)}}
    model.say("One.")
    model.say("Two.")
    process = ServerProcess(
        tmp_path, environ=endpoint(model.url), settings=settings, arguments=("--port", str(lasting_port()))
    )
    async with process as first:
        page = new_page(first.url)
        await page.open()
        await page.ask_and_wait("First")
        first.signal(signal.SIGKILL)
        first.wait()
        await expect(page.line("No connection to the server")).to_be_visible()
        await expect(page.button("Send")).to_be_disabled()

    async with process:  # again
        await page.reconnect()
        await expect(page.lines).to_have_text([])
        await page.ask_and_wait("Second")
        assert [line for line in model.requests[1].contents if line in {"First", "One.", "Second"}] == [
            "First",
            "One.",
            "Second",
        ]
        await page.close()


async def test_a_server_that_leaves_politely_is_left_without_a_word(
    new_page: Callable[[str], ParleyPage], model: OpenAIServer, tmp_path: Path
) -> None:
    async with ServerProcess(tmp_path, environ=endpoint(model.url), settings={"listen": {"drain_s": 1}}) as server:
        page = new_page(server.url)
        await page.open()
        await page.input.fill("half a thought")

        server.signal(signal.SIGTERM)
        await expect(page.button("Send")).to_be_disabled()

        await expect(page.input).to_have_value("half a thought")
        await page.close()
