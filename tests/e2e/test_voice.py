"""Speaking with the page: a WAV is the microphone, the embedded engines hear and speak.

What the page plays is recorded and recognised again.
"""

import difflib
import os
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, async_playwright, expect

from tests.e2e.conftest import EXPECTED_ERRORS, FLAGS, LIMIT_MS, executable
from tests.e2e.cutting_proxy import CuttingProxy
from tests.e2e.parley_page import ParleyPage
from tests.e2e.spoken import EAR, Voices, WavMicrophone, beginning, embedded_voices, heard, listen, silent
from tests.support.openai_script import text
from tests.support.openai_server import OpenAIServer
from tests.support.server_process import ServerProcess, endpoint
from tests.support.talking_server import hearing

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

SPEECH_LIMIT_MS = 3 * LIMIT_MS
"""Engines share the processor with the browser."""

REMOTE_NAME = "parley.test"
"""The server's name for a page that takes it for another machine."""

LONG_REPLY = (
    "The story begins in a small town near the sea. ",
    "Every morning an old man walked down to the harbour. ",
    "He looked at the boats for a long time. ",
    "And in the evening he told the children what he had seen.",
)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def voices() -> AsyncIterator[Voices]:
    async with embedded_voices() as voices:
        yield voices


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server(
    tmp_path_factory: pytest.TempPathFactory, lasting_model: OpenAIServer, skills: Path
) -> AsyncIterator[ServerProcess]:
    process = ServerProcess(
        tmp_path_factory.mktemp("talking"),
        environ={
            **endpoint(lasting_model.url),
            "PARLEY_SPEECH__STT__PROVIDER": "embedded",
            "PARLEY_SPEECH__TTS__PROVIDER": "embedded",
        },
        settings={
            "skills": {"dir": str(skills)},
            "agent": {"planning": False},
            "security": {"hosts": [REMOTE_NAME], "auth": "none"},
        },
    )
    async with process:
        yield process


@pytest.fixture(scope="module")
def microphone(tmp_path_factory: pytest.TempPathFactory) -> WavMicrophone:
    return WavMicrophone(tmp_path_factory.mktemp("microphone") / "said.wav")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def talking_chromium(microphone: WavMicrophone, server: ServerProcess) -> AsyncIterator[Browser]:
    remote = (
        f"--host-resolver-rules=MAP {REMOTE_NAME} 127.0.0.1",
        f"--unsafely-treat-insecure-origin-as-secure={remote_url(server)}",
    )
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=executable(), headless=True, args=[*FLAGS, *microphone.flags, *remote]
        )
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="session")
async def context(talking_chromium: Browser) -> AsyncIterator[BrowserContext]:
    context = await talking_chromium.new_context(permissions=["microphone"], reduced_motion="reduce")
    context.set_default_timeout(SPEECH_LIMIT_MS)
    await context.add_init_script(EAR)
    yield context
    await context.close()


def remote_url(server: ServerProcess) -> str:
    return server.url.replace("127.0.0.1", REMOTE_NAME)


@pytest_asyncio.fixture(loop_scope="session")
async def talk(context: BrowserContext, server: ServerProcess, microphone: WavMicrophone) -> AsyncIterator["Talk"]:
    page = ParleyPage(context, server.url)
    await page.open()
    await hearing(server.ws_url)  # where a test before made an engine too slow, it has been started again
    talk = Talk(page, microphone)
    await expect(page.button("Talk")).to_be_enabled(timeout=SPEECH_LIMIT_MS)
    yield talk
    assert [line for line in page.complaints if not EXPECTED_ERRORS.search(line)] == []


SAME = 0.6
"""The voice is not twice the same and a small recogniser mishears; another sentence stays under 0.45."""


def likeness(heard: str, said: str) -> float:
    """1 = the same letters; a small recogniser mishears a name."""
    return difflib.SequenceMatcher(None, heard.lower(), said.lower()).ratio()


class Talk:
    """A person before the page."""

    def __init__(self, page: ParleyPage, microphone: WavMicrophone) -> None:
        self.page = page
        self.microphone = microphone

    async def say(self, pcm: bytes) -> None:
        """Returns when the page listens; the words come a moment later."""
        self.microphone.will_say(pcm)
        if await self.page.button("End").is_visible():
            await self.page.button("End").click()
        await self.page.button("Talk").click()
        await expect(self.page.tab.get_by_text("The microphone is on")).to_be_attached(timeout=SPEECH_LIMIT_MS)

    async def frame(self, kind: str) -> None:
        """Returns once one of that type has come."""
        await self.page.until(lambda: self.page.count(kind) > 0, limit_s=SPEECH_LIMIT_MS / 1000)

    async def answered(self, count: int) -> None:
        """The reply to the `count`-th question has been heard to its end."""
        await expect(self.page.turns).to_have_count(count, timeout=SPEECH_LIMIT_MS)
        await expect(self.page.button("Stop the reply")).to_have_count(0, timeout=SPEECH_LIMIT_MS)

    def words(self) -> list[str]:
        return [frame["text"].lower() for frame in self.page.frames if frame["type"] == "transcript" and frame["text"]]

    async def playing(self) -> None:
        await expect(self.page.tab.locator(".voice-speaking")).to_be_visible(timeout=SPEECH_LIMIT_MS)


async def test_a_spoken_question_is_shown_and_its_answer_can_be_heard(
    talk: Talk, voices: Voices, model: OpenAIServer
) -> None:
    question = await voices.say("What is the capital of France?")
    follow_up = await voices.say("And how many people live there?")
    model.queue(text("The capital of France is Paris. ", "It is a beautiful old city."))
    model.queue(text("Two million people live in the city."))

    await talk.say(question)
    await listen(talk.page.tab)
    await expect(talk.page.tab.locator(".said-by-user p")).to_contain_text("capital", timeout=SPEECH_LIMIT_MS)
    await talk.answered(1)
    first = await voices.understand(await heard(talk.page.tab))
    await listen(talk.page.tab)
    await talk.say(follow_up)
    await talk.answered(2)
    second = await voices.understand(await heard(talk.page.tab))

    assert likeness(first, "The capital of France is Paris. It is a beautiful old city.") > SAME
    assert likeness(second, "Two million people live in the city.") > SAME
    roles = [message["role"] for message in await talk.page.history() if "_hook" not in message]
    assert roles == ["user", "assistant", "user", "assistant"]
    assert "The capital of France is Paris. It is a beautiful old city." in model.requests[1].contents


async def test_sound_to_and_from_another_machine_is_opus(
    context: BrowserContext, server: ServerProcess, microphone: WavMicrophone, voices: Voices, model: OpenAIServer
) -> None:
    page = ParleyPage(context, remote_url(server))
    await page.open()
    talk = Talk(page, microphone)
    question = await voices.say("What is the capital of France?")
    model.queue(text("The capital of France is Paris. ", "It is a beautiful old city."))

    await talk.say(question)
    await listen(page.tab)
    await talk.answered(1)
    reply = await voices.understand(await heard(page.tab))

    assert likeness(" ".join(talk.words()), "What is the capital of France?") > SAME
    assert likeness(reply, "The capital of France is Paris. It is a beautiful old city.") > SAME
    assert {frame["audio"]["format"] for frame in page.frames if frame["type"] == "sentence"} == {"opus"}
    assert max(page.sound_sizes) < 200, "20 ms of PCM are 640 bytes"
    assert [line for line in page.complaints if not EXPECTED_ERRORS.search(line)] == []


async def test_who_speaks_into_a_reply_stops_it_and_what_was_not_heard_is_forgotten(
    talk: Talk, voices: Voices, model: OpenAIServer
) -> None:
    interruption = await voices.say("Stop, please tell me about the weather instead.")
    model.queue(text(*LONG_REPLY))
    model.queue(text("It is sunny."))
    await talk.page.set("Read replies aloud", "always")
    await talk.page.ask("Tell me a story.")
    await talk.frame("sentence_end")
    await talk.say(interruption)
    await talk.answered(2)

    assert likeness(" ".join(talk.words()), "Stop, please tell me about the weather instead.") > SAME
    kept = [m["content"] for m in await talk.page.history() if m["role"] == "assistant"]
    whole = "".join(LONG_REPLY)
    assert len(kept[0]) < len(whole)
    assert whole.startswith(kept[0])
    assert whole not in model.requests[1].contents
    await expect(talk.page.tab.get_by_text("The greyed-out part was not spoken.")).to_be_visible()


async def test_on_a_phone_the_talk_fills_the_screen_and_captions_what_is_said(
    talk: Talk, voices: Voices, model: OpenAIServer
) -> None:
    question = await voices.say("What is the capital of France?")
    model.queue(text("The capital of France is Paris. "))
    tab = talk.page.tab
    await tab.set_viewport_size({"width": 390, "height": 844})
    stage = tab.get_by_role("region", name="Talk")

    await talk.say(question)
    await expect(stage).to_be_focused()
    await expect(stage.locator(".voice-transcript")).to_contain_text("capital", timeout=SPEECH_LIMIT_MS)
    await expect(stage.locator(".voice-caption")).to_contain_text("Paris", timeout=SPEECH_LIMIT_MS)
    await expect(talk.page.replies).to_be_hidden()
    await talk.answered(1)
    await talk.page.button("Show text").click()
    await expect(talk.page.replies).to_be_visible()
    await talk.page.button("Mute").click()
    await expect(stage).to_contain_text("Muted")
    await talk.page.button("End").press("Enter")

    await expect(talk.page.button("Talk")).to_be_focused()
    await talk.page.input.fill("A typed question")
    await expect(talk.page.button("Talk")).to_be_hidden()
    await expect(talk.page.button("Send")).to_be_visible()


async def test_a_cough_only_pauses_the_reply(talk: Talk, voices: Voices, model: OpenAIServer) -> None:
    cough = beginning(await voices.say("Are you there?"), 0.25)
    model.queue(text(*LONG_REPLY))
    await talk.page.set("Read replies aloud", "always")
    await talk.page.ask("Tell me a story.")
    await talk.frame("sentence_end")
    await talk.say(cough)
    await talk.frame("speech_detected")
    await talk.frame("speech_rejected")
    await talk.answered(1)

    assert not [frame for frame in talk.page.frames if frame["type"] == "speech_started"]
    assert (await talk.page.texts())[-1] == "assistant: " + "".join(LONG_REPLY)


async def test_holding_the_space_bar_says_one_thing_and_what_is_typed_is_not_answered_aloud(
    talk: Talk, voices: Voices, model: OpenAIServer
) -> None:
    model.queue(text("It is noon."), text("It is still noon."))
    await talk.page.set("How to talk", "push_to_talk")
    await talk.say(await voices.say("What time is it now?"))

    await talk.page.tab.keyboard.down(" ")
    await expect(talk.page.tab.locator(".voice-hearing")).to_be_visible()
    await silent(talk.page.tab)
    await talk.page.tab.keyboard.up(" ")
    await talk.answered(1)

    assert likeness(" ".join(talk.words()), "What time is it now?") > SAME
    assert (await talk.page.texts())[-1] == "assistant: It is noon."

    await talk.page.ask_and_wait("And now?")

    assert [f["audio"] is not None for f in talk.page.frames if f["type"] == "sentence"] == [True, False]  # typed: read


def has_voice(page: ParleyPage) -> bool:
    status = [frame.get("speech", frame) for frame in page.frames if frame["type"] in ("ready", "speech")]
    return bool(status) and status[-1]["tts"]["state"] == "ready"


async def test_a_player_that_the_server_did_not_send_is_loaded_once_it_is_back(
    context: BrowserContext, server: ServerProcess, model: OpenAIServer
) -> None:
    async with CuttingProxy(server.url) as proxy:
        page = ParleyPage(context, proxy.url)
        await page.open()
        await page.set("Read replies aloud", "always")
        proxy.go_away()
        await page.input.fill("Hello")
        await page.input.press("Enter")  # the first gesture that may lead to sound
        await expect(page.line("The server did not send the part of this page that plays sound")).to_be_visible()

        proxy.is_away = False
        await page.reconnect()
        await expect(page.line("The server did not send")).to_have_count(0)
        await page.until(lambda: has_voice(page), limit_s=SPEECH_LIMIT_MS / 1000)
        model.queue(text("This is heard, and it takes a while."))
        await page.ask("And now?")

        await expect(page.tab.locator(".saying")).to_contain_text("This is heard", timeout=SPEECH_LIMIT_MS)
        await page.idle()
        await page.tab.close()


async def test_voice_and_speed_are_chosen_on_the_page(talk: Talk, model: OpenAIServer) -> None:
    page, said = talk.page, "The boats leave the harbour early in the morning."
    model.queue(text(said), text(said))
    await page.until(lambda: has_voice(page), limit_s=SPEECH_LIMIT_MS / 1000)
    await page.set("Read replies aloud", "always")
    await page.set("Voice", "espeak-ng")
    await page.ask_and_wait("When?")
    await page.set("Speed of the voice", "2")
    await page.ask_and_wait("When again?")

    slow, fast = [frame["duration_ms"] for frame in page.frames if frame["type"] == "sentence_end"]
    assert slow > 1.6 * fast


async def test_a_typed_reply_is_read_aloud_by_hand_and_leaves_nothing(
    talk: Talk, voices: Voices, model: OpenAIServer, tmp_path: Path
) -> None:
    page, said = talk.page, "The boats leave the harbour early in the morning."
    await page.until(lambda: has_voice(page), limit_s=SPEECH_LIMIT_MS / 1000)
    model.queue(text(said), text(*LONG_REPLY))
    await page.ask_and_wait("When?")
    await page.tab.screenshot(path=tmp_path / "offered.png")
    before = await page.history()
    await listen(page.tab)
    await page.button("Read aloud").click()
    await expect(page.button("Stop reading")).to_be_visible()
    await page.tab.screenshot(path=tmp_path / "reading.png")
    await expect(page.button("Read aloud")).to_be_visible(timeout=SPEECH_LIMIT_MS)

    assert likeness(await voices.understand(await heard(page.tab)), said) > SAME
    assert await page.history() == before
    assert len(model.requests) == 1

    await page.ask_and_wait("And then?")
    await page.button("Read aloud").last.click()
    await page.until(lambda: page.frames[-1]["type"] == "sentence_end")
    await page.button("Stop reading").click()
    await page.until(lambda: page.frames[-1].get("reason") == "interrupted")


HINTS = """() => {
  window.hints = [];
  const see = () => hints.push(document.querySelector(".voice-hint")?.textContent);
  new MutationObserver(see).observe(document.body, {subtree: true, childList: true, characterData: true});
}"""


async def test_the_talk_says_that_the_voice_is_loading_and_when_it_is_ready(talk: Talk, server: ServerProcess) -> None:
    page = talk.page
    await page.until(lambda: has_voice(page), limit_s=SPEECH_LIMIT_MS / 1000)
    await talk.say(bytes(2))
    await page.tab.evaluate(HINTS)
    [engine] = [pid for pid, command in children(server.pid) if "tts" in command]

    os.kill(engine, signal.SIGKILL)  # the server starts it again
    await expect(page.tab.locator(".voice-hint")).to_contain_text("The voice is ready", timeout=SPEECH_LIMIT_MS)

    assert "The voice is still loading. Replies are text until then." in await page.tab.evaluate("hints")


def children(pid: int) -> list[tuple[int, str]]:
    """The processes that a process has started, with their commands."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == pid:
                found.append((int(folder.name), (folder / "cmdline").read_text().replace("\0", " ")))
    return found
