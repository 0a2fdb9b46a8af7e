"""Recognition: what each provider makes of an utterance, and of trouble."""

import asyncio
import gc
import io
import sys
import wave
from itertools import accumulate

import numpy as np
import pytest

from server.config import SpeechProviderSettings
from server.errors import ConfigError, SpeechBusy, SpeechError, SpeechTimeout, SpeechUnavailable
from server.openai_client import Unreachable
from server.speech.audio import SPEECH_RATE
from server.speech.providers import speech_endpoints
from server.speech.stt import (
    MAX_HEARD_CHARS,
    MAX_PIECE_S,
    EmbeddedRecognizer,
    OpenAIRecognizer,
    normalized,
    pieces_of,
    recognizer_of,
    wav_of,
)
from server.speech.worker import SpeechWorker
from tests.support.speech_server import SpeechServer, speech_server


def recognizer(server: SpeechServer, *, timeout_s: float = 10) -> OpenAIRecognizer:
    endpoints = speech_endpoints("speech.stt", server.provider(model="tiny"), {}, model="whisper-1")
    return OpenAIRecognizer(endpoints, timeout_s=timeout_s)


@pytest.mark.parametrize(
    ("heard", "text"),
    [
        ("See you to-morrow, or to-day.", "See you tomorrow, or today."),
        ("To-night!", "Tonight!"),
        ("  two\n lines ", "two lines"),
        ("[BLANK_AUDIO]", ""),
        ("(soft music)", ""),
        ("[noise] Hello", "Hello"),
        ("...", ""),
        (" . ", ""),
        ("你好。", "你好。"),
        ("a [small] thing", "a [small] thing"),
        ("a\x00b\x07 \x1b[31mred\x1b[0m\x9b\x85 end\x7f", "a b red end"),
        ("\x00\x1b[2J", ""),
        ("a" * 2 * MAX_HEARD_CHARS, "a" * MAX_HEARD_CHARS),
    ],
)
def test_words_are_written_as_today_and_noises_are_none(heard: str, text: str) -> None:
    assert normalized(heard) == text


async def test_the_embedded_recogniser_gives_the_words_of_its_worker() -> None:
    worker = SpeechWorker("the fake", [sys.executable, "-m", "tests.support.fake_speech_engine"])
    made = EmbeddedRecognizer(worker)
    await made.start()

    assert await made.recognize(bytes(3200)) == "today is fine"
    assert made.languages == ["en", "zh"]
    assert made.status.state == "ready"
    await made.aclose()


def test_a_long_utterance_is_parted_where_it_is_quiet_and_loses_nothing() -> None:
    pauses_s = (7.0, 14.5, 22.0)
    sound = np.full(30 * SPEECH_RATE, 8000, dtype="<i2")
    for pause_s in pauses_s:
        sound[int(pause_s * SPEECH_RATE) : int((pause_s + 0.3) * SPEECH_RATE)] = 0

    pieces = [len(piece) / 2 / SPEECH_RATE for piece in pieces_of(sound.tobytes())]

    assert b"".join(pieces_of(sound.tobytes())) == sound.tobytes()
    assert max(pieces) <= MAX_PIECE_S
    ends_s = list(accumulate(pieces))[: len(pauses_s)]
    assert all(pause_s <= end_s <= pause_s + 0.3 for pause_s, end_s in zip(pauses_s, ends_s, strict=True))
    assert list(pieces_of(b"\1\2" * SPEECH_RATE)) == [b"\1\2" * SPEECH_RATE]


async def test_a_short_utterance_waits_for_a_piece_of_a_long_one_and_not_for_all_of_it() -> None:
    worker = SpeechWorker("the fake", [sys.executable, "-m", "tests.support.fake_speech_engine"])
    made = EmbeddedRecognizer(worker)
    await made.start()
    order: list[str] = []

    async def hear(who: str, seconds: int) -> None:
        await made.recognize(bytes(2 * SPEECH_RATE * seconds), due_in_s=lambda: -100.0)
        order.append(who)

    await asyncio.gather(hear("long", 60), hear("short", 2))
    await made.aclose()

    assert order == ["short", "long"]


async def test_an_endpoint_that_is_asked_while_it_starts_leaves_no_connection_open() -> None:
    async with speech_server(text="Hello.") as server:
        made = recognizer(server)
        starting = asyncio.create_task(made.start())
        await asyncio.sleep(0)

        assert await made.recognize(b"\1\2" * 8000) == "Hello."
        await starting
        assert await made.recognize(b"\1\2" * 8000) == "Hello."
        await made.aclose()

    gc.collect()  # what is left open warns now, and warnings are errors


async def test_an_openai_endpoint_gets_a_wav_and_gives_words() -> None:
    async with speech_server(text=" Hello to-day. ") as server:
        made = recognizer(server)
        assert await made.recognize(b"\1\2" * 8000, language="de-AT") == "Hello today."
        await made.aclose()

    [request] = server.requests
    assert (request["model"], request["language"]) == ("tiny", "de")
    assert request["authorization"] == "Bearer sk-secret"
    with wave.open(io.BytesIO(request["file"])) as sound:
        assert (sound.getframerate(), sound.getnchannels(), sound.getnframes()) == (16_000, 1, 8000)


async def test_a_server_without_a_key_gets_none() -> None:
    async with speech_server() as server:
        made = recognizer_of(SpeechProviderSettings(provider="openai", base_url=server.base_url), {})
        await made.start()
        await made.recognize(b"\1\2" * 8000)
        await made.aclose()

    assert server.requests[0]["authorization"] is None
    assert server.requests[0]["model"] == "whisper-1"


@pytest.mark.parametrize(
    ("status", "error", "says"),
    [
        (401, SpeechUnavailable, "speech.stt.api_key"),
        (404, SpeechUnavailable, "speech.stt.base_url"),
        (429, SpeechBusy, "is overloaded"),
        (500, SpeechUnavailable, "HTTP 500"),
        (504, SpeechTimeout, "timed out"),
    ],
)
async def test_refusals_name_the_cure_and_no_key(status: int, error: type[SpeechError], says: str) -> None:
    async with speech_server(status=status) as server:
        made = recognizer(server)
        with pytest.raises(error, match=says) as caught:
            await made.recognize(b"\1\2" * 8000)
        await made.aclose()

    assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"{}", b'{"text": 5}', b'{"text": "\xff\xfe"}', rb'{"text": "a\ud800b"}']
)
async def test_what_is_no_transcription_is_an_error_that_names_the_cure(body: bytes) -> None:
    async with speech_server(body=body) as server:
        made = recognizer(server)
        with pytest.raises(SpeechUnavailable, match=r"sent no transcription: check speech\.stt\.base_url"):
            await made.recognize(b"\1\2" * 8000)
        await made.aclose()


@pytest.mark.slow
async def test_an_endpoint_that_is_not_there_names_its_address() -> None:
    async with speech_server() as server:
        provider = server.provider()
    made = recognizer_of(provider, {})  # the server is gone, its port is closed

    with pytest.raises(SpeechUnavailable, match=r"127\.0\.0\.1:\d+.*speech\.stt\.base_url"):
        await made.recognize(b"\1\2" * 8000)
    await made.aclose()


def test_an_endpoint_that_takes_no_connection_in_time_is_a_timeout() -> None:
    error = Unreachable("no connection")
    error.__cause__ = TimeoutError()

    [endpoint] = speech_endpoints("speech.tts", SpeechProviderSettings(), {}, model="m")
    assert isinstance(endpoint.error(error), SpeechTimeout)


async def test_an_endpoint_that_is_silent_is_a_timeout_and_the_request_is_given_up() -> None:
    async with speech_server(stalls_after=0) as server:
        made = recognizer(server, timeout_s=0.2)
        with pytest.raises(SpeechTimeout):
            await made.recognize(b"\1\2" * 8000)
        await server.is_given_up.wait()
        await made.aclose()


async def test_a_recogniser_that_is_switched_off_says_so() -> None:
    made = recognizer_of(SpeechProviderSettings(provider="none"), {})
    await made.start()

    assert made.status.state == "missing"
    assert "speech.stt.provider" in (made.status.reason or "")
    with pytest.raises(SpeechUnavailable):
        await made.recognize(b"")
    await made.aclose()


def test_the_environment_stands_in_for_what_the_settings_leave_out() -> None:
    environ = {"OPENAI_BASE_URL": "http://box:1/v1/", "OPENAI_API_KEY": " sk-env "}
    [endpoint] = speech_endpoints("speech.stt", SpeechProviderSettings(provider="openai"), environ, model="whisper-1")

    assert (endpoint.base_url, endpoint.api_key, endpoint.host) == ("http://box:1/v1", "sk-env", "box:1")
    assert "sk-env" not in repr(endpoint)
    with pytest.raises(ConfigError, match=r"speech\.stt\.base_url"):
        speech_endpoints("speech.stt", SpeechProviderSettings(provider="openai", base_url="box:1"), {}, model="x")


def test_a_wav_holds_its_samples() -> None:
    with wave.open(io.BytesIO(wav_of(b"\1\2\3\4", 8000))) as sound:
        assert (sound.getframerate(), sound.readframes(9)) == (8000, b"\1\2\3\4")
