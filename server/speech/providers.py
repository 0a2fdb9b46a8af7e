"""Providers of speech: the part that recognition and synthesis share, for none, a worker and an endpoint."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from server.config import SpeechProviderSettings
from server.errors import SpeechBusy, SpeechError, SpeechTimeout, SpeechUnavailable
from server.openai_client import OpenAIClient, OpenAIEndpoint, Refused, base_url_from, error_message
from server.speech.worker import SpeechWorker
from server.wire.frames import SpeechPart

_MAX_QUOTED_CHARS: Final = 200
_MAX_CONNECTIONS: Final = 200


class SpeechProvider(Protocol):
    """A recogniser or a synthesiser. `start` returns without waiting for what loads; `aclose` ends what runs."""

    @property
    def status(self) -> SpeechPart:
        """Whether it is ready, loading or missing, and why."""

    @property
    def languages(self) -> list[str]:
        """BCP 47; [] = not known, the provider decides."""

    async def start(self) -> None: ...

    async def aclose(self) -> None: ...


class NoProvider:
    status: SpeechPart
    languages: list[str] = []  # noqa: RUF012  a constant that the protocol shows as a list

    async def start(self) -> None: ...

    async def aclose(self) -> None: ...


class WorkerProvider:
    def __init__(self, worker: SpeechWorker) -> None:
        self._worker = worker

    @property
    def status(self) -> SpeechPart:
        return self._worker.status

    @property
    def languages(self) -> list[str]:
        return list(self._worker.facts.get("languages", []))

    async def start(self) -> None:
        self._worker.start()

    async def aclose(self) -> None:
        await self._worker.aclose()


@dataclass(frozen=True, kw_only=True)
class SpeechEndpoint(OpenAIEndpoint):
    section: str
    """The part of the configuration that it comes from (`speech.stt`), for the text of errors."""
    model: str
    voice: str

    def error(self, error: Exception) -> SpeechError:
        """Translate a TimeoutError, a Refused or an Unreachable."""
        if isinstance(error, Refused):
            return self._refusal(error.status, error_message(error.body))
        if isinstance(error, TimeoutError) or isinstance(error.__cause__, TimeoutError):  # or for connecting
            return SpeechTimeout(f"{self.host} did not answer in time ({self.section})")
        return SpeechUnavailable(
            f"no answer from {self.host}: is it running, and is {self.section}.base_url right? ({self._clean(str(error))})"
        )

    def _refusal(self, status: int, message: str) -> SpeechError:
        quoted = self._clean(message)
        match status:
            case 401 | 403:
                return SpeechUnavailable(
                    f"{self.host} refused the key (HTTP {status}): check {self.section}.api_key or OPENAI_API_KEY"
                )
            case 404:
                return SpeechUnavailable(
                    f"{self.host} has no {self.model!r} at this address (HTTP 404): check {self.section}.base_url, which mostly "
                    f"ends in /v1, and {self.section}.model"
                )
            case 408 | 504:
                return SpeechTimeout(f"{self.host} timed out (HTTP {status})")
            case 429 | 503:
                return SpeechBusy(f"{self.host} is overloaded (HTTP {status}): {quoted}")
        return SpeechUnavailable(f"{self.host} failed (HTTP {status}): {quoted}")

    def _clean(self, text: str) -> str:
        if self.api_key and len(self.api_key) >= 4:
            text = text.replace(self.api_key, "…")
        return " ".join(text.split())[:_MAX_QUOTED_CHARS]


class EndpointProvider:
    """An OpenAI-compatible server: ready at once, connected when needed."""

    languages: list[str] = []  # noqa: RUF012  a constant that the protocol shows as a list

    def __init__(self, endpoint: SpeechEndpoint, *, timeout_s: float) -> None:
        self._endpoint = endpoint
        self._timeout_s = timeout_s
        self._client: OpenAIClient | None = None
        self.status = SpeechPart(state="ready", name=f"{endpoint.model} at {endpoint.host}")

    async def start(self) -> None:
        client = await asyncio.to_thread(self._new_client)  # its imports take 0.8 s
        if self._client is None:
            self._client = client
        else:  # a request came first
            await client.aclose()

    async def aclose(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _connected(self) -> OpenAIClient:
        if self._client is None:
            self._client = self._new_client()
        return self._client

    def _new_client(self) -> OpenAIClient:
        return OpenAIClient(self._endpoint, max_connections=_MAX_CONNECTIONS)


def speech_endpoint(
    section: str, config: SpeechProviderSettings, environ: Mapping[str, str], *, model: str, voice: str = ""
) -> SpeechEndpoint:
    """Return the endpoint of a `provider: openai`, with OPENAI_BASE_URL and OPENAI_API_KEY for what it leaves out.

    `model` and `voice` are the defaults. Raises ConfigError for an invalid base URL.
    """
    key = config.api_key.reveal().strip() if config.api_key is not None else environ.get("OPENAI_API_KEY", "").strip()
    return SpeechEndpoint(
        section=section,
        base_url=base_url_from(f"{section}.base_url", config.base_url, environ),
        model=config.model or model,
        voice=config.voice or voice,
        api_key=key or None,
    )
