import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator
from typing import Any

import numpy as np
import pytest

from server.errors import SpeechUnavailable
from server.speech.audio import SPEECH_RATE, Samples, level_dbfs, pcm16_to_samples, samples_to_pcm16
from server.speech.opus import (
    BITRATE,
    FRAME_MS,
    MAX_PACKET_BYTES,
    RATE,
    OpusChunk,
    OpusDecoder,
    OpusEncoder,
    opus_of,
    opus_status,
)
from server.speech.tts import SoundChunk
from tests.support.opus_packets import packets_of

FRAME = SPEECH_RATE * FRAME_MS // 1000


def voice(rate: int, seconds: float = 1.0) -> Samples:
    """Return a hum of 150 Hz and its harmonics, four swells a second."""
    t = np.arange(round(rate * seconds)) / rate
    hum = sum(np.sin(2 * np.pi * 150 * n * t) / n for n in range(1, 12))
    return np.asarray(0.2 * hum * (0.6 + 0.4 * np.sin(8 * np.pi * t)), np.float32)


def heard(packets: list[bytes]) -> Samples:
    decoder = OpusDecoder()
    return np.concatenate([pcm16_to_samples(decoder.decode(packet) or b"") for packet in packets])


def encode(sound: Samples, rate: int, size: int) -> list[OpusChunk]:
    encoder, pcm = OpusEncoder(), samples_to_pcm16(sound)
    chunks = [encoder.encode(SoundChunk(pcm[at : at + size], rate)) for at in range(0, len(pcm), size)]
    return [*chunks, encoder.finish()]


@pytest.mark.parametrize("rate", [16_000, 22_050, 24_000, 48_000])
@pytest.mark.parametrize("size", [200, 16_384])
def test_a_sentence_arrives_whole_and_in_few_bytes(rate: int, size: int) -> None:
    chunks = encode(voice(rate), rate, size)
    packets = [packet for chunk in chunks for packet in chunk.messages]

    sound = heard(packets)

    assert len(packets) == 51  # a second and the encoder's 6.5 ms, padded to whole frames
    assert sum(chunk.ms for chunk in chunks) == 51 * FRAME_MS == sound.size * 1000 / SPEECH_RATE
    assert 8 * sum(map(len, packets)) / 1.02 < 1.2 * BITRATE
    late = round(SPEECH_RATE * 0.0065)
    said = voice(SPEECH_RATE)
    likeness = np.corrcoef(sound[late : late + said.size], said)[0, 1]
    assert likeness > 0.85
    assert level_dbfs(sound[late + said.size + 32 :]) < level_dbfs(said) - 15


def test_words_are_placed_in_the_sound_that_is_sent() -> None:
    """At the first of these chunks no packet is whole, and the next one's words begin in the packet before."""
    encoder, sent_ms, begins = OpusEncoder(), 0.0, []
    for number in range(8):
        chunk = encoder.encode(SoundChunk(bytes(2 * 240), RATE, [(number, 3.0)]))
        assert chunk.words is not None
        begins += [sent_ms + ms for _, ms in chunk.words]
        sent_ms += chunk.ms

    assert begins == pytest.approx([10 * number + 3.0 + 6.5 for number in range(8)])
    assert encoder.encode(SoundChunk(bytes(480), RATE, None)).words is None


def test_no_sound_gives_no_packet() -> None:
    assert OpusEncoder().finish() == OpusChunk([], ())


async def test_encoding_as_it_comes_closes_its_source_when_it_is_given_up() -> None:
    closed = asyncio.Event()

    async def chunks() -> AsyncGenerator[SoundChunk, None]:
        try:
            while True:
                yield SoundChunk(bytes(2 * 480), RATE)
        finally:
            closed.set()

    sound = opus_of(chunks())
    assert (await anext(sound)).ms == FRAME_MS
    await sound.aclose()

    assert closed.is_set()


@pytest.mark.parametrize(
    ("options", "ms"),
    [
        ({}, 20),
        ({"frame_ms": 2.5}, 2.5),
        ({"frame_ms": 60}, 60),
        ({"frame_ms": 120}, 120),
        ({"rate": 48_000, "channels": 2}, 20),
        ({"fec": True}, 20),
    ],
    ids=["usual", "short", "long", "of six frames", "stereo", "redundant"],
)
def test_packets_of_any_length_and_in_stereo_are_heard(options: dict[str, Any], ms: float) -> None:
    rate = options.get("rate", SPEECH_RATE)
    packets = packets_of(voice(rate), **options)

    sound = heard(packets)

    assert sound.size == round(len(packets) * ms * SPEECH_RATE / 1000)
    assert level_dbfs(sound[1600:14_400]) == pytest.approx(level_dbfs(voice(SPEECH_RATE)), abs=1)


def test_silence_that_is_not_sent_in_full_keeps_its_time() -> None:
    packets = packets_of(np.zeros(2 * SPEECH_RATE, np.float32), dtx=True)
    assert min(map(len, packets)) <= 2, "otherwise nothing was left out"

    sound = heard(packets)

    assert sound.size == len(packets) * FRAME
    assert level_dbfs(sound) < -50


def test_a_lost_packet_is_filled_by_the_voice_and_a_gap_fades() -> None:
    decoder = OpusDecoder()
    packets = packets_of(voice(SPEECH_RATE))
    for packet in packets[:25]:
        assert decoder.decode(packet)

    gap = [pcm16_to_samples(decoder.conceal()) for _ in range(100)]

    assert all(part.size == FRAME for part in gap)
    assert level_dbfs(gap[0]) == pytest.approx(level_dbfs(voice(SPEECH_RATE)), abs=6)
    assert level_dbfs(gap[-1]) < level_dbfs(gap[0]) - 20


@pytest.mark.parametrize("junk", [b"", b"\xff", b"\x7f\xff\xff", bytes(MAX_PACKET_BYTES + 1), b"\x03\x00"])
def test_what_is_no_packet_is_refused_and_the_stream_goes_on(junk: bytes) -> None:
    decoder, packets = OpusDecoder(), packets_of(voice(SPEECH_RATE))
    before = decoder.decode(packets[0])

    assert decoder.decode(junk) is None
    assert len(decoder.conceal()) == len(before or b"")
    assert decoder.decode(packets[1])


def test_no_bytes_crash_the_decoder() -> None:
    decoder, random = OpusDecoder(), np.random.default_rng(3)
    for _ in range(2000):
        sound = decoder.decode(random.bytes(int(random.integers(1, 200))))
        assert sound is None or 0 < len(sound) <= 2 * SPEECH_RATE * 120 // 1000


def test_libopus_is_there_and_ffmpeg_is_not_loaded() -> None:
    code = (
        "from pathlib import Path; from server.speech.opus import opus_status as s; print(s().state);"
        "print('libavcodec' in Path('/proc/self/maps').read_text() if Path('/proc/self/maps').exists() else False)"
    )

    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert out.split() == ["ready", "False"]
    assert opus_status().name is not None


def test_a_server_without_libopus_says_how_to_get_it() -> None:
    code = (
        "import ctypes, sys\n"
        "def gone(name): raise OSError(name)\n"
        "ctypes.CDLL = gone\n"
        "from server.speech.opus import opus_status, OpusDecoder\n"
        "print(opus_status().state, opus_status().reason)"
    )

    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert out.startswith("missing libopus was not found: install the package av")
    assert 'use the format "pcm16"' in out
    assert issubclass(SpeechUnavailable, Exception)
