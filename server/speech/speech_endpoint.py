"""An OpenAI-compatible server for speech: its address, its client, and what its errors mean.

The openai package is loaded with the first call.
"""

import asyncio
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from server.config import SpeechProvider
from server.errors import ConfigError, SpeechBusy, SpeechError, SpeechTimeout, SpeechUnavailable

if TYPE_CHECKING:
    import openai

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

    def client(self) -> "openai.AsyncOpenAI":
        """Opens nothing yet; whoever made it closes it."""
        import httpx2
        import openai

        return openai.AsyncOpenAI(
            base_url=self.base_url,
            api_key=self.api_key or "none",
            max_retries=0,  # who waits for a voice does not wait for three
            http_client=openai.DefaultAioHttpClient(
                limits=httpx2.Limits(max_connections=_MAX_CONNECTIONS, keepalive_expiry=_KEEPALIVE_S),
                timeout=httpx2.Timeout(None, connect=CONNECT_TIMEOUT_S, pool=CONNECT_TIMEOUT_S),
                trust_env=not _is_loopback(urlsplit(self.base_url).hostname or ""),
            ),
        )

    def headers(self) -> "dict[str, str | openai.Omit]":
        """A server without a key gets none."""
        import openai

        return {} if self.api_key else {"Authorization": openai.Omit()}

    def error(self, error: Exception) -> SpeechError:
        """What an exception of the openai package or of its transport means here."""
        import openai

        if isinstance(error, openai.APIStatusError):
            return self._refusal(error.status_code, error.message)
        # An APITimeoutError is none of ours: the transport calls a refused connection so.
        if isinstance(error, TimeoutError):
            return SpeechTimeout(f"{self.host} said nothing in time ({self.section})")
        reason = str(error.__cause__ or error) or type(error.__cause__ or error).__name__
        return SpeechUnavailable(
            f"no answer from {self.host}: is it running, and is {self.section}.base_url right? ({self._clean(reason)})"
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


def speech_endpoint(
    section: str, config: SpeechProvider, environ: Mapping[str, str], *, model: str, voice: str = ""
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


async def import_openai() -> None:
    """0.8 s, before somebody waits for it."""
    await asyncio.to_thread(__import__, "openai")


def _is_loopback(hostname: str) -> bool:
    try:
        return hostname == "localhost" or ipaddress.ip_address(hostname).is_loopback
    except ValueError:
        return hostname.endswith(".localhost")
