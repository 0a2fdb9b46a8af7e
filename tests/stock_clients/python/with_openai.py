"""The features with openai-python, `client.realtime.connect`."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from features import IMAGE, KEY, MCP, URL, Refused, question, report, speak
from openai import AsyncOpenAI

WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather in a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


@asynccontextmanager
async def connected(**session: Any) -> AsyncIterator[Any]:
    client = AsyncOpenAI(base_url=f"{URL}/v1", api_key=KEY)
    assert [model.id async for model in client.models.list()]
    async with client.realtime.connect(model="gpt-realtime") as connection:
        assert (await connection.recv()).type == "session.created"
        await connection.session.update(session={"type": "realtime", **session})
        assert (await until(connection, "session.updated"))[-1].session.type == "realtime"
        yield connection


async def until(connection: Any, type_: str) -> list[Any]:
    events = []
    while not events or events[-1].type != type_:
        events.append(await connection.recv())
        assert events[-1].type != "error", events[-1].error
    return events


async def ask(connection: Any, text: str) -> list[Any]:
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    await connection.conversation.item.create(item=item)
    await connection.response.create()
    return await until(connection, "response.done")


def joined(events: list[Any], type_: str) -> str:
    return "".join(event.delta for event in events if event.type == type_)


async def append(connection: Any, pcm: bytes) -> None:
    await connection.input_audio_buffer.append(audio=base64.b64encode(pcm).decode())


async def text_turn() -> str:
    async with connected(output_modalities=["text"]) as connection:
        events = await ask(connection, "What time is it?")
        assert joined(events, "response.output_text.delta") == "It is noon."
        assert events[-1].response.status == "completed"
        return f"{events[-1].response.usage.total_tokens} tokens"


async def spoken_turn() -> str:
    audio = {"input": {"turn_detection": {"type": "server_vad"}, "transcription": {"model": "whisper-1"}}}
    async with connected(audio=audio) as connection:
        saying = asyncio.create_task(speak(lambda pcm: append(connection, pcm)))
        events = await until(connection, "response.done")
        await saying
        return check_spoken(events)


def check_spoken(events: list[Any]) -> str:
    assert joined(events, "response.output_audio_transcript.delta") == "It is noon."
    sound = b"".join(base64.b64decode(event.delta) for event in events if event.type == "response.output_audio.delta")
    assert len(sound) == 2 * 24_000, len(sound)
    return f"{len(sound) / 48_000:.1f} s of sound"


async def manual_commit() -> str:
    async with connected(audio={"input": {"turn_detection": None}}) as connection:
        for piece in question():
            await append(connection, piece)
        await connection.input_audio_buffer.commit()
        await connection.response.create()
        return check_spoken(await until(connection, "response.done"))


async def client_tool() -> str:
    async with connected(tools=[WEATHER], output_modalities=["text"]) as connection:
        [call] = (await ask(connection, "How is the weather?"))[-1].response.output
        output = {"type": "function_call_output", "call_id": call.call_id, "output": f"{call.arguments}: rain"}
        await connection.conversation.item.create(item=output)
        await connection.response.create()
        reply = joined(await until(connection, "response.done"), "response.output_text.delta")
        assert "rain" in reply, reply
        return reply


async def interruption() -> str:
    async with connected(audio={"input": {"turn_detection": None}}) as connection:
        item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Tell me a story."}]}
        await connection.conversation.item.create(item=item)
        await connection.response.create()
        heard = (await until(connection, "response.output_audio.delta"))[-1]
        await connection.response.cancel()
        assert (await until(connection, "response.done"))[-1].response.status == "cancelled"
        await connection.conversation.item.truncate(item_id=heard.item_id, content_index=0, audio_end_ms=400)
        await until(connection, "conversation.item.truncated")
        reply = joined(await ask(connection, "What time is it?"), "response.output_audio_transcript.delta")
        assert "This is" in reply, reply
        assert "number 2" not in reply, reply
        return reply


async def transcription() -> str:
    client = AsyncOpenAI(base_url=f"{URL}/v1", api_key=KEY)
    async with client.realtime.connect(extra_query={"intent": "transcription"}) as connection:
        await connection.session.update(
            session={"type": "transcription", "audio": {"input": {"transcription": {"model": "whisper-1"}}}}
        )
        saying = asyncio.create_task(speak(lambda pcm: append(connection, pcm)))
        events = await until(connection, "conversation.item.input_audio_transcription.completed")
        await saying
        assert not any(event.type.startswith("response.") for event in events)
        return str(events[-1].transcript)


async def image() -> str:
    async with connected(output_modalities=["text"]) as connection:
        content = [{"type": "input_image", "image_url": IMAGE}, {"type": "input_text", "text": "What is this?"}]
        await connection.conversation.item.create(item={"type": "message", "role": "user", "content": content})
        await connection.response.create()
        reply = joined(await until(connection, "response.done"), "response.output_text.delta")
        assert reply == "A picture.", reply
        return reply


async def mcp_by_address() -> str:
    async with connected() as connection:
        await connection.session.update(session={"type": "realtime", "tools": [MCP]})
        event = await connection.recv()
        assert event.type == "error", event.type
        raise Refused(f"{event.error.code}: {event.error.message}")


asyncio.run(
    report(
        text_turn=text_turn,
        spoken_turn=spoken_turn,
        manual_commit=manual_commit,
        client_tool=client_tool,
        interruption=interruption,
        transcription=transcription,
        image=image,
        mcp_by_address=mcp_by_address,
    )
)
