"""The page in WebKit: typing, speaking, reading what happened, the policy page, and why there is no microphone."""

import io
import wave
from typing import Final

import numpy as np
import pytest
import pytest_asyncio

from tests.e2e.conftest import LONG_REPLY
from tests.e2e.webkit.conftest import MICROPHONE, OpenBrowser
from tests.e2e.webkit.driver import ENTER, ESCAPE, WebDriver
from tests.support.openai_script import Gate, text
from tests.support.openai_server import OpenAIServer
from tests.support.server_process import ServerProcess
from tests.support.speech_server import SpeechServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

PRESET: Final = "//label[contains(., 'Hide secrets')]"
IDLE: Final = "!document.querySelector('[data-action=stop]')"


@pytest.fixture(scope="module")
def server(talking_server: ServerProcess) -> ServerProcess:
    return talking_server


@pytest_asyncio.fixture(loop_scope="session")
async def page(open_browser: OpenBrowser, server: ServerProcess) -> WebDriver:
    """Connected."""
    page = await open_browser(MICROPHONE)
    await page.go(server.url)
    await page.until("document.querySelector('.model')")
    return page


def button(name: str) -> str:
    return f"//button[@aria-label='{name}' or normalize-space()='{name}']"


def shows(selector: str, words: str) -> str:
    """True where an element that matches has them in its text."""
    return f"[...document.querySelectorAll({selector!r})].some((e) => e.textContent.includes({words!r}))"


async def test_a_reply_streams_can_be_stopped_and_survives_a_reload(page: WebDriver, model: OpenAIServer) -> None:
    gate = Gate()
    model.queue(text("It is blue. ", gate, "Rayleigh said so."), text("Endless ", Gate()))
    await page.write("#input", f"Why is the sky blue?{ENTER}")
    await page.until(shows(".reply", "It is blue."))
    assert not await page.read(shows(".reply", "Rayleigh"))
    gate.open()
    await page.until(IDLE)
    await page.write("#input", f"Again?{ENTER}")
    await page.until(shows(".reply", "Endless"))
    await page.press(ESCAPE, is_down=True)
    await page.until(shows(".turn-end", "Stopped."))
    await page.write("#input", "Not sent yet")

    await page.reload()
    await page.until(shows(".reply", "It is blue. Rayleigh said so."))
    assert await page.read("document.querySelectorAll('.turn').length") == 2
    assert await page.read("document.querySelector('#input').value") == "Not sent yet"


async def test_the_inspector_shows_what_the_model_read(page: WebDriver, model: OpenAIServer) -> None:
    model.say("Blue.")
    await page.write("#input", f"Which colour?{ENTER}")
    await page.until(shows(".reply", "Blue."))
    await page.click(button("Inspector"))

    await page.until(shows("aside[aria-label=Inspector], [role=complementary]", "Which colour?"))


async def test_the_tool_policy_is_changed_and_stored(page: WebDriver, server: ServerProcess) -> None:
    await page.go(f"{server.url}/policy.html#/policy")
    await page.click(PRESET)
    await page.click(button("Save"))
    await page.until("document.querySelector('#save[aria-disabled=true]')?.textContent === 'Save'")

    await page.reload()
    await page.until("document.querySelector('[data-name=redact]')?.checked")


async def listen(page: WebDriver) -> None:
    """As long as the space bar is held."""
    await page.until("document.querySelector('.talk-button:not(:disabled)')")
    await page.click(button("More"))
    await page.click(button("Settings"))
    await page.click("//option[@value='push_to_talk']")
    await page.click(button("Talk"))
    await page.until(shows("*", "The microphone is on"))


async def hold_and_speak(page: WebDriver) -> None:
    """For a second, in which a mock microphone beeps."""
    await page.press(" ", is_down=True)
    await page.until("document.querySelector('.voice-hearing')")
    await page.until("(window.since ??= performance.now()) + 1000 < performance.now()")
    await page.press(" ", is_down=False)


async def test_what_is_said_while_the_space_bar_is_held_is_answered_aloud(
    page: WebDriver, model: OpenAIServer, speech: SpeechServer
) -> None:
    model.say("It is noon.")
    await listen(page)
    await hold_and_speak(page)
    await page.until(shows(".said-by-user p", "What time is it?"))
    await page.until("document.querySelector('.voice-speaking')")
    await page.until(shows(".reply", "It is noon."))
    await page.until(IDLE)

    heard = next(request["file"] for request in speech.requests if "file" in request)
    with wave.open(io.BytesIO(heard)) as wav:
        samples = np.frombuffer(wav.readframes(wav.getnframes()), np.int16)
        assert samples.size > 0.5 * wav.getframerate()
    assert np.abs(samples).max() > 1000, "the beep"


async def test_holding_the_space_bar_stops_a_reply_and_what_was_not_heard_is_forgotten(
    page: WebDriver, model: OpenAIServer
) -> None:
    model.queue(text(*LONG_REPLY), text("It is noon."))
    await listen(page)
    await page.write("#input", f"Tell me a story.{ENTER}")
    await page.until("document.querySelector('.voice-speaking')")
    await page.read("document.activeElement.blur()")  # the field would take the space
    await hold_and_speak(page)
    await page.until(shows(".reply", "It is noon."))

    story = model.requests[-1].contents
    assert not any(LONG_REPLY[-1].strip() in content for content in story)


async def test_without_a_microphone_the_page_says_what_to_do(open_browser: OpenBrowser, server: ServerProcess) -> None:
    page = await open_browser()
    await page.go(server.url)
    await page.until("document.querySelector('.model')")
    await page.click(button("Talk"))

    await page.until(shows(".line, [role=alert], [role=status]", "No microphone was found. Plug one in"))
