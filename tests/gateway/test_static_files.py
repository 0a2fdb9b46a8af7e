"""server/gateway/file_routes.py: the page"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from server.gateway.file_routes import StaticFiles

Page = TestClient[web.Request, web.Application]


@pytest.fixture
async def page(tmp_path: Path) -> AsyncIterator[Page]:
    folder = tmp_path / "frontend"
    (folder / "js").mkdir(parents=True)
    (folder / "index.html").write_text("<p>hello")
    (folder / "js" / "main.js").write_text("1;")
    (folder / ".hidden.js").write_text("hidden")
    (folder / "notes.md").write_text("notes")
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    app = web.Application()
    StaticFiles(folder).add_routes(app.router)
    async with TestClient(TestServer(app)) as client:
        yield client


@pytest.mark.parametrize(
    ("path", "type_"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/index.html", "text/html; charset=utf-8"),
        ("/js/main.js", "text/javascript; charset=utf-8"),
    ],
)
async def test_files_are_served_with_their_type(page: Page, path: str, type_: str) -> None:
    async with page.get(path) as answer:
        assert (answer.status, answer.headers["Content-Type"]) == (200, type_)
        assert answer.headers["Cache-Control"] == "no-cache"


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/js/../../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/js%2f..%2f..%2fsecret.txt",
        "/..%5csecret.txt",
        "/link.txt",
        "/.hidden.js",
        "/notes.md",
        "/js",
        "/js/",
        "//index.html",
        "/index.html%00",
        "/nothing.js",
        "/" + "x" * 3000 + ".js",
    ],
)
async def test_nothing_else_is_found(page: Page, path: str) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", page.port)  # a client library would tidy the path
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()

    assert answer.startswith((b"HTTP/1.1 404", b"HTTP/1.0 400", b"HTTP/1.1 400"))
    assert b"secret" not in answer.partition(b"\r\n\r\n")[2]


async def test_an_unchanged_file_is_not_sent_again_and_an_edit_shows(page: Page, tmp_path: Path) -> None:
    async with page.get("/js/main.js") as answer:
        tag = answer.headers["ETag"]
    async with page.get("/js/main.js", headers={"If-None-Match": tag}) as answer:
        assert answer.status == 304

    (tmp_path / "frontend" / "js" / "main.js").write_text("22;")

    async with page.get("/js/main.js", headers={"If-None-Match": tag}) as answer:
        assert (answer.status, await answer.text()) == (200, "22;")
