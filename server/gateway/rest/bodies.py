"""Bodies and queries of the API, beside the types of policy, audit log and health that it hands on."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from server.hooks.health import BuiltinHealth, HookHealth
from server.policy.document import PolicyBody, PolicyStageName
from server.storage.approval_table import RememberedApproval
from server.storage.audit_chain import Day
from server.storage.audit_query import MAX_PAGE

Name = Annotated[str, Meta(max_length=256)]
Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
"""A text until it is read: where parameters are typed, numbers would be taken for times, too."""


class ErrorDetail(Struct, frozen=True, kw_only=True, omit_defaults=True):
    code: str
    message: str
    path: str | None = None
    """The parameter, or the JSON path in the body."""


class ErrorAnswer(Struct, frozen=True):
    error: ErrorDetail


class Done(Struct, frozen=True):
    status: Literal["ok"] = "ok"


class PolicySaved(Struct, frozen=True, kw_only=True):
    status: Literal["ok"] = "ok"
    version: int


class WrappedPolicy(Struct, frozen=True, forbid_unknown_fields=True):
    hooks: PolicyBody


class ScopeQuery(Struct, frozen=True, forbid_unknown_fields=True):
    scope: Literal["user", "operator"] | None = None
    """None: reading, what is in force for the user; writing, the user's."""


class HandlerInfo(Struct, frozen=True, kw_only=True):
    name: str
    description: str
    stages: list[PolicyStageName]
    """Stages whose documents may name it."""
    settings: list[str] | None
    """The keys of its `config`; null: it reads them itself."""


class AvailableHandlers(Struct, frozen=True, kw_only=True):
    builtin: list[HandlerInfo]
    custom: list[HandlerInfo]


class HookProcesses(Struct, frozen=True, kw_only=True):
    processes: list[HookHealth]
    builtins: list[BuiltinHealth]


class AuditQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    user: Name | None = None
    """Operators only; everybody else reads their own entries."""
    session: Name | None = None
    turn: Name | None = None
    tool: Name | None = None
    """The whole name, or its beginning and `*`."""
    phase: Name | None = None
    outcome: Name | None = None
    handler: Name | None = None
    since: Time | None = None
    until: Time | None = None
    """Not included."""
    text: Name | None = None
    """Anywhere in the entry."""


class AuditPageQuery(AuditQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    limit: Annotated[int, Meta(ge=1, le=MAX_PAGE)] = 100
    cursor: Annotated[str, Meta(max_length=64)] | None = None


class AuditExportQuery(AuditQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    format: Literal["jsonl", "csv"] = "jsonl"


class AuditVerification(Struct, frozen=True, kw_only=True):
    is_whole: bool
    """Nothing was found to be wrong. What cannot be found this way, docs/operations.md says."""
    problems: list[str]
    days: list[Day]
    """By replica, then by day."""


class ApprovalList(Struct, frozen=True, kw_only=True):
    approvals: list[RememberedApproval]


class OpenApi(Struct, frozen=True, kw_only=True):
    openapi: str
    info: dict[str, Any]
    paths: dict[str, Any]
    components: dict[str, Any]
    security: list[Any]
