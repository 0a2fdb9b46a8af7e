"""Identities: users that a credential has named, and whoever made a request."""

import ipaddress
import re
from dataclasses import dataclass
from typing import Final

from server.errors import AuthError
from server.fair_share import Share

ANONYMOUS_PREFIX: Final = "anonymous@"
LOCAL_USER: Final = "local"
"""The user of local requests, who needs no login."""
RESERVED: Final = re.compile(r"local|anonymous(@.*)?", re.DOTALL)
"""Names of those who are not logged in: nobody may log in as one of them."""
_USER_ID: Final = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff]{1,128}")  # no database takes half a surrogate pair


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A user whom a credential has named."""

    user_id: str
    is_operator: bool = False
    expires_at_s: float | None = None
    """Unix time; None: as long as the credential is configured."""
    mark: str | None = None
    """Stands for the configured token; None: it came from an identity provider."""
    session: str | None = None
    """Id of the page's session; None: it came with a token."""


@dataclass(frozen=True, slots=True)
class Principal:
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
    """False: the credential is missing or wrong; the gateway answers with 401 or 4401."""
    expires_at_s: float | None = None
    """Unix time at which the login ends."""
    session: str | None = None
    """Id of the page's session."""
    mark: str | None = None
    """Stands for the configured token."""

    @property
    def is_anonymous(self) -> bool:
        """Known by nothing but an address, which others may share: keep nothing for such a user."""
        return self.user_id.startswith(ANONYMOUS_PREFIX)

    @property
    def limit_key(self) -> str | None:
        """Key that limits per user count under; None: not limited (local, without login)."""
        if self.is_anonymous:
            return ANONYMOUS_PREFIX + network_of(self.address)
        return None if self.is_local and not self.is_logged_in else self.user_id

    @property
    def share(self) -> Share:
        """Share that the work of this user is taken from."""
        return Share(self.limit_key or LOCAL_USER)


def checked_user_id(name: object) -> str:
    """Raises AuthError for what cannot be a user's name."""
    if not isinstance(name, str) or not _USER_ID.fullmatch(name):
        raise AuthError("the token names no user: 1 to 128 characters without control characters")
    if RESERVED.fullmatch(name):
        raise AuthError("the token's user has a name reserved for visitors who are not logged in")
    return name


def network_of(address: str) -> str:
    """Group addresses for limits: IPv4 as is, IPv6 by /64, as hosts in it are made up at will."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address[:64]
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.IPv6Network((int(parsed) >> 64 << 64, 64)))
    return str(parsed)
