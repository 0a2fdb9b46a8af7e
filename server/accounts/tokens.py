"""The tokens that the operator configured (`security.tokens`)."""

import base64
import hashlib
import hmac
from collections.abc import Sequence

from server import config
from server.accounts.principal import Identity, checked_user_id
from server.errors import AuthError, ConfigError


class TokenTable:
    """Knows digests only. Finding takes the same time whichever token fits, or none."""

    def __init__(self, tokens: Sequence[config.UserToken], mark_keys: Sequence[bytes]) -> None:
        """`mark_keys`: of the server; the first makes marks, each is known. Raises ConfigError."""
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
        for known, identity in self._entries:  # all of them: the time tells nothing
            if hmac.compare_digest(digest, known):
                found = identity
        return found

    def by_mark(self, mark: str) -> Identity | None:
        """Whose token it was, as configured now; None: it was taken away."""
        return self._by_mark.get(mark)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogatepass")).digest()


def _mark(key: bytes, token: str) -> str:
    """Stands for the token in a session that outlives this process; tells nothing of it without the key."""
    mac = hmac.digest(key, b"token mark\0" + token.encode(errors="surrogatepass"), "sha256")
    return base64.urlsafe_b64encode(mac[:12]).decode()
