"""Keys of the Realtime API (`ek_…`): signed here, stored nowhere, good for opening `/v1/realtime` alone."""

import base64
import binascii
import hmac
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import msgspec

from server.accounts.credentials import TextSigner, to_base64
from server.accounts.principal import RESERVED, Identity
from server.errors import AuthError, CredentialExpired, ServerError

KEY_PREFIX: Final = "ek_"
MAX_KEY_CHARACTERS: Final = 6 << 10
"""Length of a key: it travels in one header, and servers and proxies take 8 KiB of those."""
_MAX_CONTENT_BYTES: Final = 256 << 10  # before it is compressed
_INVALID: Final = "the Realtime key is not valid here; make one with POST /v1/realtime/client_secrets"


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


class RealtimeKeyTooLarge(ServerError):
    code = "session_too_large"


class RealtimeKeys:
    """Makes and reads keys. Replicas with the same secret file take each other's; any other server refuses them."""

    def __init__(self, keys: Sequence[bytes], *, now: Callable[[], float] = time.time) -> None:
        """Sign keys with the first of `keys`, verify them with all."""
        self._signer = TextSigner([hmac.digest(key, b"realtime keys", "sha256") for key in keys])
        self._now = now

    def issue(self, content: RealtimeKey) -> str:
        """Return the key that carries this content. Raises RealtimeKeyTooLarge."""
        data = msgspec.json.encode(content)
        if len(data) <= _MAX_CONTENT_BYTES:
            value = KEY_PREFIX + self._signer.signed(to_base64(zlib.compress(data, level=9)))
            if len(value) <= MAX_KEY_CHARACTERS:
                return value
        raise RealtimeKeyTooLarge(
            f"the session does not fit into a key, which may have {MAX_KEY_CHARACTERS} characters (compressed); "
            "shorten instructions and tools, and send the rest with session.update"
        )

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
