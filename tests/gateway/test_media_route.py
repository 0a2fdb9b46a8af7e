"""Files of turns over HTTP, from a whole server."""

import base64
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import unquote

import aiohttp
import pytest

from server.accounts.principal import LOCAL_USER
from server.media.store import MediaItem
from tests.support.parley import Parley, parley

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
NOWHERE = "http://127.0.0.1:9/v1"


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Parley]:
    async with parley(tmp_path, NOWHERE) as running:
        yield running


async def add(server: Parley, data: bytes = PNG, *, name: str = "a.png", user_id: str = LOCAL_USER) -> MediaItem:
    url = f"data:;base64,{base64.b64encode(data).decode()}"
    return await server.app.media.register(url, user_id=user_id, session_id="s", name=name)


async def test_a_picture_is_shown_to_its_user(server: Parley) -> None:
    item = await add(server)

    async with aiohttp.ClientSession() as client, client.get(server.url + item.url) as answer:
        body, headers = await answer.read(), answer.headers

    assert (answer.status, body) == (200, PNG)
    assert headers["Content-Type"] == "image/png"
    assert headers["Content-Disposition"].startswith("inline;")
    assert headers["Content-Security-Policy"] == "default-src 'none'; style-src 'unsafe-inline'; sandbox"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"].startswith("private")


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "application/octet-stream"),
        (b"<!doctype html><script>alert(1)</script>", "application/octet-stream"),
        (b"%PDF-1.7", "application/pdf"),
        (b"hello", "text/plain"),
    ],
)
async def test_what_is_no_picture_sound_or_film_is_downloaded(server: Parley, data: bytes, kind: str) -> None:
    item = await add(server, data, name='x".txt' if kind == "text/plain" else "grüße.html")

    async with aiohttp.ClientSession() as client, client.get(server.url + item.url) as answer:
        disposition = answer.headers["Content-Disposition"]

    assert answer.headers["Content-Type"] == kind
    assert disposition.startswith("attachment; filename*=UTF-8''")
    assert unquote(disposition.partition("''")[2]) == item.name


async def test_a_part_of_a_film_can_be_asked_for_again_and_again(server: Parley) -> None:
    item = await add(server, b"\0\0\0\x20ftypisom" + bytes(range(100)), name="a.mp4")

    async with aiohttp.ClientSession() as client:
        async with client.get(server.url + item.url, headers={"Range": "bytes=12-15"}) as first:
            assert (first.status, await first.read()) == (206, bytes(range(4)))
        again = {"Range": "bytes=16-19", "If-Range": first.headers["ETag"]}
        async with client.get(server.url + item.url, headers=again) as second:
            assert (second.status, await second.read()) == (206, bytes(range(4, 8)))


async def test_the_url_of_another_user_opens_nothing(server: Parley) -> None:
    item = await add(server, user_id="bob")

    async with aiohttp.ClientSession() as client, client.get(server.url + item.url) as answer:
        assert answer.status == 403
        assert "not yours" in await answer.text()


@pytest.mark.parametrize("change", ["e=1", "s=x", "u=x", ""])
async def test_a_url_that_was_changed_opens_nothing(server: Parley, change: str) -> None:
    item = await add(server)
    path, _, query = item.url.partition("?")
    key = change.partition("=")[0]
    parts = [change if part.startswith(f"{key}=") else part for part in query.split("&")] if change else []

    async with aiohttp.ClientSession() as client, client.get(f"{server.url}{path}?{'&'.join(parts)}") as answer:
        assert answer.status == 403


@pytest.mark.parametrize("path", ["", "x", "..%2fsecret", "0" * 31, "0" * 32 + ".json"])
async def test_what_has_not_the_form_of_an_id_is_not_found(server: Parley, path: str) -> None:
    async with aiohttp.ClientSession() as client, client.get(f"{server.url}/media/{path}") as answer:
        assert answer.status == 404


async def test_a_file_that_is_gone_says_so(server: Parley, tmp_path: Path) -> None:
    item = await add(server)
    for file in (tmp_path / "data" / "media" / "items").iterdir():
        file.unlink()

    async with aiohttp.ClientSession() as client, client.get(server.url + item.url) as answer:
        assert answer.status == 404
        assert "ask for it again" in await answer.text()


async def test_an_error_of_a_source_shows_no_path_of_the_server(server: Parley, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="no such file") as raised:
        await server.app.media.register("../data/secret", user_id=LOCAL_USER, session_id="s")

    assert str(tmp_path) not in str(raised.value)


async def test_a_link_is_opened_by_its_user_however_logged_in_and_by_nobody_else(tmp_path: Path) -> None:
    tokens = [{"user": name, "token": f"{name}s-token-0123456789"} for name in ("anna", "ben")]
    security = {"security": {"trust_loopback": False, "tokens": tokens}}
    async with parley(tmp_path, NOWHERE, security) as server, aiohttp.ClientSession() as http:
        item = await add(server, user_id="anna")

        async def status(**headers: str) -> int:
            async with http.get(server.url + item.url, headers=headers) as answer:
                return answer.status

        assert await status(Authorization="Bearer annas-token-0123456789") == 200
        assert await status(Authorization="Bearer bens-token-0123456789") == 403
        assert await status() == 401
