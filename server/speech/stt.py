"""From sound to words: the protocol and its providers."""

import asyncio
import io
import re
import wave
from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final, Protocol

from server.config import SpeechProvider
from server.errors import SpeechUnavailable
from server.speech.audio import SPEECH_RATE
from server.speech.speech_endpoint import SpeechEndpoint, import_openai, speech_endpoint
from server.speech.worker import Worker, command_of
from server.wire.frames import SpeechPart

if TYPE_CHECKING:
    import openai

OnChange = Callable[[], None]
OnPartial = Callable[[str], None]

RECOGNITION_TIMEOUT_S: Final = 20.0

_OLD_SPELLING: Final = re.compile(r"\b(to)-(day|morrow|night)\b", re.IGNORECASE)
_SOUNDS: Final = re.compile(r"[\[(](?:[A-Z _]+|[a-z ]*(?:music|noise|silence|blank|applause|laughter)[a-z _]*)[\])]")


class Recognizer(Protocol):
    """`start` returns without waiting for what loads; `status` says when it is there. `aclose` ends what runs."""

    @property
    def status(self) -> SpeechPart: ...

    @property
    def languages(self) -> list[str]:
        """BCP 47; [] = not known, the provider decides."""

    async def start(self) -> None: ...

    async def aclose(self) -> None: ...

    async def recognize(self, audio: bytes, *, language: str | None = None, on_partial: OnPartial | None = None) -> str:
        """One utterance, PCM16 at 16 kHz; "" where there are no words.

        `on_partial` gets the words so far where the provider can tell them, before
        this returns. Cancelling gives up the request. Raises SpeechError.
        """


class NoRecognizer:
    """`provider: none`."""

    languages: list[str] = []  # noqa: RUF012  a constant that Recognizer shows as a list

    @property
    def status(self) -> SpeechPart:
        return SpeechPart(state="missing", reason="switched off (speech.stt.provider: none)")

    async def start(self) -> None:
        pass

    async def aclose(self) -> None:
        pass

    async def recognize(self, audio: bytes, *, language: str | None = None, on_partial: OnPartial | None = None) -> str:
        raise SpeechUnavailable("speech recognition is switched off (speech.stt.provider)")


class EmbeddedRecognizer:
    """Moonshine in a process of its own. English; no partial words."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    @property
    def status(self) -> SpeechPart:
        return self._worker.status

    @property
    def languages(self) -> list[str]:
        return list(self._worker.facts.get("languages", ["en"]))

    async def start(self) -> None:
        self._worker.start()

    async def aclose(self) -> None:
        await self._worker.aclose()

    async def recognize(self, audio: bytes, *, language: str | None = None, on_partial: OnPartial | None = None) -> str:
        text = ""
        async with aclosing(
            self._worker.request({"op": "recognize"}, audio, timeout_s=RECOGNITION_TIMEOUT_S)
        ) as answer:
            async for header, _ in answer:
                text = header["text"]
        return normalized(text)


class OpenAIRecognizer:
    """Any OpenAI-compatible `/audio/transcriptions`. OpenAI's own newer models stream partial words."""

    def __init__(self, endpoint: SpeechEndpoint, *, timeout_s: float = RECOGNITION_TIMEOUT_S) -> None:
        self._endpoint = endpoint
        self._timeout_s = timeout_s
        self._client: openai.AsyncOpenAI | None = None

    languages: list[str] = []  # noqa: RUF012  a constant that Recognizer shows as a list

    @property
    def status(self) -> SpeechPart:
        return SpeechPart(state="ready", name=f"{self._endpoint.model} at {self._endpoint.host}")

    async def start(self) -> None:
        await import_openai()

    async def aclose(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def recognize(self, audio: bytes, *, language: str | None = None, on_partial: OnPartial | None = None) -> str:
        import httpx2
        import openai

        if self._client is None:
            self._client = self._endpoint.client()
        request: dict[str, Any] = {"model": self._endpoint.model, "file": ("speech.wav", wav_of(audio), "audio/wav")}
        if language:
            request["language"] = language.split("-")[0].lower()
        does_stream = self._endpoint.is_openai and self._endpoint.model.startswith("gpt-")
        try:
            async with asyncio.timeout(self._timeout_s):
                if does_stream:
                    return normalized(await self._stream(self._client, request, on_partial))
                answer = await self._client.audio.transcriptions.create(
                    **request, response_format="json", extra_headers=self._endpoint.headers()
                )
        except (openai.OpenAIError, httpx2.HTTPError, TimeoutError) as error:
            raise self._endpoint.error(error) from error
        if not isinstance(text := getattr(answer, "text", None), str):
            raise SpeechUnavailable(f"{self._endpoint.host} sent no transcription: check speech.stt.base_url")
        return normalized(text)

    async def _stream(self, client: "openai.AsyncOpenAI", request: dict[str, Any], on_partial: OnPartial | None) -> str:
        text = ""
        events = await client.audio.transcriptions.create(**request, stream=True)
        async with aclosing(events):
            async for event in events:
                if event.type == "transcript.text.delta":
                    text += event.delta
                    if on_partial is not None:
                        on_partial(text)
                elif event.type == "transcript.text.done":
                    text = event.text
        return text


def recognizer_of(
    config: SpeechProvider, environ: Mapping[str, str], *, on_change: OnChange | None = None
) -> Recognizer:
    """What `speech.stt` asks for; nothing is started. `on_change`: `status` or `languages` changed."""
    match config.provider:
        case "none":
            return NoRecognizer()
        case "openai":
            return OpenAIRecognizer(speech_endpoint("speech.stt", config, environ, model="whisper-1"))
        case "embedded":
            return EmbeddedRecognizer(Worker("speech recognition", command_of("stt"), on_change=on_change))


def normalized(text: str) -> str:
    """Words as they are written today, on one line; "" for what names a noise only."""
    text = _SOUNDS.sub(" ", text)
    text = _OLD_SPELLING.sub(r"\1\2", text)
    text = " ".join(text.split())
    return text if any(character.isalnum() for character in text) else ""


def wav_of(pcm: bytes, sample_rate: int = SPEECH_RATE) -> bytes:
    """PCM16 mono with the header that upload endpoints want."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(sample_rate)
        sound.writeframes(pcm)
    return file.getvalue()
