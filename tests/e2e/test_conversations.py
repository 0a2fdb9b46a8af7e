"""Several conversations: new, rename, delete, clear, export."""

import json
from collections.abc import Callable
from pathlib import Path

from playwright.async_api import expect

from tests.e2e.parley_page import ParleyPage
from tests.support.openai_server import OpenAIServer


async def test_conversations_are_apart_and_come_back(page: ParleyPage, model: OpenAIServer) -> None:
    for answer in ("One.", "Two.", "Three."):
        model.say(answer)
    await page.ask_and_wait("About apples")
    await page.tab.keyboard.press("Control+k")
    await expect(page.turns).to_have_count(0)
    await page.ask_and_wait("About pears")
    assert "About apples" not in model.requests[1].contents

    await page.button("About apples").click()
    await expect(page.replies).to_contain_text("One.")
    await page.ask_and_wait("More about apples")

    assert [content for content in model.requests[2].contents if "apples" in content] == [
        "About apples",
        "More about apples",
    ]
    await expect(page.tab.locator(".conversation")).to_have_text(["About apples", "About pears"])


async def test_a_reload_opens_the_same_conversation_and_keeps_what_is_written_and_not_sent(
    page: ParleyPage, model: OpenAIServer
) -> None:
    model.say("One.")
    model.say("Two.")
    await page.ask_and_wait("First")
    await page.button("New conversation").first.click()
    await page.ask_and_wait("Second")
    await page.button("First").click()
    await expect(page.replies).to_contain_text("One.")
    await page.input.press_sequentially("half a thought")

    await page.tab.reload()

    await expect(page.replies).to_contain_text("One.")
    await expect(page.tab.locator(".conversation[aria-current]")).to_have_text("First")
    await expect(page.input).to_have_value("half a thought")


async def test_a_conversation_can_be_renamed_deleted_and_brought_back(page: ParleyPage, model: OpenAIServer) -> None:
    model.say("Hi.")
    await page.ask_and_wait("Hello")

    await page.choose("Rename")
    await page.tab.keyboard.type("Greetings")
    await page.tab.keyboard.press("Enter")

    await expect(page.input).to_be_focused()
    await expect(page.input).to_have_value("")
    await expect(page.tab.locator(".conversation")).to_have_text("Greetings")
    assert (await page.stored())[0]["title"] == "Greetings"

    await page.choose("Delete")
    await expect(page.turns).to_have_count(0)
    assert await page.stored() == []

    await page.button("Undo").click()

    await expect(page.replies).to_contain_text("Hi.")
    assert len(await page.history()) == 3


async def test_a_conversation_can_be_taken_along_and_brought_back(page: ParleyPage, model: OpenAIServer) -> None:
    model.say("Hi **there**.")
    await page.ask_and_wait("Hello")

    async with page.tab.expect_download() as as_json:
        await page.choose("Export as JSON")
    async with page.tab.expect_download() as as_markdown:
        await page.choose("Export as Markdown")

    file = Path(await (await as_json.value).path())
    exported = json.loads(file.read_text())
    assert [message["content"] for message in exported["messages"]][::2] == ["Hello", "Hi **there**."]
    assert (await as_markdown.value).suggested_filename == "Hello.md"
    assert "**You**\n\nHello\n" in Path(await (await as_markdown.value).path()).read_text()

    await page.choose("Delete")
    await expect(page.turns).to_have_count(0)
    async with page.tab.expect_file_chooser() as chooser:
        await page.button("Import a conversation").click()
    await (await chooser.value).set_files(file)
    await expect(page.replies).to_contain_text("Hi there.")
    messages = [message["content"] for message in await page.history()]
    assert messages == ["Hello", "The text of calm/tone.", "Hi **there**."]


async def test_conversations_are_found_by_what_was_said_and_pinned(page: ParleyPage, model: OpenAIServer) -> None:
    for question, answer in (("About apples", "They are red."), ("About pears", "They are green.")):
        model.say(answer)
        await page.ask_and_wait(question)
        await page.tab.keyboard.press("Control+k")
        await expect(page.turns).to_have_count(0)
    titles = page.tab.locator(".conversation")

    await page.tab.get_by_label("Search conversations").fill("RED")
    await expect(titles).to_have_text(["About apples"])
    await titles.first.click()
    await expect(page.replies).to_contain_text("They are red.")
    await page.tab.get_by_label("Search conversations").press("Escape")
    await expect(titles).to_have_count(2)
    await page.choose("Pin")

    await page.stored()
    await page.tab.reload()
    await expect(page.tab.locator(".conversations-day")).to_have_text(["Pinned", "Today"])
    await expect(titles).to_have_text(["About apples", "About pears"])


async def test_any_conversation_is_renamed_pinned_and_deleted_in_the_list(
    page: ParleyPage, model: OpenAIServer, tmp_path: Path
) -> None:
    for word in ("apples", "pears", "plums"):
        model.say(f"About {word}.")
        await page.ask_and_wait(f"About {word}")
        await page.tab.keyboard.press("Control+k")
        await expect(page.turns).to_have_count(0)
    titles = page.tab.locator(".conversation")
    await titles.filter(has_text="plums").click()
    await expect(page.replies).to_contain_text("About plums.")
    await expect(titles).to_have_text(["About plums", "About pears", "About apples"])

    await page.button("Rename, pin or delete “About apples”").click()
    field = page.tab.locator(".conversation-actions").get_by_label("Title")
    await field.fill("Fruit")
    await page.tab.screenshot(path=tmp_path / "actions.png")
    await field.press("Enter")
    await expect(titles).to_have_text(["About plums", "About pears", "Fruit"])
    more = page.button("Rename, pin or delete “Fruit”")
    await expect(more).to_be_focused()

    await more.press("Enter")
    await field.fill("Never mind")
    await field.press("Escape")
    await expect(field).to_have_count(0)
    await more.click()
    await page.tab.locator(".conversation-actions").get_by_role("button", name="Pin").click()
    await expect(titles).to_have_text(["Fruit", "About plums", "About pears"])
    await expect(more).to_be_focused()

    await page.button("Rename, pin or delete “About pears”").click()
    await page.tab.locator(".conversation-actions").get_by_role("button", name="Delete").click()
    await expect(titles).to_have_text(["Fruit", "About plums"])
    await expect(page.tab.get_by_role("navigation", name="Conversations")).to_be_focused()
    assert len(await page.stored()) == 2

    await page.button("Undo").click()
    await expect(titles).to_have_text(["Fruit", "About plums", "About pears"])
    await expect(page.replies).to_contain_text("About plums.")
    assert sorted(record["shownTitle"] for record in await page.stored()) == ["About pears", "About plums", "Fruit"]


async def test_a_conversation_that_another_tab_holds_is_not_deleted_behind_its_back(
    new_page: Callable[[], ParleyPage], model: OpenAIServer
) -> None:
    model.say("Hi.")
    first, second = new_page(), new_page()
    await first.open()
    await first.ask_and_wait("Hello")
    await second.open("#another")

    await second.button("Rename, pin or delete “Hello”").click()
    await second.tab.locator(".conversation-actions").get_by_role("button", name="Delete").click()

    await expect(second.line("open in another tab")).to_be_visible()
    assert len(await second.stored()) == 1
