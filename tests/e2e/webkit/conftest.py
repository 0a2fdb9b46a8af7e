"""The page in WebKit, Safari's engine, as WebKitGTK has it. WEBKIT names its MiniBrowser (`make webkit` finds one); without it there are no tests here.

Playwright does not drive a stock WebKit: the page object of the other browsers cannot be used.
"""

import asyncio
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from typing import Final

import pytest
import pytest_asyncio
from aiohttp import ClientConnectionError, ClientSession

from tests.e2e.webkit.driver import WebDriver
from tests.support.ports import lasting_port
from tests.support.pulse import sound_server

WEBKIT: Final = os.environ.get("WEBKIT")
collect_ignore_glob = [] if WEBKIT else ["test_*.py"]

MICROPHONE: Final = "--enable-mock-capture-devices=true"
"""Beeps twice a second."""
_SWITCHES: Final = ("--automation", "--enable-media-stream=true")

OpenBrowser = Callable[..., Awaitable[WebDriver]]


@pytest.fixture(scope="session")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment with a screen that nobody sees and a loudspeaker that nobody hears."""
    folder = tmp_path_factory.mktemp("desk")
    screen = subprocess.Popen(
        ["Xvfb", "-displayfd", "1", "-screen", "0", "1280x900x24", "-nolisten", "tcp"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert screen.stdout is not None
    number = screen.stdout.readline().decode().strip()
    own = {"DISPLAY": f":{number}", "HOME": str(folder), "XDG_RUNTIME_DIR": str(folder), "GDK_BACKEND": "x11"}
    # bubblewrap wants namespaces that containers do not give; these pages are ours
    own |= {"WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS": "1", "LIBGL_ALWAYS_SOFTWARE": "1"}
    with sound_server(folder, "loudspeaker") as found:
        yield {**os.environ, **own, **found}
    screen.terminate()
    screen.wait()
    screen.stdout.close()


@pytest_asyncio.fixture(loop_scope="session")
async def open_browser(desk: dict[str, str]) -> AsyncIterator[OpenBrowser]:
    """Opens a browser with a profile of its own; at the end its pages may not have complained."""
    port = lasting_port()
    process = subprocess.Popen(
        [driver(), f"--port={port}"], env=desk, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    opened: list[WebDriver] = []
    async with AsyncExitStack() as stack:
        stack.callback(process.wait)
        stack.callback(process.terminate)
        http = await stack.enter_async_context(ClientSession())
        await answering(http, port)

        async def open_browser(*switches: str) -> WebDriver:
            browser = WebDriver(http, f"http://127.0.0.1:{port}")
            await browser.open({"binary": WEBKIT, "args": [*_SWITCHES, *switches]})
            stack.push_async_callback(browser.close)
            opened.append(browser)
            return browser

        yield open_browser
    assert [complaint for browser in opened for complaint in browser.complaints] == []


async def answering(http: ClientSession, port: int) -> None:
    async with asyncio.timeout(30):
        while True:
            try:
                async with http.get(f"http://127.0.0.1:{port}/status"):
                    return
            except ClientConnectionError:
                await asyncio.sleep(0.02)


def driver() -> str:
    found = shutil.which("WebKitWebDriver")
    assert found is not None, "WebKitWebDriver is not installed"
    return found
