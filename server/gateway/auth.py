"""Authentication of requests: who makes them, whether they may enter, and the credentials they carry."""

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web

from server import config
from server.accounts.accounts import Accounts
from server.accounts.credentials import KEY_PREFIX, RealtimeKey
from server.accounts.principal import ANONYMOUS_PREFIX, LOCAL_USER, Identity, Principal
from server.errors import AuthError, ConfigError
from server.gateway.responses import OPENAI_PREFIXES
from server.gateway.routes import Access

BEARER_PROTOCOL: Final = "parley.bearer."
KEY_PROTOCOL: Final = "parley.key."
OPENAI_PROTOCOL: Final = "openai-insecure-api-key."
"""The subprotocol that carries the key of OpenAI's clients in a browser."""
AZURE_HEADER: Final = "api-key"
KEY_HEADER: Final = "Parley-Session-Key"
COOKIE: Final = "parley"
SECURE_COOKIE: Final = "__Host-parley"
"""Name of the cookie over TLS. Browsers take its prefix over TLS alone, from this very host, for no other."""
_LOCAL_NAMES: Final = frozenset(("localhost", "127.0.0.1", "::1"))
_WILDCARDS: Final = frozenset(("", "0.0.0.0", "::"))  # noqa: S104  recognised here, not bound
_PRINCIPAL: Final = web.RequestKey("principal", Principal)
_REALTIME_KEY: Final = web.RequestKey("realtime_key", RealtimeKey)
_HOST: Final = re.compile(r"[^\s/]+")
_ORIGIN: Final = re.compile(r"null|[A-Za-z][A-Za-z0-9+.-]*://[^\s/]+/?")
_FORWARDED: Final = ("forwarded", "x-real-ip", "via")


class Authenticator:
    """Judges requests by their headers and their peer; keeps nothing of them."""

    def __init__(
        self,
        listen: config.ListenSettings,
        security: config.SecuritySettings,
        proxies: Sequence[str],
        accounts: Accounts,
    ) -> None:
        """Read the settings. Raises ConfigError for a proxy that is no address, for a host or origin that no request could name,
        and for settings under which no client could enter."""
        self._security = security
        self._accounts = accounts
        self._proxies = [_network(proxy) for proxy in proxies]
        self._is_wildcard = listen.host in _WILDCARDS
        _require_form("hosts", security.hosts, _HOST, "chat.example.org, without https:// and path")
        _require_form("origins", security.origins, _ORIGIN, "https://app.example.org, without a path")
        self._hosts = {*_LOCAL_NAMES, listen.host.lower(), *(_split_host(name.lower())[0] for name in security.hosts)}
        self._origins = {origin.lower().rstrip("/") for origin in security.origins}
        _require_way_in(listen, security, has_login=not accounts.is_empty)

    def refusal(self, request: web.Request, access: Access = Access.LOGGED_IN) -> str | None:
        """Return why the request is refused with 403, whatever its credential, or None.

        An unknown `Host` may be a foreign page whose name was rebound to our
        address; a foreign `Origin` is a page of another site. A Realtime key is
        made for such pages: with one, `admit` alone decides.
        """
        hosts = request.headers.getall("Host", [])
        if len(hosts) != 1 or not self._knows_host(hosts[0]):
            return "unknown Host; name it in security.hosts"
        origins = request.headers.getall("Origin", [])
        if access is Access.KEY and _realtime_keys(request):
            return None
        if origins and (len(origins) > 1 or not self._knows_origin(origins[0], hosts[0], request)):
            return "foreign Origin; name it in security.origins"
        return None

    @property
    def has_login(self) -> bool:
        return not self._accounts.is_empty

    async def admit(self, request: web.Request, access: Access = Access.LOGGED_IN) -> Principal:
        """Find out who makes the request, once for each, and keep it on the request for `principal`.

        A token that is wrong is refused also where none is needed: who shows one
        must not go on as another user. A cookie that is over is no cookie, as
        browsers send it unasked. Raises AuthError, and then the principal that is
        kept may not enter.
        """
        principal = self._unknown(request)
        try:
            if _realtime_keys(request):
                principal = await self._by_realtime_key(request, principal, access)
            elif identity := await self._identify(request, principal.address, needs_key=access is not Access.FILE):
                principal = principal.identified(identity)
        except AuthError:
            request[_PRINCIPAL] = replace(principal, may_enter=False, is_operator=False)
            raise
        request[_PRINCIPAL] = principal
        return principal

    def principal(self, request: web.Request) -> Principal:
        """Return whom `admit` found; before it, an anonymous or local user."""
        return request.get(_PRINCIPAL) or self._unknown(request)

    def realtime_session(self, request: web.Request) -> bytes:
        """Return the session defaults of the request's Realtime key, as JSON; `{}` without a key."""
        return bytes(request[_REALTIME_KEY].session) if _REALTIME_KEY in request else b"{}"

    def has_ended(self, principal: Principal) -> bool:
        """Return whether the page's session that the principal came with was ended since."""
        return self._accounts.has_ended(principal.session)

    def is_secure(self, request: web.Request) -> bool:
        """Return whether the client speaks TLS, to us or to a trusted proxy."""
        return request.secure or self._scheme(request) == "https"

    async def _identify(self, request: web.Request, address: str, *, needs_key: bool) -> Identity | None:
        if self._accounts.is_empty:  # a token could be compared with nothing
            return None
        if (token := bearer_of(request)) is not None:
            return await self._accounts.by_token(token, address)
        cookie = cookie_of(request, is_secure=self.is_secure(request))
        if cookie is None:
            return None
        return await self._accounts.by_session(cookie, key_of(request), needs_key=needs_key)

    async def _by_realtime_key(self, request: web.Request, unknown: Principal, access: Access) -> Principal:
        """Return the key's holder, who has no rights of a local request.

        A key that was made without a login is good for those who need none. One of the local user lets others in, too,
        as long as local requests need no login. Raises AuthError.
        """
        if access is not Access.KEY:
            raise AuthError("a Realtime key opens /v1/realtime only")
        key = request[_REALTIME_KEY] = await self._accounts.by_realtime_key(bearer_of(request) or "")
        is_local = key.maker.user_id == LOCAL_USER
        if not key.has_login and not unknown.may_enter and not (is_local and self._trusts_loopback):
            raise AuthError("this Realtime key was made without a login, which is needed by now")
        return replace(unknown, is_local=False).identified(key.holder, is_logged_in=key.has_login or is_local)

    @property
    def _trusts_loopback(self) -> bool:
        """Whether a local request needs no login."""
        return self._security.trust_loopback and self._security.auth in ("auto", "none")

    def _unknown(self, request: web.Request) -> Principal:
        """Return the principal of a request without a login."""
        is_local, address = self._is_local(request), self.address(request)
        is_trusted = is_local and self._trusts_loopback
        return Principal(
            address,
            is_local,
            user_id=LOCAL_USER if is_trusted else ANONYMOUS_PREFIX + address,
            is_operator=is_trusted,
            may_enter=is_trusted or self._security.auth == "none",
        )

    def _knows_host(self, host: str) -> bool:
        name = _split_host(host.lower())[0]
        return name in self._hosts or (self._is_wildcard and _parsed(name) is not None)

    def _knows_origin(self, origin: str, host: str, request: web.Request) -> bool:
        origin = origin.lower()
        if origin in self._origins:
            return True
        try:
            parts = urlsplit(origin)
            port = parts.port
        except ValueError:
            return False
        default = {"http": 80, "https": 443}.get(parts.scheme)
        if default is None or parts.hostname is None:
            return False
        if parts.scheme == "http" and self.is_secure(request):
            return False  # an attacker on the way can make a page of that origin
        name, host_port = _split_host(host.lower())
        return (parts.hostname, port or default) == (name, host_port or default)

    def _is_local(self, request: web.Request) -> bool:
        if not self._security.trust_loopback or not _is_loopback(request.remote or ""):
            return False
        if _split_host(request.headers.get("Host", "").lower())[0] not in _LOCAL_NAMES:
            return False
        return not any(
            name.lower() in _FORWARDED or name.lower().startswith("x-forwarded-") for name in request.headers
        )

    def address(self, request: web.Request) -> str:
        """Return the nearest hop that is no trusted proxy: what stands left of it can be made up."""
        forwarded = ",".join(request.headers.getall("X-Forwarded-For", []))
        hops = [hop.strip() for hop in forwarded.split(",") if hop.strip()]
        address = request.remote or ""
        while hops and self._is_proxy(address):
            hop = hops.pop()
            hop = hop if _parsed(hop) else _split_host(hop)[0]  # some proxies add the port
            if _parsed(hop) is None:
                break
            address = hop
        return address

    def _scheme(self, request: web.Request) -> str | None:
        """Return the scheme that the client spoke, as the nearest trusted proxy says, or None without a proxy."""
        if not self._is_proxy(request.remote or ""):
            return None
        protocols = ",".join(request.headers.getall("X-Forwarded-Proto", []))
        return protocols.rpartition(",")[2].strip().lower() or None

    def _is_proxy(self, address: str) -> bool:
        parsed = _parsed(address) if self._proxies else None
        return parsed is not None and any(parsed in network for network in self._proxies)


def _require_way_in(listen: config.ListenSettings, security: config.SecuritySettings, *, has_login: bool) -> None:
    if security.auth != "auto" or has_login:
        return
    cure = (
        "give them a way to log in with `security.tokens` or `security.jwt`, or set `security.auth: none` "
        "to let in everybody who reaches the port"
    )
    if listen.host != "localhost" and not _is_loopback(listen.host):
        raise ConfigError(
            f"listen.host {listen.host}: others could connect, but none of them could log in; {cure}, "
            "or listen on 127.0.0.1"
        )
    if not security.trust_loopback:
        raise ConfigError(f"security.trust_loopback: false lets nobody in, as nobody can log in; {cure}")


def _split_host(host: str) -> tuple[str, int | None]:
    """Split `[::1]:80` into `::1` and 80. Nonsense gives a name that is not known."""
    name, separator, port = host.rpartition(":")
    if not separator or host.endswith("]"):
        name, port = host, ""
    if port and not (port.isascii() and port.isdigit()):
        return host, None
    if name.startswith("[") and name.endswith("]"):
        name = name[1:-1]
    return name.rstrip("."), int(port) if port else None


def _parsed(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(address)
    except ValueError:
        return None


def _is_loopback(address: str) -> bool:
    parsed = _parsed(address)
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        return parsed.ipv4_mapped.is_loopback
    return parsed is not None and parsed.is_loopback


def _require_form(key: str, values: Sequence[str], form: re.Pattern[str], example: str) -> None:
    for index, value in enumerate(values):
        if not form.fullmatch(value):  # it is not quoted: it may have come from a secret's place
            raise ConfigError(f"security.{key}[{index}]: write it as {example}")


def _network(proxy: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(proxy, strict=False)
    except ValueError:
        raise ConfigError(f"proxies: {proxy!r} is not an address; write 10.0.0.7 or 10.0.0.0/8") from None


def bearer_of(request: web.Request) -> str | None:
    """Return the token of `Authorization: Bearer …` or of a subprotocol. Raises AuthError for two that differ."""
    given = _bearers(request)
    if len(given) > 1:
        raise AuthError("the request carries two tokens")
    return given.pop() if given else None


def _bearers(request: web.Request) -> set[str]:
    """Return the bearer tokens, and those of Azure's clients; other schemes are ignored: a proxy may ask for a password."""
    given = (line.partition(" ") for line in request.headers.getall("Authorization", []))
    tokens = [token.strip() for scheme, _, token in given if scheme.lower() == "bearer"]
    if request.path.startswith(OPENAI_PREFIXES):
        tokens += request.headers.getall(AZURE_HEADER, [])
    return {*tokens, *_subprotocols(request, BEARER_PROTOCOL), *_subprotocols(request, OPENAI_PROTOCOL)}


def _realtime_keys(request: web.Request) -> list[str]:
    return [token for token in _bearers(request) if token.startswith(KEY_PREFIX)]


def key_of(request: web.Request) -> str | None:
    """Return the key of the page's session, from the header or the subprotocol, or None if there are several."""
    given = {*request.headers.getall(KEY_HEADER, []), *_subprotocols(request, KEY_PROTOCOL)}
    return given.pop() if len(given) == 1 else None


def cookie_of(request: web.Request, *, is_secure: bool) -> str | None:
    """Return the session in the cookie of our name, or None if there are several, as one of them was planted."""
    name = SECURE_COOKIE if is_secure else COOKIE
    pairs = (pair.partition("=") for line in request.headers.getall("Cookie", []) for pair in line.split(";"))
    values = [value.strip() for key, _, value in pairs if key.strip() == name]
    return values[0] if len(values) == 1 else None


def give_cookie(response: web.StreamResponse, value: str, *, lasts_s: int, is_secure: bool) -> None:
    """Set a cookie that no script can read and no page of another site sends. An empty value takes it back."""
    response.set_cookie(
        SECURE_COOKIE if is_secure else COOKIE,
        value,
        max_age=lasts_s,
        path="/",
        secure=is_secure,
        httponly=True,
        samesite="Strict",
    )


def _subprotocols(request: web.Request, prefix: str) -> list[str]:
    lines = request.headers.getall("Sec-WebSocket-Protocol", [])
    names = (name.strip() for line in lines for name in line.split(","))
    return [name.removeprefix(prefix) for name in names if name.startswith(prefix)]
