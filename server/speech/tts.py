"""Synthesis, from words to sound: the protocol and its providers."""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal, Protocol

from server.config import SpeechProviderSettings
from server.errors import SpeechTimeout, SpeechUnavailable
from server.openai_client import Unreachable, pieces_of
from server.speech.pcm_reader import MAX_RATE, MIN_RATE, RAW_RATE, PcmReader
from server.speech.providers import (
    EndpointProvider,
    NoProvider,
    SpeechEndpoint,
    SpeechEndpointClient,
    SpeechProvider,
    WorkerProvider,
    speech_endpoints,
)
from server.speech.worker import DueIn, SpeechWorker, at_once, command_of
from server.wire.frames import SpeechPart

FIRST_SOUND_TIMEOUT_S: Final = 10.0
"""Time to the first sound of a sentence once it is due, and from each piece of it to the next; longer is a stall."""
MAX_WAITING_SENTENCES: Final = 256
"""Sentences of all turns that wait for the embedded voice; a turn has a few of them."""
MAX_CHUNK_BYTES: Final = 16_384
"""Size of a chunk, which is one message of the WebSocket; larger pieces are cut."""
MAX_TEXT_CHARS: Final = 4000
"""Length of a text; longer ones are refused, sentences are far shorter."""

_MAX_TYPE_CHARS: Final = 60
_SOUND_TYPES: Final = frozenset(
    "application/octet-stream binary/octet-stream audio/pcm audio/x-pcm audio/l16 audio/x-l16 audio/raw audio/x-raw "
    "audio/wav audio/x-wav audio/wave audio/x-pn-wav audio/vnd.wave".split()
)
"""The content types with which servers send PCM or WAV; many name none at all."""


@dataclass(frozen=True, slots=True)
class SpeechRequest:
    """A sentence to be spoken, and how.

    `speaker`: one of the synthesizer's `voices`, else the default speaks. `speed`: 0.25 to 2, as far as the engine goes.
    `due_in_s`: when the listener needs what has not come yet; where requests wait for each other, by that.
    """

    text: str
    language: str | None = None
    speaker: str | None = None
    speed: float = 1.0
    due_in_s: DueIn = at_once


@dataclass(frozen=True, slots=True)
class SoundChunk:
    """Sound: whole samples of PCM16 mono. One synthesis keeps one sample rate.

    words: those that begin in it or in what follows before the next words, as (offset in the given text, ms from the
    beginning of this chunk); None if they are not known.
    """

    format: ClassVar[Literal["pcm16"]] = "pcm16"
    pcm: bytes = field(repr=False)
    sample_rate: int
    words: Sequence[tuple[int, float]] | None = None

    @property
    def messages(self) -> Sequence[bytes]:
        return (self.pcm,)

    @property
    def ms(self) -> float:
        return len(self.pcm) / 2 * 1000 / self.sample_rate


class Synthesizer(SpeechProvider, Protocol):
    @property
    def sample_rate(self) -> int | None:
        """Sample rate of the sound, as far as it is known; the chunks have the last word."""

    @property
    def voices(self) -> list[str]:
        """Names that `speaker` may have, the default first; empty where they are not known."""

    def synthesize(self, request: SpeechRequest) -> AsyncGenerator[SoundChunk, None]:
        """Yield the sound as it comes, at most MAX_CHUNK_BYTES a chunk; nothing for no words.

        Closing the generator or cancelling its task gives up the synthesis: no sound
        comes after that. Raises SpeechError, also in mid-sentence.
        """


class NoSynthesizer(NoProvider):
    status = SpeechPart(state="missing", reason="switched off (speech.tts.provider: none)")
    sample_rate: int | None = None
    voices: list[str] = []  # noqa: RUF012  a constant that the protocol shows as a list

    async def synthesize(self, request: SpeechRequest) -> AsyncGenerator[SoundChunk, None]:
        raise SpeechUnavailable("speech synthesis is switched off (speech.tts.provider)")
        yield  # type: ignore[unreachable]  # it makes this a generator


class EmbeddedSynthesizer(WorkerProvider):
    """Piper and espeak-ng in a process of their own; a long sentence is asked for piece by piece."""

    def __init__(self, worker: SpeechWorker, *, timeout_s: float = FIRST_SOUND_TIMEOUT_S) -> None:
        super().__init__(worker)
        self._timeout_s = timeout_s

    @property
    def sample_rate(self) -> int | None:
        rate = self.worker.facts.get("sample_rate")
        return rate if isinstance(rate, int) else None

    @property
    def voices(self) -> list[str]:
        return list(self.worker.facts.get("voices", []))

    async def synthesize(self, request: SpeechRequest) -> AsyncGenerator[SoundChunk, None]:
        _check(request.text)
        piece, left = 0, 1
        how = {"text": request.text, "language": request.language, "speaker": request.speaker, "speed": request.speed}
        while left:
            asked = {"op": "synthesize", **how, "piece": piece}
            sound = self.worker.request(asked, timeout_s=self._timeout_s, due_in_s=request.due_in_s)
            piece, left = piece + 1, 0
            async with aclosing(sound) as answer:
                async for header, pcm in answer:
                    left = header.get("left", left)
                    for chunk in _chunks(pcm, header.get("sample_rate"), header.get("words")):
                        yield chunk


_OpenAnswer = tuple[SpeechEndpointClient, PcmReader, AsyncGenerator[bytes, None], bytes | None]
"""A server that answers, the reader of its sound, the pieces of that, and the first piece, None if there is none."""


class OpenAISynthesizer(EndpointProvider):
    """Any OpenAI-compatible `/audio/speech`, streamed as PCM; a WAV that comes instead is understood."""

    sample_rate: int | None = RAW_RATE

    def __init__(self, endpoints: Sequence[SpeechEndpoint], *, timeout_s: float = FIRST_SOUND_TIMEOUT_S) -> None:
        super().__init__(endpoints, timeout_s=timeout_s)
        self.voices = [self._endpoint.voice] if self._endpoint.voice else []

    async def synthesize(self, request: SpeechRequest) -> AsyncGenerator[SoundChunk, None]:
        _check(request.text)
        if not any(character.isalnum() for character in request.text):
            return
        has_sound = False
        async with AsyncExitStack() as stack:
            server, reader, pieces, data = await self._open(stack, request)
            while data is not None:
                for chunk in _chunks(reader.feed(data), reader.sample_rate):
                    has_sound = True
                    yield chunk
                data = await self._read(server, pieces)
        for chunk in _chunks(reader.finish(), reader.sample_rate):
            has_sound = True
            yield chunk
        if not has_sound:
            raise SpeechUnavailable(
                f"{server.endpoint.host} sent no sound: check speech.tts.model and speech.tts.voice"
            )

    async def _open(self, stack: AsyncExitStack, request: SpeechRequest) -> _OpenAnswer:
        """Return an answer and its first piece, None if it is empty; a server without one is passed over."""
        body: dict[str, object] = {
            "model": self._endpoint.model,
            "voice": request.speaker or self._endpoint.voice,
            "input": request.text,
            "response_format": "pcm",
        }
        if request.speed != 1:
            body["speed"] = request.speed  # some servers do not know it

        async def ask(server: SpeechEndpointClient) -> _OpenAnswer:
            async with AsyncExitStack() as attempt:
                response = await attempt.enter_async_context(server.connected().stream("/audio/speech", body))
                reader = self._reader_of(server.endpoint.host, response.headers.get("content-type", ""))
                pieces = await attempt.enter_async_context(aclosing(pieces_of(response)))
                first = await anext(pieces, None)
                await stack.enter_async_context(attempt.pop_all())
                return server, reader, pieces, first

        return await self._ask(ask)

    def _reader_of(self, host: str, content_type: str) -> PcmReader:
        """Return a reader for that content type. Raises SpeechUnavailable for what cannot be played."""
        kind, *parameters = (part.strip().lower() for part in content_type.split(";"))
        given = {name: value.strip('"') for name, _, value in (part.partition("=") for part in parameters)}
        if (kind and kind not in _SOUND_TYPES) or given.get("channels", "1") != "1":
            raise SpeechUnavailable(
                f"{host} sent {content_type[:_MAX_TYPE_CHARS]} instead of PCM: check that "
                "speech.tts.base_url is an OpenAI-compatible speech server that answers in mono PCM or WAV"
            )
        rate = given.get("rate", "")
        is_rate = re.fullmatch("[0-9]{4,6}", rate) and MIN_RATE <= int(rate) <= MAX_RATE
        return PcmReader(int(rate) if is_rate else RAW_RATE)

    async def _read(self, server: SpeechEndpointClient, pieces: AsyncGenerator[bytes, None]) -> bytes | None:
        try:
            async with asyncio.timeout(self._timeout_s):
                return await anext(pieces, None)
        except TimeoutError as error:
            raise SpeechTimeout(f"{server.endpoint.host} stopped in mid-sentence") from error
        except Unreachable as error:
            raise server.pass_over(error) from error


def synthesizer_of(
    config: SpeechProviderSettings, environ: Mapping[str, str], *, on_change: Callable[[], None] = lambda: None
) -> Synthesizer:
    """Return the synthesiser that `speech.tts` names, not started. `on_change`: `status` or `languages` changed."""
    match config.provider:
        case "none":
            return NoSynthesizer()
        case "openai":
            return OpenAISynthesizer(speech_endpoints("speech.tts", config, environ, model="tts-1", voice="alloy"))
        case "embedded":
            voice = ["--voice", config.voice] if config.voice else []
            return EmbeddedSynthesizer(
                SpeechWorker(
                    "the voice",
                    command_of("tts", *voice),
                    processes=config.processes,
                    max_waiting=MAX_WAITING_SENTENCES,
                    on_change=on_change,
                )
            )


def _chunks(
    pcm: bytes, sample_rate: int | None, words: Sequence[tuple[int, float]] | None = None
) -> Iterator[SoundChunk]:
    """Cut sound into messages; the words stand with the first one."""
    for at in range(0, len(pcm), MAX_CHUNK_BYTES):
        assert sample_rate is not None, "sound has one"
        yield SoundChunk(pcm[at : at + MAX_CHUNK_BYTES], sample_rate, words)
        words = words and ()


def _check(text: str) -> None:
    if len(text) > MAX_TEXT_CHARS:
        raise SpeechUnavailable(f"a text of {len(text)} characters is too long to be spoken at once")
