"""Responses of the gateway: errors in one shape, unexpected failures, headers on every answer."""

import logging
import math
import secrets
from typing import Any, Final

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler

from server.errors import AuthError, TooManyAttempts

logger = logging.getLogger(__name__)

_POLICY: Final = "Content-Security-Policy"
_OWN: Final = (_POLICY, "Cross-Origin-Resource-Policy")
"""Security headers that a handler may set itself."""
SECURITY_HEADERS: Final = {
    _POLICY: (
        "default-src 'self'; connect-src 'self'; img-src 'self' blob: data:; worker-src 'self' blob:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "microphone=(self), camera=(), geolocation=()",
    "Server": "parley",
}
OPENAI_PREFIXES: Final = ("/v1/", "/openai/v1/")
"""Beginnings of the paths that OpenAI's clients ask for, and Azure's."""
_OPENAI_ERROR_TYPES: Final = {
    401: "authentication_error",
    403: "permission_error",
    429: "rate_limit_error",
}
_HAS_BEGUN: Final = web.RequestKey("has_begun", bool)


def refuse(
    status: int, code: str, message: str, *, path: str | None = None, current: str | None = None, **headers: str
) -> web.Response:
    """Answer `{"error": {"code", "message", "path"?, "current"?}}`, kept by no cache.

    `path` names what is wrong in the body, `current` is the text that stands in the way of a write. In the names of
    headers `_` stands for `-`.
    """
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    more = {name: value for name, value in (("path", path), ("current", current)) if value is not None}
    body = {"error": {"code": code, "message": message, **more}}
    return web.json_response(body, status=status, headers={"Cache-Control": "no-store", **named})


def refuse_page(request: web.Request, status: int, code: str, text: str) -> web.Response:
    """Refuse with text for people; a request to the API gets the API's shape."""
    if request.path.startswith(("/api/", *OPENAI_PREFIXES)) or request.path == "/openapi.json":
        return refuse(status, code, " ".join(text.split()))
    return web.Response(status=status, text=text)


def refuse_credential(error: AuthError) -> web.Response:
    """Answer 401 to a wrong credential; 429 or 503 with Retry-After where it was not even looked at."""
    if error.retry_after_s is None:
        challenge = 'Bearer realm="parley", error="invalid_token"'
        return refuse(401, error.code, str(error), WWW_Authenticate=challenge)
    status = 429 if isinstance(error, TooManyAttempts) else 503
    return refuse(status, error.code, str(error), Retry_After=str(math.ceil(error.retry_after_s)))


async def prepare_response(request: web.BaseRequest, response: web.StreamResponse) -> None:
    """Add the security headers to any answer, files and errors included; a handler's own policies stay.

    An `on_response_prepare` signal: from here on no other answer can be given.
    """
    request[_HAS_BEGUN] = True
    own = {name: response.headers[name] for name in _OWN if name in response.headers}
    response.headers.update({**SECURITY_HEADERS, **own})


@web.middleware
async def answer_failures(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer an unexpected error with an id and nothing of its text; the log has it once, under that id.

    Must come before every middleware that may fail, so that their failures are
    answered, too. An answer that has begun cannot become another: its connection
    breaks, so that it is not taken for whole.
    """
    try:
        return await handler(request)
    except web.HTTPException:
        raise
    except Exception as error:  # the boundary of a request
        if isinstance(error, ConnectionError) and (request.transport is None or request.transport.is_closing()):
            raise  # the client has left
        failure_id = secrets.token_hex(4)
        logger.exception("%s %s failed (failure %s)", request.method, request.path[:200], failure_id)
        if request.get(_HAS_BEGUN, False):
            raise ConnectionResetError("the answer had begun") from error
        text = f"something went wrong here; the server's log has it under failure {failure_id}\n"
        return refuse_page(request, 500, "internal", text)


@web.middleware
async def shape_openai_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Give every error below OPENAI_PREFIXES the shape that OpenAI's clients read."""
    if not request.path.startswith(OPENAI_PREFIXES):
        return await handler(request)
    answer: web.StreamResponse
    try:
        answer = await handler(request)
    except web.HTTPException as error:
        answer = error
    if answer.status < 400 or answer.prepared or not isinstance(answer, web.Response):
        return answer
    headers = {name: value for name, value in answer.headers.items() if name not in ("Content-Type", "Content-Length")}
    return web.json_response({"error": _openai_error(answer)}, status=answer.status, headers=headers)


def _openai_error(answer: web.Response) -> dict[str, Any]:
    is_ours = answer.content_type == "application/json"
    error = msgspec.json.decode(answer.text or "{}")["error"] if is_ours else {"message": (answer.text or "").strip()}
    kind = "server_error" if answer.status >= 500 else "invalid_request_error"
    return {
        "message": error["message"],
        "type": _OPENAI_ERROR_TYPES.get(answer.status, kind),
        "code": error.get("code"),
        "param": error.get("path", "").removeprefix("$").removeprefix(".") or None,
    }
