"""`/v1/realtime` on a real socket: who gets in, how it ends, and what happens to clients that send too fast"""

import asyncio
import base64
import json
import re
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aiohttp import ClientSession, DummyCookieJar
from openai import AsyncOpenAI, AuthenticationError
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

from server.gateway.connection import LAST_TURN_S, MAX_KEY_CONNECTION_S, TIME_OVER
from server.speech.audio import SPEECH_RATE, samples_to_pcm16
from tests.accounts.keys import SECRET, token
from tests.gateway.test_login import ANNA, JWT, OPS, bearer, door
from tests.skills_engine.folders import entry, make_skill
from tests.support.client import client
from tests.support.openai_script import Gate, text
from tests.support.openai_server import OpenAIServer
from tests.support.parley import Parley, parley
from tests.support.realtime_types import RealtimeEventChecker
from tests.support.speech_corpus import VOICES, spoken
from tests.support.speech_server import speech_server
from tests.support.talking_server import hearing
from tests.support.waiting import LIMIT_S

Event = dict[str, Any]
RATE = 24_000


class Talker:
    """A client whose every event is checked against OpenAI's types."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self._checker = RealtimeEventChecker()

    async def send(self, type_: str, **fields: Any) -> None:
        await self.socket.send(json.dumps({"type": type_, **fields}))

    async def receive(self) -> Event:
        async with asyncio.timeout(LIMIT_S):
            event: Event = json.loads(await self.socket.recv())
        self._checker.check(event)
        return event

    async def until(self, *types: str) -> list[Event]:
        """The events up to the first of one of these types."""
        events = [await self.receive()]
        while events[-1]["type"] not in types:
            events.append(await self.receive())
        return events

    async def say(self, words: str) -> None:
        content = [{"type": "input_text", "text": words}]
        await self.send("conversation.item.create", item={"type": "message", "role": "user", "content": content})
        await self.send("response.create", response={"output_modalities": ["text"]})

    async def closed(self) -> int | None:
        async with asyncio.timeout(LIMIT_S):
            await self.socket.wait_closed()
        return self.socket.close_code


@asynccontextmanager
async def talker(server: Parley, *protocols: str, query: str = "model=any", **headers: str) -> AsyncIterator[Talker]:
    url = f"{server.url.replace('http', 'ws', 1)}/v1/realtime?{query}"
    wanted: Any = list(protocols) or None
    async with connect(url, compression=None, max_size=None, subprotocols=wanted, additional_headers=headers) as socket:
        opened = Talker(socket)
        assert [(await opened.receive())["type"] for _ in "ab"] == ["session.created", "conversation.created"]
        yield opened


async def key_of(server: Parley, session: Any) -> str:
    async with AsyncOpenAI(base_url=f"{server.url}/v1", api_key="any") as backend:
        return (await backend.realtime.client_secrets.create(session=session)).value


def said(events: Iterable[Event]) -> str:
    return "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")


async def test_a_browsers_subprotocols_log_in_and_the_answer_is_realtime(tmp_path: Path, model: OpenAIServer) -> None:
    async with door(tmp_path, model, {"auth": "token", "tokens": [{"user": "anna", "token": ANNA}]}) as opened:
        protocols = ("realtime", f"openai-insecure-api-key.{ANNA}", "openai-agents-sdk.0.20")
        async with talker(opened.server, *protocols) as me:
            assert me.socket.subprotocol == "realtime"
        with pytest.raises(InvalidStatus) as refused:
            async with talker(opened.server, "realtime"):
                pass

    assert refused.value.response.status_code == 401
    assert json.loads(refused.value.response.body or b"")["error"]["type"] == "authentication_error"


async def test_the_socket_of_realtime_runs_a_turn(server: Parley, model: OpenAIServer) -> None:
    model.queue(text("It is ", "noon."))
    async with talker(server) as me:
        await me.say("What time is it?")
        events = await me.until("response.done")

    assert said(events) == "It is noon."
    assert events[-1]["response"]["status"] == "completed"


async def test_openai_python_opens_a_session_with_the_defaults_of_its_key(server: Parley, model: OpenAIServer) -> None:
    model.queue(text("Noon."))
    async with AsyncOpenAI(base_url=f"{server.url}/v1", api_key="any") as backend:
        session: Any = {"type": "realtime", "instructions": "Be brief.", "output_modalities": ["text"]}
        secret = await backend.realtime.client_secrets.create(session=session)

    browser = AsyncOpenAI(base_url=f"{server.url}/v1", api_key=secret.value)
    async with browser, browser.realtime.connect(model="any") as connection:
        created = await connection.recv()
        await connection.response.create(response={"input": [], "instructions": "Say the time."})
        async with asyncio.timeout(LIMIT_S):
            while (event := await connection.recv()).type != "response.done":
                pass

    assert created.type == "session.created"
    assert created.session.type == "realtime"
    assert (created.session.instructions, created.session.output_modalities) == ("Be brief.", ["text"])
    assert event.response.status == "completed"


async def test_a_transcription_session_is_asked_for_in_the_address_or_in_the_key(server: Parley) -> None:
    async with AsyncOpenAI(base_url=f"{server.url}/v1", api_key="any") as backend:
        secret = await backend.realtime.client_secrets.create(session={"type": "transcription"})
        assert secret.session.type == "transcription"
        other = await backend.realtime.client_secrets.create(session={"type": "realtime", "instructions": "Hm."})

    asked = [("intent=transcription", {}), ("model=any", bearer(secret.value))]
    for query, headers in (*asked, ("intent=transcription", bearer(other.value))):
        url = f"{server.url.replace('http', 'ws', 1)}/v1/realtime?{query}"
        async with connect(url, additional_headers=headers) as socket:
            assert json.loads(await socket.recv())["session"]["type"] == "transcription"


async def test_a_key_whose_session_this_server_no_longer_takes_is_refused(tmp_path: Path, model: OpenAIServer) -> None:
    tools = {"mcp": {"files": {"command": "false"}}}
    secret_file = {"secret_file": str(tmp_path / "secret")}
    (tmp_path / "with").mkdir()
    (tmp_path / "without").mkdir()
    async with parley(tmp_path / "with", model.url, {"tools": tools, "security": secret_file}) as server:
        key = await key_of(server, {"type": "realtime", "tools": [{"type": "mcp", "server_label": "files"}]})

    async with parley(tmp_path / "without", model.url, {"security": secret_file}) as server:
        with pytest.raises(InvalidStatus) as refused:
            async with talker(server, **bearer(key)):
                pass

    assert refused.value.response.status_code == 400
    assert b"files" in (refused.value.response.body or b"")


async def test_a_key_of_another_server_is_refused(tmp_path: Path, model: OpenAIServer, server: Parley) -> None:
    (tmp_path / "other").mkdir()
    async with parley(tmp_path / "other", model.url) as other:
        key = await key_of(other, {"type": "realtime"})

    browser = AsyncOpenAI(base_url=f"{server.url}/v1", api_key=key, max_retries=0)
    with pytest.raises(InvalidStatus, match="401"):
        async with browser, browser.realtime.connect(model="any"):
            pass
    async with AsyncOpenAI(base_url=f"{server.url}/v1", api_key=key, max_retries=0) as browser:
        with pytest.raises(AuthenticationError, match="opens /v1/realtime only"):
            await browser.models.list()


async def test_revoking_the_pages_session_ends_the_keys_that_it_made(tmp_path: Path, model: OpenAIServer) -> None:
    security = {"trust_loopback": False, "tokens": [{"user": "anna", "token": ANNA}]}
    async with door(tmp_path, model, security) as opened:
        page = await opened.log_in(ANNA)
        key = (await opened.post("/v1/realtime/client_secrets", {}, **page)).json["value"]
        async with talker(opened.server, **bearer(key)) as me:
            assert (await opened.post("/api/logout", {}, **page)).status == 204

            error = (await me.receive())["error"]
            assert (error["code"], "was ended" in error["message"]) == ("invalid_api_key", True)
            assert await me.closed() == 4401
        with pytest.raises(InvalidStatus, match="401"):
            async with talker(opened.server, **bearer(key)):
                pass


async def test_logging_out_at_another_replica_ends_the_connections_of_keys(tmp_path: Path, model: OpenAIServer) -> None:
    security = {"trust_loopback": False, "tokens": [{"user": "anna", "token": ANNA}]}
    async with door(tmp_path, model, security) as here, door(tmp_path, model, security) as there:
        page = await here.log_in(ANNA)
        key = (await here.post("/v1/realtime/client_secrets", {}, **page)).json["value"]
        async with talker(here.server, **bearer(key)) as me:
            assert (await there.post("/api/logout", {}, **page)).status == 204

            assert (await me.receive())["error"]["code"] == "invalid_api_key"
            assert await me.closed() == 4401


async def test_a_token_that_was_removed_while_the_server_was_down_ends_its_keys(
    tmp_path: Path, model: OpenAIServer
) -> None:
    tokens = [{"user": "anna", "token": ANNA}, {"user": "ops", "token": OPS}]
    async with door(tmp_path, model, {"tokens": tokens}) as opened:
        key = (await opened.post("/v1/realtime/client_secrets", {}, **bearer(ANNA))).json["value"]

    async with door(tmp_path, model, {"tokens": tokens[1:]}) as opened:
        with pytest.raises(InvalidStatus, match="401"):
            async with talker(opened.server, **bearer(key)):
                pass


def beat(server: Parley, after_s: float) -> None:
    """Let all connections look at the clock as if so much time had passed."""
    for connection in server.app.sockets.connections:
        connection.beat(asyncio.get_running_loop().time() + after_s)


async def is_open(me: Talker) -> bool:
    await me.send("input_audio_buffer.clear")
    return bool((await me.receive())["type"] == "input_audio_buffer.cleared")


async def test_a_keys_connection_outlasts_the_key_but_no_hour(server: Parley) -> None:
    async with AsyncOpenAI(base_url=f"{server.url}/v1", api_key="any") as backend:
        short: Any = {"anchor": "created_at", "seconds": 10}
        key = (await backend.realtime.client_secrets.create(expires_after=short)).value
    async with talker(server, **bearer(key)) as me, talker(server) as keyless:
        beat(server, MAX_KEY_CONNECTION_S - LAST_TURN_S - 5)
        assert await is_open(me)

        beat(server, MAX_KEY_CONNECTION_S - LAST_TURN_S)
        error = (await me.receive())["error"]
        assert (error["code"], "60 minutes" in error["message"]) == ("session_expired", True)
        assert await me.closed() == TIME_OVER
        assert await is_open(keyless)


async def test_a_keys_connection_ends_with_the_jwt_that_made_the_key(tmp_path: Path, model: OpenAIServer) -> None:
    async with door(tmp_path, model, {"trust_loopback": False, "jwt": JWT}) as opened:
        login = token(SECRET, "HS256", sub="ben", exp=time.time() + 300)
        key = (await opened.post("/v1/realtime/client_secrets", {}, **bearer(login))).json["value"]
        async with talker(opened.server, **bearer(key)) as me:
            beat(opened.server, 290)
            assert await is_open(me)

            beat(opened.server, 301)
            error = (await me.receive())["error"]
            assert (error["code"], "has expired" in error["message"]) == ("invalid_api_key", True)
            assert await me.closed() == 4401


@pytest.mark.parametrize(("limits", "places"), [({}, 1), ({"connections": 2}, 2)])
async def test_more_keys_give_no_more_connections_than_their_maker_has(
    tmp_path: Path, model: OpenAIServer, limits: dict[str, int], places: int
) -> None:
    tokens = [{"user": "anna", "token": ANNA, "limits": limits}]
    async with door(tmp_path, model, {"tokens": tokens}, limits={"per_user": 1}) as opened, AsyncExitStack() as open_:
        keys = [
            (await opened.post("/v1/realtime/client_secrets", {}, **bearer(ANNA))).json["value"]
            for _ in range(places + 1)
        ]
        for key in keys[:-1]:
            await open_.enter_async_context(talker(opened.server, **bearer(key)))

        with pytest.raises(InvalidStatus, match="503"):
            async with talker(opened.server, **bearer(keys[-1])):
                pass


async def test_the_skills_of_a_keys_turns_are_its_makers(tmp_path: Path, model: OpenAIServer) -> None:
    make_skill(
        tmp_path / "skills", "shop", entry("hers", when={"user": ["anna"]}), entry("his", when={"user": ["ben"]})
    )
    model.queue(text("Noon."))
    async with door(tmp_path, model, {"tokens": [{"user": "anna", "token": ANNA}]}) as opened:
        made = await opened.post("/v1/realtime/client_secrets", {"user": "ben"}, **bearer(ANNA))
        async with talker(opened.server, **bearer(made.json["value"])) as me:
            await me.say("What time is it?")
            await me.until("response.done")

    assert [said for said in model.requests[0].contents if said.startswith("Text of")] == ["Text of hers."]


async def test_turns_of_keys_count_for_their_maker(tmp_path: Path, model: OpenAIServer) -> None:
    gate = Gate()
    model.queue(text(gate, "Noon."))
    tokens = [{"user": "anna", "token": ANNA}]
    async with door(tmp_path, model, {"tokens": tokens}, limits={"turns_per_user": 1}) as opened:
        keys = [(await opened.post("/v1/realtime/client_secrets", {}, **bearer(ANNA))).json["value"] for _ in "ab"]
        async with talker(opened.server, **bearer(keys[0])) as one, talker(opened.server, **bearer(keys[1])) as other:
            await one.say("What time is it?")
            await gate.reached.wait()
            await other.say("What time is it?")
            refused = (await other.until("response.done"))[-1]["response"]
            gate.open()
            await one.until("response.done")

    assert refused["status_details"]["error"]["code"] == "too_many_turns"


async def test_a_key_shows_what_the_model_read_only_if_its_user_is_an_operator(
    tmp_path: Path, model: OpenAIServer
) -> None:
    model.respond = lambda _request: text("Noon.")
    include = {"type": "realtime", "include": ["parley.trace"]}
    tokens = [{"user": "anna", "token": ANNA}, {"user": "ops", "token": OPS, "operator": True}]
    async with door(tmp_path, model, {"trust_loopback": False, "tokens": tokens}) as opened:
        shown = {}
        for login in (ANNA, OPS):
            made = await opened.post("/v1/realtime/client_secrets", {"session": include}, **bearer(login))
            async with talker(opened.server, **bearer(made.json["value"])) as me:
                await me.say("What time is it?")
                shown[login] = {event["type"] for event in await me.until("response.done")}
        async with talker(opened.server, **bearer(OPS)) as silent:
            await silent.say("What time is it?")
            unasked = {event["type"] for event in await silent.until("response.done")}

    assert "parley.trace" in shown[OPS]
    assert "error" in shown[ANNA], "it is told, behind session.created"
    assert not {"parley.trace"} & (shown[ANNA] | unasked)


@pytest.mark.rule("L1-56")
async def test_the_holder_of_a_key_cannot_overrule_the_context_of_its_maker(
    tmp_path: Path, model: OpenAIServer
) -> None:
    model.respond = lambda _request: text("Hi.")
    for plan in ("pro", "free"):
        make_skill(tmp_path / "skills", plan, entry(plan, when={"context": {"plan": plan, "seats": 2}}))
    async with parley(tmp_path, model.url, {"agent": {"planning": False}}) as server:
        key = await key_of(server, {"type": "realtime", "parley": {"context": {"plan": "pro"}}})
        async with talker(server, **bearer(key)) as holder:
            wanted = {"type": "realtime", "parley": {"context": {"plan": "free", "seats": 2}}}
            await holder.send("session.update", session=wanted)
            await holder.say("Hello")
            await holder.until("response.done")

    read = [message["content"] for message in model.requests[-1].messages]
    assert "Text of pro." in read
    assert "Text of free." not in read


async def test_draining_closes_idle_clients_and_lets_a_response_end(server: Parley, model: OpenAIServer) -> None:
    gate = Gate()
    model.queue(text("On and ", gate, "on."))
    async with talker(server) as busy, talker(server) as idle:
        await busy.say("Go on.")
        await busy.until("response.output_text.delta")

        draining = asyncio.create_task(server.app.drain(), name="drain")
        assert await idle.closed() == 1001
        with pytest.raises(InvalidStatus, match="503"):
            async with talker(server):
                pass
        gate.open()
        assert (await busy.until("response.done"))[-1]["response"]["status"] == "completed"
        assert await busy.closed() == 1001
        await draining


async def test_a_response_that_outlasts_drain_s_is_done_before_the_socket_closes(
    tmp_path: Path, model: OpenAIServer
) -> None:
    model.queue(text("On and ", Gate(), "on."))
    settings = {"listen": {"drain_s": 0.05}, "agent": {"planning": False}}
    async with parley(tmp_path, model.url, settings) as server, talker(server) as me:
        await me.say("Go on.")
        await me.until("response.output_text.delta")
        await server.app.drain()

        response = (await me.until("response.done"))[-1]["response"]
        assert (response["status"], response["status_details"]["type"]) == ("failed", "failed")
        assert await me.closed() == 1001


async def test_connections_of_both_protocols_share_the_limits(tmp_path: Path, model: OpenAIServer) -> None:
    async with parley(tmp_path, model.url, {"limits": {"connections": 1}}) as server, client(server.ws_url):
        with pytest.raises(InvalidStatus, match="503") as refused:
            async with talker(server):
                pass

    assert refused.value.response.headers["Retry-After"]
    assert json.loads(refused.value.response.body or b"")["error"]["type"] == "server_error"


async def test_what_comes_faster_than_the_rate_waits_and_is_not_dropped(tmp_path: Path, model: OpenAIServer) -> None:
    async with parley(tmp_path, model.url, {"limits": {"max_frames_per_s": 200}}) as server, talker(server) as me:
        began_s = asyncio.get_running_loop().time()
        for number in range(300):
            await me.send("conversation.item.retrieve", item_id="none", event_id=f"event_{number}")

        answered = [(await me.receive())["error"]["event_id"] for _ in range(300)]

    assert answered == [f"event_{number}" for number in range(300)]
    assert asyncio.get_running_loop().time() - began_s >= 0.4, "a hundred waited, at 200 a second"


async def test_junk_is_answered_and_the_socket_lives(server: Parley) -> None:
    async with talker(server) as me:
        for junk in ("{", "[]", "null", '{"type":1}', '{"type":"response.create","response":7}', b"\xff\x00", b"{}"):
            await me.socket.send(junk)
            assert (await me.receive())["type"] == "error"
        await me.socket.send(b'{"type":"input_audio_buffer.clear"}')  # JSON in a binary message is read, too

        assert (await me.receive())["type"] == "input_audio_buffer.cleared"


@pytest.mark.slow
async def test_a_file_that_comes_in_one_event_is_heard_whole(tmp_path: Path, model: OpenAIServer) -> None:
    """Twelve seconds: voice detection holds eight of a stream and would refuse the rest."""
    question = spoken("What time is it now, please?", VOICES[0])
    quiet = np.zeros(10 * SPEECH_RATE, dtype=np.float32)
    sound = np.concatenate([quiet, question, np.zeros(2 * SPEECH_RATE, dtype=np.float32)])
    pcm = samples_to_pcm16(np.interp(np.arange(0, sound.size, SPEECH_RATE / RATE), np.arange(sound.size), sound))
    async with speech_server(text="What time is it?") as speech:
        engine = {"provider": "openai", "base_url": speech.base_url, "api_key": "scripted"}
        model.queue(text("Noon."))
        async with parley(tmp_path, model.url, {"agent": {"planning": False}, "speech": {"stt": engine}}) as server:
            await hearing(server.ws_url)
            async with talker(server) as me:
                transcribed = {"input": {"transcription": {"model": "whisper-1"}}}
                await me.send("session.update", session={"type": "realtime", "audio": transcribed})
                await me.send("input_audio_buffer.append", audio=base64.b64encode(pcm).decode())
                events = await me.until("response.done")

            metrics = await opened_metrics(server)

    started = next(event for event in events if event["type"] == "input_audio_buffer.speech_started")
    assert 9_000 < started["audio_start_ms"] < 10_500
    assert "parley_vad_refused 0.0" in metrics
    [heard] = speech.requests
    assert len(heard["file"]) > 2 * question.size * 0.9


async def opened_metrics(server: Parley) -> str:
    async with ClientSession(cookie_jar=DummyCookieJar()) as http, http.get(f"{server.url}/metrics") as answer:
        return await answer.text()


async def test_the_metrics_count_the_messages_that_a_client_has_sent(server: Parley, model: OpenAIServer) -> None:
    model.queue(text("Hi."))
    async with talker(server) as me:
        await me.say("Hello?")
        await me.until("response.done")
        await me.send("session.update", session={"type": "realtime", "instructions": "Be brief."})
        await me.send("input_audio_buffer.append", audio=base64.b64encode(bytes(9_600)).decode())
        await me.send("input_audio_buffer.clear")
        await me.send("response.cancel")
        await me.send("nonsense")
        await me.until("input_audio_buffer.cleared")
        await me.until("error")
        await me.until("error")
        metrics = await opened_metrics(server)

    assert dict(re.findall(r'^parley_frames_in_total\{type="([^"]+)"\} (\S+)$', metrics, re.MULTILINE)) == {
        "conversation.item.create": "1.0",
        "response.create": "1.0",
        "session.update": "1.0",
        "input_audio_buffer.append": "1.0",
        "input_audio_buffer.clear": "1.0",
        "response.cancel": "1.0",
        "invalid": "1.0",
    }
