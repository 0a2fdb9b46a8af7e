"""The page as a person meets it: what can be read and done, in words of the product."""

import asyncio
import json
import re
from collections.abc import Callable
from typing import Final

from playwright.async_api import BrowserContext, Locator, Page, WebSocket, expect

from tests.support.openai_script import Json

LIMIT_S: Final = 60.0
"""Waiting ends as soon as it may; the limit is for machines that are busy with other things."""
SETTLED_S: Final = 0.25
"""How long what is stored has to stay the same."""

# Read behind the page's back, so that what is stored is known and not only what is shown.
STORED = """async () => {
  const request = indexedDB.open("parley");
  const db = await new Promise((resolve) => (request.onsuccess = () => resolve(request.result)));
  const all = db.transaction("conversations").objectStore("conversations").getAll();
  const records = await new Promise((resolve) => (all.onsuccess = () => resolve(all.result)));
  db.close();
  return records;
}"""


class ParleyPage:
    def __init__(self, context: BrowserContext, url: str) -> None:
        self.context = context
        self.url = url
        self.complaints: list[str] = []
        self.expected_complaints: tuple[str, ...] = ()
        """What the test provokes, whenever the browser says so."""
        self.sent: list[Json] = []
        """The frames that went out."""
        self.sound_sizes: list[int] = []
        """Bytes of each message of the microphone."""
        self.frames: list[Json] = []
        """What came in, but for traces."""
        self.received = 0
        """Messages that came in, traces and sound among them."""
        self._arrival = asyncio.Event()
        self._connections = 1  # that it must have had by now
        self._page: Page | None = None

    @property
    def tab(self) -> Page:
        assert self._page is not None, "not opened"
        return self._page

    async def open(self, fragment: str = "", *, arrives: bool = True) -> None:
        """Returns when it is connected and may send, or only read; `arrives` False: wherever it leads to."""
        self._page = await self.context.new_page()
        self._page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self._page.on(
            "console", lambda message: self.complaints.append(message.text) if message.type == "error" else None
        )
        self._page.on("websocket", self._watch)
        await self._page.goto(f"{self.url}/{fragment}")
        if arrives:
            await expect(self.tab.locator(".model")).to_be_visible()

    def _watch(self, socket: WebSocket) -> None:
        socket.on("framesent", self._sent)
        socket.on("framereceived", self._came)

    def _came(self, payload: bytes | str) -> None:
        if isinstance(payload, str) and not payload.startswith('{"type":"trace"'):
            self.frames.append(json.loads(payload))
        self.received += 1
        self._arrival.set()

    def _sent(self, payload: bytes | str) -> None:
        if isinstance(payload, bytes):
            self.sound_sizes.append(len(payload))
            return
        self.sent.append(json.loads(payload))

    @property
    def chats(self) -> list[Json]:
        """The `chat` frames that went out."""
        return [frame for frame in self.sent if frame["type"] == "chat"]

    def count(self, kind: str) -> int:
        """Frames of that type that have come in."""
        return sum(frame["type"] == kind for frame in self.frames)

    async def until(self, is_so: Callable[[], bool], *, limit_s: float = LIMIT_S) -> None:
        """Asked anew whenever something has come in."""
        async with asyncio.timeout(limit_s):
            while not is_so():
                self._arrival.clear()
                await self._arrival.wait()

    async def close(self) -> None:
        await self.tab.close()

    # what can be done

    @property
    def input(self) -> Locator:
        return self.tab.get_by_label("Message", exact=True)

    @property
    def send(self) -> Locator:
        """Seen once something is written: as long as nothing is, "Talk" stands in its place."""
        return self.tab.locator(".composer [type=submit]")

    async def ask(self, text: str) -> None:
        await expect(self.send).to_be_enabled()
        await self.input.fill(text)
        await self.input.press("Enter")

    async def ask_and_wait(self, text: str) -> None:
        """Returns when the turn is over, however it ended."""
        await self.ask(text)
        await expect(self.tab.locator(".said-by-user p").last).to_have_text(text)
        await self.idle()

    async def idle(self) -> None:
        await expect(self.button("Stop the reply")).to_have_count(0)

    def button(self, name: str) -> Locator:
        return self.tab.get_by_role("button", name=name, exact=True)

    async def open_panel(self, name: str) -> Locator:
        if name in {"Skills", "Inspector"}:
            await self.button(name).click()
        else:
            await self.choose(name)
        panel = self.tab.get_by_role("complementary", name=name)
        await expect(panel).to_be_visible()
        return panel

    async def set(self, label: str, value: str) -> None:
        """One of the settings, in its panel."""
        panel = await self.open_panel("Settings")
        await panel.get_by_label(re.compile(f"^{re.escape(label)}")).select_option(value)
        await self.choose("Settings")

    async def choose(self, item: str) -> None:
        """From the menu of the header."""
        await self.tab.locator("[popovertarget=menu]").first.click()
        await self.button(item).click()

    async def reconnect(self) -> None:
        """What the browser says when the network is back: once for each connection lost. Returns when there is another."""
        self._connections += 1
        await self.tab.evaluate("dispatchEvent(new Event('online'))")
        await self.until(lambda: self.count("ready") >= self._connections)
        await expect(self.send).to_be_enabled()

    async def clear(self) -> None:
        await self.choose("Clear")
        await expect(self.turns).to_have_count(0)

    # what can be read

    @property
    def turns(self) -> Locator:
        return self.tab.locator(".turn")

    @property
    def replies(self) -> Locator:
        return self.tab.locator(".reply")

    @property
    def hooks(self) -> Locator:
        return self.tab.locator(".hook-frame")

    @property
    def lines(self) -> Locator:
        return self.tab.locator(".line")

    def line(self, text: str) -> Locator:
        """The line that says this; what the server still loads may have a line of its own."""
        return self.lines.filter(has_text=text)

    async def stored(self) -> list[Json]:
        """Once it has settled: the page writes a moment after it shows."""
        records: list[Json] | None = None
        found: list[Json] = await self.tab.evaluate(STORED)
        while found != records:
            records = found
            await asyncio.sleep(SETTLED_S)
            found = await self.tab.evaluate(STORED)
        return found

    async def history(self) -> list[Json]:
        """What is stored of the only conversation there is."""
        records = await self.stored()
        assert len(records) <= 1, [record["shownTitle"] for record in records]
        messages: list[Json] = records[0]["conversationHistory"] if records else []
        return messages

    async def texts(self) -> list[str]:
        return [f"{message['role']}: {message['content']}" for message in await self.history()]
