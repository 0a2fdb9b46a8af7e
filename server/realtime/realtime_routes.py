"""`/v1/realtime`, and what stock clients ask before they connect: `/v1/realtime/client_secrets`, `sessions`, `/v1/models`."""

import secrets
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Final, Literal

import msgspec
from aiohttp import web
from msgspec import Meta, Struct

from server.accounts.accounts import Accounts
from server.accounts.principal import KEY_NAME
from server.errors import FrameError
from server.gateway.auth import Authenticator
from server.gateway.connection import expires_at_s
from server.gateway.responses import OPENAI_PREFIXES, refuse
from server.gateway.rest.operation import ApiAnswer, ApiCall, Operation, Refusal
from server.gateway.routes import Access, Routes
from server.gateway.websocket_server import WebSocketServer
from server.realtime.client_events import MAX_MESSAGE_BYTES
from server.realtime.field_names import check_names, modern_session
from server.realtime.realtime_dialect import RealtimeDialect
from server.realtime.session_config import ServerTools, SessionConfig
from server.realtime.translator import RealtimeTranslator
from server.session.turn_limits import TurnGate

SUBPROTOCOL: Final = "realtime"
"""The subprotocol that OpenAI's clients ask for in a browser."""
_MAX_BODY_BYTES: Final = 1 << 20
"""Limit far above what fits into a key, so that a client that sends too much learns what is too large."""


class KeyLifetime(Struct, frozen=True, kw_only=True):
    anchor: Literal["created_at"] = "created_at"
    seconds: Annotated[int, Meta(ge=10, le=7200)] = 600


class ClientSecretRequest(Struct, frozen=True, kw_only=True):
    user: str | None = None
    """Name of the key's holder, who is the user `maker/NAME`, or None if a name is to be made up."""
    approvals: bool = False
    """Whether the holder may answer questions about tool calls, of the own connection alone; else they are refused."""
    expires_after: KeyLifetime | None = None
    session: dict[str, Any] | None = None
    """Defaults of the sessions that the key opens, as in `session.update`."""


class ClientSecret(Struct, frozen=True, kw_only=True):
    """A key for `/v1/realtime`. It is signed, not secret: its holder can read the session in it."""

    value: str
    expires_at: int
    user: str
    """Holder of the key, as the audit log names him: `maker/NAME`."""
    session: dict[str, Any]


class BetaSessionRequest(Struct, frozen=True, kw_only=True):
    """A session in the shape from before the API's general availability, or in today's."""


class ShortLivedKey(Struct, frozen=True, kw_only=True):
    value: str
    expires_at: int


class BetaSession(Struct, frozen=True, kw_only=True):
    """The older shape of a ClientSecret."""

    id: str
    model: str
    client_secret: ShortLivedKey
    object: Literal["realtime.session"] = "realtime.session"


class OpenAIModel(Struct, frozen=True, kw_only=True):
    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "parley"


class OpenAIModels(Struct, frozen=True, kw_only=True):
    data: list[OpenAIModel]
    object: Literal["list"] = "list"


class RealtimeRoutes:
    """Opens Realtime sessions, makes keys for them, which are stored nowhere, and names the model."""

    def __init__(
        self,
        accounts: Accounts,
        authenticator: Authenticator,
        sockets: WebSocketServer,
        *,
        model_name: Callable[[], str],
        server_tools: ServerTools,
        gate: TurnGate,
    ) -> None:
        self._accounts = accounts
        self._authenticator = authenticator
        self._sockets = sockets
        self._model_name = model_name
        self._server_tools = server_tools
        self._gate = gate

    def add_routes(self, routes: Routes) -> None:
        for prefix in OPENAI_PREFIXES:
            routes.get(f"{prefix}realtime", self._connect, Access.KEY)

    def operations(self) -> tuple[Operation, ...]:
        return (
            *(
                Operation(
                    method="POST",
                    path=f"{prefix}realtime/client_secrets",
                    summary="Make a key with which a page can open /v1/realtime on your account",
                    handle=self._make_key,
                    body=(ClientSecretRequest,),
                    answer=ClientSecret,
                    max_body_bytes=_MAX_BODY_BYTES,
                )
                for prefix in OPENAI_PREFIXES
            ),
            Operation(
                method="POST",
                path="/v1/realtime/sessions",
                summary="Make such a key, asked for in the shape from before the API's general availability",
                handle=self._make_beta_key,
                body=(BetaSessionRequest,),
                answer=BetaSession,
                max_body_bytes=_MAX_BODY_BYTES,
            ),
            Operation(
                method="GET",
                path="/v1/models",
                summary="The model that answers, in the shape of OpenAI's list",
                handle=self._list_models,
                answer=OpenAIModels,
            ),
        )

    async def _connect(self, request: web.Request) -> web.StreamResponse:
        try:
            defaults = self._defaults(request)
        except FrameError as error:
            return refuse(400, error.code, str(error), path=error.path)
        principal = self._authenticator.principal(request)
        translator = RealtimeTranslator(
            defaults=defaults,
            server_tools=self._server_tools,
            expires_at=expires_at_s(principal),
            turn_places=partial(self._gate.places, principal.limited_share),
        )
        return await self._sockets.admit(
            request, SUBPROTOCOL, partial(RealtimeDialect, translator=translator), large_bytes=MAX_MESSAGE_BYTES
        )

    def _defaults(self, request: web.Request) -> SessionConfig:
        """Return the configuration that a connection begins with: its key's, and what the address asks for.

        Raises FrameError for a key's session that this server no longer takes.
        """
        session: dict[str, Any] = msgspec.json.decode(self._authenticator.realtime_session(request))
        if request.query.get("intent") == "transcription":
            session["type"] = "transcription"
        return SessionConfig().updated(session, server_tools=ServerTools(self._server_tools.mcp_servers))

    async def _make_key(self, call: ApiCall) -> ApiAnswer:
        wanted = await call.body(ClientSecretRequest)
        if wanted.user is not None and not KEY_NAME.fullmatch(wanted.user):
            text = "a key's user has 1 to 64 characters, no control characters and no /"
            raise Refusal(400, "invalid_value", text, path="user")
        try:
            check_names(await call.body(dict[str, Any]), wanted, at="")
        except FrameError as error:
            raise Refusal(400, error.code, str(error), path=error.path) from None
        return ApiAnswer(self._key(call, wanted))

    async def _make_beta_key(self, call: ApiCall) -> ApiAnswer:
        session = modern_session(await call.body(dict[str, Any]))
        made = self._key(call, ClientSecretRequest(session=session))
        key = ShortLivedKey(value=made.value, expires_at=made.expires_at)
        return ApiAnswer(BetaSession(id=made.session["id"], model=self._model_name(), client_secret=key))

    def _key(self, call: ApiCall, wanted: ClientSecretRequest) -> ClientSecret:
        session = wanted.session or {}
        try:
            value, key = self._accounts.issue_realtime_key(
                call.principal,
                msgspec.json.encode(session),
                lasts_s=(wanted.expires_after or KeyLifetime()).seconds,
                name=wanted.user,
                may_approve=wanted.approvals,
            )
            config = SessionConfig().updated(session, server_tools=self._server_tools)
        except FrameError as error:
            raise Refusal(400, error.code, str(error), path=error.path) from None
        named = msgspec.structs.replace(config, model=self._model_name())
        session = named.shown(f"sess_{secrets.token_hex(12)}", key.expires_at_s)
        return ClientSecret(value=value, expires_at=key.expires_at_s, user=key.holder.user_id, session=session)

    async def _list_models(self, _call: ApiCall) -> ApiAnswer:
        return ApiAnswer(OpenAIModels(data=[OpenAIModel(id=self._model_name())]))
