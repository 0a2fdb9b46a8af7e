"""From words to sound: the protocol and its providers."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field
from typing import Final, Protocol

from server.config import SpeechProvider
from server.errors import SpeechTimeout, SpeechUnavailable
from server.openai_client import Refused, Unreachable, pieces_of
from server.speech.speech_endpoint import EndpointEngine, SpeechEndpoint, speech_endpoint
from server.speech.worker import Worker, command_of
from server.wire.frames import SpeechPart

OnChange = Callable[[], None]

FIRST_SOUND_TIMEOUT_S: Final = 10.0
"""To the first sound of a sentence, and from each piece of it to the next: longer is a stall."""
MAX_CHUNK_BYTES: Final = 16_384
"""Larger pieces are cut: one is a message of the WebSocket."""
MAX_TEXT_CHARS: Final = 4000
"""A longer text is refused; sentences are far shorter."""

_OPENAI_RATE: Final = 24_000  # of response_format pcm
_WAV_HEADER_BYTES: Final = 44
_MAX_WAV_HEADER_BYTES: Final = 4096


@dataclass(frozen=True, slots=True)
class SoundChunk:
    """Whole samples of PCM16 mono. One synthesis keeps one sample rate.

    words: those that begin in it or in what follows before the next words, as (offset in the text that was given, ms from
    the beginning of this chunk); None: the voice cannot tell.
    """

    pcm: bytes = field(repr=False)
    sample_rate: int
    words: Sequence[tuple[int, float]] | None = None


class Synthesizer(Protocol):
    """`start` returns without waiting for what loads; `status` says when it is there. `aclose` ends what runs."""

    @property
    def status(self) -> SpeechPart: ...

    @property
    def languages(self) -> list[str]:
        """BCP 47; [] = not known, the provider decides."""

    @property
    def sample_rate(self) -> int | None:
        """Of the sound, as far as it is known; the chunks have the last word."""

    async def start(self) -> None: ...

    async def aclose(self) -> None: ...

    def synthesize(self, text: str, *, language: str | None = None) -> AsyncGenerator[SoundChunk, None]:
        """The sound of one sentence as it comes, at most MAX_CHUNK_BYTES a chunk; nothing if there is nothing to say.

        Closing the generator or cancelling its task gives up the synthesis: no sound
        comes after that. Raises SpeechError, also in mid-sentence.
        """


class NoSynthesizer:
    """`provider: none`."""

    languages: list[str] = []  # noqa: RUF012  a constant that Synthesizer shows as a list
    sample_rate: int | None = None

    @property
    def status(self) -> SpeechPart:
        return SpeechPart(state="missing", reason="switched off (speech.tts.provider: none)")

    async def start(self) -> None:
        pass

    async def aclose(self) -> None:
        pass

    async def synthesize(self, text: str, *, language: str | None = None) -> AsyncGenerator[SoundChunk, None]:
        raise SpeechUnavailable("speech synthesis is switched off (speech.tts.provider)")
        yield  # type: ignore[unreachable]  # it makes this a generator


class EmbeddedSynthesizer:
    """Piper and espeak-ng in a process of their own."""

    def __init__(self, worker: Worker, *, timeout_s: float = FIRST_SOUND_TIMEOUT_S) -> None:
        self._worker = worker
        self._timeout_s = timeout_s

    @property
    def status(self) -> SpeechPart:
        return self._worker.status

    @property
    def languages(self) -> list[str]:
        return list(self._worker.facts.get("languages", []))

    @property
    def sample_rate(self) -> int | None:
        rate = self._worker.facts.get("sample_rate")
        return rate if isinstance(rate, int) else None

    async def start(self) -> None:
        self._worker.start()

    async def aclose(self) -> None:
        await self._worker.aclose()

    async def synthesize(self, text: str, *, language: str | None = None) -> AsyncGenerator[SoundChunk, None]:
        _check(text)
        request = {"op": "synthesize", "text": text, "language": language}
        async with aclosing(self._worker.request(request, timeout_s=self._timeout_s)) as answer:
            async for header, pcm in answer:
                words = header.get("words")
                for at in range(0, len(pcm), MAX_CHUNK_BYTES):
                    yield SoundChunk(pcm[at : at + MAX_CHUNK_BYTES], header["sample_rate"], words)
                    words = words and ()  # all of them are told


class OpenAISynthesizer(EndpointEngine):
    """Any OpenAI-compatible `/audio/speech`, streamed as PCM; a WAV that comes instead is understood."""

    def __init__(self, endpoint: SpeechEndpoint, *, timeout_s: float = FIRST_SOUND_TIMEOUT_S) -> None:
        super().__init__(endpoint, timeout_s=timeout_s)

    @property
    def sample_rate(self) -> int | None:
        return _OPENAI_RATE

    async def synthesize(self, text: str, *, language: str | None = None) -> AsyncGenerator[SoundChunk, None]:
        _check(text)
        if not any(character.isalnum() for character in text):
            return
        reader = PcmReader()
        async with AsyncExitStack() as stack:
            pieces = await self._open(stack, text)
            while (data := await self._read(pieces)) is not None:
                for chunk in reader.feed(data):
                    yield chunk
        if not reader.has_sound:
            raise SpeechUnavailable(f"{self._endpoint.host} sent no sound: check speech.tts.model and speech.tts.voice")

    async def _open(self, stack: AsyncExitStack, text: str) -> AsyncGenerator[bytes, None]:
        request = {
            "model": self._endpoint.model,
            "voice": self._endpoint.voice,
            "input": text,
            "response_format": "pcm",
        }
        try:
            async with asyncio.timeout(self._timeout_s):
                response = await stack.enter_async_context(self._connected().stream("/audio/speech", request))
        except (Refused, Unreachable, TimeoutError) as error:
            raise self._endpoint.error(error) from error
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind.startswith("text/") or kind == "application/json" or kind in ("audio/mpeg", "audio/ogg", "audio/opus"):
            raise SpeechUnavailable(
                f"{self._endpoint.host} sent {kind} where PCM was asked for: "
                "check that speech.tts.base_url is an OpenAI-compatible speech server"
            )
        return await stack.enter_async_context(aclosing(pieces_of(response)))

    async def _read(self, pieces: AsyncGenerator[bytes, None]) -> bytes | None:
        try:
            async with asyncio.timeout(self._timeout_s):
                return await anext(pieces, None)
        except TimeoutError as error:
            raise SpeechTimeout(f"{self._endpoint.host} stopped in mid-sentence") from error
        except Unreachable as error:
            raise self._endpoint.error(error) from error


class PcmReader:
    """Bytes as the network cuts them → chunks of whole samples; a WAV header in front tells its rate. Pure."""

    def __init__(self) -> None:
        self._rest = b""
        self._rate: int | None = None
        self.has_sound = False

    def feed(self, data: bytes) -> list[SoundChunk]:
        self._rest += data
        if self._rate is None and not self._begin():
            return []
        assert self._rate is not None
        whole = len(self._rest) - len(self._rest) % 2
        sound, self._rest = self._rest[:whole], self._rest[whole:]
        self.has_sound = self.has_sound or bool(sound)
        return [SoundChunk(sound[at : at + MAX_CHUNK_BYTES], self._rate) for at in range(0, whole, MAX_CHUNK_BYTES)]

    def _begin(self) -> bool:
        """Tell a header from sound; False: too little has come."""
        if len(self._rest) < 4:
            return False
        if not self._rest.startswith(b"RIFF"):
            self._rate = _OPENAI_RATE
            return True
        if len(self._rest) < _WAV_HEADER_BYTES:
            return False
        data_at = self._rest.find(b"data")
        if data_at < 0 or len(self._rest) < data_at + 8:
            if len(self._rest) > _MAX_WAV_HEADER_BYTES:
                raise SpeechUnavailable("the speech server sent a WAV without sound")
            return False
        self._rate = int.from_bytes(self._rest[24:28], "little")
        if not 8_000 <= self._rate <= 192_000:
            raise SpeechUnavailable(f"the speech server sent a WAV of {self._rate} samples a second")
        self._rest = self._rest[data_at + 8 :]
        return True


def synthesizer_of(
    config: SpeechProvider, environ: Mapping[str, str], *, on_change: OnChange | None = None
) -> Synthesizer:
    """What `speech.tts` asks for; nothing is started. `on_change`: `status` or `languages` changed."""
    match config.provider:
        case "none":
            return NoSynthesizer()
        case "openai":
            return OpenAISynthesizer(speech_endpoint("speech.tts", config, environ, model="tts-1", voice="alloy"))
        case "embedded":
            voice = ["--voice", config.voice] if config.voice else []
            return EmbeddedSynthesizer(Worker("the voice", command_of("tts", *voice), on_change=on_change))


def _check(text: str) -> None:
    if len(text) > MAX_TEXT_CHARS:
        raise SpeechUnavailable(f"a text of {len(text)} characters is too long to be said at once")
