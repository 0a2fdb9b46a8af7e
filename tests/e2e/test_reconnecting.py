"""A server that goes away and comes back."""

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path

from aiohttp import ClientSession
from playwright.async_api import expect

from tests.e2e.parley_page import ParleyPage
from tests.support.openai_script import Gate, text
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
        await expect(page.send).to_be_disabled()

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
        await expect(page.send).to_be_disabled()

        await expect(page.input).to_have_value("half a thought")
        await page.close()


async def test_a_message_that_a_stopping_server_refuses_is_answered_by_the_next_one(
    new_page: Callable[[str], ParleyPage], model: OpenAIServer, tmp_path: Path
) -> None:
    model.queue(text("On and ", Gate()), text("Second."))
    process = ServerProcess(
        tmp_path,
        environ=endpoint(model.url),
        settings={"agent": {"planning": False}},
        arguments=("--port", str(lasting_port())),
    )
    async with process as first:
        page = new_page(first.url)
        await page.open()
        await page.ask("First question")
        await page.until(lambda: page.count("text") > 0)
        first.signal(signal.SIGTERM)
        await drains(first)
        await page.input.fill("Second question")
        await page.input.press("Enter")
        first.wait()
        assert page.count("turn_start") == 1

    async with process:  # again
        await expect(page.replies.last).to_have_text("Second.")
        await expect(page.button("Retry")).to_have_count(0)
        assert [chat["id"] for chat in page.chats[1:]] == [page.chats[1]["id"]] * 2
        assert [frame["code"] for frame in page.frames if frame["type"] == "error"] == ["turn_refused_draining"]
        await page.close()


async def test_a_reply_that_the_server_had_to_cut_off_says_that_it_restarted(
    new_page: Callable[[str], ParleyPage], model: OpenAIServer, tmp_path: Path
) -> None:
    model.queue(text("On and ", Gate()))
    settings = {"listen": {"drain_s": 0.2}, "agent": {"planning": False}}
    async with ServerProcess(tmp_path, environ=endpoint(model.url), settings=settings) as server:
        page = new_page(server.url)
        await page.open()
        await page.ask("A long story")
        await page.until(lambda: page.count("text") > 0)
        server.signal(signal.SIGTERM)

        await expect(page.tab.locator(".turn-end")).to_contain_text("The server had to restart.")
        await expect(page.button("Retry")).to_have_count(1)
        await page.close()


async def drains(server: ServerProcess) -> None:
    """Returns when the server refuses what is new."""
    async with ClientSession() as http:
        while True:
            async with http.get(f"{server.url}/readyz") as answer:
                if (await answer.json()).get("draining"):
                    return
            await asyncio.sleep(0.02)


async def test_the_page_can_be_installed_and_says_so_when_its_server_is_away(
    new_page: Callable[[str], ParleyPage], model: OpenAIServer, tmp_path: Path
) -> None:
    process = ServerProcess(tmp_path, environ=endpoint(model.url), arguments=("--port", str(lasting_port())))
    async with process as server:
        page = new_page(server.url)
        await page.open()
        await page.tab.evaluate("navigator.serviceWorker.ready")
        devtools = await page.context.new_cdp_session(page.tab)
        await devtools.send("Page.enable")
        manifest = await devtools.send("Page.getAppManifest")
        assert manifest["errors"] == []
        found = await devtools.send("Page.getInstallabilityErrors")
        assert [error["errorId"] for error in found["installabilityErrors"]] == ["in-incognito"], "as every test is"
    await page.tab.reload()
    await expect(page.tab.get_by_text("The server cannot be reached")).to_be_visible()

    async with process:  # again
        await page.button("Retry").click()
        await expect(page.tab.locator(".model")).to_be_visible()
        await page.close()
