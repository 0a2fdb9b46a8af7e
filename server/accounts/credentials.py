"""Credentials of this server's own: the configured tokens, the page's cookie, and keys of the Realtime API (`ek_…`).

A Realtime key is signed here, stored nowhere, and good for opening `/v1/realtime` alone.
"""

import base64
import binascii
import hashlib
import hmac
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import msgspec

from server import config
from server.accounts.principal import RESERVED, Identity, checked_user_id
from server.bounded.fair_share import account_of
from server.errors import AuthError, ConfigError, CredentialExpired, FrameError

_VERSION: Final = "v1"
_MAX_CHARACTERS: Final = 2048
KEY_PREFIX: Final = "ek_"
MAX_KEY_CHARACTERS: Final = 6 << 10
"""Length of a key: it travels in one header, and servers and proxies take 8 KiB of those."""
_MAX_CONTENT_BYTES: Final = 256 << 10  # before it is compressed
_INVALID: Final = "the Realtime key is not valid here; make one with POST /v1/realtime/client_secrets"


class TextSigner:
    """Appends signatures to texts, behind a dot: the first key signs, all of them verify."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = keys

    def signed(self, text: str) -> str:
        return f"{text}.{_signature(self._keys[0], text)}"

    def has_signed(self, value: str) -> bool:
        """Return whether the value is a text with its signature; any string may be passed."""
        text, _, signature = value.rpartition(".")
        given = signature.encode(errors="surrogatepass")
        return any(hmac.compare_digest(given, _signature(key, text).encode()) for key in self._keys)


def _signature(key: bytes, text: str) -> str:
    return to_base64(hmac.digest(key, text.encode(errors="surrogatepass"), "sha256"))


class TokenTable:
    """Users of `security.tokens`. Knows digests only; finding takes the same time whichever token fits, or none."""

    def __init__(self, tokens: Sequence[config.UserToken], mark_keys: Sequence[bytes]) -> None:
        """Read the tokens. `mark_keys`: the first makes marks, all are recognised. Raises ConfigError."""
        self._entries: list[tuple[bytes, Identity]] = []
        self._by_mark: dict[str, Identity] = {}
        for number, entry in enumerate(tokens):
            token = entry.token.reveal()
            marks = [_mark(key, token) for key in mark_keys]
            try:
                user_id = checked_user_id(entry.user)
            except AuthError as error:
                raise ConfigError(f"security.tokens[{number}].user: {error}") from error
            identity = Identity(user_id=user_id, is_operator=entry.operator, mark=marks[0])
            self._entries.append((_digest(token), identity))
            self._by_mark.update(dict.fromkeys(marks, identity))

    def __bool__(self) -> bool:
        return bool(self._entries)

    def find(self, token: str) -> Identity | None:
        digest = _digest(token)
        found = None
        for known, identity in self._entries:  # no early exit: the time must tell nothing
            if hmac.compare_digest(digest, known):
                found = identity
        return found

    def by_mark(self, mark: str) -> Identity | None:
        """Return the user of the token, as configured now, or None if it was taken away."""
        return self._by_mark.get(mark)


class _Content(msgspec.Struct, array_like=True, frozen=True):
    user_id: str
    is_operator: bool
    expires_at_s: float
    mark: str | None
    session: str


class SessionCookies:
    """Values of the page's cookie: who logged in, signed by a key that replicas share.

    One ends by its time, with the JWT or the configured token it was made from, or
    when its key is taken out of the secret file. Whether its session was ended
    before is not known here.
    """

    def __init__(
        self, keys: Sequence[bytes], tokens: TokenTable, *, lasts_s: float, now: Callable[[], float] = time.time
    ) -> None:
        self._signer = TextSigner(keys)
        self._tokens = tokens
        self._lasts_s = lasts_s
        self._now = now

    def issue(self, identity: Identity, session_id: str) -> tuple[str, int]:
        """Return the cookie's value, and for how many seconds it is good."""
        now = self._now()
        ends_s = min(now + self._lasts_s, identity.expires_at_s or float("inf"))
        content = _Content(identity.user_id, identity.is_operator, ends_s, identity.mark, session_id)
        body = to_base64(msgspec.json.encode(content))
        return self._signer.signed(f"{_VERSION}.{body}"), max(0, int(ends_s - now))

    def read(self, value: str) -> Identity | None:
        """Return the session's identity, or None for what is no session of ours, or is over; never raises."""
        content = self._verified(value)
        if content is None or content.expires_at_s <= self._now():
            return None
        found: Identity | None = None
        if account_of(content.user_id) == content.user_id:  # else it is older than the names of keys
            found = Identity(user_id=content.user_id, is_operator=content.is_operator)
        if content.mark is not None:
            found = self._tokens.by_mark(content.mark)  # its rights are those that are configured now
        return found and replace(found, expires_at_s=content.expires_at_s, session=content.session)

    def _verified(self, value: str) -> _Content | None:
        parts = value.split(".")
        if len(value) > _MAX_CHARACTERS or len(parts) != 3 or parts[0] != _VERSION:
            return None
        if not self._signer.has_signed(value):
            return None
        try:
            return msgspec.json.decode(base64.urlsafe_b64decode(parts[1] + "=="), type=_Content)
        except (msgspec.MsgspecError, binascii.Error, ValueError):
            return None  # signed by our key for something else


def session_id_of(key: str) -> str:
    """Return the id of the one session of the page that a key opens; the id tells nothing of the key."""
    return to_base64(_digest(key)[:16])


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogatepass")).digest()


def _mark(key: bytes, token: str) -> str:
    """Return what stands for the token in a session that outlives this process; meaningless without the key."""
    mac = hmac.digest(key, b"token mark\0" + token.encode(errors="surrogatepass"), "sha256")
    return to_base64(mac[:12])


def to_base64(data: bytes) -> str:
    """Encode for URLs and headers, without padding."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class RealtimeKey(msgspec.Struct, array_like=True, frozen=True):
    """The content of a key: the user who made it, its own name, and the defaults of the sessions it opens.

    It is signed, not secret: its holder can read it.
    """

    expires_at_s: int
    """Unix time until which it opens sessions."""
    maker: Identity
    name: str
    may_approve: bool
    session: msgspec.Raw
    """The defaults, as JSON."""

    @property
    def has_login(self) -> bool:
        """Whether its maker was logged in; otherwise it was made by a local or an anonymous request."""
        return not RESERVED.fullmatch(self.maker.user_id)

    @property
    def holder(self) -> Identity:
        """User who shows the key: one of its own, with its maker's rights, which end with its maker's login."""
        return replace(self.maker, user_id=f"{self.maker.user_id}/{self.name}", may_approve=self.may_approve)


class RealtimeKeys:
    """Makes and reads keys. Replicas with the same secret file take each other's; any other server refuses them."""

    def __init__(self, keys: Sequence[bytes], *, now: Callable[[], float] = time.time) -> None:
        """Sign keys with the first of `keys`, verify them with all."""
        self._signer = TextSigner([hmac.digest(key, b"realtime keys", "sha256") for key in keys])
        self._now = now

    def issue(self, content: RealtimeKey) -> str:
        """Return the key that carries this content. Raises FrameError for a session that is too large."""
        data = msgspec.json.encode(content)
        if len(data) <= _MAX_CONTENT_BYTES:
            value = KEY_PREFIX + self._signer.signed(to_base64(zlib.compress(data, level=9)))
            if len(value) <= MAX_KEY_CHARACTERS:
                return value
        text = (
            f"the session does not fit into a key, which may have {MAX_KEY_CHARACTERS} characters (compressed); "
            "shorten instructions and tools, and send the rest with session.update"
        )
        raise FrameError("session_too_large", text, path="session")

    def read(self, value: str) -> RealtimeKey:
        """Return the key's content. Raises AuthError if no server with our secret made it, or if it has expired."""
        signed = value.removeprefix(KEY_PREFIX)
        if len(value) > MAX_KEY_CHARACTERS or not self._signer.has_signed(signed):
            raise AuthError(_INVALID)
        try:
            packed = base64.urlsafe_b64decode(signed.partition(".")[0] + "==")
            content = msgspec.json.decode(zlib.decompressobj().decompress(packed, _MAX_CONTENT_BYTES), type=RealtimeKey)
        except (msgspec.MsgspecError, binascii.Error, ValueError, zlib.error):
            raise AuthError(_INVALID) from None  # signed by our key, of another version
        if content.expires_at_s <= self._now():
            raise CredentialExpired("the Realtime key has expired; make a new one")
        return content
