"""`/api/approvals`: what a user has approved for good, and taking it back."""

from typing import Final

from msgspec import Struct

from server.gateway.rest.operation import ApiAnswer, ApiCall, Done, Operation, Refusal
from server.storage.approval_table import ApprovalTable, RememberedApproval
from server.storage.audit_log import AuditLog

PATH: Final = "/api/approvals"


class ApprovalList(Struct, frozen=True, kw_only=True):
    approvals: list[RememberedApproval]


class ApprovalRoutes:
    """Everybody sees and revokes their own alone."""

    def __init__(self, table: ApprovalTable, audit: AuditLog) -> None:
        self._table = table
        self._audit = audit

    def operations(self) -> tuple[Operation, ...]:
        return (
            Operation(
                method="GET",
                path=PATH,
                summary="What you have approved for good: calls, commands of a tool, or tools",
                handle=self._show,
                answer=ApprovalList,
            ),
            Operation(
                method="DELETE",
                path=PATH + "/{id}",
                summary="Be asked about it again",
                handle=self._revoke,
                answer=Done,
                refusals=(404,),
            ),
        )

    async def _show(self, call: ApiCall) -> ApiAnswer:
        return ApiAnswer(ApprovalList(approvals=await self._table.list(call.principal.user_id)))

    async def _revoke(self, call: ApiCall) -> ApiAnswer:
        approval_id = call.request.match_info["id"]
        if not await self._table.remove(call.principal.user_id, approval_id):
            raise Refusal(404, "approval_unknown", "you have approved nothing under this id; it may be revoked already")
        self._audit.append(call.entry("approval", "revoked", details={"approval": approval_id[:64]}))
        return ApiAnswer(Done())
