"""Tokens of an identity provider (`security.jwt`), and the keys that sign them: configured, or published by it."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

import aiohttp
import jwt
import msgspec
from jwt.algorithms import get_default_algorithms

from server.accounts.principal import Identity, checked_user_id
from server.config import JwtSettings, Secret
from server.errors import AuthError, ConfigError, CredentialExpired, KeysUnavailable

logger = logging.getLogger(__name__)

MAX_CHARACTERS: Final = 8192
_REASONS: Final[dict[type[Exception], str]] = {
    jwt.ImmatureSignatureError: "the token is not valid yet; compare the clocks",
    jwt.InvalidIssuedAtError: "the token is from the future; compare the clocks",
    jwt.InvalidAudienceError: "the token was made for another audience",
    jwt.InvalidIssuerError: "the token comes from another issuer",
    jwt.MissingRequiredClaimError: "the token lacks a claim: exp is needed, and aud and iss where they are configured",
}
_INVALID: Final = "the token is not valid"
REFRESH_S: Final = 300.0
COOLDOWN_S: Final = 30.0
"""Time between two requests, so that made-up key ids do not make us ask the provider each time."""
FIRST_COOLDOWN_S: Final = 5.0  # while there are no keys at all
FETCH_S: Final = 5.0
MAX_JWKS_BYTES: Final = 256 << 10
MAX_KEYS: Final = 64


class JwtVerifier:
    def __init__(self, settings: JwtSettings, keys: "KeySource") -> None:
        self._settings = settings
        self._keys = keys

    @classmethod
    def build(cls, settings: JwtSettings) -> "JwtVerifier | None":
        """Return None where `security.jwt` is not set. Raises ConfigError."""
        if settings.jwks_url is not None:
            return cls(settings, PublishedKeys(settings.jwks_url, max_age_s=settings.max_key_age_s))
        return cls(settings, ConfiguredKeys(settings.keys, settings.algorithms)) if settings.keys else None

    async def identify(self, token: str) -> Identity:
        """Return the token's user. Raises AuthError; KeysUnavailable where the keys are missing."""
        algorithm, key_id = self._read_header(token)
        keys = await self._keys.find(algorithm, key_id)
        claims = next((read for key in keys if (read := self._verified(token, key, algorithm)) is not None), None)
        if claims is None:
            raise AuthError(_INVALID)
        return Identity(
            user_id=checked_user_id(_claim(claims, self._settings.user_claim)),
            is_operator=self._is_operator(claims),
            expires_at_s=_ends_s(claims["exp"]) + self._settings.leeway_s,
        )

    def _read_header(self, token: str) -> tuple[str, str | None]:
        """Return algorithm and key id as the token states them: good for choosing a key, for nothing else."""
        if len(token) > MAX_CHARACTERS or token.count(".") != 2:
            raise AuthError(_INVALID)
        try:
            header = jwt.get_unverified_header(token)
        except (jwt.PyJWTError, UnicodeError, RecursionError) as error:
            raise AuthError(_INVALID) from error
        algorithm = header.get("alg")
        if algorithm not in self._settings.algorithms:
            raise AuthError("the token is signed in a way that is not accepted; see security.jwt.algorithms")
        return algorithm, header.get("kid")

    def _verified(self, token: str, key: Any, algorithm: str) -> dict[str, Any] | None:
        """Return the token's claims, or None if another key has signed it."""
        settings = self._settings
        wanted = {"exp": True, "aud": settings.audience is not None, "iss": settings.issuer is not None}
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=[algorithm],
                audience=settings.audience,
                issuer=settings.issuer,
                leeway=settings.leeway_s,
                options={
                    "require": [name for name, is_wanted in wanted.items() if is_wanted],
                    "verify_aud": settings.audience is not None,
                    "enforce_minimum_key_length": True,
                },
            )
        except jwt.InvalidSignatureError:
            return None
        except jwt.ExpiredSignatureError as error:
            raise CredentialExpired("the token has expired; log in again") from error
        except (jwt.PyJWTError, OverflowError) as error:  # overflow: an `exp` beyond all numbers
            raise AuthError(_REASONS.get(type(error), _INVALID)) from error
        return claims

    def _is_operator(self, claims: Mapping[str, Any]) -> bool:
        if self._settings.operator_claim is None:
            return False
        found, wanted = _claim(claims, self._settings.operator_claim), self._settings.operator_value
        # 1 == True in Python; it is not what was configured
        entries = found if isinstance(found, list) else [found]
        return any(type(entry) is type(wanted) and entry == wanted for entry in entries)


class KeySource(Protocol):
    async def find(self, algorithm: str, key_id: str | None) -> Sequence[Any]:
        """Return the keys that may have signed, as PyJWT takes them, possibly none. Raises KeysUnavailable."""
        ...


class ConfiguredKeys:
    """Keys of `security.jwt.keys`. A key serves every algorithm that it fits."""

    def __init__(self, keys: Sequence[Secret], algorithms: Sequence[str]) -> None:
        """Parse the keys. Raises ConfigError for a key that fits none of the algorithms."""
        self._keys: dict[str, list[Any]] = {name: [] for name in algorithms}
        for number, key in enumerate(keys):
            fitting = [(name, prepared) for name in algorithms if (prepared := _prepare_key(name, key)) is not None]
            if not fitting:
                raise ConfigError(
                    f"security.jwt.keys[{number}]: not a public key (PEM) for {', '.join(algorithms)}; "
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
            logger.warning("security.jwt.jwks_url is plain http: an attacker who intercepts it can log in as any user")

    async def find(self, algorithm: str, key_id: str | None) -> Sequence[Any]:
        found = self._fitting(algorithm, key_id)
        if not found or self._now() - self._fetched_s >= REFRESH_S:
            await self._refresh(may_wait=not found)
            found = self._fitting(algorithm, key_id)
        if self._now() - self._fetched_s >= self._max_age_s:
            raise KeysUnavailable("the identity provider's keys are unavailable at the moment; try again later")
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
                self._keys = await _fetch_keys(self._url)
            except (aiohttp.ClientError, TimeoutError, OSError, ValueError, jwt.PyJWTError) as error:
                logger.warning("security.jwt.jwks_url provides no keys: %s", type(error).__name__)
            else:
                self._fetched_s = self._now()
                self._next_try_s = self._fetched_s + COOLDOWN_S


def _ends_s(exp: Any) -> float:
    """Return `exp` as a float; PyJWT has checked that it is a number, but not its size."""
    try:
        return float(exp)
    except OverflowError as error:
        raise AuthError(_INVALID) from error


def _claim(claims: Mapping[str, Any], name: str) -> object:
    """Look the claim up by its name, or, where the name has dots, as a path."""
    if name in claims:
        return claims[name]
    node: object = claims
    for part in name.split("."):
        node = node.get(part) if isinstance(node, Mapping) else None
    return node


async def _fetch_keys(url: str) -> list[jwt.PyJWK]:
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
            if len(data) > MAX_JWKS_BYTES:
                raise ValueError("too large")
    return await asyncio.to_thread(_parse_keys, bytes(data))  # each key takes arithmetic on large numbers


def _parse_keys(data: bytes) -> list[jwt.PyJWK]:
    """Return the signing keys, without those that we cannot use. A shared secret is never published."""
    tree = msgspec.json.decode(data, type=dict[str, Any])
    entries = tree.get("keys")
    if not isinstance(entries, list):
        raise ValueError("no JWK set")
    keys = jwt.PyJWKSet.from_dict({"keys": entries[:MAX_KEYS]}).keys
    return [key for key in keys if key.key_type != "oct" and key.public_key_use in ("sig", None)]


def _prepare_key(algorithm: str, key: Secret) -> Any:
    method = get_default_algorithms()[algorithm]
    try:
        prepared = method.prepare_key(key.reveal())
    except (jwt.PyJWTError, ValueError, TypeError):
        return None
    if too_short := method.check_key_length(prepared):
        raise ConfigError(f"security.jwt.keys: {too_short}")
    return prepared
