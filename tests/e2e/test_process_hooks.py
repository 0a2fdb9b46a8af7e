"""Process hooks on the page: how they fare, and what they changed."""

from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.e2e.parley_page import ParleyPage
from tests.hooks.serving import entry, scripted
from tests.support.openai_script import calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.parley import Parley, parley

HOSTILE = '<img src=x onerror="window.pwned=1"><b>'
PROCESSES = {
    "teacher": scripted({"before_llm": {"action": "modify", "request": {"options": {"temperature": 0.25}}}}),
    "guard": scripted({"hello": {"canary": True}, "approve_tool": {"approved": True}}, intercept=["approve_tool"]),
    "crier": scripted({"before_tool": {"action": HOSTILE}}),
    "broken": entry("scripted", "hook.hello=exit 3", intercept=["approve_tool"]),
}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def hooked(tmp_path_factory: pytest.TempPathFactory, lasting_model: OpenAIServer) -> AsyncIterator[Parley]:
    settings = {"agent": {"planning": False}, "hooks": {"processes": PROCESSES}}
    folder = tmp_path_factory.mktemp("hooked")
    async with parley(folder, lasting_model.url, settings) as server:
        yield server


@pytest_asyncio.fixture(loop_scope="session")
async def page(new_page: Callable[[str], ParleyPage], hooked: Parley) -> ParleyPage:
    page = new_page(hooked.url)
    await page.open()
    return page


async def test_the_panel_tells_which_gates_are_armed_and_why_the_others_are_not(page: ParleyPage) -> None:
    panel = await page.open_panel("Process hooks")

    await expect(panel).to_contain_text("1 of 2 gates not armed: broken.")
    broken = panel.get_by_role("listitem").filter(has_text="broken")
    await expect(broken).to_contain_text("down")
    await expect(broken).to_contain_text("Last error")
    await expect(panel.get_by_role("listitem").filter(has_text="guard")).to_contain_text("armed")


async def test_figures_and_warnings_come_while_the_panel_is_open_and_hostile_ones_stay_text(
    page: ParleyPage, model: OpenAIServer
) -> None:
    panel = await page.open_panel("Process hooks")
    crier = panel.get_by_role("listitem").filter(has_text="crier").first
    await expect(crier).to_contain_text("calls")

    model.queue(calls(("current_time", {"timezone": "Asia/Tokyo"})), text("Done."))
    await page.ask_and_wait("What time is it?")

    await crier.get_by_text("1 warning").click()
    await expect(crier).to_contain_text(HOSTILE)
    assert await page.tab.locator("#page img, #page b").count() == 0
    assert await page.tab.evaluate("window.pwned") is None


async def test_the_inspector_shows_what_a_hook_changed_as_lines_removed_and_added(
    page: ParleyPage, model: OpenAIServer
) -> None:
    model.say("Hi.")
    await page.ask_and_wait("Hello")
    panel = await page.open_panel("Inspector")

    step = panel.locator(".call .hook-step")
    await expect(step).to_have_count(1)
    await step.locator("summary").click()

    await expect(step).to_contain_text("teacher")
    await expect(step.locator(".diff-added").filter(has_text="temperature")).to_contain_text('"temperature": 0.25')
    assert model.requests[0].body["temperature"] == 0.25
