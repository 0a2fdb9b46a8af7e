"""The page in a stock Firefox that FIREFOX names (`make firefox` finds one); without it there are no tests here.

The same page object, server and model as in Chromium. What goes over the socket
is told by the page itself: WebDriver BiDi does not show it.
"""

import os
import re
import shlex
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, async_playwright

from tests.e2e.conftest import LIMIT_MS
from tests.e2e.parley_page import ParleyPage
from tests.support.pulse import sound_server
from tests.support.server_process import ROOT, ServerProcess

FIREFOX: Final = os.environ.get("FIREFOX")
collect_ignore_glob = [] if FIREFOX else ["test_*.py"]

PREFERENCES: Final[dict[str, str | float | bool]] = {
    "media.navigator.streams.fake": True,  # the microphone is a tone of 1 kHz
    "media.navigator.permission.disabled": True,
    "media.autoplay.default": 0,
    "ui.prefersReducedMotion": 1,
}
# What a lost connection and a loading server make Firefox say is no fault of the page.
EXPECTED_ERRORS: Final = re.compile(r"can’t establish a connection|was interrupted while|NS_ERROR_|Failed to load")

# Runs before the page's own scripts. Sound is only counted: fifty messages a second are too many to be told of.
TAP: Final = """(() => {
  const { WebSocket, tellOfFrame } = window;
  window.saidBytes = 0;
  window.WebSocket = class extends WebSocket {
    constructor(...options) {
      super(...options);
      this.addEventListener("message", ({ data }) => typeof data === "string" && tellOfFrame("came", data));
    }
    send(data) {
      super.send(data);
      if (typeof data === "string") tellOfFrame("sent", data);
      else window.saidBytes += data.byteLength;
    }
  };
})()"""


class FirefoxPage(ParleyPage):
    def is_at(self, tab: Page) -> bool:
        return self._page is tab

    def tell(self, direction: str, frame: str) -> None:
        if direction == "sent":
            self._sent(frame)
        else:
            self._came(frame)

    async def said_bytes(self) -> int:
        """Of the microphone, since the page was loaded."""
        count: int = await self.tab.evaluate("window.saidBytes")
        return count


@pytest.fixture(scope="session")
def loudspeaker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment with a loudspeaker that nobody hears: without any, Firefox runs no AudioContext.

    Where PulseAudio is not installed: the machine's own.
    """
    if shutil.which("pulseaudio") is None:
        yield {}
        return
    with sound_server(tmp_path_factory.mktemp("loudspeaker"), "loudspeaker") as found:
        yield found


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def firefox(tmp_path_factory: pytest.TempPathFactory, loudspeaker: dict[str, str]) -> AsyncIterator[Browser]:
    assert FIREFOX is not None
    async with async_playwright() as playwright:
        browser = await playwright.firefox.launch(
            channel="moz-firefox",
            executable_path=relayed(FIREFOX, tmp_path_factory.mktemp("firefox")),
            headless=True,
            env={**os.environ, **loudspeaker},
            firefox_user_prefs=PREFERENCES,
        )
        yield browser
        await browser.close()


def relayed(firefox: str, folder: Path) -> Path:
    """A program that starts this Firefox behind the relay."""
    command = shlex.join([sys.executable, "-m", "tests.e2e.firefox.relay", firefox])
    program = folder / "firefox"
    program.write_text(f'#!/bin/sh\ncd {shlex.quote(str(ROOT))} && exec {command} "$@"\n')
    program.chmod(0o755)
    return program


@pytest_asyncio.fixture(loop_scope="session")
async def context(firefox: Browser) -> AsyncIterator[BrowserContext]:
    context = await firefox.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(LIMIT_MS)
    yield context
    await context.close()


@pytest_asyncio.fixture(loop_scope="session")
async def new_page(context: BrowserContext, server: ServerProcess) -> AsyncIterator[Callable[[], FirefoxPage]]:
    """Makes pages of one browser; at the end none may have complained."""
    made: list[FirefoxPage] = []

    def tell(source: Any, direction: str, frame: str) -> None:
        for page in made:
            if page.is_at(source["page"]):
                page.tell(direction, frame)

    def make(url: str = server.url) -> FirefoxPage:
        made.append(FirefoxPage(context, url))
        return made[-1]

    await context.expose_binding("tellOfFrame", tell)
    await context.add_init_script(TAP)
    yield make
    complaints = [line for page in made for line in page.complaints if not EXPECTED_ERRORS.search(line)]
    assert complaints == []
