"""server/gateway/file_routes.py: the page"""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urljoin

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from server.gateway.file_routes import StaticFiles
from server.gateway.routes import Routes

Page = TestClient[web.Request, web.Application]
FRONTEND = Path(__file__).parents[2] / "frontend"


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
    StaticFiles(folder).add_routes(Routes(app.router))
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


async def test_a_text_is_sent_packed_to_whom_takes_that(page: Page, tmp_path: Path) -> None:
    (tmp_path / "frontend" / "large.css").write_text("/* plain */" * 200_000)
    (tmp_path / "frontend" / "logo.png").write_bytes(b"\x89PNG" * 100)
    gz = {"Accept-Encoding": "gzip, br"}

    async with page.get("/js/main.js", headers={"Accept-Encoding": "identity"}) as plain:
        assert ("Content-Encoding" in plain.headers, plain.headers["Vary"]) == (False, "Accept-Encoding")
    async with page.get("/js/main.js", headers=gz) as packed:
        assert (packed.headers["Content-Encoding"], await packed.text()) == ("gzip", "1;")
    assert packed.headers["ETag"] != plain.headers["ETag"]
    async with page.get("/js/main.js", headers=gz | {"If-None-Match": packed.headers["ETag"]}) as known:
        assert (known.status, known.headers["ETag"]) == (304, packed.headers["ETag"])
    async with page.head("/js/main.js", headers=gz) as head:
        assert (head.status, await head.read()) == (200, b"")
    for path in ("/large.css", "/logo.png"):
        async with page.get(path, headers=gz) as as_it_is:
            assert (as_it_is.status, "Content-Encoding" in as_it_is.headers) == (200, False)


async def test_the_library_is_served_without_comments_and_the_page_with_them(page: Page, tmp_path: Path) -> None:
    module = "/** Says so. */\nexport const url = `http://${host}//a  b`; // here\n"
    for folder in ("js", "sdk"):
        (tmp_path / "frontend" / folder).mkdir(exist_ok=True)
        (tmp_path / "frontend" / folder / "one.js").write_text(module)

    async with page.get("/js/one.js") as own, page.get("/sdk/one.js") as shared:
        assert await own.text() == module
        assert await shared.text() == "export const url=`http://${host}//a  b`;"


async def test_the_client_library_stays_small() -> None:
    app = web.Application()
    StaticFiles(FRONTEND).add_routes(Routes(app.router))
    imported = re.compile(rb'\bfrom"(\./[^"]+)"|\bimport"(\./[^"]+)"')
    later = re.compile(rb'\bimport\("(\./[^"]+)"\)|\bnew URL\("(\./[^"]+\.js)"')  # when there is sound to play, or Opus
    sizes: dict[str, tuple[int, int]] = {}

    async with TestClient(TestServer(app)) as server:

        async def load(paths: set[str], *links: re.Pattern[bytes]) -> None:
            while paths := paths - sizes.keys():
                async with server.get(path := paths.pop()) as answer:
                    text = await answer.read()
                    sizes[path] = len(text), int(answer.headers["Content-Length"])
                paths |= {urljoin(path, (a or b).decode()) for link in links for a, b in link.findall(text)}

        await load({"/sdk/parley.js"}, imported)
        assert "/sdk/playback.js" in sizes
        assert "/sdk/voice/opus.js" not in sizes
        assert sum(packed for _, packed in sizes.values()) < 25_500
        sizes.clear()
        await load({"/sdk/parley.js"}, imported, later)
        assert {"/sdk/voice/player_worklet.js", "/sdk/voice/opus.js"} <= sizes.keys()
        assert sum(plain for plain, _ in sizes.values()) < 80_000
