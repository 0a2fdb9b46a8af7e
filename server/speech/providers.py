"""Providers of speech: the part that recognition and synthesis share, for none, a worker and an endpoint."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Final, Protocol, TypeVar

from server.config import SpeechProviderSettings
from server.errors import SpeechBusy, SpeechError, SpeechTimeout, SpeechUnavailable
from server.openai_client import OpenAIClient, OpenAIEndpoint, Refused, Unreachable, base_url_from, error_message
from server.speech.worker import SpeechWorker
from server.wire.frames import SpeechPart

_MAX_QUOTED_CHARS: Final = 200
_MAX_CONNECTIONS: Final = 200
PASSED_OVER_S: Final = 30.0
"""Time for which a server that was away is asked last."""
_AWAY: Final = (502, 503)
"""Answers of a proxy whose server is away, and of a server that is starting or stopping."""
_PAUSE_S: Final = 0.5
"""Time after which a server that is away is asked again, doubled from one time to the next; more where it says so."""
AGAIN_S: Final = 3.0
"""Time for which servers that are away may be asked again for one transcription, or say that they want to be."""

Answer = TypeVar("Answer")
logger = logging.getLogger(__name__)


class SpeechProvider(Protocol):
    """A recogniser or a synthesiser. `start` returns without waiting for what loads; `aclose` ends what runs."""

    @property
    def status(self) -> SpeechPart:
        """Whether it is ready, loading or missing, and why."""

    @property
    def languages(self) -> list[str]:
        """Languages (BCP 47); empty where they are not known and the provider decides."""

    async def start(self) -> None: ...

    async def aclose(self) -> None: ...


class NoProvider:
    status: SpeechPart
    languages: list[str] = []  # noqa: RUF012  a constant that the protocol shows as a list

    async def start(self) -> None: ...

    async def aclose(self) -> None: ...


class WorkerProvider:
    def __init__(self, worker: SpeechWorker) -> None:
        self.worker = worker

    @property
    def status(self) -> SpeechPart:
        return self.worker.status

    @property
    def languages(self) -> list[str]:
        return list(self.worker.facts.get("languages", []))

    async def start(self) -> None:
        self.worker.start()

    async def aclose(self) -> None:
        await self.worker.aclose()


@dataclass(frozen=True, kw_only=True)
class SpeechEndpoint(OpenAIEndpoint):
    section: str
    """The part of the configuration that it comes from (`speech.stt`), for the text of errors."""
    model: str
    voice: str
    first_byte_s: float
    """Time to the first byte of its answer after which another one is asked."""

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


class SpeechEndpointClient:
    """One server of a provider, connected when it is first asked."""

    def __init__(self, endpoint: SpeechEndpoint) -> None:
        self.endpoint = endpoint
        self._client: OpenAIClient | None = None
        self._making = Lock()  # a request may come while a thread makes the client, and needs the same imports
        self._away_until = 0.0
        self.due_at = 0.0
        """Time of the event loop before which the server wants no request."""

    async def start(self) -> None:
        await asyncio.to_thread(self.connected)  # its imports take 0.8 s

    async def aclose(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def connected(self) -> OpenAIClient:
        with self._making:
            if self._client is None:
                self._client = OpenAIClient(self.endpoint, max_connections=_MAX_CONNECTIONS)
            return self._client

    @property
    def is_passed_over(self) -> bool:
        return asyncio.get_running_loop().time() < self._away_until

    def pass_over(self, error: Exception) -> SpeechError:
        """Ask others first for PASSED_OVER_S, or for as long as it says; returns the error to report."""
        reported = self.endpoint.error(error)
        if not self.is_passed_over:
            logger.warning("%s", reported)
        now = asyncio.get_running_loop().time()
        asked_s = error.retry_after_s if isinstance(error, Refused) else None
        self._away_until = now + (PASSED_OVER_S if asked_s is None else asked_s)
        if asked_s is not None:
            self.due_at = now + max(_PAUSE_S, asked_s)
        return reported

    def not_due(self) -> SpeechBusy:
        """Return the error of a request that the server has asked not to get yet."""
        wait_s = self.due_at - asyncio.get_running_loop().time()
        return SpeechBusy(f"{self.endpoint.host} is overloaded and wants no request for another {wait_s:.0f} s")


class EndpointProvider:
    """OpenAI-compatible servers, the preferred one first: ready at once."""

    languages: list[str] = []  # noqa: RUF012  a constant that the protocol shows as a list

    def __init__(self, endpoints: Sequence[SpeechEndpoint], *, timeout_s: float) -> None:
        self._servers = [SpeechEndpointClient(endpoint) for endpoint in endpoints]
        self._endpoint = endpoints[0]
        self._timeout_s = timeout_s
        hosts = ", ".join(endpoint.host for endpoint in endpoints)
        self.status = SpeechPart(state="ready", name=f"{self._endpoint.model} at {hosts}")

    async def start(self) -> None:
        await asyncio.gather(*(server.start() for server in self._servers))

    async def aclose(self) -> None:
        await asyncio.gather(*(server.aclose() for server in self._servers))

    async def _ask(self, ask: Callable[[SpeechEndpointClient], Awaitable[Answer]], *, again_s: float = 0.0) -> Answer:
        """Ask the servers in turn, those that are passed over last, until one answers. Raises SpeechError.

        A server that is silent for `first_byte_s` counts as away while another one is left to ask. Where all are away, they
        are asked again for `again_s`, and for AGAIN_S where they say when they want to be; never before that, also by later
        requests. All of it takes `timeout_s` at most.
        """
        loop = asyncio.get_running_loop()
        give_up_at = deadline = loop.time() + self._timeout_s
        pause_s = _PAUSE_S
        while True:
            failure: SpeechError = min(self._servers, key=lambda each: each.due_at).not_due()
            due = [each for each in self._servers if each.due_at <= loop.time()]
            due.sort(key=lambda each: each.is_passed_over)
            for server in due:
                until = deadline if server is due[-1] else min(deadline, loop.time() + server.endpoint.first_byte_s)
                try:
                    async with asyncio.timeout_at(until):
                        return await ask(server)
                except (Refused, Unreachable, TimeoutError) as error:
                    if isinstance(error, Refused) and not _is_temporary(error):
                        raise server.endpoint.error(error) from error
                    failure = server.pass_over(error)
                    if loop.time() >= deadline:
                        raise failure from error
            now = loop.time()
            says_when = any(each.due_at > now for each in self._servers)
            give_up_at = min(give_up_at, now + (AGAIN_S if says_when else again_s))
            next_at = max(min(each.due_at for each in self._servers), min(now + pause_s, give_up_at))
            if now >= give_up_at or next_at > give_up_at:
                raise failure
            await asyncio.sleep(next_at - now)
            pause_s *= 2


def _is_temporary(error: Refused) -> bool:
    """Return whether the same request may succeed later, here or elsewhere."""
    says_when = error.retry_after_s is not None and (error.status == 429 or error.status >= 500)
    return says_when or error.status in _AWAY


def speech_endpoints(
    section: str, config: SpeechProviderSettings, environ: Mapping[str, str], *, model: str, voice: str = ""
) -> list[SpeechEndpoint]:
    """Return the endpoints of a `provider: openai`, with OPENAI_BASE_URL and OPENAI_API_KEY for what it leaves out.

    `model` and `voice` are the defaults. Raises ConfigError for an invalid base URL.
    """
    key = config.api_key.reveal().strip() if config.api_key is not None else environ.get("OPENAI_API_KEY", "").strip()
    return [
        SpeechEndpoint(
            section=section,
            base_url=base_url_from(f"{section}.base_url", base_url, environ),
            model=config.model or model,
            voice=config.voice or voice,
            first_byte_s=config.first_byte_s,
            api_key=key or None,
        )
        for base_url in (config.base_url if isinstance(config.base_url, list) else [config.base_url])
    ]
