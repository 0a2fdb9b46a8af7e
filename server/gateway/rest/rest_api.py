"""Routes of the API: every operation, the OpenAPI document, and an error for paths and methods that do not exist."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from aiohttp import web
from msgspec import Struct

from server.accounts.accounts import Accounts
from server.gateway.auth import Authenticator
from server.gateway.responses import refuse
from server.gateway.rest.audit_routes import AuditRoutes
from server.gateway.rest.openapi import build_document
from server.gateway.rest.operation import ApiAnswer, ApiCall, Operation, handler_of
from server.gateway.rest.policy_routes import ApprovalRoutes, PolicyRoutes
from server.gateway.rest.session_routes import SessionRoutes
from server.gateway.rest.skill_routes import SkillRoutes
from server.gateway.rest.skill_trial_routes import SkillTrialRoutes
from server.hooks.health import BuiltinHealth, HookHealth
from server.models.model_fetcher import ModelFetcher
from server.models.model_host import ModelHost
from server.models.model_routes import ModelRoutes
from server.policy.document_store import PolicyStore
from server.policy.engine import PolicyEngine
from server.realtime.realtime_routes import RealtimeRoutes
from server.realtime.session_config import ServerTools
from server.session.skill_trial import SkillTrial
from server.storage.storage import Storage
from skills_engine.studio.skill_files import SkillFiles

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
        accounts: Accounts,
        storage: Storage,
        policies: PolicyStore,
        policy_engine: PolicyEngine,
        processes: Callable[[], Sequence[HookHealth]],
        builtins: Callable[[], Sequence[BuiltinHealth]],
        models: ModelHost,
        fetcher: ModelFetcher,
        skill_files: SkillFiles,
        skill_trial: SkillTrial,
        server_tools: ServerTools,
    ) -> None:
        """`processes`, `builtins`: how the hooks of either kind fare now."""
        self._authenticator = authenticator
        self._processes = processes
        self._builtins = builtins
        self.operations: tuple[Operation, ...] = (
            *PolicyRoutes(policies, policy_engine, storage.audit).operations(),
            Operation(
                method="GET",
                path="/api/hooks/processes",
                summary="The state of process hooks and builtin hooks",
                handle=self._show_processes,
                answer=HookProcesses,
                operators_only=True,
            ),
            *AuditRoutes(storage.database, keep_days=storage.audit_days).operations(),
            *ApprovalRoutes(storage.approvals, storage.audit).operations(),
            *ModelRoutes(models, fetcher, storage.audit).operations(),
            *SessionRoutes(storage.page_sessions, storage.audit).operations(),
            *SkillRoutes(skill_files, storage.audit).operations(),
            *SkillTrialRoutes(skill_files, skill_trial).operations(),
            *RealtimeRoutes(accounts, models, server_tools=server_tools).operations(),
            Operation(method="GET", path=DOCUMENT, summary="This document", handle=self._show_document, answer=OpenApi),
        )
        self._rest: web.AbstractResource | None = None
        self._document = OpenApi(**build_document(self.operations))

    def add_routes(self, router: web.UrlDispatcher) -> None:
        """To be called after everybody else has added theirs under /api."""
        for operation in self.operations:
            router.add_route(operation.method, operation.path, handler_of(operation, self._authenticator))
        self._rest = router.add_route("*", "/api/{rest:.*}", self._refuse_unknown).resource

    async def _show_processes(self, _call: ApiCall) -> ApiAnswer:
        return ApiAnswer(HookProcesses(processes=list(self._processes()), builtins=list(self._builtins())))

    async def _show_document(self, _call: ApiCall) -> ApiAnswer:
        return ApiAnswer(self._document)

    async def _refuse_unknown(self, request: web.Request) -> web.Response:
        """aiohttp comes here with a wrong method too."""
        methods: set[str] = set()
        for resource in request.app.router.resources():
            if resource.canonical.startswith("/api/") and resource is not self._rest:
                methods |= (await resource.resolve(request))[1]
        if methods:
            allowed = ", ".join(sorted(methods))
            return refuse(405, "method_not_allowed", f"this takes {allowed}", Allow=allowed)
        return refuse(404, "not_found", f"there is no such operation; {DOCUMENT} lists them")
