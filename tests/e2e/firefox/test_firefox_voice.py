"""Speaking with the page in Firefox: its microphone is a tone, the engines do as the test says."""

import io
import wave
from collections.abc import Callable
from typing import Final

import numpy as np
import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.e2e.conftest import LIMIT_MS, LONG_REPLY
from tests.e2e.firefox.conftest import FirefoxPage
from tests.support.openai_script import text
from tests.support.openai_server import OpenAIServer
from tests.support.server_process import ServerProcess
from tests.support.speech_server import SpeechServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

TONE_HZ: Final = 1000
SAID_BYTES: Final = 16_000
"""Of the microphone, at least 0.16 s at any rate a browser has."""


@pytest.fixture(scope="module")
def server(talking_server: ServerProcess) -> ServerProcess:
    return talking_server


@pytest_asyncio.fixture(loop_scope="session")
async def page(new_page: Callable[[], FirefoxPage]) -> FirefoxPage:
    """Listening, as long as the space bar is held."""
    page = new_page()
    await page.open()
    await expect(page.button("Talk")).to_be_enabled(timeout=3 * LIMIT_MS)
    await page.set("Read replies aloud", "always")
    await page.set("How to talk", "push_to_talk")
    await page.button("Talk").click()
    await expect(page.tab.get_by_text("The microphone is on")).to_be_attached()
    return page


async def hold_and_speak(page: FirefoxPage) -> None:
    """The space bar is down until the server has got some sound."""
    await page.tab.keyboard.down(" ")
    await expect(page.tab.locator(".voice-hearing")).to_be_visible()
    enough = await page.said_bytes() + SAID_BYTES
    await page.tab.wait_for_function("enough => window.saidBytes >= enough", arg=enough)
    await page.tab.keyboard.up(" ")


def played_ms(page: FirefoxPage, index: int) -> list[float]:
    """What the page told of the sound of that sentence, of any turn."""
    return [frame["ms"] for frame in page.sent if frame["type"] == "playback" and frame["index"] == index]


async def test_what_is_said_while_the_space_bar_is_held_is_answered_aloud(
    page: FirefoxPage, model: OpenAIServer, speech: SpeechServer
) -> None:
    model.say("It is noon.")
    await hold_and_speak(page)
    await expect(page.tab.locator(".said-by-user p")).to_have_text("What time is it?")
    await page.idle()

    assert await page.texts() == ["user: What time is it?", "assistant: It is noon."]
    assert max(played_ms(page, 0)) >= 900
    heard = next(request["file"] for request in speech.requests if "file" in request)
    assert loudest_hz(heard) == pytest.approx(TONE_HZ, rel=0.05)


async def test_holding_the_space_bar_stops_a_reply_and_what_was_not_heard_is_forgotten(
    page: FirefoxPage, model: OpenAIServer
) -> None:
    model.queue(text(*LONG_REPLY), text("It is noon."))
    await page.ask("Tell me a story.")
    await expect(page.tab.locator(".voice-speaking")).to_be_visible()
    await page.tab.locator("body").click(position={"x": 600, "y": 300})  # the field would take the space
    await hold_and_speak(page)
    await expect(page.turns).to_have_count(2)
    await page.idle()

    story, question, answer = (await page.texts())[1:]
    assert story.removeprefix("assistant: ") in "".join(LONG_REPLY)
    assert LONG_REPLY[-1].strip() not in story
    assert (question, answer) == ("user: What time is it?", "assistant: It is noon.")


def loudest_hz(file: bytes) -> float:
    """The frequency that a WAV holds most of."""
    with wave.open(io.BytesIO(file)) as wav:
        samples = np.frombuffer(wav.readframes(wav.getnframes()), np.int16).astype(np.float64)
        rate = wav.getframerate()
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(samples.size)))
    return float(np.fft.rfftfreq(samples.size, 1 / rate)[spectrum.argmax()])
