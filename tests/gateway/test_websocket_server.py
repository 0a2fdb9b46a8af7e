"""server/gateway/websocket_server.py: turns over a real socket, and all connections at once."""

import asyncio
import json
from pathlib import Path

import pytest
from aiohttp import ClientSession
from websockets.exceptions import InvalidStatus

from tests.support.client import client, kinds
from tests.support.openai_script import Gate, HttpError, calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.parley import Parley, parley
from tests.support.speech_server import speech_server


async def test_a_turn_goes_through_model_and_tools_and_back(server: Parley, model: OpenAIServer) -> None:
    model.queue(calls(("current_time", {})), text("It is ", "noon. ", "Lunch"))

    async with client(server.ws_url, subprotocols=["parley.v1"]) as me:
        frames = await me.turn("What time is it?", id="t1")

    assert me.socket.subprotocol == "parley.v1"
    assert kinds(frames) == [
        "turn_start",
        "tool_call",
        "tool_result",
        "text",
        "text",
        *("sentence", "sentence_end"),
        "text",
        *("sentence", "sentence_end"),
        "turn_end",
    ]
    assert frames[-1]["reason"] == "completed"
    assert frames[-1]["usage"]["input_tokens"] == 14
    assert all(frames[-1]["metrics"][name] > 0 for name in ("model_request", "first_token", "first_sentence", "total"))
    assert model.requests[1].messages[-1]["role"] != "assistant"


async def test_an_interrupt_closes_the_providers_stream(server: Parley, model: OpenAIServer) -> None:
    gate = Gate()
    model.queue(text("On and ", gate, "on"))

    async with client(server.ws_url) as me:
        await me.chat(id="t1")
        await me.until("text")
        await me.send("interrupt", turn_id="t1")
        end = await me.until("turn_end")
        await model.requests[0].ended.wait()

        assert end["reason"] == "interrupted"
        assert model.requests[0].closed_early
        assert await me.pong() == []


async def test_a_lost_socket_cancels_the_turn(server: Parley, model: OpenAIServer) -> None:
    model.queue(text("On and ", Gate(), "on"))

    async with client(server.ws_url) as me:
        await me.chat()
        await me.until("text")
        me.socket.transport.abort()

    await model.requests[0].ended.wait()
    assert model.requests[0].closed_early


async def test_the_providers_stream_is_closed_when_the_client_says_goodbye(server: Parley, model: OpenAIServer) -> None:
    model.queue(text("On and ", Gate(), "on"))

    async with client(server.ws_url) as me:
        await me.chat()
        await me.until("text")

    await model.requests[0].ended.wait()
    assert model.requests[0].closed_early


async def test_a_new_chat_replaces_the_running_one(server: Parley, model: OpenAIServer) -> None:
    model.queue(text("On and ", Gate(), "on"), text("Fine."))

    async with client(server.ws_url) as me:
        await me.chat(id="t1")
        await me.until("text")
        frames = await me.turn(id="t2")

    assert [f["reason"] for f in me.frames if f["type"] == "turn_end"] == ["interrupted", "completed"]
    assert {f["turn_id"] for f in frames} == {"t2"}


@pytest.mark.slow
async def test_a_message_over_the_limit_closes_with_1009_and_its_exact_size_passes(
    tmp_path: Path, model: OpenAIServer
) -> None:
    frame = b'{"type":"ping","t":1}'
    async with parley(tmp_path, model.url, {"limits": {"max_message_bytes": 4096}}) as server:
        async with client(server.ws_url) as me:
            await me.send_raw((frame + b" " * (4096 - len(frame))).decode())
            assert (await me.until("pong"))["t"] == 1
            await me.send_raw("x" * 4097)
            assert await me.closed() == 1009
        async with client(server.ws_url) as me:
            await me.send_raw("x" * 3_000_000)
            assert await me.closed() == 1009


async def test_text_that_is_no_utf8_leaves_the_connection_open(server: Parley) -> None:
    async with client(server.ws_url) as me:
        await me.socket.send(b"\xff\xfe{", text=True)
        error = await me.receive()
        assert (error["code"], error["path"]) == ("frame_malformed", "$")
        assert await me.pong() == []


async def test_over_the_rate_each_message_is_refused_and_then_the_client(tmp_path: Path, model: OpenAIServer) -> None:
    async with parley(tmp_path, model.url, {"limits": {"max_frames_per_s": 20}}) as server, client(server.ws_url) as me:
        for _ in range(40):
            await me.send("ping", t=1)
        answers = [await me.receive() for _ in range(40)]

    assert kinds(answers[:20]) == ["pong"] * 20
    refused = [frame for frame in answers if frame["type"] == "error"]
    assert {frame["code"] for frame in refused} == {"rate_limited"}
    assert len(refused) >= 15, "one for each that was dropped"


async def test_pings_of_the_client_are_answered(server: Parley) -> None:
    async with client(server.ws_url) as me:
        await (await me.socket.ping(b"hello"))


async def test_a_saved_skill_reaches_every_open_client_and_counts_from_the_next_turn(
    tmp_path: Path, model: OpenAIServer
) -> None:
    model.respond = lambda _request: text("Hi.")
    settings = {"skills": {"reload": "auto"}, "agent": {"planning": False}}
    async with (
        parley(tmp_path, model.url, settings) as server,
        client(server.ws_url) as one,
        client(server.ws_url) as two,
    ):
        write_skill(tmp_path / "skills" / "brief", "Be brief.")
        for me in (one, two):
            while not (frame := await me.until("skills"))["skills"]:
                pass
            assert [(s["name"], [h["name"] for h in s["hooks"]]) for s in frame["skills"]] == [("brief", ["hint"])]
        frames = await one.turn(id="t1")

    assert frames[0]["skills"] == ["brief"]
    [hook] = [frame for frame in frames if frame["type"] == "hook"]
    assert (hook["name"], hook["skill"], hook["content"]) == ("hint", "brief", "Be brief.")
    assert hook["sig"].startswith("v1.")


def write_skill(folder: Path, content: str) -> None:
    hook = {"name": "hint", "file": "hint.md", "timing": "after_user_input", "role": "system", "persistent": True}
    (folder / "hooks").mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: brief\ndescription: short answers\n---\nBe brief.\n")
    (folder / "hooks" / "hint.md").write_text(content)
    (folder / "hooks" / "hooks.json").write_text(json.dumps({"hooks": [hook]}))


async def test_an_endpoint_that_is_down_costs_the_turn_and_not_the_connection(
    server: Parley, model: OpenAIServer
) -> None:
    model.queue(*[HttpError(status=500, body="down")] * 3, text("Up again."))
    async with client(server.ws_url) as me:
        failed = await me.turn()
        fine = await me.turn()

    assert [frame["code"] for frame in failed if frame["type"] == "error"] == ["provider_unreachable"]
    assert failed[-1]["reason"] == "error"
    assert fine[-1]["reason"] == "completed"


# the handshake


async def refused(url: str, **headers: str) -> int:
    with pytest.raises(InvalidStatus) as caught:
        async with client(url, additional_headers=headers):
            pass
    return caught.value.response.status_code


async def test_foreign_origins_and_hosts_are_403_before_the_upgrade(server: Parley) -> None:
    port = server.url.rpartition(":")[2]
    assert await refused(server.ws_url, Origin="http://evil.example") == 403
    async with client(server.ws_url, origin=f"http://127.0.0.1:{port}"):
        pass
    async with ClientSession() as http, http.get(f"{server.url}/ws", headers={"Host": "evil.example"}) as answer:
        assert answer.status == 403


async def test_who_is_not_local_gets_4401(server: Parley) -> None:
    async with client(server.ws_url, greeted=False, additional_headers={"X-Forwarded-For": "1.2.3.4"}) as me:
        assert await me.closed() == 4401
        assert me.frames == []


async def test_more_connections_than_allowed_are_503_with_a_time_to_come_again(
    tmp_path: Path, model: OpenAIServer
) -> None:
    async with parley(tmp_path, model.url, {"limits": {"connections": 2}}) as server:
        async with client(server.ws_url), client(server.ws_url):
            with pytest.raises(InvalidStatus) as caught:
                async with client(server.ws_url):
                    pass
        assert caught.value.response.status_code == 503
        assert int(caught.value.response.headers["Retry-After"]) > 0
        await server.app.sockets.all_gone()
        async with client(server.ws_url):  # the places are free again
            pass


async def test_one_address_may_not_take_every_place_unless_it_is_local(tmp_path: Path, model: OpenAIServer) -> None:
    settings = {"limits": {"per_address": 1}, "security": {"auth": "none"}}
    far = {"X-Forwarded-For": "1.2.3.4"}
    async with parley(tmp_path, model.url, settings) as server:
        async with client(server.ws_url), client(server.ws_url):
            pass
        async with client(server.ws_url, additional_headers=far):
            assert await refused(server.ws_url, **far) == 503
        await server.app.sockets.all_gone()
        async with client(server.ws_url, additional_headers=far):
            pass


async def test_one_network_of_ipv6_counts_as_one_address(tmp_path: Path, model: OpenAIServer) -> None:
    settings = {"limits": {"per_address": 1}, "security": {"auth": "none"}, "proxies": ["127.0.0.1"]}
    one, neighbour, far = ({"X-Forwarded-For": f"2001:db8:0:{host}"} for host in (":1", ":2", "1::1"))
    async with parley(tmp_path, model.url, settings) as server, client(server.ws_url, additional_headers=one):
        assert await refused(server.ws_url, **neighbour) == 503
        async with client(server.ws_url, additional_headers=far):
            pass


async def test_a_plain_request_to_ws_is_told_what_it_is(server: Parley) -> None:
    async with ClientSession() as http, http.get(f"{server.url}/ws") as answer:
        assert answer.status == 400


# going away


async def test_draining_closes_idle_clients_and_lets_a_turn_end(server: Parley, model: OpenAIServer) -> None:
    gate = Gate()
    model.queue(text("On and ", gate, "on."))

    async with client(server.ws_url) as idle, client(server.ws_url) as busy:
        await busy.chat(id="t1")
        await busy.until("text")
        draining = asyncio.create_task(server.app.drain(), name="drain")
        assert await idle.closed() == 1001
        assert await refused(server.ws_url) == 503
        async with ClientSession() as http, http.get(f"{server.url}/readyz") as answer:
            assert (answer.status, (await answer.json())["draining"]) == (503, True)
        gate.open()
        assert (await busy.until("turn_end"))["reason"] == "completed"
        assert await busy.closed() == 1001
        await draining


async def test_a_chat_while_draining_is_refused(server: Parley, model: OpenAIServer) -> None:
    model.queue(text("On and ", Gate(), "on."))

    async with client(server.ws_url) as me:
        await me.chat(id="t1")
        await me.until("text")
        draining = asyncio.create_task(server.app.drain(), name="drain")
        await asyncio.sleep(0)
        await me.chat(id="t2")
        assert (await me.until("error"))["code"] == "turn_refused_draining"
        assert (await me.until("turn_end"))["turn_id"] == "t1"
        assert await me.closed() == 1001
        await draining


async def test_a_client_whose_sound_has_been_played_is_not_waited_for_till_drain_s(
    tmp_path: Path, model: OpenAIServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="server")
    model.queue(text("Hello there."))

    async with speech_server() as voice:
        voice.pieces = [b"\1\0" * 12_000]  # 0.5 s
        tts = {"provider": "openai", "base_url": voice.base_url, "api_key": "none"}
        settings = {"listen": {"drain_s": 20}, "agent": {"planning": False}, "speech": {"tts": tts}}
        async with parley(tmp_path, model.url, settings) as server, client(server.ws_url) as me:
            await me.chat(id="t1")
            while b"turn_end" not in await me.socket.recv(decode=False):
                pass
            await server.app.drain()
            assert await me.closed() == 1001

    assert "drain_s is over" not in caplog.text


async def test_a_turn_that_outlasts_drain_s_is_interrupted(tmp_path: Path, model: OpenAIServer) -> None:
    model.queue(text("On and ", Gate(), "on."))

    settings = {"listen": {"drain_s": 0.05}, "agent": {"planning": False}}
    async with parley(tmp_path, model.url, settings) as server, client(server.ws_url) as me:
        await me.chat(id="t1")
        await me.until("text")
        await server.app.drain()
        end = await me.until("turn_end")
        assert (end["reason"], end["message"]) == ("interrupted", "the server had to restart")
        assert await me.closed() == 1001


async def test_nothing_is_left_of_connections_that_are_gone(server: Parley, model: OpenAIServer) -> None:
    model.respond = lambda _request: text("Hello ", "there.")
    async with client(server.ws_url) as me:
        await me.turn()
    files = open_files()

    for _ in range(5):
        async with asyncio.TaskGroup() as group:
            for number in range(10):
                group.create_task(visit(server.ws_url, number), name=f"principal {number}")
    await server.app.sockets.all_gone()

    assert [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith(("turn", "writer"))] == []
    assert open_files() <= files + 20, "both ends of as many connections of the model as there were visitors at once"


async def visit(ws_url: str, number: int) -> None:
    async with client(ws_url) as me:
        if number % 2:
            await me.turn()
        else:
            await me.chat()
        if number % 3 == 0:
            me.socket.transport.abort()


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
