"""What skills remember and what the browser says of its user, on the page: it lasts, goes back, and is in the inspector."""

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, expect

from tests.e2e.conftest import LIMIT_MS
from tests.e2e.parley_page import ParleyPage
from tests.support.cookbook import write_cookbook
from tests.support.openai_script import Gate, text
from tests.support.openai_server import OpenAIServer
from tests.support.parley import Parley, parley

SMALL = "Give one small hint, as a question. Do not give the answer."
LARGE = "Name the rule that is needed, with another example. Do not give the answer."


def zone_at(hour: int) -> str:
    """Return a time zone in which it is this hour now."""
    ahead = (hour - datetime.now(UTC).hour + 12) % 24 - 12
    return f"Etc/GMT{-ahead:+d}"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def wishes(tmp_path_factory: pytest.TempPathFactory, lasting_model: OpenAIServer) -> AsyncIterator[Parley]:
    folder = tmp_path_factory.mktemp("wishes")
    skills = {
        "dir": str(write_cookbook(folder / "skills")),
        "edit": False,
        "enabled": ["language-switch", "tutor-hints", "tone-of-day", "remember-name"],
    }
    async with parley(folder, lasting_model.url, {"agent": {"planning": False}, "skills": skills}) as server:
        yield server


@pytest_asyncio.fixture(loop_scope="session")
async def context(chromium: Browser) -> AsyncIterator[BrowserContext]:
    """A browser of somebody for whom it is one o'clock at night."""
    context = await chromium.new_context(timezone_id=zone_at(1), reduced_motion="reduce")
    context.set_default_timeout(LIMIT_MS)
    yield context
    await context.close()


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


async def edited(page: ParleyPage, model: OpenAIServer, number: int, words: str) -> list[str]:
    """Ask a message again with other words; return the texts that the model read."""
    model.queue(text(f"About {words}."))
    await page.button("Edit and send again").nth(number).click()
    await page.tab.locator("#edit-message").fill(words)
    await page.tab.locator("#edit-message").press("Enter")
    await expect(page.replies.last).to_contain_text(f"About {words}.")
    await page.idle()
    return model.requests[-1].contents


async def test_the_latest_language_counts_after_a_reload_and_an_edit_goes_back_to_the_one_before(
    page: ParleyPage, model: OpenAIServer
) -> None:
    assert "Answer in German." in await read(page, model, "Please answer in German")
    assert "Answer in French." in await read(page, model, "Now in French")
    await page.stored()
    await page.tab.reload()
    assert "Answer in French." in await read(page, model, "Thanks")

    assert "Answer in German." in await edited(page, model, 1, "Thanks a lot")


async def test_hints_grow_on_the_page_and_an_edited_question_gets_the_hint_of_its_place(
    page: ParleyPage, model: OpenAIServer
) -> None:
    assert SMALL in await read(page, model, "A hint, please")
    assert LARGE in await read(page, model, "I'm stuck")
    await page.stored()
    await page.tab.reload()
    contents = await edited(page, model, 1, "Help me once more")

    assert LARGE in contents
    assert SMALL not in contents
    assert SMALL in await edited(page, model, 0, "help")


async def test_a_message_typed_into_a_reply_keeps_what_that_turn_has_set(page: ParleyPage, model: OpenAIServer) -> None:
    gate = Gate()
    model.queue(text("Gern, ", gate))
    await page.ask("Please answer in German")
    await expect(page.replies).to_contain_text(["Gern"])

    contents = await read(page, model, "And quickly")
    gate.open()

    assert "Answer in German." in contents
    assert "Answer in German." in await read(page, model, "Thanks")


async def test_the_users_clock_counts_and_the_inspector_shows_variables_and_context(
    page: ParleyPage, model: OpenAIServer
) -> None:
    contents = await read(page, model, "Now in French. My name is 42")
    assert any("where the user is: answer calmly" in content for content in contents)
    assert await read(page, model, "Call me Zoë")

    panel = await page.open_panel("Inspector")
    newest, first = panel.locator(".trace").first, panel.locator(".trace").last
    await first.locator("summary").first.click()
    variables = [
        trace.locator("section", has=page.tab.get_by_role("heading", name="Variables")) for trace in (newest, first)
    ]
    context = newest.locator("section", has=page.tab.get_by_role("heading", name="Context"))

    await expect(variables[0].get_by_role("listitem").first).to_have_text(
        'remember-name / name""→became"Zoë"set by their-name'
    )
    await expect(variables[0]).to_contain_text('language-switch / language"French"')
    await expect(variables[1]).to_contain_text('language-switch / language""→became"French"set by to-french')
    await expect(variables[1]).to_contain_text(
        "remember-name / their-namenot setnothing was found for set.name, so nothing of it was set"
    )
    await expect(context).to_contain_text(f'timezone"{zone_at(1)}"')
