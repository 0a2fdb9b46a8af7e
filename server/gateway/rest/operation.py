"""One operation of the API: from it comes the route as well as its page in the OpenAPI document."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeVar

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler
from msgspec import Struct

from server.accounts.principal import Principal
from server.errors import PolicyError, StorageError
from server.gateway.auth import Authenticator
from server.gateway.responses import OPENAI_PREFIXES, refuse
from server.gateway.routes import Access
from server.storage.audit_entry import AuditEntry
from server.wire import codec
from server.wire.schema_hints import values_at

logger = logging.getLogger(__name__)

Method = Literal["GET", "POST", "PUT", "DELETE"]
_WITH_BODY: Final = ("POST", "PUT")
Body = TypeVar("Body")

_RETRY_S: Final = 5


class ErrorDetail(Struct, frozen=True, kw_only=True, omit_defaults=True):
    code: str
    message: str
    path: str | None = None
    """Name of the wrong parameter, or JSON path in the body."""
    current: str | None = None
    """The text that was written meanwhile, with a 412."""
    type: str | None = None
    """OpenAI's kind of error, below `/v1/` only; there `param` stands for `path`."""
    param: str | None = None


class ErrorAnswer(Struct, frozen=True):
    error: ErrorDetail


class Done(Struct, frozen=True):
    status: Literal["ok"] = "ok"


class Refusal(Exception):
    """Error of the API, raised by an operation's handler; its arguments are those of `refuse`."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        path: str | None = None,
        current: str | None = None,
        **headers: str,
    ) -> None:
        super().__init__(message)
        self.answer = refuse(status, code, message, path=path, current=current, **headers)


def log_in_first() -> Refusal:
    """Refuse users who are known by nothing but an address: nothing is kept for them, and nothing older is shown."""
    cure = "the operator can give you a login with `security.tokens`"
    return Refusal(403, "anonymous", f"log in first, because others may share your address; {cure}")


class NoQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Query of an operation that takes no parameters."""


@dataclass(frozen=True, slots=True)
class ApiCall:
    request: web.Request
    principal: Principal
    query: Any
    """An instance of the operation's `query`."""

    async def body(self, kind: type[Body], *, code: str = "body_invalid") -> Body:
        """Decode the JSON body; none is `{}`. Raises Refusal with the code, which names the place."""
        try:
            return msgspec.json.decode(await self.request.read() or b"{}", type=kind)
        except msgspec.ValidationError as error:
            problem, _, place = str(error).partition(" - at `")
            raise Refusal(400, code, problem[:300], path=place.rstrip("`")[:300] or None) from None
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise Refusal(400, code, f"not JSON that can be read: {error}"[:300]) from None

    def entry(self, phase: str, outcome: str, *, message: str = "", details: dict[str, Any]) -> AuditEntry:
        """Make an entry of the audit log for a change that this call has made."""
        return AuditEntry(
            phase=phase,
            outcome=outcome,
            user=self.principal.user_id,
            address=self.principal.address,
            handler="rest",
            message=message,
            details=details,
        )


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """A successful answer, status 200."""

    body: Struct
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Operation:
    method: Method
    path: str
    summary: str
    handle: Callable[[ApiCall], Awaitable[ApiAnswer | web.StreamResponse]]
    answer: type[Struct] | None
    """Type of the body of a 200, or None if it is a stream in one of `content_types`."""
    content_types: tuple[str, ...] = ("application/json",)
    query: type[Struct] = NoQuery
    body: tuple[type[Struct], ...] = ()
    """The forms that the JSON body may have; reading it is the handler's."""
    refusals: tuple[int, ...] = ()
    """Statuses beside those that every operation may answer with."""
    has_version: bool = False
    """Whether the answer carries an ETag and a change needs If-Match."""
    may_create: bool = False
    """Whether `If-None-Match: *` may stand in place of If-Match."""
    max_body_bytes: int = 0
    access: Access = Access.LOGGED_IN


def handler_of(operation: Operation, authenticator: Authenticator) -> Handler:
    """Make the handler that aiohttp calls: every failure becomes an answer of the API's one shape."""

    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            principal: Principal = authenticator.principal(request)
            await _check_body(operation, request)
            answer = await operation.handle(ApiCall(request, principal, read_query(request, operation.query)))
        except Refusal as error:
            return error.answer
        except PolicyError as error:
            return refuse(400, error.code, str(error), path=error.path)
        except StorageError as error:
            logger.warning("%s %s: %s", operation.method, operation.path, error)
            cure = "the operator's log says why; what was stored before stays in force"
            return refuse(503, error.code, f"the database is unavailable; {cure}", Retry_After=str(_RETRY_S))
        if isinstance(answer, ApiAnswer):
            headers = {"Cache-Control": "no-store", **answer.headers}
            return web.Response(body=codec.encode(answer.body), content_type="application/json", headers=headers)
        return answer

    return handle


def read_query(request: web.Request, kind: type[Struct]) -> Struct:
    """Read the parameters, typed. Raises Refusal, which names the one that is wrong."""
    given: dict[str, str] = {}
    is_openais = request.path.startswith(OPENAI_PREFIXES)
    for name, value in request.query.items():
        if is_openais and name == "api-version":
            continue  # Azure's clients add it to every address
        if name in given:
            raise Refusal(400, "query_invalid", f"`{name}` is given twice", path=name[:100])
        given[name] = value
    unknown = given.keys() - set(kind.__struct_encode_fields__)
    if unknown:
        name = min(unknown)
        known = ", ".join(kind.__struct_encode_fields__) or "none"
        raise Refusal(400, "query_invalid", f"there is no such parameter; known: {known}", path=name[:100])
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at `$.")
        name = place.rstrip("`")
        message = problem[:300]
        if values := values_at(kind, f".{name}"):
            message = f"{message}; one of {', '.join(values)}"
        raise Refusal(400, "query_invalid", message, path=name[:100] or None) from None


async def _check_body(operation: Operation, request: web.Request) -> None:
    """Refuse a body that is too large or not JSON.

    The auth middleware has read it already, within a time limit; aiohttp bounds it at 1 MiB.
    """
    if not request.can_read_body and operation.method not in _WITH_BODY:
        return
    data = await request.read()
    if len(data) > operation.max_body_bytes:
        raise Refusal(413, "body_too_large", f"{len(data)} bytes; at most {operation.max_body_bytes} are accepted here")
    # a form of another site cannot send it, whatever its Origin says
    if operation.method in _WITH_BODY and request.content_type != "application/json":
        raise Refusal(415, "body_not_json", "send Content-Type: application/json")
