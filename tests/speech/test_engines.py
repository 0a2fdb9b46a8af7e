"""The real engines, in their real processes: what is synthesised is recognised again.

One pair of processes serves all tests of this file: loading is what takes time.
"""

import asyncio
import difflib
import os
import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import numpy as np
import psutil
import pytest
import pytest_asyncio

from server.config import SpeechProviderSettings
from server.errors import SpeechUnavailable
from server.speech.audio import Resampler, level_dbfs, pcm16_to_samples, samples_to_pcm16
from server.speech.stt import EmbeddedRecognizer, recognizer_of
from server.speech.tts import EmbeddedSynthesizer, SoundChunk, SpeechRequest, Synthesizer, synthesizer_of
from server.speech.worker import SpeechWorker, command_of
from tests.support.waiting import children_of, until

ESPEAK = SpeechProviderSettings(voice="espeak", processes=2)

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]


@pytest.fixture(scope="module")
def voice_worker() -> SpeechWorker:
    return SpeechWorker("the voice", command_of("tts"))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def voice(voice_worker: SpeechWorker) -> AsyncIterator[EmbeddedSynthesizer]:
    made = EmbeddedSynthesizer(voice_worker, timeout_s=60)
    await made.start()
    await loaded(voice_worker)
    yield made
    await made.aclose()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ears(voice: EmbeddedSynthesizer) -> AsyncIterator[EmbeddedRecognizer]:
    worker = SpeechWorker("speech recognition", command_of("stt"))
    made = EmbeddedRecognizer(worker)
    await made.start()
    await loaded(worker)
    yield made
    await made.aclose()


def engines(kind: str = "") -> list[psutil.Process]:
    return children_of(os.getpid(), f"worker_engines {kind}")


async def loaded(worker: SpeechWorker) -> None:
    """However long that takes: who asks meanwhile is told to come again."""
    await until(lambda: worker.status.state != "loading")


async def sound_of(voice: Synthesizer, text: str, language: str | None = None) -> bytes:
    """At 16 kHz, with a little silence around, as the ears cut it."""
    async with aclosing(voice.synthesize(SpeechRequest(text, language=language))) as chunks:
        heard = [chunk async for chunk in chunks]
    sound = pcm16_to_samples(b"".join(chunk.pcm for chunk in heard))
    room = np.random.default_rng(1).normal(0, 0.0005, sound.size * 16_000 // heard[0].sample_rate + 8000)
    room[4800 : 4800 + room.size - 8000] += Resampler(heard[0].sample_rate).feed(sound)[: room.size - 8000]
    return samples_to_pcm16(room.astype(np.float32))


def words(text: str) -> list[str]:
    return re.findall(r"[a-z']+", text.lower())


async def test_the_voice_tells_when_it_says_each_word(voice: EmbeddedSynthesizer) -> None:
    text = "In 1984 one of the trains was late, and two were not."
    async with aclosing(voice.synthesize(SpeechRequest(text))) as chunks:
        heard = [chunk async for chunk in chunks]

    times = [time for chunk in heard[:1] for time in chunk.words or ()]
    assert [text[offset:].split(maxsplit=1)[0] for offset, _ in times] == text.split()
    samples = np.abs(pcm16_to_samples(b"".join(chunk.pcm for chunk in heard)))
    loud = np.flatnonzero(samples > 0.02)
    at = int(np.argmax(np.diff(loud)))  # the comma
    pause_ms = (loud[at] * 1000 / heard[0].sample_rate, loud[at + 1] * 1000 / heard[0].sample_rate)
    after = dict(times)[text.index("and")]
    assert pause_ms[0] < after < pause_ms[1] + 50
    assert all(chunk.words == () for chunk in heard[1:])


async def test_the_listener_chooses_voice_and_speed(voice: EmbeddedSynthesizer) -> None:
    text = "Good morning, how are you today?"
    own, espeak = voice.voices

    async def seconds(speaker: str | None, speed: float) -> float:
        async with aclosing(voice.synthesize(SpeechRequest(text, speaker=speaker, speed=speed))) as chunks:
            return sum([len(chunk.pcm) / 2 / chunk.sample_rate async for chunk in chunks])

    usual = await seconds(own, 1.0)
    assert 1.2 * await seconds(own, 2.0) < usual < await seconds(None, 0.5) / 1.4
    assert 1.6 * await seconds(espeak, 2.0) < await seconds(espeak, 1.0)
    assert await seconds("nobody", 1.0) == pytest.approx(usual, rel=0.3)


async def test_what_is_said_is_understood(voice: EmbeddedSynthesizer, ears: EmbeddedRecognizer) -> None:
    for text in ("What is the weather like in London tomorrow?", "Please tell me a short story.", "Yes."):
        # The voice is not twice the same, and a small recogniser misses one saying of many: the best of four counts.
        heard = [words(await ears.recognize(await sound_of(voice, text))) for _ in range(4)]
        assert max(difflib.SequenceMatcher(None, each, words(text)).ratio() for each in heard) >= 0.8, heard

    assert voice.status.state == ears.status.state == "ready"
    assert (voice.sample_rate, voice.languages[0], ears.languages) == (22_050, "en", ["en"])


async def test_noise_and_silence_are_no_words_also_after_speech(
    voice: EmbeddedSynthesizer, ears: EmbeddedRecognizer
) -> None:
    random = np.random.default_rng(5)
    for level in (0.0, 0.002, 0.05, 0.3):
        await ears.recognize((await sound_of(voice, "Hello there."))[:-6400])
        assert await ears.recognize(samples_to_pcm16(random.normal(0, level, 24_000).astype(np.float32))) == ""


async def test_a_reply_begins_with_sound_and_not_with_silence(voice: EmbeddedSynthesizer) -> None:
    async with aclosing(voice.synthesize(SpeechRequest("Good morning to you."))) as chunks:
        first = await anext(chunks)

    assert level_dbfs(pcm16_to_samples(first.pcm)[: first.sample_rate // 10]) > -55


@pytest.mark.parametrize(
    ("text", "language"), [("你好，世界。", None), ("こんにちは。", "ja"), ("Привет!", None), ("Guten Tag.", "de-DE")]
)
async def test_what_the_voice_cannot_read_is_said_all_the_same(
    voice: EmbeddedSynthesizer, text: str, language: str | None
) -> None:
    sound = pcm16_to_samples(await sound_of(voice, text, language))

    assert sound.size / 16_000 > 0.8
    assert level_dbfs(sound) > -45


async def test_marks_without_words_are_no_sound(voice: EmbeddedSynthesizer) -> None:
    async with aclosing(voice.synthesize(SpeechRequest(" … 🙂 "))) as chunks:
        assert [chunk async for chunk in chunks] == []


async def test_a_voice_that_is_killed_in_mid_sentence_is_an_error_and_speaks_again(
    voice: EmbeddedSynthesizer, voice_worker: SpeechWorker
) -> None:
    async with aclosing(voice.synthesize(SpeechRequest("One clause and another one, " * 30))) as chunks:
        await anext(chunks)
        [process] = engines("tts")
        process.kill()
        with pytest.raises(SpeechUnavailable, match="crashed"):
            async for _ in chunks:
                pass

    await loaded(voice_worker)
    assert len(await sound_of(voice, "Here I am again.")) > 16_000


async def test_a_cancelled_synthesis_makes_room_for_the_next(
    voice: EmbeddedSynthesizer, voice_worker: SpeechWorker
) -> None:
    async def say() -> None:
        await sound_of(voice, "One clause and another one, " * 100)

    tasks = [asyncio.create_task(say()) for _ in range(8)]  # minutes of sound
    await until(lambda: voice_worker.waiting == 7)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

    assert voice_worker.waiting == 0
    assert len(await sound_of(voice, "Now.")) > 4000


async def test_a_long_sentence_is_overtaken_between_its_pieces_by_what_is_due_earlier(
    voice: EmbeddedSynthesizer,
) -> None:
    text = "One clause and another one, " * 40
    async with aclosing(voice.synthesize(SpeechRequest(text, due_in_s=lambda: 60.0))) as chunks:
        heard = [await anext(chunks)]
        rest = asyncio.create_task(_all(chunks))
        await sound_of(voice, "Now.")
        assert not rest.done()
        heard += await rest

    seconds = sum(len(chunk.pcm) / 2 / chunk.sample_rate for chunk in heard)
    assert seconds > 0.04 * len(text)
    offsets = [offset for chunk in heard for offset, _ in chunk.words or ()]
    assert offsets == [match.start() for match in re.finditer(r"\S+", text)]


async def _all(chunks: AsyncIterator[SoundChunk]) -> list[SoundChunk]:
    return [chunk async for chunk in chunks]


async def test_an_engine_runs_in_as_many_processes_as_are_configured() -> None:
    before = len(engines())
    for made in (recognizer_of(SpeechProviderSettings(processes=2), {}), synthesizer_of(ESPEAK, {})):
        await made.start()
        await until(lambda: len(engines()) == before + 2)
        await made.aclose()


async def test_espeak_speaks_alone_where_it_is_asked_for() -> None:
    made = synthesizer_of(ESPEAK, {})
    await made.start()

    assert len(await sound_of(made, "Hello there.")) > 16_000
    assert made.status.name == "espeak-ng"
    assert made.sample_rate == 22_050
    await made.aclose()


async def test_a_voice_that_is_not_there_is_told_and_another_speaks(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    worker = SpeechWorker("the voice", command_of("tts", "--voice", str(tmp_path / "gone.onnx")))
    worker.start()
    await loaded(worker)
    await worker.aclose()

    assert worker.facts["name"] == "espeak-ng"
    [told] = [record for record in caplog.records if record.levelname == "WARNING"]
    assert told.getMessage().startswith("the voice runs without one of its parts: FileNotFoundError: ")
    assert "gone.onnx" in told.getMessage()
