"""Model servers that are found, not configured: asked for their list of models where such servers usually listen."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import aiohttp

from server.config import LlmSettings
from server.llm.endpoint import is_for_chat, read_listing
from server.openai_client import is_loopback_name

logger = logging.getLogger(__name__)

ANSWER_LIMIT_S: Final = 0.3
MAX_ANSWER_BYTES: Final = 256 << 10
MAX_MODELS: Final = 100
"""The most models of one server that are listed."""
_MAX_NAME_CHARS: Final = 256
_USUAL_PORTS: Final = {"Ollama": 11434, "LM Studio": 1234, "llama.cpp": 8080, "vLLM": 8000, "Jan": 1337}
_HEADERS: Final = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "parley"}


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """An address at which a model server may be, and what people call it."""

    name: str
    base_url: str


@dataclass(frozen=True, slots=True)
class FoundServer(ServerAddress):
    """A model server that has answered; `models` are those for chat, at least one."""

    models: tuple[str, ...]

    def described(self) -> str:
        """Return the line for the operator: the first model, and how to use it."""
        here = " on this machine" if is_loopback_name(urlsplit(self.base_url).hostname or "") else ""
        use = f"OPENAI_BASE_URL={self.base_url} OPENAI_MODEL={self.models[0]}"
        return (
            f"found: {self.models[0]} at {self.name}{here}; to use it, click the model's name on the page or set {use}"
        )


def places_to_look(config: LlmSettings, own_url: str) -> list[ServerAddress]:
    """Return the usual addresses on this machine and those of `llm.discover_urls`, without our own; none if off."""
    if config.discover == "off":
        return []
    usual = [ServerAddress(name, f"http://127.0.0.1:{port}/v1") for name, port in _USUAL_PORTS.items()]
    named = [ServerAddress(urlsplit(url).netloc, _with_path(url)) for url in config.discover_urls]
    places = {place.base_url: place for place in (*usual, *named)}
    return [place for place in places.values() if not _is_own(place.base_url, own_url)]


async def find_servers(places: Sequence[ServerAddress]) -> list[FoundServer]:
    """Ask all of them at once for their models; return those that answer with a list, in the order given.

    Neither a key nor a cookie is sent, no proxy is used and no redirect followed. Never raises; may be cancelled.
    """
    if not places:
        return []
    timeout = aiohttp.ClientTimeout(total=ANSWER_LIMIT_S)
    async with aiohttp.ClientSession(
        timeout=timeout, auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar(), headers=_HEADERS
    ) as http:
        answers = await asyncio.gather(*(_ask(http, place) for place in places))
    return [server for server in answers if server is not None]


async def _ask(http: aiohttp.ClientSession, place: ServerAddress) -> FoundServer | None:
    try:
        names = dict.fromkeys(read_listing(await _fetch(http, f"{place.base_url}/models")).names)
    except (ValueError, RecursionError):
        return None
    usable = [name for name in names if 0 < len(name) <= _MAX_NAME_CHARS and name.isprintable() and is_for_chat(name)]
    return FoundServer(place.name, place.base_url, tuple(usable[:MAX_MODELS])) if usable else None


async def _fetch(http: aiohttp.ClientSession, url: str) -> bytes:
    """Return the body of a success that is within the limits and not another Parley's, else nothing."""
    try:
        async with http.get(url, allow_redirects=False) as response:
            if response.status != 200 or response.headers.get("Server") == "parley":
                return b""
            await response.content.readexactly(MAX_ANSWER_BYTES + 1)
    except asyncio.IncompleteReadError as whole:
        return whole.partial
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
        logger.debug("no model server at %s (%s)", url, type(error).__name__)
    return b""


def _with_path(url: str) -> str:
    url = url.rstrip("/")
    return url if urlsplit(url).path else f"{url}/v1"


def _is_own(base_url: str, own_url: str) -> bool:
    other, own = urlsplit(base_url), urlsplit(own_url)
    is_same_host = other.hostname == own.hostname or is_loopback_name(other.hostname or "")
    return is_same_host and other.port == own.port
