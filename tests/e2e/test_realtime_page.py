"""examples/clients/realtime.html: a page of somebody else's talks over /v1/realtime; a WAV is the microphone."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import async_playwright, expect

from server.speech.audio import samples_to_pcm16
from tests.e2e.conftest import FLAGS, LIMIT_MS, executable
from tests.e2e.spoken import WavMicrophone
from tests.support.openai_script import text
from tests.support.openai_server import OpenAIServer
from tests.support.server_process import ROOT
from tests.support.speech_corpus import VOICES, spoken
from tests.support.speech_server import speech_server
from tests.support.talking_server import hearing, talking_server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

TOKEN = "a-token-for-the-shop"
KEEP_TRACKS = """
const devices = navigator.mediaDevices;
const ask = devices.getUserMedia.bind(devices);
window.tracks = [];
devices.getUserMedia = async (wanted) => {
  const stream = await ask(wanted);
  window.tracks.push(...stream.getTracks());
  return stream;
};
"""
ENDED = "() => window.tracks.length === 1 && window.tracks[0].readyState === 'ended'"


@asynccontextmanager
async def shop(server_url: str) -> AsyncIterator[str]:
    """Run the page's own server; its address."""
    web = await asyncio.create_subprocess_exec(
        *(sys.executable, str(ROOT / "examples" / "clients" / "key_server.py"), server_url, "0"),
        env={"PARLEY_TOKEN": TOKEN},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        assert web.stdout is not None
        yield (await web.stdout.readline()).decode().split()[-1]
    finally:
        web.terminate()
        await web.wait()


async def test_a_visitor_talks_with_a_key_that_the_pages_own_server_has_got(
    tmp_path: Path, model: OpenAIServer
) -> None:
    microphone = WavMicrophone(tmp_path / "said.wav")
    microphone.will_say(samples_to_pcm16(spoken("What time is it now, please?", VOICES[0])))
    model.queue(text("It is noon."))
    security = {"auth": "token", "tokens": [{"token": TOKEN, "user": "shop"}]}

    async with (
        async_playwright() as playwright,
        speech_server(text="What time is it?", pieces=[bytes(48_000)]) as speech,
        talking_server(tmp_path, model, speech, security=security) as server,
    ):
        await hearing(server.ws_url, additional_headers={"Authorization": f"Bearer {TOKEN}"})
        async with shop(server.url) as url:
            browser = await playwright.chromium.launch(executable_path=executable(), args=[*FLAGS, *microphone.flags])
            page = await browser.new_page()
            await page.add_init_script(KEEP_TRACKS)
            await page.goto(url)
            await page.get_by_role("button", name="Talk").click()
            lines = page.locator("#said li")
            await expect(lines).to_have_text(["You: What time is it?", "It: It is noon."], timeout=LIMIT_MS)
            await asyncio.to_thread(server.stop)
            await expect(page.get_by_role("button", name="Talk")).to_be_enabled(timeout=LIMIT_MS)
            await page.wait_for_function(ENDED)
            await browser.close()

    assert "You help visitors of our shop." in str(model.requests[-1].messages[0]["content"])


async def test_what_keeps_a_visitor_from_talking_is_shown_and_the_button_can_be_pressed_again(tmp_path: Path) -> None:
    microphone = WavMicrophone(tmp_path / "said.wav")
    microphone.will_say(bytes(32_000))
    async with async_playwright() as playwright, shop("http://127.0.0.1:9") as url:
        browser = await playwright.chromium.launch(executable_path=executable(), args=[*FLAGS, *microphone.flags])
        page = await browser.new_page()
        await page.add_init_script(KEEP_TRACKS)
        await page.goto(url)
        button, lines = page.get_by_role("button", name="Talk"), page.locator("#said li")
        await button.click()
        await expect(lines).to_have_text(["the voice server gives no key"])
        await expect(button).to_be_enabled()
        await page.wait_for_function(ENDED)

        await page.evaluate(
            "() => void (navigator.mediaDevices.getUserMedia = () => Promise.reject(new Error('denied')))"
        )
        await button.click()
        await expect(lines).to_have_text(["the voice server gives no key", "denied"])
        await expect(button).to_be_enabled()
        await browser.close()
