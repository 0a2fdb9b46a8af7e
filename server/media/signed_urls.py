"""URLs that one user can open for a while. Pure; time comes in as an argument."""

import base64
import hashlib
import hmac
from collections.abc import Sequence
from typing import Final

URL_LIFE_S: Final = 24 * 3600
"""Longer than a file lives that nobody opens: which of them ends first is the store's to say."""

PREFIX: Final = "/media/"
OWNER_CHARS: Final = 12
_MAC_BYTES: Final = 24


class UrlSigner:
    """The first key signs, all of them verify."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = tuple(keys)

    def url(self, item_id: str, user_id: str, *, now_s: float) -> str:
        """`u` is no name: a user's id would end up in logs and histories."""
        key = self._keys[0]
        expires = str(int(now_s) + URL_LIFE_S)
        user = _user_tag(key, user_id)
        return f"{PREFIX}{item_id}?u={user}&e={expires}&s={_signature(key, item_id, user, expires)}"

    def owner_tag(self, user_id: str) -> str:
        """12 hexadecimal digits that stand for the user and do not name them. Another first key makes others."""
        tag = hmac.digest(self._keys[0], b"owner\0" + user_id.encode(errors="surrogatepass"), hashlib.sha256)
        return tag.hex()[:OWNER_CHARS]

    def is_valid(self, item_id: str, *, user_id: str, user: str, expires: str, signature: str, now_s: float) -> bool:
        """Whether we gave exactly this URL to this user and its time is not over. Anything may be asked."""
        is_ours = False
        for key in self._keys:  # all of them, so that the time taken tells nothing
            is_ours |= _same(user, _user_tag(key, user_id)) & _same(signature, _signature(key, item_id, user, expires))
        return is_ours and float(expires) > now_s  # a text that we signed is a number


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(errors="surrogatepass"), expected.encode())


def _user_tag(key: bytes, user_id: str) -> str:
    return _text(hmac.digest(key, b"user\0" + user_id.encode(errors="surrogatepass"), hashlib.sha256)[:9])


def _signature(key: bytes, item_id: str, user: str, expires: str) -> str:
    signed = f"url\0{item_id}\0{user}\0{expires}".encode(errors="surrogatepass")
    return _text(hmac.digest(key, signed, hashlib.sha256)[:_MAC_BYTES])


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode()
