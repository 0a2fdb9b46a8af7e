"""Speech over `/v1/realtime` with the real server: the order of events, interruption, telephone sound."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from server.speech.audio import SPEECH_RATE, PcmResampler, samples_to_pcm16
from server.speech.g711 import PCMU
from tests.skills_engine.folders import entry, make_skill
from tests.support.openai_script import Gate, text
from tests.support.openai_server import OpenAIServer
from tests.support.realtime_client import RealtimeClient, realtime_client
from tests.support.speech_corpus import VOICES, spoken
from tests.support.speech_server import speech_server
from tests.support.talking_server import hearing, talking_server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
RATE: Final = 24_000
PIECE_S: Final = 0.04
SENTENCE: Final = bytes(2 * RATE)
"""One second: the sound of every sentence."""


@asynccontextmanager
async def talking(folder: Path, model: OpenAIServer, **vad: int) -> AsyncIterator[str]:
    make_skill(folder / "skills", "host", entry("mood", persistent=True, once="conversation"))
    async with speech_server(text="What time is it?", pieces=[SENTENCE]) as speech:
        skills = {"dir": str(folder / "skills"), "reload": "off"}
        process = talking_server(folder, model, speech, skills=skills)
        process.environ |= {f"PARLEY_SPEECH__VAD__{name.upper()}": str(value) for name, value in vad.items()}
        async with process:
            await hearing(process.ws_url)
            yield process.url


def question(rate: int, *, quiet_s: int = 0) -> bytes:
    """Silence, a spoken question and enough silence to end it. Echo is learned in the first second of a first reply."""
    said = samples_to_pcm16(spoken("What time is it now, please?", VOICES[0]))
    return bytes(2 * rate * quiet_s) + PcmResampler(SPEECH_RATE, rate).feed(said) + bytes(3 * rate)


async def speak(client: RealtimeClient, sound: bytes, bytes_per_s: int) -> None:
    """Send sound at the pace of a microphone."""
    size = round(bytes_per_s * PIECE_S)
    for at in range(0, len(sound), size):
        await client.send("input_audio_buffer.append", audio=base64.b64encode(sound[at : at + size]).decode())
        await asyncio.sleep(PIECE_S)


def order(client: RealtimeClient) -> list[str]:
    """The types of the events, repeated ones once."""
    return [type_ for type_, _ in groupby(event["type"] for event in client.events)]


def heard(**fields: Any) -> dict[str, Any]:
    return {"input": {"transcription": {"model": "whisper-1"}, **fields}}


async def test_a_spoken_turn_and_its_interruption_come_in_the_order_of_realtime(
    tmp_path: Path, model: OpenAIServer
) -> None:
    story = [f"This is sentence {number} of a story. " for number in range(1, 9)]
    model.queue(text("It is noon."), text(*story, Gate()), text("As I said."))  # it is cut before its end
    async with talking(tmp_path, model) as url, realtime_client(url) as client:
        await client.update(audio=heard())
        client.events.clear()
        saying = asyncio.create_task(speak(client, question(RATE), 2 * RATE))
        await client.until("response.done")
        await saying
        assert order(client) == [
            "input_audio_buffer.speech_started",
            "input_audio_buffer.speech_stopped",
            "input_audio_buffer.committed",
            "conversation.item.added",
            "conversation.item.done",
            "conversation.item.input_audio_transcription.delta",
            "conversation.item.input_audio_transcription.completed",
            "response.created",
            "rate_limits.updated",
            "conversation.item.added",
            "conversation.item.done",
            "response.output_item.added",
            "conversation.item.added",
            "response.content_part.added",
            "response.output_audio_transcript.delta",
            "response.output_audio.delta",
            "response.output_audio_transcript.done",
            "response.output_audio.done",
            "response.content_part.done",
            "response.output_item.done",
            "conversation.item.done",
            "response.done",
        ]

        await client.say("Tell me a story.")
        await client.send("response.create")
        await client.until("response.output_audio.delta")
        client.events.clear()
        saying = asyncio.create_task(speak(client, question(RATE, quiet_s=1), 2 * RATE))
        started = await client.until("input_audio_buffer.speech_started")
        cut = await client.until("response.done")
        item_id = cut["response"]["output"][-1]["id"]
        await client.send("conversation.item.truncate", item_id=item_id, content_index=0, audio_end_ms=1400)
        await client.until("conversation.item.truncated")
        await client.until("response.done")
        await saying

    between = client.events[client.events.index(started) + 1 : client.events.index(cut)]
    assert cut["response"]["status_details"] == {"type": "cancelled", "reason": "turn_detected"}
    assert all(event["type"].endswith(".done") for event in between), "what is open is closed"
    last = model.requests[-1].messages
    story_heard = next(
        str(message["content"])
        for message in last
        if "story" in str(message["content"]) and message["role"] == "assistant"
    )
    assert story_heard.startswith("This is sentence 1 of a story.")
    assert "sentence 3" not in story_heard, "1.4 s were heard, of sentences of 1 s"


async def test_a_telephone_talks_in_mu_law_both_ways(tmp_path: Path, model: OpenAIServer) -> None:
    model.queue(text("It is noon."))
    pcmu = {"type": "audio/pcmu"}
    async with talking(tmp_path, model) as url, realtime_client(url) as client:
        await client.update(audio=heard(format=pcmu, turn_detection=None) | {"output": {"format": pcmu}})
        sound = PCMU.encode(question(8_000))
        for at in range(0, len(sound), 8_000):
            piece = base64.b64encode(sound[at : at + 8_000]).decode()
            await client.send("input_audio_buffer.append", audio=piece)
        await client.send("input_audio_buffer.commit")
        done = await client.respond()

    said = b"".join(
        base64.b64decode(event["delta"]) for event in client.events if event["type"] == "response.output_audio.delta"
    )
    assert abs(len(said) - 8_000) <= 1, "a second of telephone sound"
    assert set(np.frombuffer(said, np.uint8).tolist()) <= {0xFF, 0x7F}, "of silence"
    assert done["output"][0]["content"][0]["transcript"] == "It is noon."
    [words] = [event for event in client.events if event["type"].endswith("transcription.completed")]
    assert words["transcript"] == "What time is it?"
    assert words["usage"]["seconds"] == pytest.approx(len(sound) / 8_000, abs=0.2)


async def test_a_commit_right_behind_the_longest_utterance_keeps_its_place(tmp_path: Path, model: OpenAIServer) -> None:
    """The session ends it with the last piece of sound; nothing may begin behind the commit."""
    sound = base64.b64encode(bytes(2 * RATE)).decode()
    async with talking(tmp_path, model, max_utterance_ms=1000) as url, realtime_client(url) as client:
        await client.update(audio=heard(turn_detection=None))
        for _ in range(3):
            await client.send("input_audio_buffer.append", audio=sound)
            await client.send("input_audio_buffer.commit")
        for _ in range(3):
            completed = await client.until("conversation.item.input_audio_transcription.completed")

            assert completed["transcript"] == "What time is it?"


async def test_a_commit_and_a_clear_end_speech_that_is_still_being_judged(tmp_path: Path, model: OpenAIServer) -> None:
    said = base64.b64encode(question(RATE)[: -3 * RATE]).decode()
    async with talking(tmp_path, model) as url, realtime_client(url) as client:
        await client.update(audio=heard(turn_detection={"type": "server_vad", "create_response": False}))
        await client.send("input_audio_buffer.append", audio=said)
        await client.send("input_audio_buffer.commit")
        await client.until("conversation.item.input_audio_transcription.completed")

        assert "error" not in order(client)
        await client.send("input_audio_buffer.commit", event_id="e1")
        empty = (await client.until("error"))["error"]
        assert (empty["code"], empty["event_id"]) == ("input_audio_buffer_commit_empty", "e1")

        await client.send("input_audio_buffer.append", audio=said)
        started = await client.until("input_audio_buffer.speech_started")
        await client.send("input_audio_buffer.clear")
        stopped = await client.until("input_audio_buffer.speech_stopped")
        assert stopped["item_id"] == started["item_id"]
        assert stopped["audio_end_ms"] > started["audio_start_ms"]
        await client.until("input_audio_buffer.cleared")
        assert order(client)[-2:] == ["input_audio_buffer.speech_stopped", "input_audio_buffer.cleared"]


async def test_the_sound_of_an_item_is_answered_as_if_it_was_spoken(tmp_path: Path, model: OpenAIServer) -> None:
    model.queue(text("It is noon."))
    async with talking(tmp_path, model) as url, realtime_client(url) as client:
        await client.update(audio=heard(), output_modalities=["text"])
        sound = {"type": "input_audio", "audio": base64.b64encode(question(RATE)).decode()}
        await client.create(type="message", role="user", content=[sound])
        done = await client.respond()

    types = [event["type"] for event in client.events]
    completed = types.index("conversation.item.input_audio_transcription.completed")
    assert client.events[completed]["transcript"] == "What time is it?"
    assert completed < types.index("response.output_text.delta")
    assert done["status"] == "completed"
    assert "What time is it?" in str(model.requests[0].messages)
