"""A microphone that says what the test wants, and an ear at the page's loudspeaker.

Chromium plays a WAV file as its microphone and reads it anew, from the
beginning, each time a page opens the microphone: what is said next is written
into the file, then the microphone is switched on.
"""

import asyncio
import base64
import wave
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from playwright.async_api import Page

from server.speech.audio import SPEECH_RATE, Resampler, pcm16_to_samples, samples_to_pcm16
from server.speech.stt import EmbeddedRecognizer
from server.speech.tts import EmbeddedSynthesizer, SpeechRequest
from server.speech.worker import SpeechWorker, command_of

LEAD_S: Final = 1.6
"""The server distrusts the first second of a microphone beside a loudspeaker that plays."""

# Whatever the page connects to its loudspeaker is recorded, too.
EAR: Final = """
const connect = AudioNode.prototype.connect;
AudioNode.prototype.connect = function (target, ...rest) {
  if (target instanceof AudioDestinationNode && !window.ear) {
    const tap = this.context.createMediaStreamDestination();
    connect.call(this, tap);
    window.ear = { stream: tap.stream };
  }
  return connect.call(this, target, ...rest);
};
"""
_LISTEN: Final = """() => {
  window.ear.chunks = [];
  window.ear.recorder = new MediaRecorder(window.ear.stream);
  window.ear.recorder.ondataavailable = ({ data }) => window.ear.chunks.push(data);
  window.ear.recorder.start();
}"""
_SILENT: Final = """() => {
  const level = Number(document.querySelector(".foot").style.getPropertyValue("--level"));
  if (level > 0.4) window.loudAt = performance.now();
  return window.loudAt && performance.now() - window.loudAt > 800;
}"""
_HEARD: Final = """async () => {
  const { recorder, chunks } = window.ear;
  await new Promise((resolve) => { recorder.onstop = resolve; recorder.stop(); });
  const encoded = await new Blob(chunks).arrayBuffer();
  const sound = await new OfflineAudioContext(1, 1, 16000).decodeAudioData(encoded);
  const pcm = Int16Array.from(sound.getChannelData(0), (x) => Math.max(-1, Math.min(1, x)) * 32767);
  const bytes = new Uint8Array(pcm.buffer);
  let binary = "";
  for (let i = 0; i < bytes.length; i += 8192) binary += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return btoa(binary);
}"""


@dataclass
class Voices:
    """The embedded engines, the test's own."""

    recognizer: EmbeddedRecognizer
    synthesizer: EmbeddedSynthesizer

    async def say(self, text: str) -> bytes:
        """PCM16 at 16 kHz."""
        resampler: Resampler | None = None
        sound: list[bytes] = []
        async with aclosing(self.synthesizer.synthesize(SpeechRequest(text))) as chunks:
            async for chunk in chunks:
                resampler = resampler or Resampler(chunk.sample_rate)
                sound.append(samples_to_pcm16(resampler.feed(pcm16_to_samples(chunk.pcm))))
        return b"".join(sound)

    async def understand(self, pcm: bytes) -> str:
        return (await self.recognizer.recognize(pcm)).lower()


@asynccontextmanager
async def embedded_voices() -> AsyncIterator[Voices]:
    async with loaded("stt") as ear, loaded("tts") as mouth:
        yield Voices(EmbeddedRecognizer(ear), EmbeddedSynthesizer(mouth, timeout_s=60))


@asynccontextmanager
async def loaded(kind: str) -> AsyncIterator[SpeechWorker]:
    changed = asyncio.Event()
    worker = SpeechWorker(f"the test's {kind}", command_of(kind), on_change=changed.set)
    worker.start()
    try:
        while worker.status.state == "loading":
            await changed.wait()
            changed.clear()
        assert worker.status.state == "ready", worker.status.reason
        yield worker
    finally:
        await worker.aclose()


class WavMicrophone:
    """The file that Chromium takes for its microphone."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.will_say(b"")

    @property
    def flags(self) -> Sequence[str]:
        return (
            "--use-fake-device-for-media-stream",
            "--use-fake-ui-for-media-stream",
            f"--use-file-for-fake-audio-capture={self.file}%noloop",
        )

    def will_say(self, pcm: bytes) -> None:
        """When it is opened next: silence, then this, then silence."""
        with wave.open(str(self.file), "wb") as wav:
            wav.setnchannels(1)
            wav.setsampwidth(2)
            wav.setframerate(SPEECH_RATE)
            wav.writeframes(silence(LEAD_S) + pcm + silence(1.0))


def silence(seconds: float) -> bytes:
    return bytes(2 * round(seconds * SPEECH_RATE))


def beginning(pcm: bytes, seconds: float) -> bytes:
    """So much of it, faded out."""
    samples = np.frombuffer(pcm, np.int16)
    loud = np.flatnonzero(np.abs(samples) > 600)
    first = samples[loud[0] : loud[0] + round(seconds * SPEECH_RATE)]
    fade = np.minimum(1.0, np.arange(first.size, 0, -1) / (0.03 * SPEECH_RATE))
    return (first * fade).astype(np.int16).tobytes()


async def listen(tab: Page) -> None:
    """To the page's loudspeaker, from now on; it has made a sound before, or was allowed to."""
    await tab.wait_for_function("() => window.ear")
    await tab.evaluate(_LISTEN)


async def heard(tab: Page) -> bytes:
    """Since `listen`: PCM16 at 16 kHz."""
    return base64.b64decode(await tab.evaluate(_HEARD))


async def silent(tab: Page) -> None:
    """Once the page's microphone has heard all that is said."""
    await tab.wait_for_function(_SILENT)
