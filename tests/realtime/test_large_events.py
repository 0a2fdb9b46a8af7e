"""Large events of the Realtime API over a real socket: pictures and long sound pass, and what is too much is bounded"""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from aiohttp import ClientSession, WSMsgType
from websockets.asyncio.client import ClientConnection

from server.gateway.unread_meter import MAX_UNREAD_BYTES
from server.realtime.client_events import MAX_EVENT_BYTES, MAX_MESSAGE_BYTES
from tests.support.openai_script import text
from tests.support.openai_server import OpenAIServer
from tests.support.parley import Parley
from tests.support.realtime_client import RealtimeClient, realtime_client

PICTURE = f"data:image/png;base64,{base64.b64encode(bytes(5 << 20)).decode()}"


async def show(me: RealtimeClient) -> str:
    event = await me.create(type="message", role="user", content=[{"type": "input_image", "image_url": PICTURE}])
    return str(event["type"] if event["type"] != "error" else event["error"]["code"])


async def test_a_picture_of_5_mib_is_shown_to_the_model(server: Parley, model: OpenAIServer) -> None:
    model.queue(text("A cat."))
    async with realtime_client(server.url) as me:
        assert await show(me) == "conversation.item.done"
        assert (await me.respond(output_modalities=["text"]))["status"] == "completed"

    assert PICTURE in json.dumps(model.requests[-1].messages)


async def test_pictures_leave_the_room_for_words_and_have_a_limit_of_their_own(server: Parley) -> None:
    words = "x" * (3 << 20)
    async with realtime_client(server.url) as me:
        assert [await show(me) for _ in "abc"] == ["conversation.item.done"] * 2 + ["conversation_full"]
        assert (await me.say(words))["type"] == "conversation.item.done"
        await me.send("conversation.item.delete", item_id=me.events[2]["item"]["id"])
        await me.until("conversation.item.deleted")
        assert await show(me) == "conversation.item.done"


async def test_an_event_over_15_mib_is_answered_by_an_error_and_one_over_16_ends_the_connection(server: Parley) -> None:
    async with realtime_client(server.url) as me:
        await me.send("input_audio_buffer.append", event_id="e1", audio="A" * MAX_EVENT_BYTES)
        error = (await me.until("error"))["error"]
        assert (error["code"], error["event_id"]) == ("message_too_large", "e1")
        assert (await me.say("Are you there?"))["type"] == "conversation.item.done"

        await me.send("input_audio_buffer.append", audio="A" * MAX_MESSAGE_BYTES)
        await me.socket.wait_closed()

    assert me.socket.close_code == 1009


@asynccontextmanager
async def half_sent(socket: ClientConnection, size: int) -> AsyncIterator[None]:
    """Send so much of an event, and its end on leaving."""
    is_sent, may_end = asyncio.Event(), asyncio.Event()

    async def pieces() -> AsyncIterator[str]:
        yield json.dumps({"type": "input_audio_buffer.clear", "padding": "x" * size})[:-1]
        is_sent.set()
        await may_end.wait()
        yield "}"

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(socket.send(pieces()))
        await is_sent.wait()
        yield
        may_end.set()


async def test_one_user_has_no_more_than_32_mib_of_large_events_on_the_way(server: Parley) -> None:
    """The connection that would exceed it is closed; those that were first go on, and so do ordinary events."""
    address = server.url.replace("http", "ws", 1) + "/v1/realtime"
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(realtime_client(server.url)) for _ in "abc"]
        http = await stack.enter_async_context(ClientSession())
        async with (
            half_sent(clients[0].socket, MAX_UNREAD_BYTES // 2 - (2 << 20)),
            half_sent(clients[1].socket, MAX_UNREAD_BYTES // 2 - (2 << 20)),
            http.ws_connect(address, autoclose=False) as one_more,
        ):
            sending = asyncio.create_task(one_more.send_str("x" * (8 << 20)))
            while (message := await one_more.receive()).type is WSMsgType.TEXT:
                pass
            assert (message.type, message.data) == (WSMsgType.CLOSE, 1009)
            assert "32 MiB" in str(message.extra)
            assert (await clients[2].say("Hello"))["type"] == "conversation.item.done"
            sending.cancel()
        for client in clients[:2]:
            assert (await client.until("input_audio_buffer.cleared", "error"))["type"] == "input_audio_buffer.cleared"
        assert await show(clients[2]) == "conversation.item.done"
