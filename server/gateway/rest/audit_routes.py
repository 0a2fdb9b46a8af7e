"""`/api/audit`, its export and its verification: what happened to tool calls."""

import asyncio
import csv
import io
import json
import logging
import re
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final, Literal

import msgspec
from aiohttp import web
from msgspec import Meta
from msgspec.structs import replace

from server.bounded.fair_share import FairShare, Share, ShareFull, account_of
from server.errors import StorageError
from server.gateway.rest.operation import ApiAnswer, ApiCall, Operation, Operations, Refusal, log_in_first
from server.gateway.routes import Access
from server.storage.audit_entry import AuditRecord
from server.storage.audit_query import (
    MAX_PAGE,
    AuditFilter,
    AuditPage,
    AuditVerification,
    BadCursor,
    EntryFields,
    entry_of,
    read_all,
    read_page,
    verify,
)
from server.storage.database import Database

logger = logging.getLogger(__name__)

MAX_EXPORTS: Final = 4
"""Exports that may run at the same time; each holds one page of entries in memory."""
MAX_EXPORTS_PER_USER: Final = 2
MAX_READS: Final = 2
"""Pages that are read at once, one of each user: half of the database's threads, so that nothing else waits for them."""
MAX_READS_WAITING: Final = 16
"""Limit of one user's pages that wait to be read."""
SLOWEST_PIECE_S: Final = 30.0
"""Time for a reader to take a piece of an export: one that does not read would keep a place for ever."""
_OPERATIONS: Final = Operations(refusals=(429,))
_PIECE_BYTES: Final = 64 << 10
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TEXTS: Final = ("user", "session", "turn", "call", "tool", "phase", "outcome", "handler", "approval", "message")
_PLAIN: Final = (*_TEXTS, "error_type", "address", "duration_ms", "result", "result_bytes")
_PLACE: Final = ("id", "ts", "replica", "day", "number", "hash")
_STRUCTURES: Final = ("arguments", "details")
_COLUMNS: Final = ("id", "ts", "replica", "day", "number", *_PLAIN, *_STRUCTURES, "hash")
_FORMULA: Final = tuple("=+-@\t\r\n＝＋－＠")
"""A cell that begins so is a formula to spreadsheets."""
_HIDDEN_FORMULA: Final = re.compile(r"[;\t\r\n](?=[ \"]*[=+\-@＝＋－＠])")
"""Start of a formula inside a cell: where the comma separates decimals, spreadsheets split at semicolons despite quotes."""
Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
"""A text until it is read: as a datetime, msgspec would accept numbers, too."""


class AuditQuery(EntryFields, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Filter of the entries to read; users who are not operators read their own alone."""

    since: Time | None = None
    until: Time | None = None
    """End of the time range, itself not included."""


class AuditPageQuery(AuditQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    limit: Annotated[int, Meta(ge=1, le=MAX_PAGE)] = 100
    cursor: Annotated[str, Meta(max_length=64)] | None = None


class AuditExportQuery(AuditQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    format: Literal["jsonl", "csv"] = "jsonl"


class AuditRoutes:
    def __init__(self, database: Database, *, keep_days: int, slowest_piece_s: float = SLOWEST_PIECE_S) -> None:
        self._database = database
        self._keep_days = keep_days
        self._slowest_piece_s = slowest_piece_s
        self._exports = FairShare(MAX_EXPORTS, per_user=MAX_EXPORTS_PER_USER, max_waiting=0)
        self._verifying = asyncio.Lock()
        self._reads = FairShare(MAX_READS, per_user=1, max_waiting=MAX_READS_WAITING)

    def operations(self) -> tuple[Operation, ...]:
        return _OPERATIONS.of(self)

    @_OPERATIONS.add("GET", "/api/audit", AuditPage, query=AuditPageQuery)
    async def _show(self, call: ApiCall) -> ApiAnswer:
        """List entries of the audit log, newest first."""
        query: AuditPageQuery = call.query
        try:
            wanted = _filter(call, query)
            async with self._reads.place(call.principal.share):
                page = await read_page(self._database, wanted, limit=query.limit, cursor=query.cursor)
        except BadCursor as error:
            raise Refusal(400, "query_invalid", str(error), path="cursor") from None
        except ShareFull as error:
            raise Refusal(429, "audit_busy", str(error), Retry_After="10") from None
        return ApiAnswer(page)

    @_OPERATIONS.add(
        "GET", "/api/audit/export", None, query=AuditExportQuery, content_types=("application/jsonl", "text/csv")
    )
    async def _export(self, call: ApiCall) -> web.StreamResponse:
        """Export all matching entries, oldest first, as JSON Lines or CSV.

        What cannot begin is refused at once; what breaks later breaks the connection, so that it is not taken for all.
        """
        wanted = _filter(call, call.query)
        if wanted.until_us is None:  # what is written meanwhile would keep it from ending
            wanted = replace(wanted, until_us=time.time_ns() // 1000)
        try:
            async with (
                self._exports.place(call.principal.share),
                aclosing(self._pages(call.principal.share, wanted)) as pages,
            ):
                return await self._send_all(call, await anext(pages), pages)
        except ShareFull:
            text = f"{MAX_EXPORTS_PER_USER} exports of yours, or {MAX_EXPORTS} in all, are running; let one end, or close it"
            raise Refusal(429, "exports_busy", text, Retry_After="10") from None

    async def _send_all(
        self, call: ApiCall, page: list[AuditRecord] | None, pages: AsyncGenerator[list[AuditRecord], None]
    ) -> web.StreamResponse:
        kind, write, head = _FORMATS[call.query.format]
        response = web.StreamResponse(headers=_headers(kind, call.query.format))
        await response.prepare(call.request)
        try:
            await self._send(response, head)
            while page is not None:
                await self._send(response, await asyncio.to_thread(write, page))
                page = await anext(pages, None)
            async with asyncio.timeout(self._slowest_piece_s):  # waits for the pieces that the socket holds
                await response.write_eof()
        except (StorageError, TimeoutError, ShareFull) as error:
            logger.warning("an export of the audit log ended early: %s", str(error) or "nobody reads it")
            if call.request.transport is not None:
                call.request.transport.abort()
        except ConnectionError:  # who asked has left
            pass
        return response

    async def _pages(self, share: Share, wanted: AuditFilter) -> AsyncGenerator[list[AuditRecord], None]:
        async with aclosing(read_all(self._database, wanted)) as pages:
            while True:
                async with self._reads.place(share):
                    page = await anext(pages, None)
                if page is None:
                    return
                yield page

    @_OPERATIONS.add("GET", "/api/audit/verification", AuditVerification, access=Access.OPERATOR)
    async def _verify(self, _call: ApiCall) -> ApiAnswer:
        """Verify that the log is unchanged; reads all of it."""
        if self._verifying.locked():
            raise Refusal(429, "verification_busy", "the log is being verified; try again later", Retry_After="10")
        async with self._verifying:
            return ApiAnswer(await verify(self._database, keep_days=self._keep_days))

    async def _send(self, response: web.StreamResponse, data: bytes) -> None:
        """Send a piece. Raises TimeoutError for a reader that does not read."""
        for at in range(0, len(data), _PIECE_BYTES):
            async with asyncio.timeout(self._slowest_piece_s):
                await response.write(data[at : at + _PIECE_BYTES])


def _filter(call: ApiCall, query: AuditQuery) -> AuditFilter:
    user = query.user
    if call.principal.is_anonymous and not call.principal.is_operator:
        raise log_in_first()
    if not call.principal.is_operator:
        if user is not None and account_of(user) != call.principal.user_id:
            raise Refusal(403, "operators_only", "entries of others are for operators", path="user")
        user = user or call.principal.user_id
    fields = {name: getattr(query, name) for name in EntryFields.__struct_fields__}
    since_us, until_us = _microseconds(query.since, path="since"), _microseconds(query.until, path="until")
    return AuditFilter(**{**fields, "user": user}, since_us=since_us, until_us=until_us)


def _microseconds(text: str | None, *, path: str) -> int | None:
    if text is None:
        return None
    try:
        moment: datetime = msgspec.convert(text, Annotated[datetime, msgspec.Meta(tz=True)])
    except msgspec.ValidationError:
        message = "expected a time with its zone: 2026-11-22T10:00:00Z or 2026-11-22T11:00:00%2B01:00"
        raise Refusal(400, "query_invalid", message, path=path) from None
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _headers(kind: str, suffix: str) -> dict[str, str]:
    day = datetime.now(UTC).date().isoformat()
    return {
        "Content-Type": kind,
        "Content-Disposition": f'attachment; filename="parley-audit-{day}.{suffix}"',
        "Cache-Control": "no-store",
    }


def json_lines(page: list[AuditRecord]) -> bytes:
    return b"".join(msgspec.json.encode(record) + b"\n" for record in page)


def csv_lines(page: list[AuditRecord]) -> bytes:
    return _csv([_row(record) for record in page])


def _row(record: AuditRecord) -> list[str]:
    entry = entry_of(record)
    values: dict[str, Any] = {
        **{name: entry.get(name, "") for name in _PLAIN},
        **{name: getattr(record, name) for name in _PLACE},
        **{name: _structure(entry[name]) if name in entry else "" for name in _STRUCTURES},
    }
    return [_cell(values[name]) for name in _COLUMNS]


def _structure(value: object) -> str:
    """Return JSON of the same meaning in which a semicolon before a formula is escaped."""
    return _HIDDEN_FORMULA.sub(r"\\u003b", json.dumps(value, ensure_ascii=False))


def _cell(value: object) -> str:
    if not isinstance(value, str):
        return str(value)
    text = _HIDDEN_FORMULA.sub(r"\g<0>'", value)
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA) else text


def _csv(rows: list[Any]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows(rows)
    return text.getvalue().encode("utf-8", "replace")


_FORMATS: Final[dict[str, tuple[str, Callable[[list[AuditRecord]], bytes], bytes]]] = {
    "jsonl": ("application/jsonl; charset=utf-8", json_lines, b""),
    "csv": ("text/csv; charset=utf-8; header=present", csv_lines, _csv([_COLUMNS])),
}
