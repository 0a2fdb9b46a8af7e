"""Picking the model of the server on its page, by keyboard, and what a screen reader is told."""

import json
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest_asyncio
from playwright.async_api import expect

from tests.e2e.parley_page import ParleyPage
from tests.support.file_server import Fault, file_server
from tests.support.gguf_files import header
from tests.support.openai_script import Answer, calls, text
from tests.support.openai_server import OpenAIServer, Request
from tests.support.server_process import ServerProcess
from tests.support.waiting import until


def respond(request: Request) -> Answer:
    return calls((request.tool_names[0], {})) if "Use the tool" in str(request.contents) else text("I am the big one.")


@pytest_asyncio.fixture(loop_scope="session")
async def big() -> AsyncIterator[OpenAIServer]:
    """A model server that is found."""
    async with OpenAIServer(respond=respond, models=[{"id": "big"}, {"id": "bigger"}]) as server:
        yield server


@pytest_asyncio.fixture(loop_scope="session")
async def unset(tmp_path: Path, model: OpenAIServer, big: OpenAIServer) -> AsyncIterator[ServerProcess]:
    """A server for which nothing is configured, and the scripted model was picked."""
    (tmp_path / "data").mkdir()
    choice = {"kind": "endpoint", "base_url": model.url, "model": "scripted"}
    (tmp_path / "data" / "model.json").write_text(json.dumps(choice))
    settings = {"llm": {"discover_urls": [big.url]}, "agent": {"planning": False}}
    async with ServerProcess(tmp_path, settings=settings) as server:
        yield server


async def test_a_found_model_is_picked_by_keyboard_and_answers(
    new_page: Callable[[str], ParleyPage], unset: ServerProcess
) -> None:
    page = new_page(unset.url)
    await page.open()
    opener = page.tab.get_by_role("button", name="Pick another")
    dialog = page.tab.get_by_role("dialog", name="Model")
    await opener.focus()
    await page.tab.keyboard.press("Enter")
    await expect(dialog.get_by_role("button", name="scripted")).to_have_attribute("aria-pressed", "true")
    await expect(dialog.get_by_role("button", name="Close")).to_be_focused()

    found = dialog.get_by_role("button", name=re.compile("^big "))
    await found.focus()
    await page.tab.keyboard.press("Enter")

    await expect(dialog).to_be_hidden()
    await expect(opener).to_be_focused()
    await expect(page.tab.locator(".model-name")).to_have_text("big")
    await expect(page.tab.get_by_role("log", name="Reply")).to_contain_text("big answers from now on.")
    await opener.press("Enter")
    await expect(dialog.locator("[aria-pressed=true]")).to_contain_text("calls tools")
    await page.tab.keyboard.press("Escape")
    await page.ask_and_wait("Who are you?")
    await expect(page.replies).to_contain_text("I am the big one.")


async def test_another_endpoint_is_tested_before_it_is_used_and_its_key_does_not_stay(
    new_page: Callable[[str], ParleyPage], unset: ServerProcess, big: OpenAIServer
) -> None:
    page = new_page(unset.url)
    page.expected_complaints = ("422",)
    await page.open()
    await page.tab.get_by_role("button", name="Pick another").click()
    dialog = page.tab.get_by_role("dialog", name="Model")
    await dialog.get_by_text("Another endpoint").click()
    await dialog.get_by_label("Address").fill("http://127.0.0.1:1/v1")
    await dialog.get_by_label("Key").fill("sk-secret")
    await dialog.get_by_label("Model", exact=True).fill("bigger")
    await page.tab.keyboard.press("Enter")
    await expect(dialog.get_by_role("alert")).to_have_text(re.compile("^This address does not answer. "))

    await dialog.get_by_label("Address").fill(big.url)
    await dialog.get_by_label("Model", exact=True).fill("biggest")
    await dialog.get_by_role("button", name="List models").click()
    await expect(dialog).to_contain_text("2 models, to choose in the field “Model”: big, bigger")
    assert await dialog.locator("#listed-models option").count() == 2
    await expect(dialog.get_by_label("Model", exact=True)).to_have_value("")  # else the browser shows none of them
    await dialog.get_by_label("Model", exact=True).fill("bigger")
    await dialog.get_by_role("button", name="Test and use").click()

    await expect(page.tab.locator(".model-name")).to_have_text("bigger")
    await expect(dialog).to_be_hidden()
    await page.tab.get_by_role("button", name="Pick another").click()
    await dialog.get_by_text("Another endpoint").click()
    await expect(dialog.get_by_label("Key")).to_have_value("")
    assert big.requests[-1].headers["Authorization"] == "Bearer sk-secret"
    assert "sk-secret" not in unset.log()


async def test_a_model_is_downloaded_with_a_progress_bar_stopped_and_continued(
    new_page: Callable[[str], ParleyPage], tmp_path: Path, model: OpenAIServer
) -> None:
    (tmp_path / "data").mkdir()
    choice = {"kind": "endpoint", "base_url": model.url, "model": "scripted"}
    (tmp_path / "data" / "model.json").write_text(json.dumps(choice))
    async with file_server(header() + b"\0" * 64_000_000) as files:
        files.always = Fault(length=639_446_688, is_silent=True)
        environ = {"HF_ENDPOINT": files.url.partition("/org")[0], "PARLEY_LLM__DISCOVER": "off"}
        async with ServerProcess(tmp_path, environ=environ) as server:
            page = new_page(server.url)
            await page.open()
            await page.tab.get_by_role("button", name="Pick another").click()
            dialog = page.tab.get_by_role("dialog", name="Model")
            await dialog.get_by_text("Download a model").click()
            assert files.requests == []

            await dialog.get_by_role("button", name="Download Qwen3-0.6B-Q8_0").click()
            bar = dialog.get_by_role("progressbar", name="Download of Qwen3-0.6B-Q8_0")
            await expect(bar).to_have_attribute("value", re.compile(r"^64000\d{3}$"))
            await expect(bar).to_have_attribute("max", "639446688")
            await expect(dialog).to_contain_text("0.06 of 0.64 GB")
            await expect(dialog.get_by_role("button", name="Download Qwen3-8B-Q4_K_M")).to_be_disabled()

            await dialog.get_by_role("button", name="Stop the download").click()
            await expect(bar).to_have_count(0)
            await dialog.get_by_role("button", name="Download Qwen3-0.6B-Q8_0").click()
            await expect(bar).to_be_visible()
            await page.tab.screenshot(path=tmp_path / "download.png")
            await until(lambda: len(files.requests) > 1)
            assert "range" in files.requests[1]


async def test_a_setting_that_decides_is_named(page: ParleyPage) -> None:
    await page.tab.get_by_role("button", name="Pick another").click()

    dialog = page.tab.get_by_role("dialog", name="Model")
    await expect(dialog).to_contain_text("scripted answers, because OPENAI_BASE_URL is set.")
    await page.tab.keyboard.press("Escape")
    await expect(dialog).to_be_hidden()
