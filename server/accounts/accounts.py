"""Checks of credentials: configured tokens, JWTs, the page's sessions."""

import math
import time
from collections.abc import Callable, Sequence

from server import config
from server.accounts.failed_attempts import FailedAttempts
from server.accounts.jwt_tokens import JwtVerifier
from server.accounts.principal import Identity
from server.accounts.sessions import Sessions
from server.accounts.tokens import TokenTable
from server.errors import AuthError, CredentialExpired, KeysUnavailable, TooManyAttempts


class Accounts:
    """All ways to log in, shared by all routes: failed attempts count together."""

    def __init__(
        self,
        security: config.SecuritySettings,
        keys: Sequence[bytes],
        *,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`keys` sign sessions: the first signs, all verify. Raises ConfigError."""
        self._tokens = TokenTable(security.tokens, keys)
        self._jwt = JwtVerifier.build(security.jwt)
        self._sessions = Sessions(keys, self._tokens, lasts_s=security.session_s, now=now)
        self._failed = FailedAttempts()
        self._clock = clock

    @property
    def is_empty(self) -> bool:
        """Nobody can log in."""
        return not self._tokens and self._jwt is None

    async def by_token(self, token: str, address: str) -> Identity:
        """Raises AuthError: a wrong token, too many of them from `address`, or a provider that does not answer."""
        wait_s = self._failed.wait_s(address, self._clock())
        if wait_s > 0:
            text = f"too many wrong tokens from your address; try again in {math.ceil(wait_s)} s"
            raise TooManyAttempts(text, retry_after_s=wait_s)
        try:
            return self._tokens.find(token) or await self._by_jwt(token)
        except (KeysUnavailable, CredentialExpired):
            raise
        except AuthError:
            self._failed.note_failure(address, self._clock())
            raise

    def by_session(self, value: str) -> Identity | None:
        """None for one that was made from a way in that is configured no more, too."""
        found = self._sessions.read(value)
        return None if found is not None and found.mark is None and self._jwt is None else found

    def open_session(self, identity: Identity) -> tuple[str, int]:
        """The cookie's value, and for how many seconds it is good."""
        return self._sessions.issue(identity)

    async def _by_jwt(self, token: str) -> Identity:
        if self._jwt is None:
            raise AuthError("the token is not known here")
        return await self._jwt.identify(token)
