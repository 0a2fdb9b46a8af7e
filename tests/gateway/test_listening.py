"""Who says when an utterance ends and when a turn begins: a real server, its voice detector, and spoken sound."""

import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from server.speech.audio import samples_to_pcm16
from tests.support.client import Client, Frame, client
from tests.support.openai_script import Gate, text
from tests.support.openai_server import OpenAIServer
from tests.support.server_process import ServerProcess
from tests.support.speech_corpus import VOICES, at_level, spoken
from tests.support.speech_server import SpeechServer, speech_server
from tests.support.talking_server import hearing, talking_server

pytestmark = pytest.mark.slow

WORDS = "What time is it?"
SAID = {"role": "user", "content": WORDS}
FRAME_BYTES = 2 * 16_000 // 50
SPOKEN = samples_to_pcm16(spoken(WORDS, VOICES[0]))


@asynccontextmanager
async def listening(tmp_path: Path, model: OpenAIServer) -> AsyncIterator[tuple[ServerProcess, SpeechServer]]:
    async with speech_server(text=WORDS) as speech, talking_server(tmp_path, model, speech) as server:
        await hearing(server.ws_url)
        yield server, speech


async def send(user: Client, *, silence_s: float = 0.0, spoken: bytes = SPOKEN) -> None:
    """Send the spoken words as fast as the socket takes them; the server need not have listened to any of it yet."""
    sound = spoken + bytes(2 * round(16_000 * silence_s))
    for at in range(0, len(sound), FRAME_BYTES):
        await user.send_raw(sound[at : at + FRAME_BYTES])


async def test_a_client_says_when_an_utterance_ends_and_when_its_turn_begins(
    tmp_path: Path, model: OpenAIServer
) -> None:
    gate = Gate()
    model.queue(text("It is noon."), text("As I ", gate, "said."), text("Yes?"))
    async with listening(tmp_path, model) as (server, speech), client(server.ws_url) as user:
        await user.send("configure", voice=False, skills=[], enable_tools=False, respond="manual")
        await send(user)
        await user.send("speech_end")
        final = await user.until("transcript")
        assert final == {"type": "transcript", "utterance": "u1", "text": WORDS, "final": True}
        await user.send("respond", utterance="u1", messages=[{"role": "assistant", "content": "Hm?"}, SAID])
        start, end = await user.until("turn_start"), await user.until("turn_end")
        assert (start["trigger"], end["reason"]) == ("voice", "completed")
        assert 0 < end["metrics"]["transcript"] < end["metrics"]["total"]

        await user.send("configure", barge_in=False, respond="auto")
        await user.chat("Again?")
        await user.until("text")
        await send(user, silence_s=1.5)
        final = await user.until("transcript")
        assert "turn_id" not in final
        gate.open()
        end = await user.until("turn_end")
        assert end["reason"] == "completed"
        await user.send("respond", utterance=final["utterance"], messages=[SAID])
        await user.until("turn_end")

        await user.send("configure", transcribe_only=True, turn_detection={"mode": "server_vad", "silence_ms": 400})
        await send(user, silence_s=0.6)
        assert (await user.until("transcript"))["text"] == WORDS
        await user.chat("Hi")
        assert (await user.until("error"))["path"] == "$.type"

    assert [[m["content"] for m in request.messages[1:]] for request in model.requests] == [
        ["Hm?", WORDS],
        ["Again?"],
        [WORDS],
    ]
    assert len(speech.requests) == 3
    # the sound that came last before `speech_end` was recognised, too
    assert len(speech.requests[0]["file"]) >= len(SPOKEN)


async def test_a_server_that_stops_starts_the_turn_whose_words_it_has_just_sent(
    tmp_path: Path, model: OpenAIServer
) -> None:
    model.queue(text("It is noon."))
    async with listening(tmp_path, model) as (server, _), client(server.ws_url) as user:
        await user.send("configure", voice=False, skills=[], enable_tools=False, respond="manual")
        await send(user)
        await user.send("speech_end")
        await user.until("transcript")
        server.signal(signal.SIGTERM)
        await user.send("respond", utterance="u1", messages=[SAID])
        end = await user.until("turn_end")
        code = await user.closed()

    assert (end["reason"], code) == ("completed", 1001)


async def test_a_loud_voice_is_heard_from_its_first_word_as_the_first_reply_begins(
    tmp_path: Path, model: OpenAIServer
) -> None:
    model.queue(text("It is noon."), text("Yes?"))
    async with listening(tmp_path, model) as (server, speech), client(server.ws_url) as user:
        speech.pieces = [bytes(2 * 24_000 * 10)]
        await user.chat("What time is it?")
        async for message in user.socket:
            if isinstance(message, bytes):
                break
        await send(user, spoken=samples_to_pcm16(at_level(spoken(WORDS, VOICES[0]), -12)))
        frame: Frame = {"type": ""}
        while frame["type"] != "speech_started":
            message = await user.socket.recv()
            frame = frame if isinstance(message, bytes) else json.loads(message)

    assert frame["audio_ms"] < 150


async def test_a_turn_has_the_voice_that_it_asks_for(tmp_path: Path, model: OpenAIServer) -> None:
    model.queue(text("It is noon."), text("It is noon."))
    async with listening(tmp_path, model) as (server, speech), client(server.ws_url) as user:
        await user.send("configure", speaker="ann")
        for number, fields in enumerate(({"speaker": "ben", "speed": 1.5}, {})):
            await user.send("respond" if number else "chat", messages=[SAID], **fields)
            async for message in user.socket:
                if isinstance(message, str) and '"turn_end"' in message:
                    break

    assert [(asked["voice"], asked.get("speed", 1.0)) for asked in speech.requests] == [("ben", 1.5), ("ann", 1.0)]
