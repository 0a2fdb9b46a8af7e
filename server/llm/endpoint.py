"""The endpoint of a model: its address from settings and environment, and what its `/models` and `/props` tell."""

import asyncio
import ipaddress
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from server.config import LlmSettings
from server.errors import ModelMissing, ProviderUnreachable
from server.openai_client import OpenAIEndpoint, Refused, Unreachable, base_url_from

logger = logging.getLogger(__name__)

LISTING_TIMEOUT_S = 3.0
LISTING_PAUSE_S = 5.0
"""Pause between two tries; meanwhile callers do not wait again."""

_SIZE_KEYS = (
    "max_model_len",  # vLLM
    "context_length",  # OpenRouter, Together
    "max_context_length",  # LM Studio, Mistral
    "context_window",  # Groq
    "max_input_tokens",
)
_MAX_NAMED = 10


@dataclass(frozen=True, kw_only=True)
class ModelEndpoint(OpenAIEndpoint):
    """An OpenAI-compatible server for chat. Without a `model`, its only one is found out there."""

    model: str | None = None
    key_source: str | None = None
    """Name of the setting that the key came from, if there is a key."""
    max_tokens: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of each request; one that is None removes ours of that name."""
    first_token_timeout_s: float = 30
    """Limit from the call to the first piece of text, reasoning or tool call. Comments do not count: the user waits."""
    idle_timeout_s: float = 20
    """Limit between two later reads of the stream. Comments count: the server says that it is at work."""

    @cached_property
    def location(self) -> Literal["local", "cloud"]:
        """Place of the endpoint; local: this machine or a private network, which the conversation does not leave."""
        try:
            is_private = ipaddress.ip_address(self.hostname).is_private
        except ValueError:
            inner = (".localhost", ".local", ".lan", ".home.arpa", ".internal")
            is_private = "." not in self.hostname or self.hostname.endswith(inner)
        return "local" if is_private else "cloud"


def endpoint_of(config: LlmSettings, environ: Mapping[str, str]) -> ModelEndpoint:
    """Return the endpoint of `llm:`, with OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL for what it leaves out.

    Raises ConfigError for an invalid base URL.
    """
    key, key_source = _key(config, environ)
    base_url = base_url_from("llm.base_url", config.base_url, environ)
    model = config.model or environ.get("OPENAI_MODEL") or None
    return _endpoint(config, base_url=base_url, model=model, api_key=key, key_source=key_source)


def endpoint_of_choice(config: LlmSettings, *, base_url: str, model: str | None, api_key: str | None) -> ModelEndpoint:
    """Return the chosen endpoint; options and limits are those of `llm:`, and no other key is sent there."""
    source = "the model picker" if api_key else None
    return _endpoint(config, base_url=base_url, model=model, api_key=api_key, key_source=source)


def _endpoint(config: LlmSettings, **named: str | None) -> ModelEndpoint:
    return ModelEndpoint(
        **named,  # type: ignore[arg-type]  # base_url is given
        max_tokens=config.max_tokens,
        options=config.options,
        connect_timeout_s=config.connect_timeout_s,
        first_token_timeout_s=config.first_token_timeout_s,
        idle_timeout_s=config.idle_timeout_s,
    )


def endpoint_named_by(config: LlmSettings, environ: Mapping[str, str]) -> str | None:
    """Return the setting or variable, if any, that names an endpoint or a key, which decides `provider: auto`."""
    if config.base_url:
        return "llm.base_url"
    return next((name for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY") if environ.get(name)), None)


def model_named_by(config: LlmSettings, environ: Mapping[str, str]) -> str | None:
    """Return the setting or variable, if any, that decides which model answers, whatever was chosen."""
    return "llm.provider" if config.provider != "auto" else endpoint_named_by(config, environ)


def _key(config: LlmSettings, environ: Mapping[str, str]) -> tuple[str | None, str | None]:
    if config.api_key is not None and (key := config.api_key.reveal().strip()):
        return key, "llm.api_key"
    if key := environ.get("OPENAI_API_KEY", "").strip():
        return key, "OPENAI_API_KEY"
    return None, None


@dataclass(frozen=True, kw_only=True)
class Listing:
    """The names that an endpoint lists, in its order, and the context of those for which it is given."""

    names: tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    is_llama_cpp: bool = False

    def context_tokens(self, model: str | None) -> int | None:
        return self.sizes.get(model or "")

    def described(self) -> str:
        if not self.names:
            return "lists no models"
        more = f" and {len(self.names) - _MAX_NAMED} more" if len(self.names) > _MAX_NAMED else ""
        return f"has {', '.join(self.names[:_MAX_NAMED])}{more}"


def is_for_chat(model: str) -> bool:
    """Return whether this is no embedding model, of which LM Studio always lists one."""
    return "embed" not in model.lower()


def pick_model(listing: Listing) -> str | None:
    """Return the only model for chat."""
    talking = [name for name in listing.names if is_for_chat(name)]
    return talking[0] if len(talking) == 1 else None


def read_listing(body: bytes) -> Listing:
    """Read the body of `/models`. Raises ValueError if it is not a list; an entry that makes no sense is left out."""
    parsed = json.loads(body)
    entries = parsed.get("data") if isinstance(parsed, dict) else parsed
    if not isinstance(entries, list):
        raise ValueError("no list of models")
    known = [entry for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str)]
    return Listing(
        names=tuple(entry["id"] for entry in known),
        sizes={entry["id"]: size for entry in known if (size := _size(entry)) is not None},
        is_llama_cpp=any(entry.get("owned_by") == "llamacpp" for entry in known),
    )


def read_props(listing: Listing, body: bytes) -> Listing:
    """Put llama.cpp's real context of one slot in place of the one that the model was trained with."""
    parsed = json.loads(body)
    settings = parsed.get("default_generation_settings") if isinstance(parsed, dict) else None
    size = settings.get("n_ctx") if isinstance(settings, dict) else None
    if not isinstance(size, int) or size <= 0:
        return listing
    return replace(listing, sizes=dict.fromkeys(listing.names, size))


class Discovery:
    """The discovery of one endpoint: asks once at a time, until it has answered and there is a model to talk to.

    `get` fetches a path below the base URL, or a whole URL, and raises Refused or
    Unreachable where that fails. A caller that waits for an answer may be cancelled; `aclose` gives the request up.
    """

    def __init__(
        self, endpoint: ModelEndpoint, get: Callable[[str], Awaitable[bytes]], *, pause_s: float = LISTING_PAUSE_S
    ) -> None:
        self._endpoint = endpoint
        self._get = get
        self._pause_s = pause_s
        self.known_model = endpoint.model
        self._listing: Listing | None = None  # absent until the endpoint has answered
        self._asking: asyncio.Task[None] | None = None  # under way
        self._has_asked = False
        self._next_try_s = 0.0  # loop time before which no further try is made
        self._asked_pause_s = 0.0  # by the endpoint, in its last answer

    async def aclose(self) -> None:
        if (asking := self._asking) is not None:
            asking.cancel()
            await asyncio.wait([asking])

    async def model(self) -> str:
        """Return the configured model, or the only one that is listed. Raises ModelMissing or ProviderUnreachable."""
        if self.known_model is not None:
            return self.known_model
        host = self._endpoint.host
        listing = await self._list(is_needed=True)
        if listing is None:
            raise ProviderUnreachable(f"no answer from {host}: is it running, and is llm.base_url right?")
        if (only := pick_model(listing)) is None:
            raise ModelMissing(f"set llm.model or OPENAI_MODEL: {host} {listing.described()}")
        self.known_model = only
        return only

    async def has_answer(self) -> bool:
        """Ask for the list of models: any answer shows that the server is there."""
        return await self._fetch("/models") is not None

    async def context_tokens(self) -> int | None:
        """Return the size if it is known. Waits for the first answer only: no turn is held up by asking again."""
        listing = await self._list(is_needed=not self._has_asked)
        return listing.context_tokens(self.known_model) if listing else None

    async def _list(self, *, is_needed: bool) -> Listing | None:
        asking = self.begin()
        if asking is not None and is_needed:
            await asyncio.wait([asking])
        return self._listing

    def begin(self) -> asyncio.Task[None] | None:
        """Ask if it is time to, so that the first call need not wait. Return the request under way."""
        is_settled = self._listing is not None and self.known_model is not None
        if self._asking is None and not is_settled and asyncio.get_running_loop().time() >= self._next_try_s:
            self._asking = asyncio.create_task(self._ask_once(), name="discovery of models")  # `aclose` awaits it
        return self._asking

    async def _ask_once(self) -> None:
        try:
            self._listing = await self._ask() or self._listing
        finally:
            self._asking, self._has_asked = None, True
            self._next_try_s = asyncio.get_running_loop().time() + max(self._pause_s, self._asked_pause_s)

    async def _ask(self) -> Listing | None:
        body = await self._fetch("/models")
        if body is None:
            return None
        try:
            listing = read_listing(body)
            if listing.is_llama_cpp and (
                props := await self._fetch(self._endpoint.base_url.removesuffix("/v1") + "/props")
            ):
                listing = read_props(listing, props)
        except (ValueError, RecursionError) as error:
            logger.info("%s lists no models: %s", self._endpoint.host, error)
            return Listing()
        return listing

    async def _fetch(self, path: str) -> bytes | None:
        """Return the body, b"{}" if the endpoint answered with an error, or None if it did not answer."""
        self._asked_pause_s = 0.0
        try:
            async with asyncio.timeout(LISTING_TIMEOUT_S):
                return await self._get(path)
        except Refused as error:
            self._asked_pause_s = min(error.retry_after_s or 0.0, 60.0)
            logger.info("%s refused %s (HTTP %d)", self._endpoint.host, path, error.status)
            return b"{}"  # it answered: asking again would not help
        except (Unreachable, TimeoutError) as error:
            logger.info("%s did not answer %s (%s)", self._endpoint.host, path, type(error).__name__)
            return None


def _size(entry: Mapping[str, Any]) -> int | None:
    meta = entry.get("meta")
    inner = meta if isinstance(meta, dict) else {}
    given = [*map(entry.get, _SIZE_KEYS), inner.get("n_ctx"), inner.get("n_ctx_train")]
    return next((size for size in given if isinstance(size, int) and size > 0), None)
