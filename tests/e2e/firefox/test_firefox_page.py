"""The page in Firefox, from the first question to the policy page."""

from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.e2e.firefox.conftest import FirefoxPage
from tests.e2e.test_media import SECRET, pictures, png, size_of
from tests.support.openai_script import Gate, calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.server_process import ServerProcess, endpoint

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

ZONE = {"timezone": "Asia/Tokyo"}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server(tmp_path_factory: pytest.TempPathFactory, lasting_model: OpenAIServer) -> AsyncIterator[ServerProcess]:
    """Asks before it looks at the clock."""
    asking = {"ask_human": {"enabled": True, "config": {"tools": ["current_time"]}}}
    settings = {"agent": {"planning": False}, "hooks": {"builtins": asking}}
    folder = tmp_path_factory.mktemp("asking")
    async with ServerProcess(folder, environ=endpoint(lasting_model.url), settings=settings) as process:
        yield process


async def test_a_reply_streams_can_be_stopped_and_survives_a_reload(page: FirefoxPage, model: OpenAIServer) -> None:
    gate = Gate()
    model.queue(text("It is blue. ", gate, "Rayleigh said so."), text("Endless ", Gate()))
    await page.ask("Why is the sky blue?")
    await expect(page.replies).to_contain_text("It is blue.")
    await expect(page.replies).not_to_contain_text("Rayleigh")
    gate.open()
    await page.idle()
    await page.ask("Again?")
    await expect(page.replies.last).to_contain_text("Endless")
    await page.tab.keyboard.press("Escape")
    await expect(page.tab.locator(".turn-end")).to_contain_text("Stopped.")
    await page.input.fill("Not sent yet")

    await page.tab.reload()
    await expect(page.replies.first).to_have_text("It is blue. Rayleigh said so.")
    await expect(page.turns).to_have_count(2)
    await expect(page.input).to_have_value("Not sent yet")


async def test_a_tool_is_allowed_by_keyboard_and_the_inspector_shows_the_call(
    page: FirefoxPage, model: OpenAIServer
) -> None:
    model.queue(calls(("current_time", ZONE)), text("Done."))
    await page.ask("What time is it in Tokyo?")
    await expect(page.tab.get_by_role("alertdialog")).to_be_focused()
    await expect(page.tab.locator(".approval [inert]")).to_have_count(0)
    for _ in ("arguments", "reason", "remember", "Edit…", "Don't allow", "Allow"):
        await page.tab.keyboard.press("Tab")
    await expect(page.button("Allow")).to_be_focused()
    await page.tab.keyboard.press("Enter")
    await page.idle()

    await expect(page.replies).to_contain_text("Done.")
    [result] = [message["content"] for message in model.requests[-1].messages if message["role"] == "tool"]
    assert "Tokyo" in result
    panel = await page.open_panel("Inspector")
    await expect(panel).to_contain_text("What time is it in Tokyo?")
    await page.tab.keyboard.press("Escape")
    await expect(panel).to_have_count(0)


async def test_the_menu_opens_by_keyboard_and_what_it_deletes_comes_back(
    page: FirefoxPage, model: OpenAIServer
) -> None:
    model.say("Hi.")
    await page.ask_and_wait("Hello")
    await page.button("More").focus()
    await page.tab.keyboard.press("Enter")
    await expect(page.button("Rename")).to_be_visible()
    await page.button("Delete").press("Enter")
    await expect(page.turns).to_have_count(0)
    await page.button("Undo").press("Enter")

    await expect(page.replies).to_have_text("Hi.")


async def test_an_attached_picture_survives_a_reload_and_reaches_the_model_small(
    page: FirefoxPage, model: OpenAIServer
) -> None:
    model.say("A cat.")
    await page.tab.locator("#picker").set_input_files(
        {"name": "cat.png", "mimeType": "image/png", "buffer": png(3136, 100)}
    )
    await expect(page.button("Remove cat.png")).to_be_visible()
    await page.tab.reload()
    await expect(page.button("Remove cat.png")).to_be_visible()
    await page.ask_and_wait("What is this?")

    [sent] = pictures(*model.requests[0].messages)
    assert size_of(sent) == (1568, 50)
    assert SECRET not in sent


async def test_a_second_tab_reads_along_until_the_first_one_closes(
    page: FirefoxPage, new_page: Callable[[], FirefoxPage], model: OpenAIServer
) -> None:
    model.say("Hi.")
    await page.ask_and_wait("Hello")
    other = new_page()
    await other.open(page.tab.url[page.tab.url.index("#") :])
    await expect(other.line("open in another tab")).to_be_visible()
    await expect(other.replies).to_have_text("Hi.")

    await page.close()
    await expect(other.line("open in another tab")).to_have_count(0)
    await expect(other.send).to_be_enabled()


async def test_the_tool_policy_is_changed_and_stored(page: FirefoxPage) -> None:
    tab = page.tab
    await tab.goto(f"{page.url}/policy.html#/policy")
    await expect(tab.get_by_role("heading", name="Tool policy")).to_be_visible()
    switch = tab.get_by_role("switch", name="Hide secrets")
    await switch.check()
    await page.button("Save").click()
    await expect(page.button("Save")).to_be_disabled()

    await tab.reload()
    await expect(switch).to_be_checked()
    await expect(tab.get_by_role("textbox", name="Policy document")).to_contain_text("security_scan")


async def test_a_key_is_completed_in_the_studio_and_undone(page: FirefoxPage) -> None:
    tab = page.tab
    await tab.goto(f"{page.url}/studio.html")
    await tab.locator(".studio-file", has_text="hooks/hooks.json").first.click()
    await expect(tab.locator(".cm-focused")).to_be_visible()
    await tab.keyboard.press("Control+a")
    await tab.keyboard.type('{"hooks": [{"ti')
    await expect(tab.get_by_role("option", name="timing")).to_be_visible()
    await tab.keyboard.press("Enter")
    await expect(tab.locator("code-editor")).to_have_js_property("value", '{"hooks": [{"timing": ""}]}')
    await tab.keyboard.press("Control+z")
    await expect(tab.locator("code-editor")).not_to_have_js_property("value", '{"hooks": [{"timing": ""}]}')
    await expect(tab.get_by_role("region", name="What the model reads")).to_contain_text("planning")
