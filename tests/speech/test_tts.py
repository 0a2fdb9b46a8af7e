"""Synthesis: the sound of each provider, as it comes, and what becomes of trouble."""

import asyncio
import sys
from contextlib import aclosing

import pytest

from server.config import SpeechProviderSettings
from server.errors import SpeechError, SpeechTimeout, SpeechUnavailable
from server.speech.providers import speech_endpoints
from server.speech.tts import (
    MAX_CHUNK_BYTES,
    MAX_TEXT_CHARS,
    EmbeddedSynthesizer,
    OpenAISynthesizer,
    SoundChunk,
    SpeechRequest,
    Synthesizer,
    synthesizer_of,
)
from server.speech.worker import SpeechWorker
from tests.support.speech_server import SpeechServer, speech_server
from tests.support.waiting import until


def synthesizer(server: SpeechServer, *, timeout_s: float = 10) -> OpenAISynthesizer:
    endpoints = speech_endpoints("speech.tts", server.provider(voice="nova"), {}, model="tts-1", voice="alloy")
    return OpenAISynthesizer(endpoints, timeout_s=timeout_s)


async def sound_of(made: Synthesizer, text: str = "Hello.") -> list[SoundChunk]:
    async with aclosing(made.synthesize(SpeechRequest(text))) as chunks:
        return [chunk async for chunk in chunks]


async def test_an_openai_endpoint_streams_its_sound() -> None:
    async with speech_server(pieces=[b"\1\0" * 50, b"\2", b"\0\3\0"]) as server:
        made = synthesizer(server)
        chunks = await sound_of(made)
        await made.aclose()

    assert b"".join(chunk.pcm for chunk in chunks) == b"\1\0" * 50 + b"\2\0\3\0"
    [request] = server.requests
    assert (request["input"], request["model"], request["voice"]) == ("Hello.", "tts-1", "nova")
    assert request["response_format"] == "pcm"


async def test_an_endpoint_is_asked_for_the_speaker_and_the_speed_that_the_listener_chose() -> None:
    async with speech_server(pieces=[b"\1\0"]) as server:
        made = synthesizer(server)
        async with aclosing(made.synthesize(SpeechRequest("Hello.", speaker="onyx", speed=1.5))) as chunks:
            assert [chunk async for chunk in chunks]
        await sound_of(made)
        await made.aclose()

    assert made.voices == ["nova"]
    assert [(each["voice"], each.get("speed")) for each in server.requests] == [("onyx", 1.5), ("nova", None)]


@pytest.mark.parametrize(
    ("content_type", "rate"),
    [
        ("audio/pcm", 24_000),
        ("audio/L16; rate=16000; channels=1", 16_000),
        ('audio/pcm;rate="22050"', 22_050),
        ("audio/pcm; rate=0", 24_000),
        ("audio/pcm; rate=fast", 24_000),
        ("audio/x-wav", 24_000),
        ("", 24_000),
    ],
)
async def test_servers_may_name_their_sound_as_they_like(content_type: str, rate: int) -> None:
    async with speech_server(pieces=[b"\1\0" * 9], content_type=content_type) as server:
        made = synthesizer(server)
        assert await sound_of(made) == [SoundChunk(b"\1\0" * 9, rate)]
        await made.aclose()


async def test_a_long_piece_is_cut_into_messages() -> None:
    async with speech_server(pieces=[bytes(3 * MAX_CHUNK_BYTES)]) as server:
        made = synthesizer(server)
        chunks = await sound_of(made)
        await made.aclose()

    assert sum(len(chunk.pcm) for chunk in chunks) == 3 * MAX_CHUNK_BYTES
    assert all(len(chunk.pcm) <= MAX_CHUNK_BYTES for chunk in chunks)


async def test_the_first_sound_comes_before_the_last_is_made() -> None:
    async with speech_server(pieces=[b"\1\0" * 50], stalls_after=1) as server:
        made = synthesizer(server)
        async with aclosing(made.synthesize(SpeechRequest("Hello."))) as chunks:
            assert (await anext(chunks)).pcm == b"\1\0" * 50
        await server.is_given_up.wait()  # what nobody wants is not made
        await made.aclose()


async def test_a_cancelled_synthesis_is_given_up_at_the_endpoint() -> None:
    async with speech_server(stalls_after=0) as server:
        made = synthesizer(server)
        task = asyncio.create_task(sound_of(made))
        await until(lambda: bool(server.requests))

        task.cancel()

        with pytest.raises(asyncio.CancelledError):
            await task
        await server.is_given_up.wait()
        await made.aclose()


@pytest.mark.parametrize(
    ("answers", "error", "says"),
    [
        ({"stalls_after": 0}, SpeechTimeout, "stopped|in time"),
        ({"stalls_after": 1}, SpeechTimeout, "mid-sentence"),
        ({"breaks_after": 1}, SpeechUnavailable, "speech.tts.base_url"),
        ({"status": 401}, SpeechUnavailable, "speech.tts.api_key"),
        ({"status": 404}, SpeechUnavailable, "speech.tts.model"),
        ({"pieces": []}, SpeechUnavailable, "no sound"),
        ({"content_type": "text/html"}, SpeechUnavailable, "text/html"),
        ({"content_type": "audio/mpeg"}, SpeechUnavailable, "audio/mpeg"),
        ({"content_type": "audio/L16; channels=2"}, SpeechUnavailable, "channels=2"),
        ({"content_type": "application/problem+json"}, SpeechUnavailable, "problem"),
        ({"pieces": [b"ID3\4", bytes(500)]}, SpeechUnavailable, "MP3"),
        ({"pieces": [b'{"error":', b'"?"}']}, SpeechUnavailable, "text"),
    ],
)
async def test_trouble_is_an_error_that_names_the_cure(
    answers: dict[str, object], error: type[SpeechError], says: str
) -> None:
    async with speech_server(**answers) as server:
        made = synthesizer(server, timeout_s=0.3)
        with pytest.raises(error, match=says):
            await sound_of(made)
        await made.aclose()


async def test_nothing_to_say_makes_no_request() -> None:
    async with speech_server() as server:
        made = synthesizer(server)
        assert await sound_of(made, " … — ") == []
        await made.aclose()

    assert server.requests == []


async def test_a_text_without_end_is_refused() -> None:
    async with speech_server() as server:
        with pytest.raises(SpeechUnavailable, match="too long"):
            await sound_of(synthesizer(server), "a" * (MAX_TEXT_CHARS + 1))


async def test_the_embedded_synthesiser_cuts_the_sound_of_its_worker_into_messages() -> None:
    worker = SpeechWorker("the fake", [sys.executable, "-m", "tests.support.fake_speech_engine"])
    made = EmbeddedSynthesizer(worker)
    await made.start()

    chunks = await sound_of(made, "three words here")

    assert [chunk.sample_rate for chunk in chunks] == [22_050] * 3
    assert (made.sample_rate, made.languages, made.status.state) == (22_050, ["en", "zh"], "ready")
    await made.aclose()


async def test_a_voice_that_is_switched_off_says_so() -> None:
    made = synthesizer_of(SpeechProviderSettings(provider="none"), {})
    await made.start()

    assert made.status.state == "missing"
    with pytest.raises(SpeechUnavailable, match=r"speech\.tts\.provider"):
        await sound_of(made)
    await made.aclose()
