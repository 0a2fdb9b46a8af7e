"""PCM beside Opus: bytes on the wire, the server's CPU for a talking session, and words lost in recognition."""

import asyncio
import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any, Final

import numpy as np
import psutil
from websockets.asyncio.client import ClientConnection, connect

from benchmarks.figures import Figure, figure
from benchmarks.processes import Running, parley, running
from benchmarks.voice import QUESTIONS, speak_all
from server.config import SpeechProviderSettings
from server.speech.audio import SPEECH_RATE, PcmResampler, Resampler, pcm16_to_samples, samples_to_pcm16
from server.speech.opus import OpusDecoder, OpusEncoder
from server.speech.stt import Recognizer, recognizer_of
from server.speech.tts import SoundChunk
from tests.support.speech_corpus import SENTENCES, VOICES, noise, spoken

FRAME_S: Final = 0.02
MICROPHONE_RATE: Final = 48_000
"""The rate at which browsers record."""
_PERIOD_S: Final = 10.0
_SPEECH_S: Final = 4.0
_REPLY_S: Final = 1.5  # each of the three sentences of a reply
_VOICE_RATE: Final = 24_000
_WARM_UP_S: Final = 3.0
_KBIT: Final = 8 / 1000


@dataclass
class _Listener:
    """What a session has received."""

    sound_bytes: int = 0
    sound_ms: float = 0.0
    turns: int = 0
    tasks: list[asyncio.Task[None]] = field(default_factory=list)


async def measure(*, is_quick: bool) -> list[Figure]:
    sessions, seconds = (10, 20.0) if is_quick else (20, 60.0)
    figures: list[Figure] = []
    async with running("-m", "benchmarks.voice_engines", str(round(2 * _VOICE_RATE * _REPLY_S)), "speech") as engines:
        speech = {
            f"PARLEY_SPEECH__{part}__{key}": value
            for part in ("STT", "TTS")
            for key, value in (("PROVIDER", "openai"), ("BASE_URL", engines.url), ("MODEL", "time-teller"))
        }
        for sound in ("pcm16", "opus"):
            async with parley(engines.url, environ=speech) as server:
                figures += await _talk(server, sound, sessions, seconds)
    return [*figures, *await _recognition(QUESTIONS[:10] if is_quick else QUESTIONS)]


async def _talk(server: Running, sound: str, sessions: int, seconds: float) -> list[Figure]:
    messages = _microphone(sound)
    listeners = [_Listener() for _ in range(sessions)]
    sockets = [await _open(server.url, sound, listener) for listener in listeners]
    try:
        await _send(sockets, messages, _WARM_UP_S)
        for listener in listeners:
            listener.sound_bytes, listener.sound_ms, listener.turns = 0, 0.0, 0
        process = psutil.Process(server.pid)
        before, began_s = _cpu_s(process), time.perf_counter()
        await _send(sockets, messages, seconds)
        share = (_cpu_s(process) - before) / (time.perf_counter() - began_s) / sessions
    finally:
        for listener in listeners:
            for task in listener.tasks:
                task.cancel()
        await asyncio.gather(*(socket.close() for socket in sockets), return_exceptions=True)
    heard_s = sum(listener.sound_ms for listener in listeners) / 1000
    up = sum(map(len, messages)) * _KBIT / (len(messages) * FRAME_S)
    down = sum(listener.sound_bytes for listener in listeners) * _KBIT / heard_s
    goal = 40 if sound == "opus" else None
    name = f"{sound}, {sessions} talking sessions"
    return [
        figure(f"{name}: microphone", "kbit/s", [up], goal_p95=goal),
        figure(f"{name}: voice", "kbit/s", [down], goal_p95=goal),
        figure(f"{name}: turns a minute and session", "", [60 * sum(x.turns for x in listeners) / seconds / sessions]),
        figure(f"{name}: CPU of the server, a session", "% core", [100 * share]),
    ]


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


async def _open(url: str, sound: str, listener: _Listener) -> ClientConnection:
    socket = await connect(url.replace("http", "ws", 1) + "/ws", compression=None, open_timeout=30)
    await socket.recv()  # ready
    formats = {"input": {"format": sound, "sample_rate": MICROPHONE_RATE}, "output": {"format": sound}}
    await socket.send(json.dumps({"type": "configure", **formats}))
    listener.tasks.append(asyncio.create_task(_listen(socket, listener), name="listener"))
    return socket


async def _listen(socket: ClientConnection, listener: _Listener) -> None:
    async for message in socket:
        if isinstance(message, bytes):
            listener.sound_bytes += len(message)
            continue
        frame: dict[str, Any] = json.loads(message)
        match frame["type"]:
            case "speech_started":
                await socket.send(json.dumps({"type": "history", "utterance": frame["utterance"], "messages": []}))
            case "sentence_end":
                listener.sound_ms += frame["duration_ms"]
            case "turn_end":
                listener.turns += 1


async def _send(sockets: list[ClientConnection], messages: list[bytes], seconds: float) -> None:
    """Each session stands at another place of the conversation."""
    began_s = time.perf_counter()
    for tick in range(round(seconds / FRAME_S)):
        for number, socket in enumerate(sockets):
            await socket.send(messages[(tick + number * len(messages) // len(sockets)) % len(messages)])
        await asyncio.sleep(max(0.0, began_s + (tick + 1) * FRAME_S - time.perf_counter()))


def _microphone(sound: str) -> list[bytes]:
    """Ten seconds, 20 ms a message: sentences, then the noise of a room."""
    room = noise(np.random.default_rng(5), "pink", _PERIOD_S, -45.0)
    voice = np.concatenate([spoken(text, VOICES[0]) for text in SENTENCES[:3]])[: round(_SPEECH_S * SPEECH_RATE)]
    room[: voice.size] += voice
    resampler = PcmResampler(SPEECH_RATE, MICROPHONE_RATE)
    pcm = resampler.feed(samples_to_pcm16(room)) + resampler.finish()
    if sound == "pcm16":
        size = round(2 * MICROPHONE_RATE * FRAME_S)
        return [pcm[at : at + size] for at in range(0, len(pcm), size)]
    return list(OpusEncoder().encode(SoundChunk(pcm, MICROPHONE_RATE)).messages)


async def _recognition(texts: tuple[str, ...]) -> list[Figure]:
    """Recognise the spoken questions as they are, and once more after Opus."""
    recognizer = recognizer_of(SpeechProviderSettings(), {})
    await recognizer.start()
    try:
        clips = [*zip(texts, await speak_all(texts), strict=True), *_by_other_voices()]
        wrong = {"pcm16": 0, "opus": 0}
        words = 0
        for text, (pcm, rate) in clips:
            words += len(_words(text))
            for sound, heard in (("pcm16", pcm), ("opus", _through_opus(pcm, rate))):
                at_16_khz = heard if sound == "opus" else _at_16_khz(pcm, rate)
                wrong[sound] += _errors(text, await _recognize(recognizer, at_16_khz))
    finally:
        await recognizer.aclose()
    lost = 100 * (wrong["opus"] - wrong["pcm16"]) / words
    return [
        *(
            figure(
                f"recognition of {len(clips)} sentences ({words} words), {sound}: wrong words", "%", [100 * n / words]
            )
            for sound, n in wrong.items()
        ),
        figure("recognition: words lost through Opus", "%", [lost], goal_p95=1),
    ]


def _by_other_voices() -> Iterator[tuple[str, tuple[bytes, int]]]:
    for number, text in enumerate(SENTENCES):
        yield text, (samples_to_pcm16(spoken(text, VOICES[number % len(VOICES)])), SPEECH_RATE)


async def _recognize(recognizer: Recognizer, pcm: bytes) -> str:
    silence = bytes(SPEECH_RATE // 2)
    return await recognizer.recognize(silence + pcm + silence, language="en")


def _at_16_khz(pcm: bytes, rate: int) -> bytes:
    return samples_to_pcm16(Resampler(rate).feed(pcm16_to_samples(pcm)))


def _through_opus(pcm: bytes, rate: int) -> bytes:
    encoder, decoder = OpusEncoder(), OpusDecoder()
    packets = [*encoder.encode(SoundChunk(pcm, rate)).messages, *encoder.finish().messages]
    return b"".join(decoder.decode(packet) or decoder.conceal() for packet in packets)


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z']+", text.lower())


def _errors(text: str, heard: str) -> int:
    """Words to change, leave out or put in: the larger side of each difference."""
    changes = SequenceMatcher(None, _words(text), _words(heard), autojunk=False).get_opcodes()
    return sum(max(i2 - i1, j2 - j1) for tag, i1, i2, j1, j2 in changes if tag != "equal")
