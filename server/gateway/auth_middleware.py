"""Middleware that every request passes first: Host and Origin, credentials, the body in time."""

import asyncio
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from server.errors import AuthError
from server.gateway.answers import refuse, refuse_credential, say
from server.gateway.auth import Authenticator
from server.gateway.login import LOGIN_PAGE, NEEDED_TO_LOG_IN
from server.metrics import Metrics

SLOWEST_BODY_S: Final = 30.0
"""From a request's headers to the end of its body."""
_PROBES: Final = frozenset(("/healthz", "/readyz"))  # asked by machines that know no name of ours
_NO_LOGIN: Final = (
    "This server answers requests from its own machine only.\n"
    "Its operator can let others log in (`security.tokens`, `security.jwt`), "
    "or set `security.auth: none` to let in everybody who reaches the port.\n"
)


def auth_middleware(
    authenticator: Authenticator, metrics: Metrics, *, slowest_body_s: float = SLOWEST_BODY_S
) -> Middleware:
    @web.middleware
    async def authenticate(request: web.Request, handler: Handler) -> web.StreamResponse:
        refusal = await _judge(request, authenticator, metrics)
        if refusal is None:
            refusal = await _read_body(request, slowest_body_s)
        return await handler(request) if refusal is None else refusal

    return authenticate


async def _judge(request: web.Request, authenticator: Authenticator, metrics: Metrics) -> web.Response | None:
    cause = authenticator.refusal(request)
    if request.path in _PROBES:
        if cause is None:
            await _try_to_admit(authenticator, request)
        return None
    if cause is not None:
        metrics.refused.labels("foreign").inc()
        return say(request, 403, "foreign_request", f"refused: {cause}\n")
    if request.path in NEEDED_TO_LOG_IN:
        return None
    is_socket = request.path == "/ws"  # says 4401 after the upgrade: a browser shows its page no HTTP status there
    try:
        principal = await authenticator.admit(request)
    except AuthError as error:
        if is_socket and error.retry_after_s is None:
            return None
        metrics.refused.labels(error.code.replace("_", " ")).inc()
        return refuse_credential(error)
    return None if principal.may_enter or is_socket else _ask_to_log_in(authenticator, request)


async def _try_to_admit(authenticator: Authenticator, request: web.Request) -> None:
    """Operators are told more; to a probe a wrong credential is as good as none."""
    try:
        await authenticator.admit(request)
    except AuthError:
        return


def _ask_to_log_in(authenticator: Authenticator, request: web.Request) -> web.Response:
    if not authenticator.has_login:
        return say(request, 401, "not_authenticated", _NO_LOGIN)
    if request.method in ("GET", "HEAD") and "text/html" in request.headers.get("Accept", ""):
        # a browser keeps the fragment, which names the conversation; nothing else is passed on
        return web.Response(status=303, headers={"Location": LOGIN_PAGE, "Cache-Control": "no-store"})
    message = f"log in at {LOGIN_PAGE}, or send a token"
    return refuse(401, "not_authenticated", message, WWW_Authenticate='Bearer realm="parley"')


async def _read_body(request: web.Request, slowest_s: float) -> web.Response | None:
    """A body that comes so slowly that it never ends would hold its handler; aiohttp keeps what was read."""
    if not request.can_read_body:
        return None
    try:
        async with asyncio.timeout(slowest_s):
            await request.read()
    except web.HTTPRequestEntityTooLarge as error:
        return refuse(413, "body_too_large", error.text or "", Connection="close")
    except TimeoutError:
        return refuse(408, "too_slow", f"the body did not come within {slowest_s:g} s", Connection="close")
    return None
