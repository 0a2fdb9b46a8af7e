"""Where a model answers and how it is asked there: settings and environment → one `Endpoint`."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal
from urllib.parse import urlsplit

from server.config import LlmSettings
from server.errors import ConfigError
from server.llm.refusals import Where

OPENAI_URL = "https://api.openai.com/v1"


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """An OpenAI-compatible server. `model` None: it is to be found out there."""

    base_url: str
    model: str | None = None
    api_key: str | None = field(default=None, repr=False)
    key_source: str | None = None
    """The name of the setting that the key came from; None without a key."""
    max_tokens: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of each request; one that is None removes ours of that name."""
    connect_timeout_s: float = 5
    first_token_timeout_s: float = 30
    """From the call to the first piece of text, reasoning or tool call. Comments do not count: the user waits."""
    idle_timeout_s: float = 20
    """After that, between two reads of the stream. Comments count: the server says that it is at work."""
    keepalive_s: float = 90
    """How long an idle connection is kept for the next call; 0 = one connection a call."""

    @cached_property
    def host(self) -> str:
        return urlsplit(self.base_url).netloc.rpartition("@")[2]

    @cached_property
    def is_openai(self) -> bool:
        return urlsplit(self.base_url).hostname == "api.openai.com"

    @cached_property
    def location(self) -> Literal["local", "cloud"]:
        """Local: this machine or a private network, so that what is said stays in the house."""
        return "local" if _is_private(urlsplit(self.base_url).hostname or "") else "cloud"

    @cached_property
    def is_loopback(self) -> bool:
        return _is_loopback(urlsplit(self.base_url).hostname or "")

    def where(self, model: str | None = None) -> Where:
        return Where(host=self.host, model=model or self.model or "", key_source=self.key_source, key=self.api_key)


def endpoint_of(config: LlmSettings, environ: Mapping[str, str]) -> Endpoint:
    """The endpoint of `llm:`, with OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL for what it leaves out.

    Raises ConfigError for a base URL that is none.
    """
    source = "llm.base_url" if config.base_url else "OPENAI_BASE_URL"
    base_url = (config.base_url or environ.get("OPENAI_BASE_URL") or OPENAI_URL).strip().rstrip("/")
    if urlsplit(base_url).scheme not in ("http", "https") or not urlsplit(base_url).hostname:
        raise ConfigError(f"{source} must be a URL such as http://127.0.0.1:8000/v1")
    key, key_source = _key(config, environ)
    return Endpoint(
        base_url=base_url,
        model=config.model or environ.get("OPENAI_MODEL") or None,
        api_key=key,
        key_source=key_source,
        max_tokens=config.max_tokens,
        options=config.options,
        connect_timeout_s=config.connect_timeout_s,
        first_token_timeout_s=config.first_token_timeout_s,
        idle_timeout_s=config.idle_timeout_s,
    )


def is_endpoint_named(config: LlmSettings, environ: Mapping[str, str]) -> bool:
    """Whether settings or environment name an endpoint or a key: what `provider: auto` goes by."""
    return bool(config.base_url or environ.get("OPENAI_BASE_URL") or environ.get("OPENAI_API_KEY"))


def _key(config: LlmSettings, environ: Mapping[str, str]) -> tuple[str | None, str | None]:
    if config.api_key is not None and (key := config.api_key.reveal().strip()):
        return key, "llm.api_key"
    if key := environ.get("OPENAI_API_KEY", "").strip():
        return key, "OPENAI_API_KEY"
    return None, None


def _is_loopback(hostname: str) -> bool:
    if hostname == "localhost" or hostname.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(hostname).is_loopback
    except ValueError:
        return False


def _is_private(hostname: str) -> bool:
    try:
        return ipaddress.ip_address(hostname).is_private
    except ValueError:
        return "." not in hostname or hostname.endswith((".localhost", ".local", ".lan", ".home.arpa", ".internal"))
