"""Responses with `conversation: "none"` over a real socket: beside others, within the limits, without questions"""

import asyncio
import json
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI
from openai.types.realtime import RealtimeResponse
from websockets.asyncio.client import connect

from tests.gateway.test_approvals import TOKYO
from tests.gateway.test_approvals import settings as asking
from tests.support.openai_script import Gate, calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.parley import Parley, parley
from tests.support.realtime_client import realtime_client
from tests.support.waiting import LIMIT_S

ASIDE = {"conversation": "none", "output_modalities": ["text"]}


async def test_openai_python_gets_a_title_while_the_conversation_is_answered(
    server: Parley, model: OpenAIServer
) -> None:
    gate = Gate()
    model.queue(text("It is ", gate, "noon."), text("Time"))
    question: Any = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "What time is it?"}]}
    aside: Any = {**ASIDE, "metadata": {"for": "title"}, "instructions": "Write a title."}
    done: list[RealtimeResponse] = []
    client = AsyncOpenAI(base_url=f"{server.url}/v1", api_key="any", timeout=LIMIT_S)
    async with client, client.realtime.connect(model="any") as connection:
        await connection.session.update(session={"type": "realtime", "output_modalities": ["text"]})
        await connection.conversation.item.create(item=question)
        await connection.response.create()
        while len(done) < 2:
            event = await connection.recv()
            if event.type == "response.output_text.delta" and event.delta == "It is ":
                await connection.response.create(response=aside)
            if event.type == "response.done":
                done.append(event.response)
                gate.open()

    assert [each.status for each in done] == ["completed"] * 2
    assert [each.metadata for each in done] == [{"for": "title"}, None]
    assert ["Time" in each.model_dump_json() for each in done] == [True, False]


async def test_it_takes_one_of_the_turns_that_may_run(tmp_path: Path, model: OpenAIServer) -> None:
    gate = Gate()
    model.queue(text("It is ", gate, "noon."))
    settings = {"agent": {"planning": False}, "limits": {"turns": 1}}
    async with parley(tmp_path, model.url, settings) as server, realtime_client(server.url) as me:
        await me.say("What time is it?")
        await me.send("response.create", response={"output_modalities": ["text"]})
        await me.until("response.output_text.delta")
        refused = await me.respond(**ASIDE)
        gate.open()
        ended = (await me.until("response.done"))["response"]

    assert (refused["status"], refused["status_details"]["error"]["code"]) == ("failed", "too_many_turns")
    assert ended["status"] == "completed"


async def test_a_call_that_needs_consent_is_refused_at_once(tmp_path: Path, model: OpenAIServer) -> None:
    model.queue(calls(TOKYO), text("Then not."))
    async with parley(tmp_path, model.url, asking()) as server, realtime_client(server.url) as me:
        await me.update(include=["parley.approval_request"])
        await me.say("What time is it in Tokyo?")
        done = await me.respond(**ASIDE)

    assert done["status"] == "completed"
    assert "parley.approval_request" not in {event["type"] for event in me.events}
    [told] = [message["content"] for message in model.requests[1].messages if message["role"] == "tool"]
    assert "out of band" in told


async def test_closing_the_socket_ends_it(server: Parley, model: OpenAIServer) -> None:
    model.queue(text("Once ", Gate(), "upon a time."))
    address = server.url.replace("http", "ws", 1) + "/v1/realtime"
    async with connect(address) as socket:
        await socket.send(json.dumps({"type": "response.create", "response": {**ASIDE, "input": []}}))
        while "output_text.delta" not in str(await socket.recv()):
            pass
    async with asyncio.timeout(LIMIT_S):
        await server.app.sockets.all_gone()
