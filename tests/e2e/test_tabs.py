"""Two tabs of one conversation: one writes, the other reads along and takes over."""

from collections.abc import Callable

from playwright.async_api import expect

from tests.e2e.parley_page import ParleyPage
from tests.support.openai_script import Gate, text
from tests.support.openai_server import OpenAIServer


async def test_the_second_tab_reads_along_and_takes_over_when_the_first_closes(
    new_page: Callable[[], ParleyPage], model: OpenAIServer
) -> None:
    gate = Gate()
    model.queue(text("One. "), text("Two. ", gate, "More."), text("Three."))
    first, second = new_page(), new_page()
    await first.open()
    await first.ask_and_wait("First")
    await second.open(await first.tab.evaluate("location.hash"))

    await expect(second.line("open in another tab")).to_be_visible()
    await expect(second.input).not_to_be_editable()
    await expect(second.replies).to_contain_text("One.")

    await first.ask("Second")
    await expect(second.replies.last).to_contain_text("Two.")
    gate.open()
    await first.idle()
    await expect(second.replies.last).to_contain_text("More.")

    await first.close()
    await expect(second.input).to_be_editable()
    await second.ask_and_wait("Third")

    assert [message["content"] for message in await second.history() if message["role"] == "user"] == [
        "First",
        "Second",
        "Third",
    ]
    assert len([message for message in model.requests[-1].messages if message["role"] == "assistant"]) == 2


async def test_a_tab_taking_over_in_mid_turn_keeps_what_was_shown(
    new_page: Callable[[], ParleyPage], model: OpenAIServer
) -> None:
    model.queue(text("Heard. And not", Gate()))
    first, second = new_page(), new_page()
    await first.open()
    await first.ask("Hello")
    await expect(first.replies).to_contain_text("Heard. And not")
    await second.open(await first.tab.evaluate("location.hash"))
    await expect(second.replies).to_contain_text("Heard.")

    await first.close()

    await expect(second.tab.locator(".turn-end")).to_contain_text("Not answered")
    assert (await second.texts())[-1].strip() == "assistant: Heard. And not"


async def test_a_conversation_deleted_in_one_tab_goes_from_the_list_of_the_other(
    new_page: Callable[[], ParleyPage], model: OpenAIServer
) -> None:
    model.queue(text("One."), text("Two."))
    first, second = new_page(), new_page()
    await first.open()
    await first.ask_and_wait("The first")
    await second.open("#another")
    await second.ask_and_wait("The second")
    await expect(first.tab.locator(".conversation")).to_have_count(2)

    await first.choose("Delete")

    await expect(second.tab.locator(".conversation")).to_have_text(["The second"])


async def test_what_is_set_in_one_tab_holds_in_the_other_and_is_not_overwritten_there(
    new_page: Callable[[], ParleyPage], model: OpenAIServer
) -> None:
    model.queue(text("Yes."))
    first, second = new_page(), new_page()
    await first.open()
    await second.open("#another")
    own = "Answer in one sentence."

    panel = await first.open_panel("Settings")
    await panel.get_by_label("Instructions of your own").fill(own)
    await panel.get_by_label("Language of the conversation").focus()
    skills = await first.open_panel("Skills")
    await skills.get_by_role("switch").first.uncheck()
    await second.set("Appearance", "dark")
    await second.ask_and_wait("Are you there?")

    assert own in str(model.requests[-1].messages)
    await second.tab.reload()
    again = await second.open_panel("Settings")
    await expect(again.get_by_label("Instructions of your own")).to_have_value(own)
    await expect((await second.open_panel("Skills")).get_by_role("switch").first).not_to_be_checked()


async def test_instructions_that_are_being_typed_survive_a_reload(page: ParleyPage) -> None:
    field = (await page.open_panel("Settings")).get_by_label("Instructions of your own")
    await field.press_sequentially("Be brief.")

    await page.tab.reload()

    await expect((await page.open_panel("Settings")).get_by_label("Instructions of your own")).to_have_value(
        "Be brief."
    )
