"""The features with livekit's plugin, `openai.realtime.RealtimeModel`, without a room."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from features import IMAGE, KEY, RATE, URL, question, report, speak
from livekit import rtc
from livekit.agents import function_tool, llm
from livekit.plugins.openai import realtime
from openai.types.realtime.realtime_audio_input_turn_detection import ServerVad


@function_tool
async def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


class Talk:
    """A session, and the generations that the server began by itself."""

    def __init__(self, session: Any) -> None:
        self.session = session
        self.generations = asyncio.Queue[Any]()
        self.transcripts = asyncio.Queue[str]()
        self.errors: list[Any] = []
        session.on("generation_created", self._generation)
        session.on("input_audio_transcription_completed", self._transcript)
        session.on("error", lambda error: self.errors.append(error.error))

    def _generation(self, generation: Any) -> None:
        if not generation.user_initiated:
            self.generations.put_nowait(generation)

    def _transcript(self, event: Any) -> None:
        if event.is_final:
            self.transcripts.put_nowait(event.transcript)

    async def say(self, *text: Any) -> Any:
        """Add a user message; the reply to it."""
        context = self.session.chat_ctx.copy()
        context.add_message(role="user", content=list(text))
        await self.session.update_chat_ctx(context)
        return await self.session.generate_reply()

    async def hear(self, pcm: bytes) -> None:
        self.session.push_audio(rtc.AudioFrame(pcm, RATE, 1, len(pcm) // 2))


@asynccontextmanager
async def talking(**options: Any) -> AsyncIterator[Talk]:
    model = realtime.RealtimeModel(base_url=f"{URL}/v1", api_key=KEY, **options)
    session = model.session()
    talk = Talk(session)
    try:
        await session.update_instructions("Be brief.")
        yield talk
        assert talk.errors == [], talk.errors
    finally:
        await session.aclose()
        await model.aclose()


async def collected(generation: Any) -> tuple[str, int]:
    """The words and how many samples."""
    text, samples = "", 0
    async for message in generation.message_stream:
        async for delta in message.text_stream:
            text += delta
        async for frame in message.audio_stream:
            samples += frame.samples_per_channel
    return text, samples


async def text_turn() -> str:
    async with talking(modalities=["text"]) as talk:
        text, _ = await collected(await talk.say("What time is it?"))
        assert text == "It is noon.", text
        return text


def check_spoken(text: str, samples: int) -> str:
    assert text == "It is noon.", text
    assert samples == RATE, samples
    return f"{samples / RATE:.1f} s of sound"


async def spoken_turn() -> str:
    async with talking(turn_detection=ServerVad(type="server_vad")) as talk:
        saying = asyncio.create_task(speak(talk.hear))
        spoken = check_spoken(*await collected(await talk.generations.get()))
        await saying
        return spoken


async def manual_commit() -> str:
    async with talking(turn_detection=None) as talk:
        for piece in question():
            await talk.hear(piece)
        talk.session.commit_audio()
        return check_spoken(*await collected(await talk.session.generate_reply()))


async def client_tool() -> str:
    async with talking(modalities=["text"]) as talk:
        await talk.session.update_tools([get_weather])
        generation = await talk.say("How is the weather?")
        await collected(generation)
        [call] = [call async for call in generation.function_stream]
        context = talk.session.chat_ctx.copy()
        output = f"{call.arguments}: rain"
        context.items.append(llm.FunctionCallOutput(call_id=call.call_id, output=output, is_error=False))
        await talk.session.update_chat_ctx(context)
        reply, _ = await collected(await talk.session.generate_reply())
        assert "rain" in reply, reply
        return reply


async def interruption() -> str:
    async with talking(turn_detection=None) as talk:
        generation = await talk.say("Tell me a story.")
        message = await anext(aiter(generation.message_stream))
        await anext(aiter(message.audio_stream))
        talk.session.interrupt()
        talk.session.truncate(message_id=message.message_id, modalities=["audio"], audio_end_ms=400)
        while talk.session.has_active_generation:  # noqa: ASYNC110  # it tells nobody
            await asyncio.sleep(0.02)
        reply, _ = await collected(await talk.say("What time is it?"))
        assert "This is" in reply, reply
        assert "number 2" not in reply, reply
        return reply


async def transcription() -> str:
    async with talking() as talk:
        await speak(talk.hear)
        return await talk.transcripts.get()


async def image() -> str:
    async with talking(modalities=["text"]) as talk:
        reply, _ = await collected(await talk.say(llm.ImageContent(image=IMAGE), "What is this?"))
        assert reply == "A picture.", reply
        return reply


asyncio.run(
    report(
        text_turn=text_turn,
        spoken_turn=spoken_turn,
        manual_commit=manual_commit,
        client_tool=client_tool,
        interruption=interruption,
        transcription=transcription,
        image=image,
    )
)
