"""Checks of credentials: configured tokens, JWTs, the page's sessions; and how long failures make an address wait."""

import math
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, Protocol

import msgspec

from server import config
from server.accounts.credentials import RealtimeKey, RealtimeKeys, SessionCookies, TokenTable, session_id_of
from server.accounts.jwt_tokens import JwtVerifier
from server.accounts.principal import Identity, Principal, network_of
from server.bounded.limits import BoundedDict
from server.errors import AuthError, CredentialExpired, KeysUnavailable, TooManyAttempts

FREE_TRIES: Final = 5
FIRST_WAIT_S: Final = 1.0
MAX_WAIT_S: Final = 60.0
FORGET_S: Final = 900.0
MAX_ADDRESSES: Final = 10_000
KNOWN_S: Final = 3600.0
"""Time for which a user who logged in from an address may do so while it waits, whoever guesses there."""


class PageSessions(Protocol):
    """Store of the page's sessions that are open."""

    def is_open(self, session_id: str) -> bool:
        """Return, without waiting, whether the session is open; one opened just now may be missing."""
        ...

    async def has(self, session_id: str) -> bool:
        """Return whether the session is open; False where the store cannot tell."""
        ...

    async def add(self, session_id: str, user: str, *, address: str, browser: str, lasts_s: float) -> None:
        """Open a session. Raises StorageError."""
        ...

    async def end(self, session_id: str) -> str | None:
        """End a session; return its user if it was open. Raises StorageError."""
        ...


class Accounts:
    """All ways to log in, shared by all routes: failed attempts count together."""

    def __init__(
        self,
        security: config.SecuritySettings,
        keys: Sequence[bytes],
        sessions: PageSessions,
        *,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Set up the ways to log in. `keys` sign sessions: the first signs, all verify. Raises ConfigError."""
        self._tokens = TokenTable(security.tokens, keys)
        self._jwt = JwtVerifier.build(security.jwt)
        self._sessions = sessions
        self._cookies = SessionCookies(keys, self._tokens, lasts_s=security.session_s, now=now)
        self._realtime_keys = RealtimeKeys(keys, now=now)
        self._failed = FailedAttempts()
        self._logins = BoundedDict[tuple[str, str], float](MAX_ADDRESSES)  # user and network → the last at
        self._now = now
        self._clock = clock

    @property
    def is_empty(self) -> bool:
        """Whether no way to log in is configured."""
        return not self._tokens and self._jwt is None

    async def by_token(self, token: str, address: str) -> Identity:
        """Identify the holder; an address that waits may still log in users who have done so within the hour.

        Raises AuthError: a wrong token, too many from `address`, or a silent provider.
        """
        now_s = self._clock()
        wait_s = self._failed.wait_s(address, now_s)
        refusal = f"too many wrong tokens from your address; try again in {math.ceil(wait_s)} s"
        try:
            identity = await self._holder(token)
        except (KeysUnavailable, CredentialExpired):
            raise
        except AuthError as error:
            if wait_s > 0:
                raise TooManyAttempts(refusal, retry_after_s=wait_s) from error
            self._failed.note_failure(address, self._clock())
            raise
        login = identity.user_id, network_of(address)
        if wait_s > 0 and now_s - self._logins.get(login, -math.inf) >= KNOWN_S:
            raise TooManyAttempts(refusal, retry_after_s=wait_s)
        self._logins[login] = now_s
        return identity

    async def _holder(self, token: str) -> Identity:
        if (identity := self._tokens.find(token)) is not None:
            return identity
        if self._jwt is None:
            raise AuthError("this access token is wrong")
        return await self._jwt.identify(token)

    async def by_session(self, value: str, key: str | None, *, needs_key: bool = True) -> Identity | None:
        """Return the session's identity; None also if it was ended or its way to log in is no longer configured.

        A cookie is sent to, and taken from, every port of a host; the key that
        belongs to it stays with the page.
        """
        found = self._cookies.read(value)
        if found is None or found.session is None or (found.mark is None and self._jwt is None):
            return None
        if needs_key and found.session != session_id_of(key or ""):
            return None
        return found if await self._sessions.has(found.session) else None

    async def open_session(self, identity: Identity, *, address: str, browser: str) -> tuple[str, str, int]:
        """Return the cookie's value, its key, and for how many seconds they are good. Raises StorageError."""
        key = secrets.token_urlsafe(24)
        session_id = session_id_of(key)
        value, lasts_s = self._cookies.issue(identity, session_id)
        await self._sessions.add(session_id, identity.user_id, address=address, browser=browser, lasts_s=lasts_s)
        return value, key, lasts_s

    async def end_session(self, value: str, key: str | None) -> None:
        """End the session of a cookie and its key, if it is one. Raises StorageError."""
        found = self._cookies.read(value)
        if found is not None and found.session is not None and found.session == session_id_of(key or ""):
            await self._sessions.end(found.session)

    def issue_realtime_key(
        self, user: Principal, session: bytes, *, lasts_s: int, name: str | None = None, may_approve: bool = False
    ) -> tuple[str, RealtimeKey]:
        """Return a key with the defaults of its sessions, and its content: it expires no later than the user's login.

        `name` is that of its holder, below the user's; without one, a name is made up. A request without login is an operator's by where it comes from, which no key is good for.
        Raises FrameError for a session that is too large.
        """
        maker = msgspec.convert(user, Identity, from_attributes=True)
        content = RealtimeKey(
            expires_at_s=int(min(self._now() + lasts_s, user.expires_at_s or float("inf"))),
            maker=replace(maker, is_operator=user.is_operator and user.is_logged_in),
            name=name or secrets.token_hex(6),
            may_approve=may_approve,
            session=msgspec.Raw(session),
        )
        return self._realtime_keys.issue(content), content

    async def by_realtime_key(self, value: str) -> RealtimeKey:
        """Return what the key says, with the rights that its maker has now. Raises AuthError.

        A configured token that was taken away takes the keys that it made along, and so does the end of the page's
        session that made them; a JWT can only expire. Wrong keys do not count as failed attempts: they cannot be guessed,
        and a foreign page could make its visitor send them.
        """
        key = self._realtime_keys.read(value)
        if not key.has_login:
            return key
        maker, found = key.maker, None
        if maker.mark is not None:
            found = self._tokens.by_mark(maker.mark)  # its rights are those that are configured now
        elif self._jwt is not None:
            found = maker
        if found is None or (maker.session is not None and not await self._sessions.has(maker.session)):
            raise AuthError("the login that made this Realtime key has ended")
        maker = replace(found, expires_at_s=maker.expires_at_s, session=maker.session)
        return msgspec.structs.replace(key, maker=maker)

    def has_ended(self, session_id: str | None) -> bool:
        """Return whether a session that was open has been ended."""
        return session_id is not None and not self._sessions.is_open(session_id)


class FailedAttempts:
    """Waits of addresses after wrong credentials; time comes in as an argument.

    After FREE_TRIES failures each further one doubles the wait, up to MAX_WAIT_S.
    A success in between changes nothing: who has one token could otherwise guess
    others for ever. Remembers the last MAX_ADDRESSES that failed.
    """

    def __init__(self) -> None:
        self._failures = BoundedDict[str, tuple[int, float]](MAX_ADDRESSES)  # address → how many, the last at

    def __len__(self) -> int:
        return len(self._failures)

    def wait_s(self, address: str, now_s: float) -> float:
        """Return the time until the address may try again."""
        count, last_s = self._failures.get(network_of(address), (0, 0.0))
        if count < FREE_TRIES or now_s - last_s >= FORGET_S:
            return 0.0
        doublings = min(count - FREE_TRIES, 16)
        return max(0.0, last_s + min(MAX_WAIT_S, FIRST_WAIT_S * 2.0**doublings) - now_s)

    def note_failure(self, address: str, now_s: float) -> None:
        key = network_of(address)
        count, last_s = self._failures.get(key, (0, 0.0))
        self._failures[key] = (1 if now_s - last_s >= FORGET_S else count + 1, now_s)
