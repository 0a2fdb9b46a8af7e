"""Hooks with conditions on the page: what they remember goes along, and the inspector says why they stay out."""

from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.e2e.parley_page import ParleyPage
from tests.support.cookbook import write_cookbook
from tests.support.openai_script import Gate, text
from tests.support.openai_server import OpenAIServer
from tests.support.parley import Parley, parley

NO_ADVICE = "Say in half a sentence that you are no financial adviser."
FORMAL_GERMAN = "Antworte auf Deutsch und sprich den Nutzer mit „Sie“ an."


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def wishes(tmp_path_factory: pytest.TempPathFactory, lasting_model: OpenAIServer) -> AsyncIterator[Parley]:
    folder = tmp_path_factory.mktemp("wishes")
    settings = {"agent": {"planning": False}, "skills": {"dir": str(write_cookbook(folder / "skills")), "edit": False}}
    async with parley(folder, lasting_model.url, settings) as server:
        yield server


@pytest_asyncio.fixture(loop_scope="session")
async def page(new_page: Callable[[str], ParleyPage], wishes: Parley) -> ParleyPage:
    page = new_page(wishes.url)
    await page.open()
    return page


async def read(page: ParleyPage, model: OpenAIServer, asked: str) -> list[str]:
    """Ask; return the texts that the model read."""
    model.queue(text("Yes."))
    await page.ask_and_wait(asked)
    return model.requests[-1].contents


async def test_what_a_hook_remembers_survives_a_reload_and_belongs_to_its_version(
    page: ParleyPage, model: OpenAIServer
) -> None:
    assert NO_ADVICE not in await read(page, model, "Hello")
    assert NO_ADVICE in await read(page, model, "Shall I invest?")
    assert NO_ADVICE not in await read(page, model, "And a loan?")
    await page.stored()
    await page.tab.reload()
    assert NO_ADVICE not in await read(page, model, "And a mortgage?")

    model.queue(text("Another one."))
    await page.button("Edit and send again").nth(1).click()
    await page.tab.locator("#edit-message").fill("Money?")
    await page.tab.locator("#edit-message").press("Enter")
    await expect(page.replies).to_contain_text(["Another one."])
    await page.idle()

    assert NO_ADVICE in model.requests[-1].contents, "in this version it has not fired yet"
    assert NO_ADVICE not in await read(page, model, "A loan, then?")


async def test_a_hook_of_a_turn_that_was_stopped_has_fired(page: ParleyPage, model: OpenAIServer) -> None:
    gate = Gate()
    model.queue(text("You ", gate, "may."))
    await page.ask("Shall I invest?")
    await expect(page.replies).to_contain_text(["You"])
    await page.button("Stop the reply").click()
    await page.until(lambda: page.count("turn_end") == 1)
    gate.open()

    assert NO_ADVICE in model.requests[-1].contents
    assert NO_ADVICE not in await read(page, model, "And a loan?")


async def test_the_inspector_names_the_condition_that_kept_a_hook_out(page: ParleyPage, model: OpenAIServer) -> None:
    await page.set("Language of the conversation", "fr")
    assert FORMAL_GERMAN not in await read(page, model, "Bonjour")

    panel = await page.open_panel("Inspector")
    item = panel.get_by_role("listitem").filter(has_text="german-only / formal-german")

    await expect(item).to_contain_text("Its condition does not hold: when.language")
    await page.set("Language of the conversation", "de")
    assert FORMAL_GERMAN in await read(page, model, "Guten Tag")
