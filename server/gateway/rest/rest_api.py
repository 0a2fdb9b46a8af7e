"""Routes of the API: every operation, the OpenAPI document, and an error for paths and methods that do not exist."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from aiohttp import web
from msgspec import Struct

from server.gateway.auth import Authenticator
from server.gateway.responses import refuse
from server.gateway.rest.openapi import build_document
from server.gateway.rest.operation import ApiAnswer, ApiCall, Operation, handler_of
from server.gateway.routes import Access, Routes
from server.hooks.health import BuiltinHealth, HookHealth

DOCUMENT: Final = "/openapi.json"


class HookProcesses(Struct, frozen=True, kw_only=True):
    processes: list[HookHealth]
    builtins: list[BuiltinHealth]


class OpenApi(Struct, frozen=True, kw_only=True):
    openapi: str
    info: dict[str, Any]
    paths: dict[str, Any]
    components: dict[str, Any]
    security: list[Any]


class RestApi:
    def __init__(
        self,
        authenticator: Authenticator,
        *,
        operations: Iterable[Operation],
        processes: Callable[[], Sequence[HookHealth]],
        builtins: Callable[[], Sequence[BuiltinHealth]],
    ) -> None:
        """Collect the operations. `processes` and `builtins` tell how the hooks of either kind fare now."""
        self._authenticator = authenticator
        self._processes = processes
        self._builtins = builtins
        self.operations: tuple[Operation, ...] = (
            *operations,
            Operation(
                method="GET",
                path="/api/hooks/processes",
                summary="The state of process hooks and builtin hooks",
                handle=self._show_processes,
                answer=HookProcesses,
                access=Access.OPERATOR,
            ),
            Operation(method="GET", path=DOCUMENT, summary="This document", handle=self._show_document, answer=OpenApi),
        )
        self._rest: web.AbstractResource | None = None
        self._document = OpenApi(**build_document(self.operations))

    def add_routes(self, routes: Routes) -> None:
        """Add the routes; must come after all others have added theirs under /api."""
        for operation in self.operations:
            handler = handler_of(operation, self._authenticator)
            routes.add(operation.method, operation.path, handler, operation.access)
        self._rest = routes.add("*", "/api/{rest:.*}", self._refuse_unknown)

    async def _show_processes(self, _call: ApiCall) -> ApiAnswer:
        return ApiAnswer(HookProcesses(processes=list(self._processes()), builtins=list(self._builtins())))

    async def _show_document(self, _call: ApiCall) -> ApiAnswer:
        return ApiAnswer(self._document)

    async def _refuse_unknown(self, request: web.Request) -> web.Response:
        """Refuse a path that does not exist; aiohttp comes here with a wrong method too."""
        methods: set[str] = set()
        for resource in request.app.router.resources():
            if resource.canonical.startswith("/api/") and resource is not self._rest:
                methods |= (await resource.resolve(request))[1]
        if methods:
            allowed = ", ".join(sorted(methods))
            return refuse(405, "method_not_allowed", f"this takes {allowed}", Allow=allowed)
        return refuse(404, "not_found", f"there is no such operation; {DOCUMENT} lists them")
