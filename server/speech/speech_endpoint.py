"""An OpenAI-compatible server for speech: its address, its client, and what its errors mean."""

import asyncio
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from server.config import SpeechProviderSettings
from server.errors import ConfigError, SpeechBusy, SpeechError, SpeechTimeout, SpeechUnavailable
from server.openai_client import OpenAIClient, Refused, error_message
from server.wire.frames import SpeechPart

OPENAI_URL: Final = "https://api.openai.com/v1"
CONNECT_TIMEOUT_S: Final = 5.0

_MAX_SAID_CHARS: Final = 200
_KEEPALIVE_S: Final = 90.0
_MAX_CONNECTIONS: Final = 200


@dataclass(frozen=True, kw_only=True)
class SpeechEndpoint:
    """`section`: the part of the configuration it comes from, for the text of errors (`speech.stt`)."""

    section: str
    base_url: str
    model: str
    voice: str
    api_key: str | None = field(default=None, repr=False)

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).netloc.rpartition("@")[2]

    @property
    def is_openai(self) -> bool:
        return urlsplit(self.base_url).hostname == "api.openai.com"

    def client(self) -> OpenAIClient:
        """Whoever made it closes it. Nothing is tried again: who waits for a voice does not wait for three."""
        return OpenAIClient(
            self.base_url,
            api_key=self.api_key,
            connect_timeout_s=CONNECT_TIMEOUT_S,
            keepalive_s=_KEEPALIVE_S,
            max_connections=_MAX_CONNECTIONS,
            uses_proxies=not _is_loopback(urlsplit(self.base_url).hostname or ""),
        )

    def error(self, error: Exception) -> SpeechError:
        """What a TimeoutError, a Refused or an Unreachable means here."""
        if isinstance(error, Refused):
            return self._refusal(error.status, error_message(error.body))
        if isinstance(error, TimeoutError) or isinstance(error.__cause__, TimeoutError):  # or for connecting
            return SpeechTimeout(f"{self.host} said nothing in time ({self.section})")
        return SpeechUnavailable(
            f"no answer from {self.host}: is it running, and is {self.section}.base_url right? ({self._clean(str(error))})"
        )

    def _refusal(self, status: int, message: str) -> SpeechError:
        said = self._clean(message)
        match status:
            case 401 | 403:
                return SpeechUnavailable(
                    f"{self.host} refused the key (HTTP {status}): check {self.section}.api_key or OPENAI_API_KEY"
                )
            case 404:
                return SpeechUnavailable(
                    f"{self.host} has no {self.model!r} there (HTTP 404): check {self.section}.base_url, which mostly "
                    f"ends in /v1, and {self.section}.model"
                )
            case 408 | 504:
                return SpeechTimeout(f"{self.host} gave up waiting (HTTP {status})")
            case 429 | 503:
                return SpeechBusy(f"{self.host} has too much to do (HTTP {status}): {said}")
        return SpeechUnavailable(f"{self.host} failed (HTTP {status}): {said}")

    def _clean(self, said: str) -> str:
        if self.api_key and len(self.api_key) >= 4:
            said = said.replace(self.api_key, "…")
        return " ".join(said.split())[:_MAX_SAID_CHARS]


class EndpointEngine:
    """What a recogniser and a synthesiser behind an endpoint share: they are ready at once, and connect when asked."""

    def __init__(self, endpoint: SpeechEndpoint, *, timeout_s: float) -> None:
        self._endpoint = endpoint
        self._timeout_s = timeout_s
        self._client: OpenAIClient | None = None
        self._status = SpeechPart(state="ready", name=f"{endpoint.model} at {endpoint.host}")

    languages: list[str] = []  # noqa: RUF012  a constant that the protocols show as a list

    @property
    def status(self) -> SpeechPart:
        return self._status  # asked for with every frame of sound

    async def start(self) -> None:
        client = await asyncio.to_thread(self._endpoint.client)  # imports, before somebody waits for them
        if self._client is None:
            self._client = client
        else:  # somebody did not wait
            await client.aclose()

    async def aclose(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _connected(self) -> OpenAIClient:
        if self._client is None:
            self._client = self._endpoint.client()
        return self._client


def speech_endpoint(
    section: str, config: SpeechProviderSettings, environ: Mapping[str, str], *, model: str, voice: str = ""
) -> SpeechEndpoint:
    """The endpoint of a `provider: openai`; OPENAI_BASE_URL and OPENAI_API_KEY for what it leaves out.

    `model` and `voice` are the defaults. Raises ConfigError for a base URL that is none.
    """
    base_url = (config.base_url or environ.get("OPENAI_BASE_URL") or OPENAI_URL).strip().rstrip("/")
    if urlsplit(base_url).scheme not in ("http", "https") or not urlsplit(base_url).hostname:
        raise ConfigError(f"{section}.base_url must be a URL such as http://127.0.0.1:8000/v1")
    key = config.api_key.reveal().strip() if config.api_key is not None else environ.get("OPENAI_API_KEY", "").strip()
    return SpeechEndpoint(
        section=section,
        base_url=base_url,
        model=config.model or model,
        voice=config.voice or voice,
        api_key=key or None,
    )


def _is_loopback(hostname: str) -> bool:
    try:
        return hostname == "localhost" or ipaddress.ip_address(hostname).is_loopback
    except ValueError:
        return hostname.endswith(".localhost")
