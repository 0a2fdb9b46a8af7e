"""Identities: users that a credential has named, and the makers of requests."""

import ipaddress
import re
from dataclasses import asdict, dataclass, field
from typing import Final

from server.bounded.fair_share import Share, account_of
from server.errors import AuthError

ANONYMOUS_PREFIX: Final = "anonymous@"
LOCAL_USER: Final = "local"
"""The user of local requests, who needs no login."""
KEY_NAME: Final = re.compile(r"[^\x00-\x1f\x7f/\ud800-\udfff]{1,64}")
"""Names that a Realtime key may have below the account that made it."""
RESERVED: Final = re.compile(r"local|anonymous(@.*)?", re.DOTALL)
"""Names of those who are not logged in: no login may have one."""
_USER_ID: Final = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff]{1,128}")  # no database takes half a surrogate pair


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A user whom a credential has named."""

    user_id: str
    """Name of the account, or `account/name` for the holder of a key that the account has made."""
    is_operator: bool = False
    """Whether the user may see metrics, traces and health, and change what counts for all users."""
    may_approve: bool = True
    """Whether the user may answer questions about tool calls; a key's holder only where the key says so."""
    expires_at_s: float | None = None
    """Unix time at which the login ends; absent while it lasts as long as the credential is configured."""
    mark: str | None = None
    """Mark of the configured token that was used to log in, or None if it was another credential."""
    session: str | None = None
    """Id of the page's session, if the login came with one."""


@dataclass(frozen=True, slots=True)
class Principal(Identity):
    """The maker of a request. `address` is the client's behind trusted proxies.

    Frozen when the request came, and for as long as its connection lasts.
    """

    address: str
    is_local: bool
    user_id: str = field(default=LOCAL_USER, kw_only=True)
    is_logged_in: bool = False
    may_enter: bool = True
    """Whether the credential is good, or none is needed; otherwise the gateway answers with 401 or 4401."""

    def identified(self, identity: Identity, *, is_logged_in: bool = True) -> "Principal":
        """Return the user whom a credential has named, who made this request."""
        return Principal(self.address, self.is_local, is_logged_in=is_logged_in, **asdict(identity))

    @property
    def account(self) -> str:
        """Account whose policy, skills and rights count: the maker of a key, else the user."""
        return account_of(self.user_id)

    @property
    def is_key(self) -> bool:
        """Whether the request comes from the holder of a Realtime key."""
        return self.user_id != self.account

    @property
    def is_anonymous(self) -> bool:
        """Whether only an address is known, which others may share: keep nothing for such a user."""
        return self.user_id.startswith(ANONYMOUS_PREFIX)

    @property
    def share(self) -> Share:
        """Share that work is taken from; those of one network who are not logged in share one."""
        account, _, name = self.user_id.partition("/")
        if self.is_anonymous:
            account = ANONYMOUS_PREFIX + network_of(account.removeprefix(ANONYMOUS_PREFIX))
        return Share(account, name)

    @property
    def limited_share(self) -> Share | None:
        """Share that limits per user count under; local requests without login have none."""
        return self.share if self.is_logged_in or not self.is_local else None


def checked_user_id(name: object) -> str:
    """Return the id if it can be a user's name. Raises AuthError otherwise."""
    if not isinstance(name, str) or not _USER_ID.fullmatch(name):
        raise AuthError("the token names no user: 1 to 128 characters without control characters")
    if RESERVED.fullmatch(name):
        raise AuthError("the token's user has a name reserved for visitors who are not logged in")
    if account_of(name) != name:
        raise AuthError("the token's user has a / in the name; such names are those of Realtime keys (maker/name)")
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
