"""Pages of another origin, which use the client library of a server."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from aiohttp import web

WRITTEN_URL = "http://localhost:8765"
"""The server as examples and docs name it."""


class ForeignPages:
    """An origin whose pages are strings; the server's address in them becomes the real one."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.server_url = ""
        self.policy = ""
        """Content-Security-Policy of the pages named strict."""
        self.pages: dict[str, str] = {}

    def add(self, name: str, text: str) -> str:
        """Returns the URL of the page."""
        self.pages[name] = text
        return f"{self.origin}/{name}"

    async def serve(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name not in self.pages:
            return web.Response(status=404)
        text = self.pages[name].replace(WRITTEN_URL, self.server_url)
        return web.Response(text=text, content_type="text/html", headers=self.headers(name))

    def headers(self, name: str) -> Mapping[str, str]:
        policy = {"Content-Security-Policy": self.policy} if name.startswith("strict") else {}
        return {"Cache-Control": "no-store", **policy}


@asynccontextmanager
async def foreign_pages() -> AsyncIterator[ForeignPages]:
    app = web.Application()
    runner = web.AppRunner(app)
    pages = ForeignPages("")
    app.router.add_get("/{name}", pages.serve)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    pages.origin = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield pages
    await runner.cleanup()
