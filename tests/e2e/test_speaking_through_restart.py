"""A server stops while somebody speaks with the page: a WAV is the microphone, the engines are scripted."""

import asyncio
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, async_playwright, expect

from server.speech.audio import SPEECH_RATE, samples_to_pcm16
from tests.e2e.conftest import FLAGS, LIMIT_MS, executable
from tests.e2e.cutting_proxy import CuttingProxy
from tests.e2e.parley_page import ParleyPage
from tests.e2e.spoken import WavMicrophone, silence
from tests.support.openai_script import text
from tests.support.openai_server import OpenAIServer
from tests.support.server_process import ServerProcess, endpoint
from tests.support.speech_corpus import VOICES, spoken
from tests.support.speech_server import SpeechServer, speech_server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

LONG = "It was the best of times and it was the worst of times, as we all know."
SHORT = "What time is it?"
RESUMES_S = 2.0
"""Silence between the two: the page is connected again by then, and listens."""


@pytest.fixture(scope="module")
def microphone(tmp_path_factory: pytest.TempPathFactory) -> WavMicrophone:
    return WavMicrophone(tmp_path_factory.mktemp("microphone") / "said.wav")


@pytest_asyncio.fixture(loop_scope="session")
async def context(microphone: WavMicrophone) -> AsyncIterator[BrowserContext]:
    async with async_playwright() as playwright:
        flags = [*FLAGS, *microphone.flags]
        browser = await playwright.chromium.launch(executable_path=executable(), headless=True, args=flags)
        context = await browser.new_context(permissions=["microphone"], reduced_motion="reduce")
        context.set_default_timeout(LIMIT_MS)
        yield context
        await browser.close()


@asynccontextmanager
async def replicas(
    folder: Path, model: OpenAIServer, drains_s: Sequence[float]
) -> AsyncIterator[list[tuple[ServerProcess, SpeechServer]]]:
    """Each with a recogniser of its own."""
    async with AsyncExitStack() as stack:
        found = []
        for number, drain_s in enumerate(drains_s):
            speech = await stack.enter_async_context(speech_server(text=SHORT))
            engine = {"provider": "openai", "base_url": speech.base_url, "api_key": "none", "model": "scripted"}
            (place := folder / str(number)).mkdir()
            process = ServerProcess(
                place,
                environ={**endpoint(model.url), "PARLEY_SPEECH__STT__PROVIDER": "openai"},
                settings={
                    "agent": {"planning": False},
                    "listen": {"drain_s": drain_s},
                    "speech": {"stt": engine},
                },
            )
            found.append((process, speech))
        await asyncio.gather(*(stack.enter_async_context(process) for process, _ in found))
        yield found


class Talk:
    """Somebody says a long sentence, during which the first of two servers is stopped, and then a short one."""

    def __init__(self, page: ParleyPage, old_ears: SpeechServer, new_ears: SpeechServer) -> None:
        self.page = page
        self.old_ears = old_ears
        self.new_ears = new_ears

    def heard(self) -> list[list[str]]:
        """The frames about utterances, of each connection."""
        connections: list[list[str]] = []
        for kind in (frame["type"] for frame in self.page.frames):
            if kind == "ready":
                connections.append([])
            elif kind.startswith(("speech_st", "transcript")):
                connections[-1].append(kind)
        return connections


@asynccontextmanager
async def talking(
    context: BrowserContext, microphone: WavMicrophone, model: OpenAIServer, folder: Path, *, drain_s: float
) -> AsyncIterator[Talk]:
    model.respond = lambda _request: text("It is nine.")
    first, second = (samples_to_pcm16(spoken(words, VOICES[0])) for words in (LONG, SHORT))
    async with (
        replicas(folder, model, [drain_s, 30]) as [(old, old_ears), (new, new_ears)],
        CuttingProxy(old.url) as proxy,
    ):
        page = ParleyPage(context, proxy.url)
        await page.open()
        await page.button("Talk").click()  # now the page loads what it listens with, and misses no word later
        await expect(page.tab.get_by_text("The microphone is on")).to_be_attached()
        await page.button("End").click()
        microphone.will_say(first + silence(RESUMES_S) + second)
        await page.button("Talk").click()
        await page.until(lambda: page.count("speech_started") == 1)
        proxy.lead_to(new.url)
        old.signal(signal.SIGTERM)
        yield Talk(page, old_ears, new_ears)
        await page.close()


def seconds_of(speech: SpeechServer) -> float:
    """Of the longest utterance that came to be recognised."""
    return max(len(request["file"]) for request in speech.requests) / 2 / SPEECH_RATE


WHOLE = ["speech_started", "speech_stopped", "transcript"]


async def test_a_sentence_is_served_whole_and_the_next_one_by_another_server(
    context: BrowserContext, microphone: WavMicrophone, model: OpenAIServer, tmp_path: Path
) -> None:
    async with talking(context, microphone, model, tmp_path, drain_s=30) as talk:
        await expect(talk.page.replies).to_have_text(["It is nine.", "It is nine."])

        assert talk.heard() == [WHOLE, WHOLE]
        assert seconds_of(talk.old_ears) > 3.0
        assert seconds_of(talk.new_ears) < 2.0
        await expect(talk.page.line("The connection was lost")).to_have_count(0)


async def test_of_a_sentence_that_a_restart_cuts_in_two_neither_half_is_answered(
    context: BrowserContext, microphone: WavMicrophone, model: OpenAIServer, tmp_path: Path
) -> None:
    async with talking(context, microphone, model, tmp_path, drain_s=0.2) as talk:
        await expect(talk.page.line("The connection was lost while you were speaking.")).to_be_visible()
        await talk.page.until(lambda: "transcript" in talk.heard()[-1])
        await expect(talk.page.replies).to_have_text(["It is nine."])

        assert talk.heard() == [["speech_started"], WHOLE]
        assert talk.old_ears.requests == []
        assert seconds_of(talk.new_ears) < 2.0
