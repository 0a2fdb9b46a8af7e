"""`/api/sessions`: where one is logged in on the page, and ending it."""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from server.gateway.rest.operation import ApiAnswer, ApiCall, Done, Operation, Refusal, log_in_first
from server.storage.audit_log import AuditLog
from server.storage.page_sessions import PageSession, PageSessionTable

PATH = "/api/sessions"


class SessionQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    user: Annotated[str, Meta(max_length=256)] | None = None
    """User whose sessions are meant; for operators only, as other users see their own alone."""


class SessionList(Struct, frozen=True, kw_only=True):
    sessions: list[PageSession]
    """Open sessions, the newest first, 500 at most."""


class SessionRoutes:
    """Routes of the page's sessions; operators see and revoke those of all users, others their own."""

    def __init__(self, table: PageSessionTable, audit: AuditLog) -> None:
        self._table = table
        self._audit = audit

    def operations(self) -> tuple[Operation, ...]:
        return (
            Operation(
                method="GET",
                path=PATH,
                summary="Sessions of the page that are open",
                handle=self._show,
                query=SessionQuery,
                answer=SessionList,
            ),
            Operation(
                method="DELETE",
                path=PATH + "/{id}",
                summary="Revoke it: its browser has to log in again",
                handle=self._revoke,
                answer=Done,
                refusals=(404,),
            ),
        )

    async def _show(self, call: ApiCall) -> ApiAnswer:
        wanted, own = call.query.user, _own(call)
        if own is not None and wanted not in (None, own):
            raise Refusal(403, "operators_only", "sessions of others are for operators", path="user")
        found = await self._table.list(own or wanted)
        current = call.principal.session
        marked = [msgspec.structs.replace(session, is_current=session.id == current) for session in found]
        return ApiAnswer(SessionList(sessions=marked))

    async def _revoke(self, call: ApiCall) -> ApiAnswer:
        session_id = call.request.match_info["id"]
        user = await self._table.end(session_id, _own(call))
        if user is None:
            raise Refusal(404, "session_unknown", "no session of yours has this id; it may have ended already")
        self._audit.append(call.entry("login", "revoked", details={"session": session_id, "of": user}))
        return ApiAnswer(Done())


def _own(call: ApiCall) -> str | None:
    """Return the user whose sessions the call may see, or None for an operator, who sees all."""
    if call.principal.is_operator:
        return None
    if call.principal.is_anonymous:
        raise log_in_first()
    return call.principal.user_id
