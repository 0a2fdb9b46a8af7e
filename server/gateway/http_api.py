"""Plain HTTP: health, readiness, metrics; the headers on every answer."""

import json
from typing import Final

from aiohttp import web

from server.gateway.auth import Authenticator
from server.gateway.readiness import Readiness
from server.metrics import CONTENT_TYPE, Metrics

SECURITY_HEADERS: Final = {
    "Content-Security-Policy": (
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
_POLICY: Final = "Content-Security-Policy"


async def add_security_headers(_request: web.Request, response: web.StreamResponse) -> None:
    """An `on_response_prepare` signal: errors and files get the headers as well. A stricter policy stays."""
    own_policy = response.headers.get(_POLICY)
    response.headers.update(SECURITY_HEADERS)
    if own_policy is not None:
        response.headers[_POLICY] = own_policy


class HttpApi:
    def __init__(self, authenticator: Authenticator, readiness: Readiness, metrics: Metrics) -> None:
        self._authenticator = authenticator
        self._readiness = readiness
        self._metrics = metrics

    def add_routes(self, router: web.UrlDispatcher) -> None:
        router.add_get("/healthz", self._health)
        router.add_get("/readyz", self._ready)
        router.add_get("/stages", self._show_stages)
        router.add_get("/metrics", self._show_metrics)

    async def _health(self, _request: web.Request) -> web.Response:
        return web.Response(text="ok\n", headers={"Cache-Control": "no-store"})

    async def _ready(self, request: web.Request) -> web.Response:
        """Probes come from anywhere."""
        return self._stages(request, status=200 if self._readiness.is_ready else 503)

    async def _show_stages(self, request: web.Request) -> web.Response:
        """For pages: a browser writes an error into its console for every 503."""
        return self._stages(request, status=200)

    def _stages(self, request: web.Request, *, status: int) -> web.Response:
        """Why a stage is not ready is told to operators alone."""
        readiness = self._readiness
        is_told = self._authenticator.principal(request).is_operator
        body = {
            "ready": readiness.is_ready,
            "draining": readiness.is_draining,
            "stages": [
                {"name": s.name, "state": s.state, "detail": s.detail if is_told else None} for s in readiness.stages
            ],
        }
        return web.json_response(body, status=status, headers={"Cache-Control": "no-store"}, dumps=json.dumps)

    async def _show_metrics(self, request: web.Request) -> web.Response:
        if not self._authenticator.principal(request).is_operator:
            return web.Response(status=403, text="metrics are for operators and local requests\n")
        return web.Response(body=self._metrics.render(), headers={"Content-Type": CONTENT_TYPE})
