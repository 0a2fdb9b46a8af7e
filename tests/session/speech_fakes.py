"""Ears and a mouth that a test answers for: no engine, no thread, no waiting."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field

import numpy as np

from server.speech.audio import level_dbfs, pcm16_to_samples, samples_to_pcm16
from server.speech.service import SpeechService
from server.speech.stt import OnPartial, Recognizer
from server.speech.tts import SoundChunk, SpeechRequest, Synthesizer
from server.speech.vad import Judged, VadStream, VoiceDetector
from server.speech.worker import DueIn, at_once
from server.wire.frames import SpeechPart
from tests.session.fakes import Pause

RATE = 16_000
READY = SpeechPart(state="ready", name="fake")
CHUNK = b"\1\0" * 1600
"""100 ms."""


class LoudStream(VadStream):
    """What is loud is a voice; the answer comes with the next turn of the event loop."""

    def feed(self, pcm: bytes) -> bool:
        samples = pcm16_to_samples(pcm)
        is_voice = bool(np.abs(samples).mean() > 0.05)
        judged = Judged(pcm, float(is_voice), float(level_dbfs(samples)), float(is_voice))
        asyncio.get_running_loop().call_soon(self._answer, judged)
        return True

    def _answer(self, judged: Judged) -> None:
        if not self.is_closed:
            self._on_judged(judged)


class LoudIsVoice(VoiceDetector):
    """A detector without a model."""

    def open(self, on_judged: Callable[[Judged], None]) -> VadStream:
        return LoudStream(self, on_judged)

    @property
    def status(self) -> SpeechPart:
        return READY


@dataclass
class Held:
    """A recognition that takes until the test lets it end."""

    text: str
    partial: str | None = None
    resume: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass
class Asked:
    audio: bytes = field(repr=False)
    language: str | None
    due_in_s: DueIn
    is_cancelled: bool = False


class FakeRecognizer:
    """Gives one answer for each call; the last is given again and again."""

    languages: list[str] = ["en"]  # noqa: RUF012
    status = READY

    def __init__(self, *answers: str | Held | Exception) -> None:
        self.answers = answers or ("hello there",)
        self.asked: list[Asked] = []

    async def start(self) -> None:
        pass

    async def aclose(self) -> None:
        pass

    async def recognize(
        self,
        audio: bytes,
        *,
        language: str | None = None,
        on_partial: OnPartial | None = None,
        due_in_s: DueIn = at_once,
    ) -> str:
        asked = Asked(audio, language, due_in_s)
        self.asked.append(asked)
        answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
        try:
            if isinstance(answer, Held):
                if answer.partial is not None and on_partial is not None:
                    on_partial(answer.partial)
                await answer.resume.wait()
                return answer.text
            if isinstance(answer, Exception):
                raise answer
            await asyncio.sleep(0)
            return answer
        except asyncio.CancelledError:
            asked.is_cancelled = True
            raise


class FakeSynthesizer:
    """Two chunks of 100 ms for every sentence, or what `scripts` says for it."""

    languages: list[str] = ["en"]  # noqa: RUF012
    voices: list[str] = ["ann", "ben"]  # noqa: RUF012
    sample_rate: int | None = RATE
    status = READY

    def __init__(self, scripts: dict[str, list[bytes | Exception | Pause]] | None = None) -> None:
        self.scripts = scripts or {}
        self.asked: list[tuple[str, str | None]] = []
        self.spoken_as: list[tuple[str | None, float]] = []  # speaker and speed of each
        self.open = 0  # generators that began and are not closed
        self.most_open = 0

    @property
    def texts(self) -> list[str]:
        return [text for text, _ in self.asked]

    async def start(self) -> None:
        pass

    async def aclose(self) -> None:
        pass

    async def synthesize(self, request: SpeechRequest) -> AsyncGenerator[SoundChunk, None]:
        self.asked.append((request.text, request.language))
        self.spoken_as.append((request.speaker, request.speed))
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            for step in self.scripts.get(request.text, [CHUNK, CHUNK]):
                match step:
                    case Pause():
                        step.reached.set()
                        await step.resume.wait()
                    case Exception():
                        raise step
                    case _:
                        yield SoundChunk(step, RATE)
                        await asyncio.sleep(0)
        finally:
            self.open -= 1


def speech(recognizer: Recognizer | None = None, synthesizer: Synthesizer | None = None) -> SpeechService:
    return SpeechService(recognizer or FakeRecognizer(), synthesizer or FakeSynthesizer(), LoudIsVoice())


async def hear(feed: Callable[[bytes], None], seconds: float, *, is_voice: bool, level: float = 0.2) -> None:
    """Speak into a microphone, or be silent before it, 20 ms a frame."""
    frame = samples_to_pcm16(np.full(RATE // 50, level if is_voice else 0.0, dtype=np.float32))
    for _ in range(round(seconds * 50)):
        feed(frame)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
