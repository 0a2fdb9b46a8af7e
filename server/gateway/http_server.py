"""The one port: page, REST, metrics and `/ws` in one aiohttp application."""

import contextlib
import errno
import logging
import ssl
from pathlib import Path
from typing import Final

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from server import config
from server.errors import ConfigError
from server.gateway.auth import Authenticator
from server.gateway.auth_middleware import auth_middleware
from server.gateway.failures import answer_failures, note_begun
from server.gateway.http_api import HttpApi, add_security_headers
from server.gateway.login import LoginRoutes
from server.gateway.media_route import MediaRoute
from server.gateway.rest.rest_api import RestApi
from server.gateway.static_files import StaticFiles
from server.gateway.websocket_server import WebSocketServer
from server.metrics import Metrics

_BACKLOG: Final = 1024
KEEPALIVE_S: Final = 75.0
"""How long a connection may wait for its next request; also for the first, and until its headers are complete."""
_SHUTDOWN_S: Final = 1.0
_MAX_REQUEST_LINE_BYTES: Final = 32 << 10
"""The longest filter of the audit log is 24 KiB: eight times 256 characters of 12 bytes, such as `%F0%9D%84%9E`."""


class HttpServer:
    """Listens between `start` and `aclose`. The WebSockets are closed by their own server before."""

    def __init__(
        self,
        settings: config.ListenSettings,
        *,
        authenticator: Authenticator,
        sockets: WebSocketServer,
        api: HttpApi,
        login: LoginRoutes,
        media: MediaRoute,
        rest: RestApi,
        metrics: Metrics,
        frontend: Path,
    ) -> None:
        self._settings = settings
        app = web.Application(middlewares=[answer_failures, auth_middleware(authenticator, metrics)])
        app.on_response_prepare.extend((add_security_headers, note_begun))
        app.router.add_get("/ws", sockets.handle)
        api.add_routes(app.router)
        login.add_routes(app.router)
        media.add_routes(app.router)
        rest.add_routes(app.router)
        StaticFiles(frontend).add_routes(app.router)
        self._runner = build_runner(app)

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

    async def _listen(self, host: str, port: int, context: ssl.SSLContext | None) -> int:
        site = web.TCPSite(self._runner, host, port, backlog=_BACKLOG, ssl_context=context)
        await site.start()
        actual_port: int = self._runner.addresses[0][1]
        return actual_port

    async def aclose(self) -> None:
        await self._runner.cleanup()


def build_runner(app: web.Application, *, keepalive_s: float = KEEPALIVE_S) -> web.AppRunner:
    return web.AppRunner(
        app,
        access_log=None,
        keepalive_timeout=keepalive_s,
        shutdown_timeout=_SHUTDOWN_S,
        max_line_size=_MAX_REQUEST_LINE_BYTES,
    )


def _is_for_the_operator(record: logging.LogRecord) -> bool:
    """Not so: a stranger's malformed request, or one who left, which aiohttp logs with a traceback."""
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
        return f"{where}: the port is taken; stop who listens there, or choose another with --port (0 = any free one)"
    if error.errno == errno.EACCES:
        return f"{where}: not permitted; choose a port above 1023 with --port"
    return f"{where}: cannot listen there: {error.strerror or error}"
