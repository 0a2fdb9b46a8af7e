"""Keys that sign JWTs: configured, or published by an identity provider."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

import aiohttp
import jwt
import msgspec
from jwt.algorithms import get_default_algorithms

from server.config import Secret
from server.errors import ConfigError, KeysUnavailable

logger = logging.getLogger(__name__)

REFRESH_S: Final = 300.0
COOLDOWN_S: Final = 30.0
"""Time between two requests, so that made-up key ids do not make us ask the provider each time."""
FIRST_COOLDOWN_S: Final = 5.0  # while there are no keys at all
FETCH_S: Final = 5.0
MAX_BYTES: Final = 256 << 10
MAX_KEYS: Final = 64


class KeySource(Protocol):
    async def find(self, algorithm: str, key_id: str | None) -> Sequence[Any]:
        """Returns the keys that may have signed, as PyJWT takes them, possibly none. Raises KeysUnavailable."""
        ...


class ConfiguredKeys:
    """Keys of `security.jwt.keys`. A key serves every algorithm that it fits."""

    def __init__(self, keys: Sequence[Secret], algorithms: Sequence[str]) -> None:
        """Raises ConfigError for a key that fits none of the algorithms."""
        self._keys: dict[str, list[Any]] = {name: [] for name in algorithms}
        for number, key in enumerate(keys):
            fitting = [(name, prepared) for name in algorithms if (prepared := _prepare(name, key)) is not None]
            if not fitting:
                raise ConfigError(
                    f"security.jwt.keys[{number}]: no public key (PEM) for {', '.join(algorithms)}; "
                    "give the key's own algorithm in security.jwt.algorithms"
                )
            for name, prepared in fitting:
                self._keys[name].append(prepared)

    async def find(self, algorithm: str, key_id: str | None) -> Sequence[Any]:  # noqa: ARG002 - a PEM has no id
        return self._keys.get(algorithm, [])


class PublishedKeys:
    """Keys of `security.jwt.jwks_url`, fetched again after REFRESH_S and for an unknown key id.

    While the provider does not answer, the last keys are good for
    `max_key_age_s`. One request at a time; a caller whose key is known does not
    wait for it.
    """

    def __init__(self, url: str, *, max_age_s: float, now: Callable[[], float] = time.monotonic) -> None:
        self._url = url
        self._max_age_s = max_age_s
        self._now = now
        self._keys: list[jwt.PyJWK] = []
        self._fetched_s = float("-inf")
        self._next_try_s = float("-inf")
        self._asking = asyncio.Lock()
        if urlsplit(url).scheme == "http":
            logger.warning("security.jwt.jwks_url is plain http: whoever sits on the way can log in as anybody")

    async def find(self, algorithm: str, key_id: str | None) -> Sequence[Any]:
        found = self._fitting(algorithm, key_id)
        if not found or self._now() - self._fetched_s >= REFRESH_S:
            await self._refresh(may_wait=not found)
            found = self._fitting(algorithm, key_id)
        if self._now() - self._fetched_s >= self._max_age_s:
            raise KeysUnavailable("the identity provider's keys cannot be had at the moment; try again in a while")
        return found

    def _fitting(self, algorithm: str, key_id: str | None) -> list[jwt.PyJWK]:
        fitting = [key for key in self._keys if key.algorithm_name == algorithm]
        if key_id is None:  # RFC 7515, 4.1.4: it is optional; then there must be no choice
            return fitting if len(fitting) == 1 else []
        return [key for key in fitting if key.key_id == key_id]

    async def _refresh(self, *, may_wait: bool) -> None:
        if self._asking.locked() and not may_wait:
            return
        async with self._asking:
            if self._now() < self._next_try_s:
                return
            self._next_try_s = self._now() + (COOLDOWN_S if self._keys else FIRST_COOLDOWN_S)
            try:
                self._keys = await _fetch(self._url)
            except (aiohttp.ClientError, TimeoutError, OSError, ValueError, jwt.PyJWTError) as error:
                logger.warning("security.jwt.jwks_url does not give its keys: %s", type(error).__name__)
            else:
                self._fetched_s = self._now()
                self._next_try_s = self._fetched_s + COOLDOWN_S


async def _fetch(url: str) -> list[jwt.PyJWK]:
    timeout = aiohttp.ClientTimeout(total=FETCH_S)
    async with (
        aiohttp.ClientSession(timeout=timeout, trust_env=True) as http,
        http.get(url, allow_redirects=False, headers={"Accept": "application/json"}) as answer,
    ):
        if answer.status != 200:
            raise ValueError(f"HTTP {answer.status}")
        data = bytearray()
        async for chunk in answer.content.iter_chunked(64 << 10):
            data += chunk
            if len(data) > MAX_BYTES:
                raise ValueError("too large")
    return await asyncio.to_thread(_parse, bytes(data))  # each key takes arithmetic on large numbers


def _parse(data: bytes) -> list[jwt.PyJWK]:
    """Returns the signing keys, without those that we cannot use. A shared secret is never published."""
    tree = msgspec.json.decode(data, type=dict[str, Any])
    entries = tree.get("keys")
    if not isinstance(entries, list):
        raise ValueError("no JWK set")
    keys = jwt.PyJWKSet.from_dict({"keys": entries[:MAX_KEYS]}).keys
    return [key for key in keys if key.key_type != "oct" and key.public_key_use in ("sig", None)]


def _prepare(algorithm: str, key: Secret) -> Any:
    method = get_default_algorithms()[algorithm]
    try:
        prepared = method.prepare_key(key.reveal())
    except (jwt.PyJWTError, ValueError, TypeError):
        return None
    if too_short := method.check_key_length(prepared):
        raise ConfigError(f"security.jwt.keys: {too_short}")
    return prepared
