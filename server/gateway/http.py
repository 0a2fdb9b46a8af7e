"""The one port: page, REST, metrics and `/ws` in one aiohttp application, behind one check of every request.

The check reads bodies before the handler runs, within limits of size, time and memory. aiohttp must not unpack them
(`auto_decompress=False`): it would do so while they arrive, before they can be refused, and 1 KB can become 1 MB.
"""

import asyncio
import contextlib
import errno
import logging
import ssl
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.typedefs import Handler, Middleware
from msgspec import Struct

from server import config, log
from server.accounts.principal import Principal, network_of
from server.errors import AuthError, ConfigError
from server.gateway.auth import Authenticator
from server.gateway.login import LOGIN_PAGE, MAX_STRANGER_BYTES
from server.gateway.responses import (
    SECURITY_HEADERS,
    answer_failures,
    prepare_response,
    refuse,
    refuse_credential,
    refuse_page,
    shape_openai_errors,
)
from server.gateway.routes import Access, RouteGroup, Routes
from server.gateway.websocket_server import RETRY_AFTER_S
from server.metrics import Metrics

_BACKLOG: Final = 1024
KEEPALIVE_S: Final = 75.0
"""Time that a connection may wait for its next request; also for the first, and until its headers are complete."""
_SHUTDOWN_S: Final = 1.0
_READ_AHEAD_BYTES: Final = 64 << 10
"""Body that may wait unread, such as that of a refused request, before its connection is paused."""
_MAX_REQUEST_LINE_BYTES: Final = 32 << 10
"""The longest filter of the audit log is 24 KiB: eight times 256 characters of 12 bytes, such as `%F0%9D%84%9E`."""
_NO_LOGIN: Final = (
    "This server answers requests from its own machine only.\n"
    "Its operator can let others log in (`security.tokens`, `security.jwt`), "
    "or set `security.auth: none` to let in everybody who reaches the port.\n"
)
_BODIES_RETRY_AFTER_S: Final = "1"


class BodyLimits(Struct, frozen=True, kw_only=True):
    """Limits of the bodies of one kind of clients. All that is being read counts as `in flight`."""

    max_bytes: int
    slowest_s: float
    """Longest time from the headers to the end of the body."""
    in_flight_of_address: int
    in_flight: int


STRANGERS: Final = BodyLimits(
    max_bytes=MAX_STRANGER_BYTES, slowest_s=5.0, in_flight_of_address=256 << 10, in_flight=4 << 20
)
"""Limits for clients who would have to log in first."""
USERS: Final = BodyLimits(max_bytes=1 << 20, slowest_s=30.0, in_flight_of_address=8 << 20, in_flight=64 << 20)
"""Limits for users: with `auth: none`, for all clients. aiohttp's `client_max_size`, the same, holds for a body without length."""


class RequestBodies:
    """Reads bodies, and counts the bytes that are being read for each address and in all."""

    def __init__(self, *, strangers: BodyLimits = STRANGERS, users: BodyLimits = USERS) -> None:
        self._strangers = strangers, Counter[str]()  # with the bytes in flight, by network
        self._users = users, Counter[str]()

    async def read(self, request: web.Request, principal: Principal) -> web.Response | None:
        """Read the body, which aiohttp keeps for the handler; return the refusal, if any."""
        if "Content-Encoding" in request.headers:
            message = "packed bodies are not read; send it without Content-Encoding"
            return refuse(415, "body_packed", message, Connection="close")
        if not request.can_read_body:
            return None
        limits, in_flight = self._users if principal.may_enter else self._strangers
        length = request.content_length
        if length is None and not principal.may_enter:
            return refuse(411, "length_required", "send Content-Length", Connection="close")
        size = limits.max_bytes if length is None else length
        if size > limits.max_bytes:
            message = f"{size} bytes; at most {limits.max_bytes} are read"
            return refuse(413, "body_too_large", message, Connection="close")
        network = network_of(principal.address)
        if in_flight[network] + size > limits.in_flight_of_address or in_flight.total() + size > limits.in_flight:
            message = "too many bodies are being read; try again"
            return refuse(503, "busy", message, Retry_After=_BODIES_RETRY_AFTER_S, Connection="close")
        in_flight[network] += size
        try:
            async with asyncio.timeout(limits.slowest_s):
                await request.read()
        except web.HTTPRequestEntityTooLarge as error:
            return refuse(413, "body_too_large", error.text or "", Connection="close")
        except TimeoutError:
            message = f"the body did not arrive within {limits.slowest_s:g} s"
            return refuse(408, "too_slow", message, Connection="close")
        finally:
            in_flight[network] -= size
            if not in_flight[network]:
                del in_flight[network]
        return None


class HttpServer:
    """Server of every route; listens between `start` and `aclose`. WebSocketServer closes its connections before.

    Until `admit` is called, all requests but probes get 503.
    """

    def __init__(
        self,
        settings: config.ListenSettings,
        *,
        authenticator: Authenticator,
        metrics: Metrics,
        groups: Iterable[RouteGroup],
    ) -> None:
        """Add the routes of all `groups`; of two routes that fit a request, the first one is taken."""
        self._settings = settings
        self._does_admit = False
        app = web.Application()
        self.routes = Routes(app.router)
        app.middlewares.extend(
            (
                shape_openai_errors,
                answer_failures,
                self._refuse_early,
                auth_middleware(authenticator, metrics, self.routes),
            )
        )
        app.on_response_prepare.append(prepare_response)
        for group in groups:
            group.add_routes(self.routes)
        self._runner = web.AppRunner(app, shutdown_timeout=_SHUTDOWN_S)
        self._listeners: list[asyncio.Server] = []

    async def start(self) -> str:
        """Listen; returns the address to open. Raises ConfigError where the port cannot be had."""
        listen = self._settings
        context = _tls_context(listen.tls)
        logging.getLogger("aiohttp.server").addFilter(_is_for_the_operator)
        await self._runner.setup()
        is_localhost = listen.host == "localhost"
        try:
            port = await self._listen("127.0.0.1" if is_localhost else listen.host, listen.port, context)
        except OSError as error:
            raise ConfigError(_explain(error, listen)) from error
        if is_localhost:
            with contextlib.suppress(OSError):  # a machine without IPv6
                await self._listen("::1", port, context)
        host = f"[{listen.host}]" if ":" in listen.host else listen.host
        return f"{'http' if context is None else 'https'}://{host}:{port}"

    def admit(self) -> None:
        """Serve every route from now on."""
        self._does_admit = True

    @web.middleware
    async def _refuse_early(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if self._does_admit or self.routes.access_of(request) is Access.PROBE:
            return await handler(request)
        text = "The server is starting and waits for its database; try again in a moment.\n"
        refusal = refuse_page(request, 503, "starting", text)
        refusal.headers["Retry-After"] = str(RETRY_AFTER_S)
        return refusal

    async def _listen(self, host: str, port: int, context: ssl.SSLContext | None) -> int:
        """Accept connections; returns the port. No `TCPSite`, which makes connections of aiohttp's own class only."""
        connect = connection_factory(self._runner)
        listener = await asyncio.get_running_loop().create_server(connect, host, port, backlog=_BACKLOG, ssl=context)
        self._listeners.append(listener)
        return int(listener.sockets[0].getsockname()[1])

    async def aclose(self) -> None:
        for listener in self._listeners:
            listener.close()
        await self._runner.cleanup()


def connection_factory(runner: web.AppRunner, *, keepalive_s: float = KEEPALIVE_S) -> Callable[[], web.RequestHandler]:
    """Return what makes a connection for a listener of the runner's application, which is set up."""
    assert runner.server is not None, "set up"
    options: dict[str, Any] = {"access_log": None, "auto_decompress": False, "keepalive_timeout": keepalive_s}
    options |= {"max_line_size": _MAX_REQUEST_LINE_BYTES, "read_bufsize": _READ_AHEAD_BYTES}
    return partial(_Connection, runner.server, loop=asyncio.get_running_loop(), **options)


class _Connection(web.RequestHandler):
    """HTTP connection whose answers to malformed requests carry the security headers, too: no signal sees them."""

    __slots__ = ()

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        response = super().handle_error(request, status, exc, message)
        response.headers.update(SECURITY_HEADERS)
        return response


def auth_middleware(
    authenticator: Authenticator, metrics: Metrics, routes: Routes, bodies: RequestBodies | None = None
) -> Middleware:
    """Check every request before its handler: Host and Origin, who makes it and may, and the limits of its body."""
    bodies = bodies or RequestBodies()

    @web.middleware
    async def authenticate(request: web.Request, handler: Handler) -> web.StreamResponse:
        log.client.set(f"address {network_of(authenticator.address(request))}")
        refusal = await _judge(request, routes.access_of(request), authenticator, metrics)
        principal = authenticator.principal(request)
        if principal.is_logged_in:
            log.client.set(f"user {principal.user_id}")
        if refusal is None:
            refusal = await bodies.read(request, principal)
        return await handler(request) if refusal is None else refusal

    return authenticate


async def _judge(
    request: web.Request, access: Access, authenticator: Authenticator, metrics: Metrics
) -> web.Response | None:
    cause = authenticator.refusal(request, access)
    if access is Access.PROBE:
        if cause is None:
            with contextlib.suppress(AuthError):  # to a probe a wrong credential is as good as none
                await authenticator.admit(request)  # operators are told more
        return None
    if cause is not None:
        metrics.refused.labels("foreign").inc()
        return refuse_page(request, 403, "foreign_request", f"refused: {cause}\n")
    if access is Access.EVERYONE:
        return None
    try:
        principal = await authenticator.admit(request, access)
    except AuthError as error:
        if access is Access.SOCKET and error.retry_after_s is None:
            return None
        metrics.refused.labels(error.code.replace("_", " ")).inc()
        return refuse_credential(error)
    if not principal.may_enter:
        return None if access is Access.SOCKET else _ask_to_log_in(authenticator, request)
    if access is Access.OPERATOR and not principal.is_operator:
        return refuse_page(request, 403, "operators_only", "this is for operators\n")
    return None


def _ask_to_log_in(authenticator: Authenticator, request: web.Request) -> web.Response:
    if not authenticator.has_login:
        return refuse_page(request, 401, "not_authenticated", _NO_LOGIN)
    if request.method in ("GET", "HEAD") and "text/html" in request.headers.get("Accept", ""):
        # a browser keeps the fragment, which names the conversation; nothing else is passed on
        return web.Response(status=303, headers={"Location": LOGIN_PAGE, "Cache-Control": "no-store"})
    message = f"log in at {LOGIN_PAGE}, or send a token"
    return refuse(401, "not_authenticated", message, WWW_Authenticate='Bearer realm="parley"')


def _is_for_the_operator(record: logging.LogRecord) -> bool:
    """Return False for a client's malformed request or lost connection, which aiohttp logs with a traceback."""
    kind = record.exc_info[0] if record.exc_info else None
    return kind is None or not issubclass(kind, (HttpProcessingError, ConnectionError))


def _tls_context(tls: config.TlsSettings) -> ssl.SSLContext | None:
    if tls.cert is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(tls.cert, tls.key)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"listen.tls: cannot use {tls.cert} with {tls.key}: {error}") from error
    return context


def _explain(error: OSError, listen: config.ListenSettings) -> str:
    where = f"listen.host {listen.host}, listen.port {listen.port}"
    if error.errno == errno.EADDRINUSE:
        return f"{where}: the port is taken; stop the program that listens there, or choose another with --port (0 = any free one)"
    if error.errno == errno.EACCES:
        return f"{where}: not permitted; choose a port above 1023 with --port"
    return f"{where}: cannot listen there: {error.strerror or error}"
