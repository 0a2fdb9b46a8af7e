"""Tokens of an identity provider (`security.jwt`)."""

from collections.abc import Mapping
from typing import Any, Final

import jwt

from server.accounts.jwks import ConfiguredKeys, KeySource, PublishedKeys
from server.accounts.principal import Identity, checked_user_id
from server.config import JwtSettings
from server.errors import AuthError, CredentialExpired

MAX_CHARACTERS: Final = 8192
_REASONS: Final[dict[type[Exception], str]] = {
    jwt.ImmatureSignatureError: "the token is not valid yet; compare the clocks",
    jwt.InvalidIssuedAtError: "the token is from the future; compare the clocks",
    jwt.InvalidAudienceError: "the token was made for another audience",
    jwt.InvalidIssuerError: "the token comes from another issuer",
    jwt.MissingRequiredClaimError: "the token lacks a claim: exp is needed, and aud and iss where they are configured",
}
_INVALID: Final = "the token is not valid"


class JwtVerifier:
    def __init__(self, settings: JwtSettings, keys: KeySource) -> None:
        self._settings = settings
        self._keys = keys

    @classmethod
    def build(cls, settings: JwtSettings) -> "JwtVerifier | None":
        """None: `security.jwt` is not set. Raises ConfigError."""
        if settings.jwks_url is not None:
            return cls(settings, PublishedKeys(settings.jwks_url, max_age_s=settings.max_key_age_s))
        return cls(settings, ConfiguredKeys(settings.keys, settings.algorithms)) if settings.keys else None

    async def identify(self, token: str) -> Identity:
        """Raises AuthError; KeysUnavailable if nobody can tell."""
        algorithm, key_id = self._read_header(token)
        claims: dict[str, Any] | None = None
        for key in await self._keys.find(algorithm, key_id):
            claims = self._verified(token, key, algorithm)
            if claims is not None:
                break
        if claims is None:
            raise AuthError(_INVALID)
        return Identity(
            user_id=checked_user_id(_claim(claims, self._settings.user_claim)),
            is_operator=self._is_operator(claims),
            expires_at_s=_ends_s(claims["exp"]) + self._settings.leeway_s,
        )

    def _read_header(self, token: str) -> tuple[str, str | None]:
        """Returns algorithm and key id as the token states them: good for choosing a key, for nothing else."""
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
        """Returns the token's claims; None: another key has signed it."""
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
        return any(type(entry) is type(wanted) and entry == wanted for entry in _entries(found))


def _ends_s(exp: Any) -> float:
    """Returns `exp` as a float; PyJWT has checked that it is a number, but not its size."""
    try:
        return float(exp)
    except OverflowError as error:
        raise AuthError(_INVALID) from error


def _entries(found: object) -> list[object]:
    return found if isinstance(found, list) else [found]


def _claim(claims: Mapping[str, Any], name: str) -> object:
    """Look the claim up by its name, or, where the name has dots, as a path."""
    if name in claims:
        return claims[name]
    node: object = claims
    for part in name.split("."):
        node = node.get(part) if isinstance(node, Mapping) else None
    return node
