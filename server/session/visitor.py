"""Who is at the other end. The doors find it out; the session only reads it."""

from dataclasses import dataclass
from typing import Final

from server.hooks.types import LOCAL_USER

STRANGER_PREFIX: Final = "anonymous@"


@dataclass(frozen=True, slots=True)
class Visitor:
    """Whoever made a request. `address` is the client's behind trusted proxies.

    Frozen when the request came: a connection stays whoever opened it.
    """

    address: str
    is_local: bool
    user_id: str = LOCAL_USER
    is_operator: bool = False
    """May see metrics, traces and health, and change what counts for everybody."""
    is_logged_in: bool = False
    may_enter: bool = True
    """False: no credential, or a wrong one; the door says so."""
    expires_at_s: float | None = None
    """Unix time at which what it logged in with ends."""

    @property
    def is_anonymous(self) -> bool:
        """Known by nothing but an address, which others may share: keep nothing for such a user."""
        return self.user_id.startswith(STRANGER_PREFIX)

    @property
    def limit_key(self) -> str | None:
        """Under which limits for one user count; None: not limited (local, without login)."""
        return None if self.is_local and not self.is_logged_in else self.user_id
