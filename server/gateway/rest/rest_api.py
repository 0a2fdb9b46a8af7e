"""The API: a route for every operation, the OpenAPI document of them, and an error for paths that do not exist."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec
from aiohttp import web
from msgspec import Struct

from server import __version__
from server.accounts.principal import Principal
from server.gateway.auth import COOKIE, KEY_HEADER, Authenticator
from server.gateway.responses import refuse
from server.gateway.rest.operation import (
    ApiAnswer,
    ApiCall,
    Done,
    ErrorAnswer,
    Operation,
    Operations,
    Refusal,
    handler_of,
)
from server.gateway.routes import Access, Routes
from server.hooks.health import BuiltinHealth, HookHealth
from server.wire.frames import HookItem

DOCUMENT: Final = "/openapi.json"
_OPERATIONS: Final = Operations()
_REF: Final = "#/components/schemas/{name}"
_DESCRIPTIONS: Final = {
    400: "A parameter or the body is wrong; `path` says where",
    401: "Log in, or send a token",
    403: "Not for you, or asked from a foreign page",
    404: "There is none",
    408: "The body came too slowly",
    409: "Not now, or not here; the message says why",
    412: "It has changed since it was read",
    413: "The body is too large",
    415: "The body is not JSON",
    422: "It was tried and did not work; nothing has changed",
    428: "If-Match is missing",
    429: "Too much at once",
    500: "Something went wrong; the server's log has more under the failure that the message names",
    503: "The database is unavailable",
}
_ALWAYS: Final = (400, 401, 403, 429, 500, 503)
_OF_BODIES: Final = (408, 413, 415)
_OF_VERSIONS: Final = (412, 428)
_IF_MATCH: Final = {
    "name": "If-Match",
    "in": "header",
    "description": "The ETag of what was read, or `*`",
    "schema": {"type": "string"},
}
_IF_NONE_MATCH: Final = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "description": "`*`, in place of If-Match: there must be none yet",
    "schema": {"type": "string", "enum": ["*"]},
}


def build_document(operations: Sequence[Operation]) -> dict[str, Any]:
    """Make the OpenAPI 3.1 document."""
    answers = [kind for operation in operations for kind in (operation.answer, *operation.body) if kind is not None]
    types = list(dict.fromkeys([ErrorAnswer, *answers]))
    references, components = msgspec.json.schema_components(types, ref_template=_REF)
    schemas = dict(zip(types, references, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _describe(operation, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Parley", "version": __version__, "license": {"name": "MIT", "identifier": "MIT"}},
        "paths": paths,
        "components": {
            "schemas": dict(sorted(components.items())),
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": COOKIE},
                "key": {"type": "apiKey", "in": "header", "name": KEY_HEADER},
            },
        },
        "security": [{}, {"token": []}, {"cookie": [], "key": []}],
    }


def _describe(operation: Operation, schemas: dict[Any, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "summary": operation.summary,
        "operationId": _name(operation),
        "parameters": [*_path_parameters(operation), *_query_parameters(operation)],
        "responses": {"200": _success(operation, schemas)},
    }
    refusals = {*_ALWAYS, *operation.refusals}
    if operation.body:
        content = {"application/json": {"schema": {"anyOf": [schemas[kind] for kind in operation.body]}}}
        described["requestBody"] = {"required": True, "content": content}
    if operation.method in ("POST", "PUT"):
        refusals.update(_OF_BODIES)
    if operation.has_version and operation.method != "GET":
        described["parameters"].append({**_IF_MATCH, "required": not operation.may_create})
        described["parameters"] += [_IF_NONE_MATCH] if operation.may_create else []
        refusals.update(_OF_VERSIONS)
    for status in sorted(refusals):
        described["responses"][str(status)] = {
            "description": _DESCRIPTIONS[status],
            "content": {"application/json": {"schema": schemas[ErrorAnswer]}},
        }
    return described


def _success(operation: Operation, schemas: dict[Any, Any]) -> dict[str, Any]:
    schema = {"type": "string"} if operation.answer is None else schemas[operation.answer]
    success: dict[str, Any] = {
        "description": "OK",
        "content": {kind: {"schema": schema} for kind in operation.content_types},
    }
    if operation.has_version and operation.answer is not Done:  # what is gone has none
        success["headers"] = {"ETag": {"required": True, "schema": {"type": "string"}}}
    return success


def _path_parameters(operation: Operation) -> list[dict[str, Any]]:
    return [
        {"name": part[1:-1], "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for part in operation.path.split("/")
        if part.startswith("{")
    ]


def _query_parameters(operation: Operation) -> list[dict[str, Any]]:
    _, components = msgspec.json.schema_components([operation.query], ref_template=_REF)
    described: dict[str, Any] = components[operation.query.__name__]
    required = described.get("required", ())
    return [
        {"name": name, "in": "query", "required": name in required, "schema": _without_null(schema)}
        for name, schema in described["properties"].items()
    ]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Leave null out of the schema: a parameter that is not given is not sent as null."""
    kinds = [kind for kind in schema.get("anyOf", []) if kind != {"type": "null"}]
    if kinds:
        return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    plain = {key: value for key, value in schema.items() if not (key == "default" and value is None)}
    if None in plain.get("enum", ()):
        plain["enum"] = [value for value in plain["enum"] if value is not None]
    return plain


def _name(operation: Operation) -> str:
    words = [part.strip("{}") for part in operation.path.strip("/").replace(".", "/").split("/") if part != "api"]
    return "_".join((operation.method.lower(), *words))


class HookProcesses(Struct, frozen=True, kw_only=True):
    processes: list[HookHealth]
    builtins: list[BuiltinHealth]


class SkillHooks(Struct, frozen=True, kw_only=True):
    hooks: list[HookItem]


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
        hooks_of_skill: Callable[[Principal, str], list[HookItem] | None],
    ) -> None:
        """Collect the operations. `processes` and `builtins` tell how the hooks of either kind fare now.

        `hooks_of_skill`: what a user may see of a skill's hooks, None where there is no such skill.
        """
        self._authenticator = authenticator
        self._processes = processes
        self._builtins = builtins
        self._hooks_of_skill = hooks_of_skill
        self.operations: tuple[Operation, ...] = (*operations, *_OPERATIONS.of(self))
        self._rest: web.AbstractResource | None = None
        self._document = OpenApi(**build_document(self.operations))

    def add_routes(self, routes: Routes) -> None:
        """Add the routes; must come after all others have added theirs under /api."""
        for operation in self.operations:
            handler = handler_of(operation, self._authenticator)
            routes.add(operation.method, operation.path, handler, operation.access)
        self._rest = routes.add("*", "/api/{rest:.*}", self._refuse_unknown)

    @_OPERATIONS.add("GET", "/api/hooks/processes", HookProcesses, access=Access.OPERATOR)
    async def _show_processes(self, _call: ApiCall) -> ApiAnswer:
        """Show the state of process hooks and builtin hooks."""
        return ApiAnswer(HookProcesses(processes=list(self._processes()), builtins=list(self._builtins())))

    @_OPERATIONS.add("GET", "/api/hooks/skills/{skill}", SkillHooks, refusals=(404,))
    async def _show_hooks(self, call: ApiCall) -> ApiAnswer:
        """Show the hooks of a skill, as the `skills` frame lists them."""
        name = call.request.match_info["skill"]
        hooks = self._hooks_of_skill(call.principal, name)
        if hooks is None:
            raise Refusal(404, "skill_unknown", f"there is no skill {name}"[:300])
        return ApiAnswer(SkillHooks(hooks=hooks))

    @_OPERATIONS.add("GET", DOCUMENT, OpenApi)
    async def _show_document(self, _call: ApiCall) -> ApiAnswer:
        """Return this document."""
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
