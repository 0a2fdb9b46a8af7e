"""What a Realtime client learns before and as it begins: its session, its conversation, its limits, or why it is refused"""

import json
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from openai import AsyncAzureOpenAI
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.gateway.rest.conftest import Client
from tests.gateway.test_login import ANNA, bearer, door
from tests.realtime.realtime_world import READY, RealtimeWorld
from tests.support.openai_script import text
from tests.support.openai_server import OpenAIServer
from tests.support.parley import Parley, parley
from tests.support.realtime_client import realtime_client


async def test_a_session_has_an_id_and_the_end_of_its_connection(server: Parley) -> None:
    rest = Client(server)
    key = (await rest.post("/v1/realtime/client_secrets", {})).body["value"]
    async with (
        realtime_client(server.url, additional_headers=bearer(key)) as me,
        realtime_client(server.url) as endless,
    ):
        updated = (await me.update())["session"]

    created = me.events[0]["session"]
    assert created["id"].startswith("sess_")
    assert created["object"] == "realtime.session"
    assert created["expires_at"] == pytest.approx(time.time() + 3600, abs=60)
    assert {name: updated[name] for name in ("id", "object", "expires_at")}.items() <= created.items()
    assert endless.events[0]["session"]["expires_at"] is None


async def test_a_conversation_is_created_before_its_responses(server: Parley, model: OpenAIServer) -> None:
    model.queue(text("Noon."))
    async with realtime_client(server.url) as me:
        done = await me.respond(output_modalities=["text"])

    assert me.events[1]["conversation"] == {"id": done["conversation_id"], "object": "realtime.conversation"}


async def test_each_response_reports_the_turns_that_are_left(tmp_path: Path, model: OpenAIServer) -> None:
    model.queue(text("Noon."))
    tokens = [{"user": "anna", "token": ANNA}]
    async with (
        door(tmp_path, model, {"tokens": tokens}, limits={"turns_per_user": 3}) as opened,
        realtime_client(opened.server.url, additional_headers=bearer(ANNA)) as me,
    ):
        await me.respond(output_modalities=["text"])

    [limits] = [event["rate_limits"] for event in me.events if event["type"] == "rate_limits.updated"]
    assert limits == [{"name": "requests", "limit": 3, "remaining": 2, "reset_seconds": 0.0}]


@pytest.mark.parametrize(
    ("asked", "speaks"), [("ben", "ben"), ("alloy", "amy"), ({"id": "ben"}, {"id": "ben"}), (None, "amy")]
)
def test_the_voice_that_is_echoed_is_the_one_that_speaks(asked: Any, speaks: Any) -> None:
    speech = msgspec.structs.replace(READY.speech, voices=["amy", "ben"])
    world = RealtimeWorld(ready=msgspec.structs.replace(READY, speech=speech))

    (created,) = world.client("response.create", response={"audio": {"output": {"voice": asked}}})
    (updated,) = world.client("session.update", session={"audio": {"output": {"voice": asked}}})

    assert updated["session"]["audio"]["output"]["voice"] == speaks
    assert created["response"]["audio"]["output"]["voice"] == (speaks if isinstance(speaks, str) else speaks["id"])


async def test_a_full_server_says_so_by_a_code(tmp_path: Path, model: OpenAIServer) -> None:
    async with (
        parley(tmp_path, model.url, {"limits": {"connections": 1}}) as server,
        realtime_client(server.url),
    ):
        with pytest.raises(InvalidStatus) as refused:
            async with connect(f"{server.url.replace('http', 'ws', 1)}/v1/realtime"):
                pass

    response = refused.value.response
    assert (response.status_code, response.headers["Retry-After"]) == (503, "5")
    error = json.loads(response.body or b"")["error"]
    assert (error["code"], error["type"]) == ("too_many_connections", "server_error")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/v1/chat/completions", 404),
        ("POST", "/v1/realtime/calls", 404),
        ("DELETE", "/openai/v1/nothing", 404),
        ("POST", "/nothing", 404),
        ("POST", "/index.html", 405),
    ],
)
async def test_a_path_that_does_not_exist_is_404_whatever_the_method(
    server: Parley, method: str, path: str, status: int
) -> None:
    assert (await Client(server).ask(method, path, json={})).status == status


async def test_azures_address_and_header_open_a_session_and_make_a_key(tmp_path: Path, model: OpenAIServer) -> None:
    tokens = [{"user": "anna", "token": ANNA}]
    async with door(tmp_path, model, {"auth": "token", "tokens": tokens}) as opened:
        made = await opened.post("/openai/v1/realtime/client_secrets", {}, **{"api-key": ANNA})
        address = f"{opened.server.url.replace('http', 'ws', 1)}/openai/v1/realtime?model=any"
        for key in (ANNA, made.json["value"]):
            async with connect(address, additional_headers={"api-key": key}) as socket:
                assert json.loads(await socket.recv())["type"] == "session.created"
        base = address.partition("/realtime")[0]
        azure = AsyncAzureOpenAI(
            azure_endpoint=opened.server.url, websocket_base_url=base, api_key=ANNA, api_version="v1"
        )
        async with azure, azure.realtime.connect(model="any") as connection:
            assert (await connection.recv()).type == "session.created"
        rest = AsyncAzureOpenAI(base_url=f"{opened.server.url}/openai/v1", api_key=ANNA, api_version="v1")
        async with rest:
            assert (await rest.realtime.client_secrets.create()).value.startswith("ek_")
        with pytest.raises(InvalidStatus, match="401"):
            async with connect(address, additional_headers={"api-key": "wrong"}):
                pass
        elsewhere = await opened.get("/api/approvals", **{"api-key": ANNA})

    assert elsewhere.status == 401, "the header counts for OpenAI's paths alone"
