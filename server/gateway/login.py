"""The page's login: a token once, a cookie and its key from then on; and the sessions that logins have opened."""

import logging
from pathlib import Path
from typing import Annotated, Final

import msgspec
from aiohttp import web
from msgspec import Meta, Struct

from server.accounts.accounts import Accounts
from server.errors import AuthError, StorageError
from server.gateway.auth import Authenticator, cookie_of, give_cookie, key_of
from server.gateway.responses import refuse, refuse_credential
from server.gateway.rest.operation import ApiAnswer, ApiCall, Done, Operation, Refusal, log_in_first
from server.gateway.routes import Access, Routes
from server.storage.audit_log import AuditLog
from server.storage.page_sessions import PageSession, PageSessionTable

logger = logging.getLogger(__name__)

LOGIN_PAGE: Final = "/login"
_RETRY_S: Final = 5
LOGIN_FILES: Final = (
    *("css/tokens.css", "css/login.css", "favicon.svg"),
    *("js/login.js", "js/storage.js", "js/strings.js", "js/strings/en.js", "js/strings/zh.js"),
    # the system that installs the page as an app asks for these without a cookie
    *("manifest.webmanifest", "icons/icon-192.png", "icons/icon-512.png", "icons/maskable-512.png"),
    "icons/apple-touch-icon.png",
)
"""Files of the page that are served without a login."""

SESSIONS_PATH: Final = "/api/sessions"
MAX_STRANGER_BYTES: Final = 8 << 10
"""Longest body of a client who would have to log in first: there is nothing to send but a token."""


class _Login(msgspec.Struct, forbid_unknown_fields=True):
    token: str


class LoginRoutes:
    """Routes of login and logout. Every login makes a new session, so that no user can be made to use a known one."""

    def __init__(self, authenticator: Authenticator, accounts: Accounts, frontend: Path) -> None:
        self._authenticator = authenticator
        self._accounts = accounts
        self._page = frontend / "login.html"

    def add_routes(self, routes: Routes) -> None:
        routes.get(LOGIN_PAGE, self._show, Access.EVERYONE)
        routes.add("POST", "/api/login", self._log_in, Access.EVERYONE)
        routes.add("POST", "/api/logout", self._log_out, Access.EVERYONE)
        routes.get("/api/session", self._show_session)

    async def _show(self, _request: web.Request) -> web.StreamResponse:
        if self._accounts.is_empty:  # there is nothing to log in with
            return web.Response(status=303, headers={"Location": "/", "Cache-Control": "no-store"})
        return web.FileResponse(self._page, headers={"Cache-Control": "no-cache"})

    async def _log_in(self, request: web.Request) -> web.Response:
        if request.content_type != "application/json":
            return _not_json()
        data = await request.read()
        try:
            if len(data) > MAX_STRANGER_BYTES:
                raise msgspec.DecodeError
            token = msgspec.json.decode(data, type=_Login).token.strip()
        except (msgspec.DecodeError, UnicodeDecodeError):
            return refuse(400, "body_invalid", 'send {"token": "…"}')
        address = self._authenticator.address(request)
        try:
            identity = await self._accounts.by_token(token, address)
        except AuthError as error:
            logger.info("a login from %s failed: %s", address, error.code)
            return refuse_credential(error)
        browser = request.headers.get("User-Agent", "")
        try:
            value, key, lasts_s = await self._accounts.open_session(identity, address=address, browser=browser)
        except StorageError as error:
            logger.warning("user %s cannot log in from %s: %s", identity.user_id, address, error)
            return refuse(503, error.code, "the database is unavailable; try again later", Retry_After=str(_RETRY_S))
        logger.info("user %s has logged in from %s", identity.user_id, address)
        answer = web.json_response({"user": identity.user_id, "key": key}, headers={"Cache-Control": "no-store"})
        give_cookie(answer, value, lasts_s=lasts_s, is_secure=self._authenticator.is_secure(request))
        return answer

    async def _log_out(self, request: web.Request) -> web.Response:
        """End the session and take the cookie back, also without a login."""
        if request.content_type != "application/json":
            return _not_json()
        if (cookie := cookie_of(request, is_secure=self._authenticator.is_secure(request))) is not None:
            try:
                await self._accounts.end_session(cookie, key_of(request))
            except StorageError as error:
                logger.warning("a session was not ended, only its cookie taken back: %s", error)
        answer = web.Response(status=204, headers={"Cache-Control": "no-store"})
        give_cookie(answer, "", lasts_s=0, is_secure=self._authenticator.is_secure(request))
        return answer

    async def _show_session(self, request: web.Request) -> web.Response:
        """Tell the login page who the user is: a first request by a link from another site carried no cookie."""
        principal = self._authenticator.principal(request)
        body = {
            "user": principal.user_id,
            "is_operator": principal.is_operator,
            "is_logged_in": principal.is_logged_in,
        }
        return web.json_response(body, headers={"Cache-Control": "no-store"})


def _not_json() -> web.Response:
    """Refuse what a form of another site could send, whatever its Origin says."""
    return refuse(415, "body_not_json", "send Content-Type: application/json")


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
                path=SESSIONS_PATH,
                summary="Sessions of the page that are open",
                handle=self._show,
                query=SessionQuery,
                answer=SessionList,
            ),
            Operation(
                method="DELETE",
                path=SESSIONS_PATH + "/{id}",
                summary="Revoke it: its browser has to log in again",
                handle=self._revoke,
                answer=Done,
                refusals=(404,),
            ),
        )

    async def _show(self, call: ApiCall) -> ApiAnswer:
        user, own = call.query.user, _own(call)
        if own is not None and user not in (None, own):
            raise Refusal(403, "operators_only", "sessions of others are for operators", path="user")
        sessions, current = await self._table.list(own or user), call.principal.session
        marked = [msgspec.structs.replace(session, is_current=session.id == current) for session in sessions]
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
