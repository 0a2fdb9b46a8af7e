"""A real Chromium before the real server in its own process, before a scripted model.

Browser, model and server are started once; each test gets a browser context of
its own, an empty script and the same skills. A test fails if its page logged an
error (a refused script, an exception nobody caught).
"""

import json
import os
import re
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, async_playwright, expect

from tests.e2e.parley_page import LIMIT_S, ParleyPage
from tests.support.openai_server import OpenAIServer
from tests.support.server_process import ServerProcess, endpoint
from tests.support.speech_server import SpeechServer, speech_server

UNUSED = (
    "WebUIOmniboxPopup",  # with these two each window has a renderer more, which costs more than our page
    "WebUIOmniboxAimPopup",
    "AimEnabled",  # from here on as Playwright has it: of two such lists Chromium takes the last
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "ThirdPartyStoragePartitioning",
)
FLAGS = (
    f"--disable-features={','.join(UNUSED)}",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# What a lost connection and a loading server make Chromium say is no fault of the page.
EXPECTED_ERRORS = re.compile(r"Failed to load resource|WebSocket connection to|net::ERR_")

SPOKEN_RATE = 24_000
LONG_REPLY = tuple(f"This is sentence number {number} of a story. " for number in range(1, 9))
LIMIT_MS = 1000 * LIMIT_S
expect.set_options(timeout=LIMIT_MS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
            item.add_marker(pytest.mark.browser)


def executable() -> str | None:
    """CHROMIUM, else the system's; None = Playwright's own."""
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    return found or shutil.which("google-chrome")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def chromium() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable(), headless=True, args=list(FLAGS))
        yield browser
        await browser.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def lasting_model() -> AsyncIterator[OpenAIServer]:
    async with OpenAIServer() as model:
        yield model


@pytest.fixture
def model(lasting_model: OpenAIServer) -> Iterator[OpenAIServer]:
    """Without requests and answers of the test before."""
    yield lasting_model
    lasting_model.respond = None
    lasting_model.clear()


@pytest.fixture(scope="session")
def skills(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A skill with a persistent hook and one with a hook for each of two other timings."""
    folder = tmp_path_factory.mktemp("parley") / "skills"
    write_skill(folder, "calm", "Keeps the talk calm.", {"tone": ("after_user_input", True)})
    write_skill(
        folder, "clock", "Knows about time.", {"zone": ("after_tool_call", False), "plan": ("before_planning", False)}
    )
    return folder


def write_skill(folder: Path, name: str, description: str, hooks: dict[str, tuple[str, bool]]) -> None:
    (folder / name / "hooks").mkdir(parents=True, exist_ok=True)
    (folder / name / "SKILL.md").write_text(
        f"---\nname: {name}\ndescription: {description}\n---\nThe body of {name}.\n"
    )
    entries = [
        {"name": hook, "file": f"{hook}.md", "timing": timing, "role": "system", "persistent": persistent}
        for hook, (timing, persistent) in hooks.items()
    ]
    for hook in hooks:
        (folder / name / "hooks" / f"{hook}.md").write_text(f"The text of {name}/{hook}.")
    (folder / name / "hooks" / "hooks.json").write_text(json.dumps({"hooks": entries}))


def write_counter(folder: Path) -> None:
    """Write a skill that counts the questions, and looks for a name in each."""
    name = {"from": "user_text", "match": "/my name is (.+)/"}
    updates = {"count": {"questions": {"add": 1}}, "their-name": {"name": name}}
    entries = [{"name": key, "timing": "after_user_input", "set": change} for key, change in updates.items()]
    (folder / "hooks").mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: counter\ndescription: Counts questions.\n---\nIt counts.\n")
    (folder / "hooks" / "hooks.json").write_text(
        json.dumps({"variables": {"questions": 0, "name": ""}, "hooks": entries})
    )


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def server(
    tmp_path_factory: pytest.TempPathFactory, lasting_model: OpenAIServer, skills: Path
) -> AsyncIterator[ServerProcess]:
    process = ServerProcess(
        tmp_path_factory.mktemp("server"),
        environ=endpoint(lasting_model.url),
        settings={"skills": {"dir": str(skills)}},
    )
    async with process:
        yield process


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def speech() -> AsyncIterator[SpeechServer]:
    """Engines that understand one question, and say one second of silence for each sentence."""
    async with speech_server(text="What time is it?", pieces=[bytes(2 * SPOKEN_RATE)]) as speech:
        yield speech


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def talking_server(
    tmp_path_factory: pytest.TempPathFactory, lasting_model: OpenAIServer, speech: SpeechServer
) -> AsyncIterator[ServerProcess]:
    """With these engines; it plans nothing, asks before it looks at the clock, and has a skill with variables."""
    engine = {"provider": "openai", "base_url": speech.base_url, "api_key": "scripted", "model": "scripted"}
    environ = {
        **endpoint(lasting_model.url),
        **{f"PARLEY_SPEECH__{kind}__{key.upper()}": value for kind in ("STT", "TTS") for key, value in engine.items()},
    }
    folder = tmp_path_factory.mktemp("talking")
    write_counter(folder / "remembering" / "counter")
    asking = {"builtins": {"ask_human": {"enabled": True, "config": {"tools": ["current_time"]}}}}
    settings = {"agent": {"planning": False}, "hooks": asking, "skills": {"dirs": [str(folder / "remembering")]}}
    async with ServerProcess(folder, environ=environ, settings=settings) as process:
        yield process


@pytest_asyncio.fixture(loop_scope="session")
async def context(chromium: Browser) -> AsyncIterator[BrowserContext]:
    """An own profile: storage, locks and channels are shared by its pages and nobody else."""
    context = await chromium.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    context.set_default_timeout(LIMIT_MS)
    yield context
    await context.close()


@pytest_asyncio.fixture(loop_scope="session")
async def new_page(context: BrowserContext, server: ServerProcess) -> AsyncIterator[Callable[[], ParleyPage]]:
    """Makes pages of one browser; at the end none may have complained."""
    made: list[ParleyPage] = []

    def make(url: str = server.url) -> ParleyPage:
        made.append(ParleyPage(context, url))
        return made[-1]

    yield make
    for page in made:
        complaints = [line for line in page.complaints if not EXPECTED_ERRORS.search(line)]
        assert [line for line in complaints if not any(text in line for text in page.expected_complaints)] == []


@pytest_asyncio.fixture(loop_scope="session")
async def page(new_page: Callable[[], ParleyPage]) -> ParleyPage:
    """Open and connected."""
    page = new_page()
    await page.open()
    return page
