"""The endpoint of a model and how it is asked: settings and environment → one `ModelEndpoint`."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from server.config import LlmSettings
from server.openai_client import OpenAIEndpoint, base_url_from


@dataclass(frozen=True, kw_only=True)
class ModelEndpoint(OpenAIEndpoint):
    """An OpenAI-compatible server for chat. `model` None: it is to be found out there."""

    model: str | None = None
    key_source: str | None = None
    """The name of the setting that the key came from; None without a key."""
    max_tokens: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of each request; one that is None removes ours of that name."""
    first_token_timeout_s: float = 30
    """From the call to the first piece of text, reasoning or tool call. Comments do not count: the user waits."""
    idle_timeout_s: float = 20
    """After that, between two reads of the stream. Comments count: the server says that it is at work."""

    @cached_property
    def location(self) -> Literal["local", "cloud"]:
        """Local means this machine or a private network, which the conversation does not leave."""
        return "local" if _is_private(self.hostname) else "cloud"


def endpoint_of(config: LlmSettings, environ: Mapping[str, str]) -> ModelEndpoint:
    """Return the endpoint of `llm:`, with OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL for what it leaves out.

    Raises ConfigError for an invalid base URL.
    """
    key, key_source = _key(config, environ)
    return ModelEndpoint(
        base_url=base_url_from("llm.base_url", config.base_url, environ),
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
    """Return whether settings or environment name an endpoint or a key, which decides `provider: auto`."""
    return bool(config.base_url or environ.get("OPENAI_BASE_URL") or environ.get("OPENAI_API_KEY"))


def _key(config: LlmSettings, environ: Mapping[str, str]) -> tuple[str | None, str | None]:
    if config.api_key is not None and (key := config.api_key.reveal().strip()):
        return key, "llm.api_key"
    if key := environ.get("OPENAI_API_KEY", "").strip():
        return key, "OPENAI_API_KEY"
    return None, None


def _is_private(hostname: str) -> bool:
    try:
        return ipaddress.ip_address(hostname).is_private
    except ValueError:
        return "." not in hostname or hostname.endswith((".localhost", ".local", ".lan", ".home.arpa", ".internal"))
