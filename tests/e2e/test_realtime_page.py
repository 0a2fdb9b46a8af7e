"""examples/clients/realtime.html: a page of somebody else's talks over /v1/realtime; a WAV is the microphone."""

import asyncio
import sys
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
        web = await asyncio.create_subprocess_exec(
            *(sys.executable, str(ROOT / "examples" / "clients" / "key_server.py"), server.url, "0"),
            env={"PARLEY_TOKEN": TOKEN},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            assert web.stdout is not None
            url = (await web.stdout.readline()).decode().split()[-1]
            browser = await playwright.chromium.launch(executable_path=executable(), args=[*FLAGS, *microphone.flags])
            page = await browser.new_page()
            await page.goto(url)
            await page.get_by_role("button", name="Talk").click()
            lines = page.locator("#said li")
            await expect(lines).to_have_text(["You: What time is it?", "It: It is noon."], timeout=LIMIT_MS)
            await browser.close()
        finally:
            web.terminate()
            await web.wait()

    assert "You help visitors of our shop." in str(model.requests[-1].messages[0]["content"])
