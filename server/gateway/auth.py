"""Who is it, and may they come in."""

import ipaddress
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web

from server import config
from server.errors import ConfigError
from server.session.visitor import Visitor

_LOCAL_NAMES: Final = frozenset(("localhost", "127.0.0.1", "::1"))
_WILDCARDS: Final = frozenset(("", "0.0.0.0", "::"))  # recognised here, not bound
_FORWARDED: Final = ("forwarded", "x-real-ip", "via")

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Doorkeeper:
    """Judges requests by their headers and their peer; keeps nothing of them."""

    def __init__(self, listen: config.Listen, security: config.Security, proxies: Sequence[str]) -> None:
        """Raises ConfigError for a proxy that is no address, and for a door that would let nobody in."""
        self._security = security
        self._proxies = [_network(proxy) for proxy in proxies]
        self._is_wildcard = listen.host in _WILDCARDS
        self._hosts = {*_LOCAL_NAMES, listen.host.lower(), *(_split_host(name.lower())[0] for name in security.hosts)}
        self._origins = {origin.lower().rstrip("/") for origin in security.origins}
        _require_way_in(listen, security)

    def refusal(self, request: web.Request) -> str | None:
        """Why the request is refused with 403 whoever made it, or None.

        An unknown `Host` may be a foreign page whose name was rebound to our
        address; a foreign `Origin` is a page of somebody else.
        """
        hosts = request.headers.getall("Host", [])
        if len(hosts) != 1 or not self._knows_host(hosts[0]):
            return "unknown Host; name it in security.hosts"
        origins = request.headers.getall("Origin", [])
        if origins and (len(origins) > 1 or not self._knows_origin(origins[0], hosts[0])):
            return "foreign Origin; name it in security.origins"
        return None

    def visitor(self, request: web.Request) -> Visitor:
        peer = request.remote or ""
        is_local = self._is_local(peer, request)
        return Visitor(self._client_address(peer, request), is_local, is_operator=is_local)

    def may_enter(self, visitor: Visitor) -> bool:
        return visitor.is_local or self._security.auth == "none"

    def _knows_host(self, host: str) -> bool:
        name = _split_host(host.lower())[0]
        return name in self._hosts or (self._is_wildcard and _is_address(name))

    def _knows_origin(self, origin: str, host: str) -> bool:
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
        name, host_port = _split_host(host.lower())
        return (parts.hostname, port or default) == (name, host_port or default)

    def _is_local(self, peer: str, request: web.Request) -> bool:
        if not self._security.trust_loopback or not _is_loopback(peer):
            return False
        if _split_host(request.headers.get("Host", "").lower())[0] not in _LOCAL_NAMES:
            return False
        return not any(
            name.lower() in _FORWARDED or name.lower().startswith("x-forwarded-") for name in request.headers
        )

    def _client_address(self, peer: str, request: web.Request) -> str:
        """The nearest hop that is no trusted proxy: what stands left of it can be made up."""
        forwarded = ",".join(request.headers.getall("X-Forwarded-For", []))
        hops = [hop.strip() for hop in forwarded.split(",") if hop.strip()]
        address = peer
        while hops and self._is_proxy(address):
            address = hops.pop()
        return address

    def _is_proxy(self, address: str) -> bool:
        if not self._proxies or not _is_address(address):
            return False
        return any(ipaddress.ip_address(address) in network for network in self._proxies)


def is_loopback_host(host: str) -> bool:
    return host == "localhost" or _is_loopback(host)


def _require_way_in(listen: config.Listen, security: config.Security) -> None:
    if security.auth != "auto":
        return
    if not is_loopback_host(listen.host):
        raise ConfigError(
            f"listen.host {listen.host}: others could connect, but there is no way to log in yet; "
            "set `security.auth: none` to let in everybody who reaches the port, or listen on 127.0.0.1"
        )
    if not security.trust_loopback:
        raise ConfigError(
            "security.trust_loopback: false lets nobody in, as there is no way to log in yet; "
            "set `security.auth: none` to let in everybody who reaches the port"
        )


def _split_host(host: str) -> tuple[str, int | None]:
    """`[::1]:80` → (`::1`, 80). Nonsense gives a name that nobody knows."""
    name, separator, port = host.rpartition(":")
    if not separator or host.endswith("]"):
        name, port = host, ""
    if port and not (port.isascii() and port.isdigit()):
        return host, None
    if name.startswith("[") and name.endswith("]"):
        name = name[1:-1]
    return name.rstrip("."), int(port) if port else None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_loopback(address: str) -> bool:
    if not _is_address(address):
        return False
    parsed = ipaddress.ip_address(address)
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        return parsed.ipv4_mapped.is_loopback
    return parsed.is_loopback


def _network(proxy: str) -> Network:
    try:
        return ipaddress.ip_network(proxy, strict=False)
    except ValueError:
        raise ConfigError(f"proxies: {proxy!r} is no address; write 10.0.0.7 or 10.0.0.0/8") from None
