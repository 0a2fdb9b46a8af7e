"""What a request carries to say who made it: a token in a header or a subprotocol, or the page's cookie; never its URL."""

from typing import Final

from aiohttp import web

from server.errors import AuthError

BEARER_PROTOCOL: Final = "parley.bearer."
COOKIE: Final = "parley"
SECURE_COOKIE: Final = "__Host-parley"
"""Browsers take a cookie of this prefix over TLS alone, from this very host, and for no other."""


def bearer_of(request: web.Request) -> str | None:
    """The token of `Authorization: Bearer …` or of the subprotocol. Raises AuthError for two that differ."""
    given = {*_authorization(request), *_subprotocols(request)}
    if len(given) > 1:
        raise AuthError("the request carries two tokens")
    return given.pop() if given else None


def cookie_of(request: web.Request, *, is_secure: bool) -> str | None:
    """The session in the cookie of our name; None if there are several: one of them was planted."""
    name = SECURE_COOKIE if is_secure else COOKIE
    pairs = (pair.partition("=") for line in request.headers.getall("Cookie", []) for pair in line.split(";"))
    values = [value.strip() for key, _, value in pairs if key.strip() == name]
    return values[0] if len(values) == 1 else None


def give_cookie(response: web.StreamResponse, value: str, *, lasts_s: int, is_secure: bool) -> None:
    """No script can read it, and no page of another site sends it. An empty value takes it back."""
    response.set_cookie(
        SECURE_COOKIE if is_secure else COOKIE,
        value,
        max_age=lasts_s,
        path="/",
        secure=is_secure,
        httponly=True,
        samesite="Strict",
    )


def _authorization(request: web.Request) -> list[str]:
    """Other schemes are somebody else's: a proxy may ask for a password of its own."""
    given = (line.partition(" ") for line in request.headers.getall("Authorization", []))
    return [token.strip() for scheme, _, token in given if scheme.lower() == "bearer"]


def _subprotocols(request: web.Request) -> list[str]:
    lines = request.headers.getall("Sec-WebSocket-Protocol", [])
    names = (name.strip() for line in lines for name in line.split(","))
    return [name.removeprefix(BEARER_PROTOCOL) for name in names if name.startswith(BEARER_PROTOCOL)]
