"""`<parley-talk>` (frontend/sdk/talk.js) in a page of another origin; a WAV is the microphone."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, async_playwright, expect

from server.speech.audio import samples_to_pcm16
from tests.e2e.conftest import EXPECTED_ERRORS, FLAGS, LIMIT_MS, SPOKEN_RATE, executable
from tests.e2e.foreign_pages import ForeignPages, foreign_pages
from tests.e2e.spoken import EAR, WavMicrophone
from tests.support.openai_script import calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.server_process import ROOT, ServerProcess, endpoint
from tests.support.speech_corpus import spoken
from tests.support.speech_server import SpeechServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

EMBED = ROOT / "examples" / "clients" / "embed.html"
POLICY = "default-src 'none'; script-src {server}; connect-src {server} {socket}"
"""As strict as a page may be that embeds the button."""
HEAR = """() => document.querySelector("parley-talk").parley.on("level", (level) => {
  if (level > 0.4) window.saidAt = performance.now();
})"""
PAGE = """<!doctype html><html lang="en"><title>Foreign</title>
<script type="module" src="http://localhost:8765/sdk/talk.js"></script>
<parley-talk url="http://localhost:8765" {attributes}></parley-talk></html>"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def pages() -> AsyncIterator[ForeignPages]:
    async with foreign_pages() as pages:
        yield pages


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server(
    tmp_path_factory: pytest.TempPathFactory, lasting_model: OpenAIServer, speech: SpeechServer, pages: ForeignPages
) -> AsyncIterator[ServerProcess]:
    """A talking server that lets the other origin in, and asks before it writes."""
    engine = {"provider": "openai", "base_url": speech.base_url, "api_key": "scripted", "model": "scripted"}
    settings = {
        "agent": {"planning": False},
        "security": {"origins": [pages.origin]},
        "hooks": {
            "builtins": {
                "ask_human": {"enabled": True, "config": {"tools": ["current_time"], "message": "May it run?"}}
            }
        },
        "speech": {"stt": engine, "tts": engine},
    }
    environ = {
        **endpoint(lasting_model.url),
        "PARLEY_SPEECH__STT__PROVIDER": "openai",
        "PARLEY_SPEECH__TTS__PROVIDER": "openai",
    }
    async with ServerProcess(tmp_path_factory.mktemp("embedded"), environ=environ, settings=settings) as process:
        pages.server_url = process.url
        pages.policy = POLICY.format(server=process.url, socket=process.url.replace("http", "ws"))
        yield process


@pytest.fixture(scope="module")
def microphone(tmp_path_factory: pytest.TempPathFactory) -> WavMicrophone:
    microphone = WavMicrophone(tmp_path_factory.mktemp("microphone") / "said.wav")
    microphone.will_say(samples_to_pcm16(spoken("What time is it?", "en-us")))
    return microphone


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def speaking_chromium(microphone: WavMicrophone) -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        flags = [*FLAGS, *microphone.flags]
        browser = await playwright.chromium.launch(executable_path=executable(), headless=True, args=flags)
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="session")
async def tab(speaking_chromium: Browser, server: ServerProcess) -> AsyncIterator[Page]:
    context = await speaking_chromium.new_context(permissions=["microphone"])
    context.set_default_timeout(LIMIT_MS)
    await context.add_init_script(EAR)
    tab = await context.new_page()
    complaints: list[str] = []
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    yield tab
    await context.close()
    assert [line for line in complaints if not EXPECTED_ERRORS.search(line)] == []


async def test_one_line_in_a_foreign_page_answers_what_is_said_aloud(
    tab: Page, pages: ForeignPages, speech: SpeechServer, model: OpenAIServer
) -> None:
    speech.text, speech.pieces = "What time is it?", [b"\x10\x20" * SPOKEN_RATE]
    model.queue(text("It is noon."))
    await tab.goto(pages.add("embed.html", EMBED.read_text("utf-8")))

    await tab.get_by_role("button", name="Ask the shop").click()
    await expect(tab.get_by_role("button", name="Stop talking")).to_be_visible()
    await expect(tab.get_by_text("It is noon.")).to_be_visible()
    await expect(tab.get_by_role("status")).to_have_text("Speaking")

    assert await tab.evaluate("window.ear !== undefined"), "the reply was played"
    await expect(tab.get_by_role("status")).to_have_text("Listening")
    history = await tab.evaluate("document.querySelector('parley-talk').parley.history.map(({ content }) => content)")
    assert history == ["What time is it?", "It is noon."]
    await tab.get_by_role("button", name="Stop talking").click()
    await expect(tab.get_by_role("button", name="Ask the shop")).to_be_visible()


async def test_the_button_can_be_used_with_the_keyboard_alone_and_under_a_strict_policy(
    tab: Page, pages: ForeignPages, speech: SpeechServer, model: OpenAIServer
) -> None:
    model.queue(text("It is noon."))
    await tab.goto(pages.add("strict.html", PAGE.format(attributes="push-to-talk")))

    await tab.keyboard.press("Tab")
    await tab.keyboard.press("Enter")
    held = tab.get_by_role("button", name="Hold to talk")
    await expect(held).to_have_attribute("aria-pressed", "false")
    await tab.keyboard.down(" ")
    await expect(held).to_have_attribute("aria-pressed", "true")
    await expect(tab.get_by_role("status")).to_have_text("Listening …")
    await tab.evaluate(HEAR)
    await tab.wait_for_function("() => window.saidAt && performance.now() - window.saidAt > 800")
    await tab.keyboard.up(" ")

    await expect(tab.get_by_text("It is noon.")).to_be_visible()
    await tab.keyboard.press("Escape")
    await expect(tab.get_by_role("button", name="Talk", exact=True)).to_be_visible()


async def test_a_question_about_a_tool_is_asked_in_the_page(
    tab: Page, pages: ForeignPages, model: OpenAIServer
) -> None:
    model.queue(calls(("current_time", {"timezone": "Asia/Tokyo"})), text("It is late."))
    await tab.goto(pages.add("plain.html", PAGE.format(attributes="")))

    await tab.get_by_role("button", name="Talk", exact=True).click()
    question = tab.get_by_role("group", name="May it run? current_time")
    await expect(question).to_contain_text("Asia/Tokyo")
    await question.get_by_role("button", name="Allow", exact=True).click()

    await expect(tab.get_by_text("It is late.")).to_be_visible()
    await expect(question).to_have_count(0)


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ('url="http://"', "url: http:// is not the address of a server"),
        ('token="x=/"', "token: browsers send only letters, digits and !#$%&'*+-.^_`|~"),
    ],
    ids=["url", "token"],
)
async def test_an_attribute_that_cannot_be_used_is_named(
    tab: Page, pages: ForeignPages, attributes: str, said: str
) -> None:
    wrong = PAGE.replace('url="http://localhost:8765" {attributes}', "{attributes}").format(attributes=attributes)
    await tab.goto(pages.add("wrong.html", wrong))

    await tab.get_by_role("button", name="Talk", exact=True).click()

    await expect(tab.get_by_role("status")).to_have_text(said)


async def test_a_closed_conversation_lets_the_microphone_go_and_never_takes_it_again(
    tab: Page, pages: ForeignPages
) -> None:
    await tab.goto(pages.add("empty.html", "<!doctype html><title>Empty</title>"))

    found = await tab.evaluate(
        """async (url) => {
          const { Parley } = await import(`${url}/sdk/parley.js`);
          const tracks = [];
          const devices = navigator.mediaDevices;
          const ask = devices.getUserMedia.bind(devices);
          devices.getUserMedia = async (wanted) => {
            const stream = await ask(wanted);
            tracks.push(...stream.getTracks());
            return stream;
          };
          const parley = new Parley();
          await parley.talk();
          parley.close();
          const first = [tracks.map(({ readyState }) => readyState), parley.state.connection, parley.state.microphone];
          const refusals = [];
          for (const act of ["talk", "connect", "send"]) await parley[act]("Hello").catch(({ message }) => refusals.push(message));
          return [...first, refusals, tracks.length];
        }""",
        pages.server_url,
    )

    assert found == [["ended"], "closed", "off", ["closed"] * 3, 1]


async def test_a_server_that_is_not_there_is_reported_in_the_language_of_the_page(
    tab: Page, pages: ForeignPages
) -> None:
    away = PAGE.replace('url="http://localhost:8765"', 'url="http://127.0.0.1:9"').replace('lang="en"', 'lang="zh-CN"')
    await tab.goto(pages.add("away.html", away.format(attributes="")))

    await tab.get_by_role("button", name="说话", exact=True).click()

    await expect(tab.get_by_role("status")).to_have_text("无法连接服务器，正在重试…")
