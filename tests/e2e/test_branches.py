"""What can be done with a message: copied, edited, asked again; versions of a turn, and what the model read in it."""

from playwright.async_api import expect

from tests.e2e.parley_page import ParleyPage
from tests.support.openai_server import OpenAIServer


async def test_an_edited_message_begins_a_version_and_the_one_before_survives_a_reload(
    page: ParleyPage, model: OpenAIServer
) -> None:
    for answer in ("One.", "Two.", "Pears.", "After pears."):
        model.say(answer)
    await page.ask_and_wait("About apples")
    await page.ask_and_wait("More")
    await page.button("Edit and send again").first.click()
    editor = page.tab.locator("#edit-message")
    await expect(editor).to_be_focused()
    await editor.press("Escape")
    await expect(page.button("Edit and send again").first).to_be_focused()

    await page.button("Edit and send again").first.click()
    await editor.fill("About pears")
    await editor.press("Enter")
    await expect(page.replies).to_contain_text(["Pears."])
    await page.idle()

    assert "About apples" not in model.requests[2].contents
    await expect(page.tab.locator(".versions-place")).to_have_text("2 / 2")
    await page.stored()
    await page.tab.reload()
    await page.button("Earlier version").click()
    await expect(page.replies).to_contain_text(["One.", "Two."])
    await page.button("Later version").click()
    await page.ask_and_wait("More about pears")
    assert [text for text in model.requests[3].contents if "pears" in text.lower()] == [
        "About pears",
        "Pears.",
        "More about pears",
    ]


async def test_a_reply_is_regenerated_copied_and_its_prompt_shown(page: ParleyPage, model: OpenAIServer) -> None:
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    model.say("**One**.")
    model.say("**Two**.")
    await page.ask_and_wait("Say a number")

    await page.button("Regenerate reply").click()
    await expect(page.replies).to_contain_text(["Two."])
    await page.idle()
    await page.button("Copy reply").click()

    await expect(page.button("Copied")).to_be_visible()
    assert await page.tab.evaluate("navigator.clipboard.readText()") == "**Two**."
    await page.button("What the model read").click()
    panel = page.tab.get_by_role("complementary", name="Inspector")
    await expect(panel.locator(".trace")).to_have_count(1)
    await expect(panel.locator(".trace-title")).to_have_text("Say a number")
