"""Somebody whom a credential has named."""

import re
from dataclasses import dataclass
from typing import Final

from server.errors import AuthError

RESERVED: Final = re.compile(r"local|anonymous(@.*)?", re.DOTALL)
"""What we call those who are not logged in: nobody may log in as one of them."""
_USER_ID: Final = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff]{1,128}")  # halves of surrogate pairs no database takes


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    user_id: str
    is_operator: bool = False
    expires_at_s: float | None = None
    """Unix time; None: as long as the credential is configured."""
    mark: str | None = None
    """Of the configured token; None: of an identity provider."""


def checked_user_id(name: object) -> str:
    """Raises AuthError for what cannot be a user's name."""
    if not isinstance(name, str) or not _USER_ID.fullmatch(name):
        raise AuthError("the token names no user: 1 to 128 characters, none of them for control")
    if RESERVED.fullmatch(name):
        raise AuthError("the token's user has a name that stands for those who are not logged in")
    return name
