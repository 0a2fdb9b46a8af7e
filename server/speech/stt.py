"""Recognition, from sound to words: the protocol and its providers."""

import asyncio
import io
import re
import wave
from collections.abc import Callable, Iterator, Mapping
from contextlib import aclosing
from typing import Any, Final, Protocol

import msgspec

from server.config import SpeechProviderSettings
from server.errors import SpeechUnavailable
from server.openai_client import Refused, Unreachable
from server.speech.audio import SPEECH_RATE, level_dbfs, pcm16_to_samples
from server.speech.providers import (
    AGAIN_S,
    EndpointProvider,
    NoProvider,
    SpeechEndpointClient,
    SpeechProvider,
    WorkerProvider,
    speech_endpoints,
)
from server.speech.speakable import CONTROLS
from server.speech.worker import DueIn, SpeechWorker, at_once, command_of
from server.wire.frames import SpeechPart

OnPartial = Callable[[str], None]

RECOGNITION_TIMEOUT_S: Final = 20.0
MAX_PIECE_S: Final = 10
"""Sound that the engine here recognises at once: half a second of work, which no other utterance can interrupt."""
MAX_HEARD_CHARS: Final = 10_000
"""Longest transcript, more than a person says in an utterance; the rest is left out."""

_OLD_SPELLING: Final = re.compile(r"\b(to)-(day|morrow|night)\b", re.IGNORECASE)
_SOUNDS: Final = re.compile(r"[\[(](?:[A-Z _]+|[a-z ]*(?:music|noise|silence|blank|applause|laughter)[a-z _]*)[\])]")


class _Transcription(msgspec.Struct):
    text: str


class Recognizer(SpeechProvider, Protocol):
    async def recognize(
        self,
        audio: bytes,
        *,
        language: str | None = None,
        on_partial: OnPartial | None = None,
        due_in_s: DueIn = at_once,
    ) -> str:
        """Return the words of one utterance, PCM16 at 16 kHz; "" where there are none.

        `on_partial` gets the words so far where the provider knows them, before
        this returns. Cancelling gives up the request. `due_in_s`: when the words are needed;
        where requests wait for each other, by that. Raises SpeechError.
        """


class NoRecognizer(NoProvider):
    status = SpeechPart(state="missing", reason="switched off (speech.stt.provider: none)")

    async def recognize(self, audio: bytes, **_options: object) -> str:
        raise SpeechUnavailable("speech recognition is switched off (speech.stt.provider)")


class EmbeddedRecognizer(WorkerProvider):
    """Moonshine in a process of its own. English; no partial words."""

    @property
    def languages(self) -> list[str]:
        return super().languages or ["en"]

    async def recognize(self, audio: bytes, *, due_in_s: DueIn = at_once, **_options: object) -> str:
        """Recognise a long utterance in pieces: utterances of others wait for one of them, not for a minute of sound."""
        clock = asyncio.get_running_loop().time
        words = []
        for piece in pieces_of(audio):
            asked_s = clock()

            def due_s(asked_s: float = asked_s) -> float:  # what waits for its own user's place gets no lead by it
                return max(due_in_s(), asked_s - clock())

            answer = self.worker.request({"op": "recognize"}, piece, timeout_s=RECOGNITION_TIMEOUT_S, due_in_s=due_s)
            async with aclosing(answer):
                words += [header["text"] async for header, _ in answer]
        return normalized(" ".join(words))


class OpenAIRecognizer(EndpointProvider):
    """Any OpenAI-compatible `/audio/transcriptions`. OpenAI's own newer models stream partial words."""

    async def recognize(
        self, audio: bytes, *, language: str | None = None, on_partial: OnPartial | None = None, **_options: object
    ) -> str:
        fields = {"model": self._endpoint.model, "response_format": "json"}
        if language:
            fields["language"] = language.split("-")[0].lower()
        file = ("speech.wav", wav_of(audio), "audio/wav")

        async def ask(server: SpeechEndpointClient) -> str:
            if server.endpoint.is_openai and server.endpoint.model.startswith("gpt-"):
                return await self._stream(server, fields, file, on_partial)
            answer = await server.connected().upload("/audio/transcriptions", fields, file)
            try:
                return msgspec.json.decode(answer, type=_Transcription).text
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                raise SpeechUnavailable(
                    f"{server.endpoint.host} sent no transcription: check speech.stt.base_url"
                ) from error

        return normalized(await self._ask(ask, again_s=AGAIN_S))

    async def _stream(
        self,
        server: SpeechEndpointClient,
        fields: dict[str, Any],
        file: tuple[str, bytes, str],
        on_partial: OnPartial | None,
    ) -> str:
        import openai

        text = ""
        try:
            events = await server.connected().package.audio.transcriptions.create(**fields, file=file, stream=True)
            async with aclosing(events):
                async for event in events:
                    if event.type == "transcript.text.delta":
                        text += event.delta
                        if on_partial is not None:
                            on_partial(CONTROLS.sub(" ", text))
                    elif event.type == "transcript.text.done":
                        text = event.text
        except openai.APIStatusError as error:
            raise Refused(error.status_code, error.response.headers, error.response.content) from error
        except openai.OpenAIError as error:
            raise Unreachable(str(error.__cause__ or error)) from error
        return text


def recognizer_of(
    config: SpeechProviderSettings, environ: Mapping[str, str], *, on_change: Callable[[], None] = lambda: None
) -> Recognizer:
    """Return the recogniser that `speech.stt` names, not started. `on_change`: `status` or `languages` changed."""
    match config.provider:
        case "none":
            return NoRecognizer()
        case "openai":
            endpoints = speech_endpoints("speech.stt", config, environ, model="whisper-1")
            return OpenAIRecognizer(endpoints, timeout_s=RECOGNITION_TIMEOUT_S)
        case "embedded":
            command = command_of("stt")
            worker = SpeechWorker("speech recognition", command, processes=config.processes, on_change=on_change)
            return EmbeddedRecognizer(worker)


def normalized(text: str) -> str:
    """Return words as written today, on one line, without control characters; "" for what names a noise only."""
    text = text[:MAX_HEARD_CHARS]
    text = _SOUNDS.sub(" ", CONTROLS.sub(" ", text))
    text = _OLD_SPELLING.sub(r"\1\2", text)
    text = " ".join(text.split())
    return text if any(character.isalnum() for character in text) else ""


def pieces_of(pcm: bytes) -> Iterator[bytes]:
    """Yield sound of at most MAX_PIECE_S at a time, parted where the second half of a piece is quietest."""
    longest, window = MAX_PIECE_S * SPEECH_RATE, SPEECH_RATE // 10
    while len(pcm) > 2 * longest:
        half = pcm16_to_samples(pcm[longest : 2 * longest]).reshape(-1, window)
        end = longest // 2 + int(level_dbfs(half).argmin()) * window + window // 2
        yield pcm[: 2 * end]
        pcm = pcm[2 * end :]
    yield pcm


def wav_of(pcm: bytes, sample_rate: int = SPEECH_RATE) -> bytes:
    """Return PCM16 mono with the header that upload endpoints want."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(sample_rate)
        sound.writeframes(pcm)
    return file.getvalue()
