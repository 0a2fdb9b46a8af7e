"""The features with openai-agents for Python: RealtimeAgent, RealtimeRunner, RealtimeSession."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agents import function_tool
from agents.realtime import RealtimeAgent, RealtimeRunner
from features import IMAGE, KEY, WS_URL, question, report, speak


@function_tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


@asynccontextmanager
async def connected(**settings: Any) -> AsyncIterator[Any]:
    agent = RealtimeAgent(name="Helper", instructions="Be brief.", tools=[get_weather])
    runner = RealtimeRunner(agent, config={"model_settings": {"model_name": "gpt-realtime", **settings}})
    config: Any = {"api_key": KEY, "url": f"{WS_URL}/v1/realtime?model=gpt-realtime"}
    async with await runner.run(model_config=config) as session:
        yield session


async def until(session: Any, type_: str) -> list[Any]:
    events: list[Any] = []
    async for event in session:
        events.append(event)
        assert event.type != "error", event.error
        if event.type == type_:
            return events
    raise AssertionError(f"the session ended before {type_}")


def said(events: list[Any], role: str = "assistant") -> str:
    """The words of the last item of this role, in the latest history."""
    histories = [event.history for event in events if event.type == "history_updated"]
    items = [item for item in histories[-1] if getattr(item, "role", None) == role]
    return "".join(getattr(part, "text", None) or getattr(part, "transcript", None) or "" for part in items[-1].content)


async def text_turn() -> str:
    async with connected(output_modalities=["text"]) as session:
        await session.send_message("What time is it?")
        events = await until(session, "agent_end")
        raw = [event.data for event in events if event.type == "raw_model_event"]
        reply = "".join(data.delta for data in raw if data.type == "output_text_delta")
        assert reply == "It is noon.", reply
        return reply


async def spoken_turn() -> str:
    async with connected() as session:
        saying = asyncio.create_task(speak(session.send_audio))
        events = await until(session, "agent_end")
        await saying
        return check_spoken(events)


def check_spoken(events: list[Any]) -> str:
    sound = b"".join(event.audio.data for event in events if event.type == "audio")
    assert said(events) == "It is noon.", said(events)
    assert len(sound) == 2 * 24_000, len(sound)
    return f"{len(sound) / 48_000:.1f} s of sound"


async def manual_commit() -> str:
    async with connected(turn_detection=None) as session:
        pieces = list(question())
        for piece in pieces[:-1]:
            await session.send_audio(piece)
        await session.send_audio(pieces[-1], commit=True)
        await session.model.send_event(raw("response.create"))
        return check_spoken(await until(session, "agent_end"))


def raw(type_: str) -> Any:
    from agents.realtime.model_inputs import RealtimeModelSendRawMessage

    return RealtimeModelSendRawMessage(message={"type": type_})


async def client_tool() -> str:
    async with connected(output_modalities=["text"]) as session:
        await session.send_message("How is the weather?")
        await until(session, "tool_end")
        raw_events = [e.data for e in await until_reply(session) if e.type == "raw_model_event"]
        reply = "".join(data.delta for data in raw_events if data.type == "output_text_delta")
        assert "rain in Berlin" in reply, reply
        return reply


async def until_reply(session: Any) -> list[Any]:
    """Up to the end of a response that says something; the one that asked for the tool ends first or last."""
    events: list[Any] = []
    while not any(e.type == "raw_model_event" and e.data.type == "output_text_delta" for e in events):
        events += await until(session, "agent_end")
    return events


async def interruption() -> str:
    async with connected() as session:
        await session.send_message("Tell me a story.")
        await until(session, "audio")
        saying = asyncio.create_task(speak(session.send_audio, quiet_s=1.5))  # while the story is told
        await until(session, "audio_interrupted")
        while not (reply := said(await until(session, "agent_end"))).startswith("I said"):
            pass
        await saying
        assert "number 8" not in reply, reply
        return reply


async def transcription() -> str:
    async with connected() as session:
        saying = asyncio.create_task(speak(session.send_audio))
        events = await until(session, "agent_end")
        await saying
        assert said(events, "user") == "What time is it?", said(events, "user")
        return said(events, "user")


async def image() -> str:
    async with connected(output_modalities=["text"]) as session:
        content = [{"type": "input_image", "image_url": IMAGE}, {"type": "input_text", "text": "What is this?"}]
        await session.send_message({"type": "message", "role": "user", "content": content})
        reply = said(await until(session, "agent_end"))
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
