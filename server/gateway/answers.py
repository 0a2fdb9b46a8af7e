"""Refusals that a program can read: `{"error": {"code", "message", "path"?}}`."""

import math

from aiohttp import web

from server.errors import AuthError, TooManyAttempts


def refuse(status: int, code: str, message: str, *, path: str | None = None, **headers: str) -> web.Response:
    """Kept by no cache. `path`: of what is wrong in the body. In the names of headers `_` stands for `-`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = {"error": {"code": code, "message": message, **({} if path is None else {"path": path})}}
    return web.json_response(body, status=status, headers={"Cache-Control": "no-store", **named})


def say(request: web.Request, status: int, code: str, text: str) -> web.Response:
    """To people as text, to programs in the API's shape."""
    if request.path.startswith("/api/") or request.path == "/openapi.json":
        return refuse(status, code, " ".join(text.split()))
    return web.Response(status=status, text=text)


def refuse_credential(error: AuthError) -> web.Response:
    """401 for a wrong one; 429 or 503 with Retry-After where it was not even looked at."""
    if error.retry_after_s is None:
        challenge = 'Bearer realm="parley", error="invalid_token"'
        return refuse(401, error.code, str(error), WWW_Authenticate=challenge)
    status = 429 if isinstance(error, TooManyAttempts) else 503
    return refuse(status, error.code, str(error), Retry_After=str(math.ceil(error.retry_after_s)))
