"""A conversation by voice, for the README: a picture of it and a short film, as an animated PNG.

The voices are the embedded engines'; only the model's words are scripted.
"""

import asyncio
import struct
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from playwright.async_api import Page, async_playwright, expect

from tests.e2e.conftest import FLAGS, executable
from tests.e2e.parley_page import ParleyPage
from tests.e2e.spoken import Voices, WavMicrophone, embedded_voices, silence
from tests.support.openai_script import Json, text
from tests.support.openai_server import OpenAIServer
from tests.support.server_process import ROOT, ServerProcess, endpoint

SIZE: Final = {"width": 1280, "height": 800}
MODEL: Final = "qwen3:8b"
FRAME_S: Final = 0.3
PAUSE_S: Final = 12
LIMIT_MS: Final = 60_000
QUESTION: Final = "What is the capital of France?"
INTERRUPTION: Final = "And how many people live there?"
FIRST_REPLY: Final = (
    "The capital of France is Paris. ",
    "It lies on the river Seine, in the north of the country, and has been its capital for a thousand years. ",
    "Its best-known sight is the Eiffel Tower, which was built for the world's fair of 1889, and is 330 metres high. ",
)
SECOND_REPLY: Final = ("Two million people live in the city itself. ", "With its suburbs, it is more than ten million.")


async def picture_talking(folder: Path, scratch: Path) -> None:
    """Write screenshot.png, in the first reply, and film.png, up to the inspector."""
    microphone = WavMicrophone(scratch / "said.wav")
    async with embedded_voices() as voices:
        said = [await clearly(voices, words) for words in (QUESTION, INTERRUPTION)]
    microphone.will_say(said[0] + silence(PAUSE_S) + said[1] + silence(PAUSE_S))
    environ = {
        "PARLEY_LLM__MODEL": MODEL,
        "PARLEY_SPEECH__STT__PROVIDER": "embedded",
        "PARLEY_SPEECH__TTS__PROVIDER": "embedded",
    }
    async with OpenAIServer() as model, async_playwright() as playwright:
        settings = {"skills": {"dir": str(ROOT / "skills")}, "agent": {"planning": False}}
        async with ServerProcess(scratch, environ={**endpoint(model.url), **environ}, settings=settings) as server:
            browser = await playwright.chromium.launch(
                executable_path=executable(),
                args=[*FLAGS, *microphone.flags, "--autoplay-policy=no-user-gesture-required"],
            )
            for scale in (2, 1):
                model.clear()
                model.queue(text(*FIRST_REPLY), text(*SECOND_REPLY))
                context = await browser.new_context(
                    viewport={"width": SIZE["width"], "height": SIZE["height"]},
                    device_scale_factor=scale,
                    permissions=["microphone"],
                    reduced_motion="reduce",
                )
                context.set_default_timeout(LIMIT_MS)
                page = ParleyPage(context, server.url)
                await page.open()
                await expect(page.button("Talk")).to_be_enabled(timeout=LIMIT_MS)
                await page.until(lambda: has_voice(page.frames), limit_s=LIMIT_MS / 1000)  # noqa: B023  # awaited here
                if scale == 2:
                    await begin(page)
                    await page.tab.screenshot(path=folder / "screenshot.png")
                else:
                    (folder / "film.png").write_bytes(animated(await filmed(page)))
                await context.close()
            await browser.close()


def has_voice(frames: Sequence[Json]) -> bool:
    """The server has said that its synthesiser is loaded."""
    told = [frame.get("speech", frame) for frame in frames if frame["type"] in {"ready", "speech"}]
    return any(status["tts"]["state"] == "ready" for status in told)


async def clearly(voices: Voices, words: str) -> bytes:
    """Say it until it is understood to the letter, at most ten times: no voice is twice the same."""
    pcm = await voices.say(words)
    for _ in range(9):
        if letters(await voices.understand(pcm)) == letters(words):
            break
        pcm = await voices.say(words)
    return pcm


def letters(words: str) -> str:
    return "".join(filter(str.isalpha, words.lower()))


async def begin(page: ParleyPage) -> None:
    """Returns in the second sentence of the first reply."""
    await page.button("Talk").click()
    await expect(page.tab.locator(".voice-caption")).to_contain_text("Seine", timeout=LIMIT_MS)
    await asyncio.sleep(1)


async def filmed(page: ParleyPage) -> list[tuple[bytes, float]]:
    """Talk, interrupt, listen to the second reply, open the inspector: what was seen, and for how many seconds."""
    frames: list[tuple[bytes, float]] = []
    camera = asyncio.create_task(film(page.tab, frames), name="camera")
    try:
        await asyncio.sleep(1)
        await begin(page)
        await expect(page.tab.locator(".voice-caption")).to_contain_text("ten million", timeout=LIMIT_MS)
        await page.idle()
        await page.open_panel("Inspector")
        await asyncio.sleep(3)
    finally:
        camera.cancel()
        await asyncio.wait([camera])
    return frames


async def film(tab: Page, frames: list[tuple[bytes, float]]) -> None:
    """Until cancelled: pictures that differ, each with the seconds until the next one."""
    shown = await tab.screenshot()
    since = time.monotonic()
    try:
        while True:
            await asyncio.sleep(FRAME_S)
            seen, now = await tab.screenshot(), time.monotonic()
            if seen != shown:
                frames.append((shown, now - since))
                shown, since = seen, now
    finally:
        frames.append((shown, time.monotonic() - since))


def animated(frames: Sequence[tuple[bytes, float]]) -> bytes:
    """One PNG of pictures of the same size and kind, repeated without end (PNG, third edition: acTL, fcTL, fdAT)."""
    header = dict(chunks(frames[0][0]))[b"IHDR"]
    written = [chunk(b"IHDR", header), chunk(b"acTL", struct.pack(">II", len(frames), 0))]
    number = 0
    for picture, seconds in frames:
        parts = list(chunks(picture))
        assert parts[0] == (b"IHDR", header)
        control = struct.pack(">I8sIIHHBB", number, header[:8], 0, 0, round(seconds * 1000), 1000, 0, 0)
        written.append(chunk(b"fcTL", control))
        number += 1
        for data in (data for kind, data in parts if kind == b"IDAT"):
            if picture is frames[0][0]:
                written.append(chunk(b"IDAT", data))
            else:
                written.append(chunk(b"fdAT", struct.pack(">I", number) + data))
                number += 1
    return b"\x89PNG\r\n\x1a\n" + b"".join(written) + chunk(b"IEND", b"")


def chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 8
    while at < len(png):
        (length,) = struct.unpack_from(">I", png, at)
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += 12 + length


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
