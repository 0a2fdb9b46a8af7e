"""Keys of the Realtime API over HTTP, and errors in OpenAI's shape"""

import time
from typing import Any

import pytest
from aiohttp import ClientSession
from openai import AsyncOpenAI, AuthenticationError, BadRequestError

from server.realtime.field_names import modern_session
from tests.gateway.rest.conftest import TOKENS, Client, anna, bert, operator, server
from tests.support.client import client
from tests.support.parley import Parley

__all__ = ["anna", "bert", "operator", "server"]  # fixtures
KEYS = "/v1/realtime/client_secrets"
NOISE = "".join(f"{number * number:x}" for number in range(20_000))


def openai(server: Parley, key: str) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=f"{server.url}/v1", api_key=key, max_retries=0)


async def open_status(server: Parley, key: str, **headers: str) -> int:
    """The status of the upgrade to /v1/realtime."""
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    upgrade |= {"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Authorization": f"Bearer {key}", **headers}
    async with ClientSession() as http, http.get(f"{server.url}/v1/realtime", headers=upgrade) as answer:
        return answer.status


async def test_openai_python_makes_a_key(server: Parley) -> None:
    async with openai(server, TOKENS["anna"]) as stock:
        secret = await stock.realtime.client_secrets.create(
            expires_after={"anchor": "created_at", "seconds": 60},
            session={"type": "realtime", "instructions": "Be brief."},
        )

    assert secret.value.startswith("ek_")
    assert secret.expires_at == pytest.approx(time.time() + 60, abs=5)
    assert secret.session.type == "realtime"
    assert secret.session.instructions == "Be brief."


async def test_a_key_is_of_a_user_of_its_own_below_its_maker(anna: Client) -> None:
    named = await anna.post(KEYS, {"user": "visitor 7"})
    others = [(await anna.post(KEYS, {})).body["user"] for _ in range(2)]

    assert named.body["user"] == "anna/visitor 7"
    assert others[0] != others[1]
    assert all(user.startswith("anna/") for user in others)


async def test_a_session_of_the_older_shape_is_read(anna: Client) -> None:
    older = {"modalities": ["text", "audio"], "voice": "ash", "input_audio_format": "g711_ulaw", "temperature": 0.8}

    answer = await anna.post("/v1/realtime/sessions", {**older, "turn_detection": None})

    assert answer.status == 200
    assert answer.body["client_secret"]["value"].startswith("ek_")
    assert modern_session({**older, "turn_detection": None}) == {
        "output_modalities": ["audio"],
        "audio": {
            "output": {"voice": "ash"},
            "input": {"format": {"type": "audio/pcmu"}, "turn_detection": None},
        },
        "temperature": 0.8,
    }


async def test_openai_python_lists_the_model(server: Parley) -> None:
    async with openai(server, TOKENS["anna"]) as stock:
        assert [model.id async for model in stock.models.list()] == ["scripted"]


async def test_openai_python_reads_why_it_is_refused(server: Parley) -> None:
    async with openai(server, "a wrong token") as stock:
        with pytest.raises(AuthenticationError) as refused:
            await stock.models.list()
    async with openai(server, TOKENS["anna"]) as stock:
        with pytest.raises(BadRequestError) as wrong:
            await stock.realtime.client_secrets.create(expires_after={"anchor": "created_at", "seconds": 9})

    assert (refused.value.code, refused.value.type) == ("not_authenticated", "authentication_error")
    assert (wrong.value.code, wrong.value.param) == ("body_invalid", "expires_after.seconds")


@pytest.mark.parametrize(
    ("method", "path", "options", "status", "code"),
    [
        (
            "POST",
            KEYS,
            {"json": {"session": {"instructions": "".join(map(chr, range(0x4E00, 0x7000)))}}},
            400,
            "session_too_large",
        ),
        ("POST", KEYS, {"json": {"expires_after": {"seconds": 7201}}}, 400, "body_invalid"),
        ("POST", KEYS, {"json": {"expires_after": {"anchor": "tomorrow"}}}, 400, "body_invalid"),
        ("POST", KEYS, {"json": {"expires_afer": {"seconds": 60}}}, 400, "unknown_parameter"),
        ("POST", KEYS, {"json": {"session": []}}, 400, "body_invalid"),
        ("POST", KEYS, {"json": {"user": ""}}, 400, "invalid_value"),
        ("POST", KEYS, {"json": {"user": "x" * 65}}, 400, "invalid_value"),
        ("POST", KEYS, {"json": {"user": "visitor/7"}}, 400, "invalid_value"),
        ("POST", KEYS, {"json": {"user": "a\nb"}}, 400, "invalid_value"),
        ("POST", KEYS, {"json": {"approvals": "yes"}}, 400, "body_invalid"),
        ("POST", KEYS, {"data": b"{", "headers": {"Content-Type": "application/json"}}, 400, "body_invalid"),
        ("POST", KEYS, {"data": b"{}"}, 415, "body_not_json"),
        ("POST", KEYS, {"json": {"session": {"instructions": NOISE[:20_000]}}}, 400, "session_too_large"),
        ("POST", KEYS, {"json": {"session": {"tools": [{"name": NOISE[:80_000]}]}}}, 400, "session_too_large"),
        ("POST", KEYS, {"json": {"session": {"x": "x" * 300_000}}}, 400, "session_too_large"),
        ("POST", KEYS, {"json": {"session": {"instructions": "x" * 20_000}}}, 400, "invalid_value"),
        ("POST", KEYS, {"json": {}, "headers": {"Origin": "https://evil.example"}}, 403, "foreign_request"),
        ("POST", "/v1/realtime/sessions", {"json": {"input_audio_format": "mp3"}}, 400, "invalid_value"),
        ("POST", "/v1/realtime/sessions", {"json": []}, 400, "body_invalid"),
        ("POST", KEYS, {"json": {"session": {"output_modalities": ["smell"]}}}, 400, "invalid_value"),
        (
            "POST",
            KEYS,
            {"json": {"session": {"tools": [{"type": "function", "name": "current_time"}]}}},
            400,
            "invalid_value",
        ),
        ("GET", KEYS, {}, 404, None),
        ("GET", "/v1/nothing", {}, 404, None),
        ("GET", "/v1/realtime", {}, 400, None),
    ],
)
async def test_errors_have_openais_shape(
    anna: Client, method: str, path: str, options: dict[str, Any], status: int, code: str | None
) -> None:
    answer = await anna.ask(method, path, **options)

    assert answer.status == status
    assert set(answer.body["error"]) == {"message", "type", "code", "param"}
    assert answer.body["error"]["message"]
    if code is not None:
        assert answer.code == code


async def test_a_key_that_is_wrong_lets_nobody_in_even_where_none_is_needed(server: Parley) -> None:
    assert await open_status(server, "ek_forged.forged") == 401


async def test_a_key_opens_the_socket_and_nothing_else(server: Parley, anna: Client) -> None:
    key = (await anna.post(KEYS, {})).body["value"]
    holder = Client(server)
    holder.headers = {"Authorization": f"Bearer {key}"}

    assert await open_status(server, key) == 101
    for path in ("/", "/api/hooks/config", "/v1/models", "/metrics"):
        assert (await holder.get(path)).status == 401, path
    assert (await holder.post(KEYS, {})).status == 401, "no key makes keys"
    async with client(server.ws_url, greeted=False, additional_headers=holder.headers) as other:
        assert await other.closed() == 4401


async def test_any_origin_opens_the_socket_with_a_key_and_only_with_a_good_one(server: Parley, anna: Client) -> None:
    key = (await anna.post(KEYS, {})).body["value"]

    assert await open_status(server, key, Origin="https://shop.example") == 101
    assert await open_status(server, key[:-3] + "AAA", Origin="https://shop.example") == 401
    assert await open_status(server, TOKENS["anna"], Origin="https://shop.example") == 403
