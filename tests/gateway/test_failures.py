"""server/gateway/responses.py: unexpected failures"""

import io
import json
import logging
import re
import sqlite3

import pytest
from aiohttp import ClientError, ClientSession, web
from aiohttp.test_utils import TestServer

from server.gateway.responses import answer_failures, prepare_response
from tests.support.parley import Parley


def logged(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.levelno >= logging.ERROR]


async def test_what_nobody_foresaw_is_a_500_in_the_apis_shape_and_once_in_the_log(
    server: Parley, caplog: pytest.LogCaptureFixture
) -> None:
    with sqlite3.connect(str(server.app.storage.database.url.database)) as damaged:
        damaged.execute(  # somebody has put his own text where a number stood
            "INSERT INTO parley_approvals VALUES ('i', 'local', 'k', 'tool', '{}', 'me', 'words-of-the-row', 'arguments')"
        )
    async with ClientSession() as http, http.get(f"{server.url}/api/approvals") as answer:
        status, body, headers = answer.status, await answer.json(), answer.headers

    assert (status, body["error"]["code"], set(body["error"])) == (500, "internal", {"code", "message"})
    [failure_id] = re.findall(r"failure ([0-9a-f]{8})$", body["error"]["message"])
    assert headers["Cache-Control"] == "no-store"
    assert "divmod" not in body["error"]["message"]
    [record] = logged(caplog)
    assert f"GET /api/approvals failed (failure {failure_id})" in record.getMessage()
    assert record.exc_info is not None
    assert record.exc_info[0] is TypeError


async def test_people_are_told_in_text(caplog: pytest.LogCaptureFixture) -> None:
    async def fail(_request: web.Request) -> web.StreamResponse:
        raise ValueError("what nobody shall read")

    app = web.Application(middlewares=[answer_failures])
    app.router.add_get("/page", fail)
    async with TestServer(app) as here, ClientSession() as http, http.get(here.make_url("/page")) as answer:
        status, body = answer.status, await answer.text()

    assert status == 500
    [failure_id] = re.findall(r"failure ([0-9a-f]{8})\n$", body)
    assert "nobody shall" not in body
    assert failure_id in logged(caplog)[0].getMessage()


async def test_two_failures_have_two_ids(server: Parley) -> None:
    with sqlite3.connect(str(server.app.storage.database.url.database)) as damaged:
        damaged.execute("INSERT INTO parley_approvals VALUES ('i', 'local', 'k', 'tool', '{}', 'me', 'x', 'arguments')")
    async with ClientSession() as http:
        messages = [
            (await (await http.get(f"{server.url}/api/approvals")).json())["error"]["message"] for _ in range(2)
        ]

    assert len(set(messages)) == 2


async def test_a_body_over_the_limit_of_all_bodies_is_told_so_in_the_same_shape(server: Parley) -> None:
    async with (
        ClientSession() as http,
        http.post(f"{server.url}/api/hooks/config", data=io.BytesIO(b"x" * (2 << 20))) as answer,
    ):
        assert (answer.status, (await answer.json())["error"]["code"]) == (413, "body_too_large")


async def test_an_answer_that_has_begun_breaks_off(caplog: pytest.LogCaptureFixture) -> None:
    async def fail_late(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"the first half")
        raise ValueError("and no more")

    app = web.Application(middlewares=[answer_failures])
    app.on_response_prepare.append(prepare_response)
    app.router.add_get("/", fail_late)
    async with TestServer(app) as here, ClientSession() as http:
        answer = await http.get(here.make_url("/"))
        with pytest.raises(ClientError):
            await answer.read()

    [record] = logged(caplog)
    assert "failed (failure " in record.getMessage()


async def test_an_answer_that_aiohttp_raises_stays_what_it_is() -> None:
    async def go_elsewhere(_request: web.Request) -> web.StreamResponse:
        raise web.HTTPGone(text=json.dumps("gone"))

    app = web.Application(middlewares=[answer_failures])
    app.router.add_get("/", go_elsewhere)
    async with TestServer(app) as here, ClientSession() as http, http.get(here.make_url("/")) as answer:
        assert (answer.status, await answer.text()) == (410, '"gone"')
