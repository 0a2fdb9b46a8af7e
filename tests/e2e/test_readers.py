"""For readers of every kind: other directions of writing, paper, forced colours, a screen enlarged fourfold."""

from playwright.async_api import expect

from tests.e2e.parley_page import ParleyPage
from tests.support.openai_script import text
from tests.support.openai_server import OpenAIServer

HEBREW = "שלום עולם."
DIRECTION = "(element) => getComputedStyle(element).direction"


async def test_each_text_runs_in_the_direction_of_its_letters(page: ParleyPage, model: OpenAIServer) -> None:
    model.queue(text(f"{HEBREW}\n\n- {HEBREW}\n\n> {HEBREW}\n\n```\n{HEBREW}\n```\n\nAnd `code` in English."))

    await page.ask_and_wait("مرحبا")

    reply = page.replies.locator(".markdown")
    for selector in ("> p:first-child", "ul", "blockquote", "blockquote p"):
        assert await reply.locator(selector).evaluate(DIRECTION) == "rtl", selector
    for selector in ("pre", "> p:last-child"):
        assert await reply.locator(selector).evaluate(DIRECTION) == "ltr", selector
    for element in (page.tab.locator(".said-by-user p"), page.tab.locator(".title"), page.tab.locator(".conversation")):
        assert await element.evaluate(DIRECTION) == "rtl"


async def test_every_sentence_is_read_out_however_many_come_at_once(page: ParleyPage, model: OpenAIServer) -> None:
    sentences = [f"This is sentence number {n} of it." for n in range(30)]
    model.queue(text(" ".join(sentences)))
    log = page.tab.get_by_role("log")
    await log.evaluate("""(log) => {
      window.said = [];
      new MutationObserver((changes) => {
        for (const { addedNodes } of changes) for (const node of addedNodes) said.push(node.textContent);
      }).observe(log, { childList: true });
    }""")

    await page.ask_and_wait("Go")
    await expect(log).to_contain_text(sentences[-1])

    assert await page.tab.evaluate("said") == sentences
    model.queue(text("That was all."))
    await page.ask_and_wait("More?")  # what was drawn at once goes when the next line is drawn
    assert await log.locator("p").count() < len(sentences), "the log does not grow with the conversation"


async def test_paper_shows_the_whole_conversation_and_a_screen_enlarged_fourfold_the_field_too(
    page: ParleyPage, model: OpenAIServer
) -> None:
    model.queue(text("\n\n".join(f"Paragraph {n}." for n in range(100))))
    await page.ask_and_wait("Go")
    await page.tab.emulate_media(media="print", color_scheme="dark")

    assert await page.tab.evaluate("document.documentElement.scrollHeight > 3 * innerHeight")
    assert await page.tab.evaluate("getComputedStyle(document.body).color") == "rgb(29, 30, 34)"
    await expect(page.input).to_be_hidden()
    await expect(page.tab.locator(".sidebar")).to_be_hidden()

    await page.tab.emulate_media(media="screen", color_scheme="light")
    await page.tab.set_viewport_size({"width": 320, "height": 256})  # enlarged fourfold

    heights = "['scroll', 'input'].map((id) => document.getElementById(id).clientHeight)"
    conversation, field = await page.tab.evaluate(heights)
    assert conversation >= 100
    assert field > 0
    assert await page.tab.evaluate("document.documentElement.scrollWidth") == 320
    await page.input.scroll_into_view_if_needed()
    await expect(page.input).to_be_in_viewport()


async def test_a_switch_tells_its_state_in_forced_colours(page: ParleyPage) -> None:
    await page.tab.emulate_media(forced_colors="active")
    panel = await page.open_panel("Settings")
    switch = panel.get_by_role("switch").first
    colour = "(element) => getComputedStyle(element).backgroundColor"
    on = await switch.evaluate(colour)

    await switch.click()

    assert await switch.evaluate(colour) != on
