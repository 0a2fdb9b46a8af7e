"""`/api/hooks/config`, `/api/hooks/available` and `/api/approvals`: the tool policy, and what was approved for good."""

import asyncio
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from server.errors import PolicyError
from server.gateway.rest.operation import ApiAnswer, ApiCall, Done, Operation, Operations, Refusal, log_in_first
from server.policy.document import (
    NO_POLICY,
    HandlerSpec,
    PolicyBody,
    PolicyDocument,
    PolicyStageName,
    document_of,
    document_schema,
    place_as_written,
    read_document,
    without_locked,
)
from server.policy.document_store import PolicyStore, Scope
from server.policy.engine import BUILTIN_SPECS, PolicyEngine
from server.storage.approval_table import ApprovalTable, RememberedApproval
from server.storage.audit_entry import AuditEntry
from server.storage.audit_log import AuditLog
from server.wire.schema_hints import keys_at
from skills_engine.bounded_yaml import YamlError, read_yaml

PATH: Final = "/api/hooks/config"
APPROVALS_PATH: Final = "/api/approvals"
MAX_BODY_BYTES: Final = 64 << 10
MAX_YAML_CHARS: Final = 8192
_POLICY: Final = Operations()
_APPROVALS: Final = Operations()


class PolicySaved(Struct, frozen=True, kw_only=True):
    status: Literal["ok"] = "ok"
    version: int


class WrappedPolicy(Struct, frozen=True, forbid_unknown_fields=True):
    hooks: PolicyBody


class WrittenPolicy(Struct, frozen=True, forbid_unknown_fields=True):
    text: Annotated[str, Meta(max_length=MAX_YAML_CHARS)]


class ScopeQuery(Struct, frozen=True, forbid_unknown_fields=True):
    scope: Literal["user", "operator"] | None = None
    """Document that is meant; by default a read shows what is in force for the user, a write changes the user's."""


class HandlerInfo(Struct, frozen=True, kw_only=True):
    name: str
    description: str
    stages: list[PolicyStageName]
    """Stages whose documents may name it."""
    settings: list[str] | None
    """Keys of the handler's `config`, or null if it reads them itself."""


class AvailableHandlers(Struct, frozen=True, kw_only=True):
    builtin: list[HandlerInfo]
    custom: list[HandlerInfo]
    schema: dict[str, Any]
    """JSON Schema of documents that name these handlers."""


class PolicyRoutes:
    """The tool policy, read by its user and written by its user or an operator."""

    def __init__(self, store: PolicyStore, engine: PolicyEngine, audit: AuditLog) -> None:
        self._store = store
        self._engine = engine
        self._audit = audit

    def operations(self) -> tuple[Operation, ...]:
        return _POLICY.of(self)

    @_POLICY.add("GET", PATH, PolicyDocument, query=ScopeQuery, has_version=True)
    async def _show(self, call: ApiCall) -> ApiAnswer:
        """Show the tool policy in force for you, or a stored document."""
        user, query = call.principal.user_id, call.query
        match query.scope:
            case None:
                document = self._store.effective(user)
            case "user":
                document = self._store.user(user).document
            case _:
                _require_operator(call)
                document = self._store.operator().document
        return ApiAnswer(document, {"ETag": self._tag(query.scope, user)})

    @_POLICY.add(
        "POST",
        PATH,
        PolicySaved,
        query=ScopeQuery,
        body=(PolicyBody, WrappedPolicy),
        has_version=True,
        max_body_bytes=MAX_BODY_BYTES,
    )
    async def _save(self, call: ApiCall) -> ApiAnswer:
        """Store your document, or the operator's; in force everywhere within a second."""
        scope: Scope = call.query.scope or "user"
        user = call.principal.user_id
        if scope == "operator":
            _require_operator(call)
        elif call.principal.is_anonymous:
            raise log_in_first()
        wanted = call.request.headers.get("If-Match")
        if wanted is None:
            raise Refusal(
                428, "version_missing", "send If-Match with the ETag of what you have read, so that nothing is lost"
            )
        raw = await call.request.read()
        document = read_document(raw)
        await self._store.refresh()
        below = self._store.below(scope)
        self._check(document, msgspec.json.decode(raw), may_lock=scope == "operator", below=below)
        own = without_locked(document, below)
        await asyncio.to_thread(self._engine.load_rules, own.handler_names)
        current = self._store.operator() if scope == "operator" else self._store.user(user)
        saved = None
        tags = {tag.strip() for tag in wanted.split(",")}  # RFC 9110, 13.1.1: strong ones, or `*` for whatever is there
        if "*" in tags or self._tag(call.query.scope, user) in tags:
            saved = await self._store.save(scope, user, own, if_version=current.version)
        if saved is None:
            raise Refusal(
                412,
                "version_stale",
                "somebody has changed it since you read it; read it again and repeat your change",
                ETag=self._tag(call.query.scope, user),
            )
        self._audit.append(_entry(call, scope, saved.version, own))
        return ApiAnswer(PolicySaved(version=saved.version), {"ETag": self._tag(call.query.scope, user)})

    @_POLICY.add("POST", "/api/hooks/document", PolicyDocument, body=(WrittenPolicy,), max_body_bytes=MAX_BODY_BYTES)
    async def _read_yaml(self, call: ApiCall) -> ApiAnswer:
        """Check a document that is written in YAML and return it as JSON; nothing is stored."""
        written = await call.body(WrittenPolicy, code=PolicyError.code)
        try:
            tree = (await asyncio.to_thread(read_yaml, written.text)).value
        except (YamlError, ValueError) as error:
            raise PolicyError(str(error)[:500], path="$") from None
        document = document_of({} if tree is None else tree)
        self._check(document, tree, may_lock=call.principal.is_operator)
        return ApiAnswer(document)

    def _check(self, document: PolicyDocument, tree: Any, *, may_lock: bool, below: PolicyDocument = NO_POLICY) -> None:
        """Check the document that was read from `tree`. Raises PolicyError with the place of the mistake in `tree`."""
        try:
            self._engine.check(document, may_lock=may_lock, below=below)
        except PolicyError as error:
            raise PolicyError(str(error), path=place_as_written(error.path, tree)) from error

    @_POLICY.add("GET", "/api/hooks/available", AvailableHandlers)
    async def _list(self, _call: ApiCall) -> ApiAnswer:
        """List the handlers that a document may name."""
        custom = self._engine.custom_specs
        schema = document_schema((*BUILTIN_SPECS, *custom))
        return ApiAnswer(AvailableHandlers(builtin=_infos(BUILTIN_SPECS), custom=_infos(custom), schema=schema))

    def _tag(self, scope: Scope | None, user: str) -> str:
        """Return the ETag of what is read in that scope, in its quotes."""
        match scope:
            case None:
                return f'"{self._store.tag(user)}"'
            case "user":
                return f'"u{self._store.user(user).version}"'
        return f'"o{self._store.operator().version}"'


class ApprovalList(Struct, frozen=True, kw_only=True):
    approvals: list[RememberedApproval]


class ApprovalRoutes:
    """Routes of approvals that were remembered for good; users see and revoke only their own."""

    def __init__(self, table: ApprovalTable, audit: AuditLog) -> None:
        self._table = table
        self._audit = audit

    def operations(self) -> tuple[Operation, ...]:
        return _APPROVALS.of(self)

    @_APPROVALS.add("GET", APPROVALS_PATH, ApprovalList)
    async def _show(self, call: ApiCall) -> ApiAnswer:
        """List what you have approved permanently: calls, commands of a tool, or tools."""
        return ApiAnswer(ApprovalList(approvals=await self._table.list(call.principal.user_id)))

    @_APPROVALS.add("DELETE", APPROVALS_PATH + "/{id}", Done, refusals=(404,))
    async def _revoke(self, call: ApiCall) -> ApiAnswer:
        """Revoke an approval: you are asked again."""
        approval_id = call.request.match_info["id"]
        if not await self._table.remove(call.principal.user_id, approval_id):
            raise Refusal(404, "approval_unknown", "you have approved nothing under this id; it may be revoked already")
        self._audit.append(call.entry("approval", "revoked", details={"approval": approval_id[:64]}))
        return ApiAnswer(Done())


def _require_operator(call: ApiCall) -> None:
    if not call.principal.is_operator:
        raise Refusal(403, "operators_only", "the operator's document is for operators; leave `scope` out for your own")


def _entry(call: ApiCall, scope: Scope, version: int, document: PolicyDocument) -> AuditEntry:
    stages = {
        name: [handler.type for handler in stage.handlers] if stage.enabled else "off"
        for name, stage in document.stages()
    }
    details = {"scope": scope, "version": version, "stages": stages}
    return call.entry("policy", "stored", message=f"the {scope}'s policy is version {version}", details=details)


def _infos(specs: tuple[HandlerSpec, ...]) -> list[HandlerInfo]:
    return [
        HandlerInfo(
            name=spec.name,
            description=spec.description,
            stages=list(spec.stages),
            settings=None if spec.settings is None else keys_at(spec.settings, ""),
        )
        for spec in specs
    ]
