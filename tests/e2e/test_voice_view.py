"""The page during a conversation by voice: what records and what does not, and what went wrong."""

import json
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio
from playwright.async_api import (
    Browser,
    BrowserContext,
    Locator,
    ViewportSize,
    WebSocketRoute,
    async_playwright,
    expect,
)

from tests.e2e.conftest import FLAGS, LIMIT_MS, executable
from tests.e2e.parley_page import ParleyPage
from tests.e2e.spoken import WavMicrophone
from tests.support.openai_script import HttpError, calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.server_process import ServerProcess
from tests.support.speech_server import SpeechServer

PHONE: Final[ViewportSize] = {"width": 390, "height": 780}
SENTENCE: Final = "Two words and a dot."
PLACES: Final = """() => [...document.querySelectorAll(".talk, .talk .voice-state, .talk button")]
  .filter((element) => element.checkVisibility()).map((element) => element.getBoundingClientRect())"""
MENUS: Final = """() => {
  window.menus = [];
  window.addEventListener("contextmenu", ({ defaultPrevented }) => menus.push(defaultPrevented));
}"""


@pytest.fixture(scope="module")
def server(talking_server: ServerProcess) -> ServerProcess:
    return talking_server


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def quiet_chromium(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Browser]:
    """Its microphone is on, and hears nothing."""
    microphone = WavMicrophone(tmp_path_factory.mktemp("microphone") / "silence.wav")
    async with async_playwright() as playwright:
        flags = [*FLAGS, *microphone.flags]
        browser = await playwright.chromium.launch(executable_path=executable(), headless=True, args=flags)
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="session")
async def context(quiet_chromium: Browser) -> AsyncIterator[BrowserContext]:
    context = await quiet_chromium.new_context(
        viewport={"width": 1280, "height": 800}, permissions=["microphone"], has_touch=True, reduced_motion="reduce"
    )
    context.set_default_timeout(LIMIT_MS)
    yield context
    await context.close()


async def talk(page: ParleyPage, mode: str) -> None:
    """Choose how, then switch the microphone on."""
    await page.set("How to talk", mode)
    await page.button("Talk").click()
    await expect(page.tab.get_by_text("The microphone is on")).to_be_attached()


def keys(page: ParleyPage) -> list[str]:
    """What began or ended a recording by hand."""
    return [frame["type"] for frame in page.sent if frame["type"] in {"speech_start", "speech_end"}]


async def enough_sound(page: ParleyPage) -> None:
    """Return once the microphone has sent more than what a server takes for a slip of the finger."""
    enough = len(page.sound_sizes) + 20
    while len(page.sound_sizes) < enough:
        await page.tab.evaluate("new Promise(requestAnimationFrame)")


@pytest.mark.parametrize("is_running", [False, True], ids=["idle", "running"])
@pytest.mark.parametrize("mode", ["server_vad", "push_to_talk"])
async def test_typing_clicking_and_selecting_record_nothing(
    page: ParleyPage, model: OpenAIServer, mode: str, is_running: bool
) -> None:
    model.queue(text("Air scatters blue light."), calls(("current_time", {"timezone": "Asia/Tokyo"})))
    await page.ask_and_wait("Why is the sky blue?")
    await page.tab.evaluate(MENUS)
    await talk(page, mode)
    if is_running:
        await page.ask("What time is it?")
        await expect(page.tab.get_by_role("alertdialog")).to_be_visible()
    reason = page.tab.get_by_label("If you don't allow it, why?") if is_running else None

    await type_and_select(page, page.input, page.replies.first)  # at a desk
    await page.input.fill("")
    await page.tab.set_viewport_size(PHONE)
    await type_and_select(page, reason, page.tab.locator(".voice-state"))
    await page.button("Show text").click()
    await type_and_select(page, page.input, page.replies.first)

    assert await page.tab.evaluate("menus") == [False] * 3
    await expect(page.button("Stop the reply")).to_have_count(int(is_running))
    assert keys(page) == []


async def type_and_select(page: ParleyPage, field: Locator | None, words: Locator) -> None:
    """Type into the field if there is one, then open the menu of the words and select them."""
    if field:
        await field.click()
        await page.tab.keyboard.type(SENTENCE)
        await expect(field).to_have_value(SENTENCE)
    await words.click(button="right")
    await words.click(click_count=3)
    selected = await page.tab.evaluate("getSelection().toString()")
    assert selected.strip() == (await words.inner_text()).strip()
    if field:
        await expect(field).to_have_value(SENTENCE)


async def test_the_button_records_as_long_as_it_is_held_by_key_finger_or_screen_reader(page: ParleyPage) -> None:
    tab, hold = page.tab, page.tab.locator(".talk-hold")
    await tab.evaluate(MENUS)
    await talk(page, "server_vad")
    await page.button("Push to talk").click()
    await expect(hold).to_be_focused()
    touch = await page.context.new_cdp_session(tab)
    place = await hold.bounding_box()
    assert place is not None
    at = [{"x": place["x"] + 9, "y": place["y"] + 9}]

    async def touched(kind: str) -> None:
        await touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": at if kind == "touchStart" else []})

    for begin, end in [
        (tab.keyboard.down(" "), tab.keyboard.up(" ")),
        (tab.keyboard.down("Enter"), tab.keyboard.up("Enter")),
        (touched("touchStart"), touched("touchEnd")),
        (hold.evaluate("button => button.click()"), hold.evaluate("button => button.click()")),
    ]:
        await begin
        await expect(hold).to_have_attribute("aria-pressed", "true")
        await end
        await expect(hold).to_have_attribute("aria-pressed", "false")
    await page.button("Mute").press(" ")
    await expect(page.button("Mute")).to_have_attribute("aria-pressed", "true")
    await page.button("Push to talk").press(" ")

    await expect(hold).to_have_count(0)
    assert keys(page) == ["speech_start", "speech_end"] * 4


async def test_a_spoken_question_that_fails_says_so_in_the_voice_view_and_aloud(
    page: ParleyPage, model: OpenAIServer, speech: SpeechServer, tmp_path: Path
) -> None:
    model.queue(HttpError(status=401))
    speech.requests.clear()
    await talk(page, "push_to_talk")
    await page.tab.set_viewport_size(PHONE)
    stage, hold = page.tab.get_by_role("region", name="Talk"), page.button("Hold to talk")
    await hold.hover()
    await page.tab.mouse.down()
    await page.until(lambda: page.count("speech_started") == 1)
    await enough_sound(page)
    await page.tab.mouse.up()

    await expect(stage.get_by_role("alert")).to_contain_text("refused the key. Ask the operator of this server")
    await expect(stage.get_by_role("alert")).to_be_visible()
    await page.until(lambda: any(frame.get("trigger") == "speak" for frame in page.frames))
    for scheme in ("light", "dark"):
        await page.tab.emulate_media(color_scheme=scheme)
        await page.tab.screenshot(path=tmp_path / f"failed-{scheme}.png")
    await expect(stage.locator(".voice-hint")).to_have_text("Say it again, or press Retry.")
    said = [request["input"] for request in speech.requests if "input" in request]
    assert "Not answered." in said  # the sentences of a turn are asked for side by side
    assert "".join(said).count("refused the key") == 1

    model.queue(text("It is noon."))
    await page.button("Retry").click()

    await expect(stage.locator(".voice-caption")).to_have_text("It is noon.")
    await expect(stage.get_by_role("alert")).to_have_count(0)


async def hearing_only_english(context: BrowserContext) -> None:
    """Let pages hear from the server that it understands no other language."""

    def relay(page: WebSocketRoute) -> None:
        def answer(message: str | bytes) -> None:
            frame = json.loads(message) if isinstance(message, str) else {}
            if frame.get("type") == "ready":
                frame["speech"]["stt_languages"] = ["en"]
            page.send(json.dumps(frame) if frame else message)

        page.connect_to_server().on_message(answer)

    await context.route_web_socket("**/ws", relay)


@pytest.mark.parametrize("language", ["en", "zh-CN"])
@pytest.mark.parametrize("width", [360, 390])
async def test_the_folded_bar_of_a_phone_leaves_the_conversation_its_room(
    new_page: Callable[[], ParleyPage], context: BrowserContext, model: OpenAIServer, language: str, width: int
) -> None:
    await hearing_only_english(context)
    settings = {"pageLanguage": language, "language": language, "turnDetection": "push_to_talk"}
    await context.add_init_script(f"localStorage.setItem('parley.settings', {json.dumps(json.dumps(settings))})")
    page = new_page()
    await page.open()
    tab = page.tab
    await tab.set_viewport_size({"width": width, "height": 780})
    model.queue(text("Air scatters blue light."))
    await tab.locator("#input").fill("Why is the sky blue?")
    await tab.locator("#input").press("Enter")
    await expect(tab.locator(".reply")).to_have_text("Air scatters blue light.")
    await tab.locator("[data-action=microphone]:visible").click()
    await tab.locator("[data-action=fold-talk]").click()
    await expect(tab.locator("#input")).to_be_visible()  # folded

    if folder := os.environ.get("SHOTS"):
        await tab.screenshot(path=Path(folder) / f"folded-{language}-{width}.png")
    bar, words, *buttons = await tab.evaluate(PLACES)
    assert bar["height"] <= 120
    assert all(words["bottom"] <= button["top"] and button["right"] <= bar["right"] for button in buttons)
    assert len(buttons) == 4  # hold, mute, enlarge, end
