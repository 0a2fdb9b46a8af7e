"""Everybody can use it: by keyboard alone, in the dark, on a phone, with a screen reader."""

from playwright.async_api import Browser, expect

from tests.e2e.parley_page import ParleyPage
from tests.support.openai_script import Gate, text
from tests.support.openai_server import OpenAIServer
from tests.support.server_process import ServerProcess

# The name that a screen reader would say; roughly the accessible-name rules that this page uses.
UNNAMED = """() => [...document.querySelectorAll("button, input, textarea, select, a, summary, [role]")]
  .filter((element) => !element.closest("[hidden]"))
  .filter((element) => !(element.getAttribute("aria-label") || element.labels?.[0]?.textContent.trim()
    || element.textContent.trim() || element.getAttribute("aria-labelledby")
    || ["status", "alert", "log", "group"].includes(element.getAttribute("role"))))
  .map((element) => element.outerHTML)"""

FOCUSED = "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent.trim()"


async def tab_to(page: ParleyPage, name: str) -> None:
    """Press Tab until the named thing has the focus, which must be visible there."""
    for _ in range(60):
        await page.tab.keyboard.press("Tab")
        if await page.tab.evaluate(FOCUSED) == name:
            outline = await page.tab.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert outline != "none", name
            return
    raise AssertionError(f"Tab never comes to {name!r}")


async def test_everything_can_be_done_by_keyboard(page: ParleyPage, model: OpenAIServer) -> None:
    model.queue(text("First answer."), text("Endless ", Gate()), text("Third."))
    keyboard = page.tab.keyboard
    await page.tab.locator("body").press("Tab")
    assert await page.tab.evaluate(FOCUSED) == "Skip to the message field"
    await keyboard.press("Enter")
    await expect(page.input).to_be_focused()

    await keyboard.type("One line")
    await keyboard.press("Shift+Enter")
    await keyboard.type("and another")
    await keyboard.press("Enter")
    await expect(page.replies).to_contain_text("First answer.")
    assert model.requests[0].messages[1]["content"] == "One line\nand another"

    await page.idle()
    await keyboard.type("Again")
    await keyboard.press("Enter")
    await expect(page.replies.last).to_contain_text("Endless")
    await keyboard.press("Escape")
    await expect(page.tab.locator(".turn-end")).to_contain_text("Stopped.")

    await tab_to(page, "Skills")
    await keyboard.press("Enter")
    await tab_to(page, "Close")
    await keyboard.press("Escape")
    await expect(page.tab.get_by_role("complementary")).to_have_count(0)

    await tab_to(page, "More")
    await keyboard.press("Enter")
    await tab_to(page, "Clear")
    await keyboard.press("Enter")
    await expect(page.turns).to_have_count(0)

    await keyboard.press("Control+k")
    await expect(page.input).to_be_focused()


async def test_every_control_has_a_name_and_the_page_its_landmarks(page: ParleyPage, model: OpenAIServer) -> None:
    model.say("Hi.")
    await page.ask_and_wait("Hello")
    for panel in ("Skills", "Inspector", "Settings"):
        await page.open_panel(panel)
        assert await page.tab.evaluate(UNNAMED) == []

    await expect(page.tab.get_by_role("heading", level=1)).to_have_count(1)


async def test_dark_follows_the_system_and_can_be_chosen(page: ParleyPage) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light = await page.tab.evaluate(ground)
    await page.tab.emulate_media(color_scheme="dark")
    dark = await page.tab.evaluate(ground)
    assert dark != light

    panel = await page.open_panel("Settings")
    await panel.get_by_label("Appearance").select_option("light")
    await expect(page.tab.locator("html")).to_have_attribute("data-theme", "light")
    assert await page.tab.evaluate(ground) == light
    await page.tab.reload()
    await expect(page.tab.locator("html")).to_have_attribute("data-theme", "light")


async def test_a_phone_shows_everything_within_its_width(
    chromium: Browser, server: ServerProcess, model: OpenAIServer
) -> None:
    model.say("A long word: " + "x" * 200 + "\n\n```\n" + "y" * 300 + "\n```\n")
    context = await chromium.new_context(
        viewport={"width": 320, "height": 640}, has_touch=True, is_mobile=True, reduced_motion="reduce"
    )
    page = ParleyPage(context, server.url)
    await page.open()
    await expect(page.tab.locator(".suggestion").last).to_be_visible()
    await page.ask_and_wait("z" * 150)

    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert await page.tab.evaluate(overflow) == 0
    scroll = page.tab.locator("#scroll")
    assert await scroll.evaluate("element => element.scrollWidth - element.clientWidth") == 0
    await page.button("Conversations").click()
    await expect(page.tab.get_by_role("navigation")).to_be_visible()
    await page.tab.get_by_role("button", name="Close the list").first.click()
    for panel in ("Skills", "Inspector", "Settings"):
        opened = await page.open_panel(panel)
        assert await opened.locator(".panel-body").evaluate("e => e.scrollWidth - e.clientWidth") == 0
        await opened.get_by_role("button", name="Close").click()
    assert page.complaints == []
    await context.close()


async def test_the_focus_goes_back_to_the_button_that_opened_a_panel(page: ParleyPage) -> None:
    opener, panel = page.button("More"), page.tab.get_by_role("complementary")
    for width in (1280, 360):
        await page.tab.set_viewport_size({"width": width, "height": 700})
        await opener.press("Enter")
        await page.button("Settings").press("Enter")
        await expect(opener if width == 1280 else panel).to_be_focused()

        await page.button("Close").press("Enter")
        await expect(opener).to_be_focused()

        await opener.press("Enter")
        await page.button("Settings").press("Enter")
        await page.tab.get_by_label("Appearance").press("Escape")
        await expect(opener).to_be_focused()


async def test_on_a_phone_the_focus_goes_into_the_list_and_back(page: ParleyPage) -> None:
    await page.tab.set_viewport_size({"width": 360, "height": 700})
    await page.button("Conversations").press("Enter")
    await expect(page.tab.get_by_role("navigation")).to_be_focused()

    await page.tab.keyboard.press("Tab")
    await page.tab.keyboard.press("Enter")  # closes the list
    await expect(page.button("Conversations")).to_be_focused()
