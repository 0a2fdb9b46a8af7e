"""The transports to MCP servers, with limits to what a server may send.

Over stdio, in place of the SDK's own: a line is bounded, garbage is skipped, a
budget limits what is logged, and all processes of the server are ended. Over
HTTP the SDK's, with limits around it.
"""

import asyncio
import logging
import math
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import anyio
import httpx2
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp.types import (
    INTERNAL_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)
from mcp.types.jsonrpc import jsonrpc_message_adapter
from mcp.types.methods import validate_server_result

from server.bounded.limits import BoundedDict, TokenBucket
from server.config import McpServerSettings
from server.subprocesses.child_process import ChildProcess, child_environment
from server.subprocesses.lines import MAX_LINE_BYTES, MAX_PARTS, Line, Lines, Overlong, is_overfull
from server.subprocesses.pipes import PipeReader, PipeWriter
from server.subprocesses.process_tree import OrphanReaper

logger = logging.getLogger(__name__)

Incoming = SessionMessage | Exception

MAX_OPEN: Final = 32
"""Requests of a server that wait for it to read our answers."""
MAX_ASKED: Final = 1024
"""Requests of ours that an answer is still admitted for; the oldest of them were given up long ago."""

MAX_ENTRIES: Final = 1024
"""The longest list of an answer (tools, blocks of a result): while the SDK looks at one, nothing else runs."""

_ADMITTED: Final = frozenset(
    ("notifications/tools/list_changed", "notifications/cancelled", "notifications/subscriptions/acknowledged")
)
"""Notifications that are admitted; progress and log messages are for clients that show them."""
_VERSION: Final = "2025-11-25"  # of its lists the SDK wants the most
_CUT_BYTES: Final = 65_536
_LAST_WORDS_S: Final = 0.25


class MessageFilter:
    """Filters the messages of a server: admits 50 of a flood of requests or notifications, then 10 a second.

    A server may say as much as it likes, unasked, and each message that is passed
    on costs a task. What is dropped is what no call waits for. No I/O: time comes in.
    """

    def __init__(self, *, sees_sent: bool) -> None:
        """`sees_sent`: whether the two methods below get all that we send; else nothing of that is counted."""
        self._sees_sent = sees_sent
        self._requests = TokenBucket(burst=50, per_s=10)
        self._notifications = TokenBucket(burst=50, per_s=10)
        self._asked = BoundedDict[RequestId, None](MAX_ASKED)
        self._open = 0

    def admits(self, message: JSONRPCMessage, now_s: float) -> bool:
        """Return whether to pass the message on.

        What is dropped of changes of the list is no loss: one was admitted less
        than a tenth of a second before, and the list is read later than that.
        """
        if isinstance(message, JSONRPCNotification):
            return message.method in _ADMITTED and self._notifications.take(now_s)
        if isinstance(message, JSONRPCRequest):
            is_admitted = self._open < MAX_OPEN and self._requests.take(now_s)
            self._open += is_admitted and self._sees_sent
            return is_admitted
        if not self._sees_sent:
            return True
        if message.id is None or message.id not in self._asked:
            return False
        del self._asked[message.id]
        return True

    def before_sending(self, message: JSONRPCMessage) -> None:
        if isinstance(message, JSONRPCRequest):
            self._asked[message.id] = None

    def after_sending(self, message: JSONRPCMessage) -> None:
        """Count an answer of ours that the server has read."""
        if not isinstance(message, JSONRPCRequest | JSONRPCNotification):
            self._open -= 1


def make_readable(message: JSONRPCMessage) -> None:
    """Cut the lists of an answer to MAX_ENTRIES, and take out single parts for which the SDK would refuse it whole.

    A block becomes a text that stands for it; a tool loses optional fields, or is left out.
    """
    if not isinstance(message, JSONRPCResponse):
        return
    result = message.result
    for name, value in result.items():
        if isinstance(value, list) and len(value) > MAX_ENTRIES:
            result[name] = value[:MAX_ENTRIES]
    result.setdefault("resultType", "complete")
    if not isinstance(result.get("instructions"), str):
        result.pop("instructions", None)
    for method, name, mend in (("tools/call", "content", _as_text), ("tools/list", "tools", _bare_tool)):
        if isinstance(entries := result.get(name), list) and not _is_taken(method, {name: entries}):
            mended = (entry if _is_taken(method, {name: [entry]}) else mend(entry) for entry in entries)
            result[name] = [entry for entry in mended if _is_taken(method, {name: [entry]})]


def _is_taken(method: str, result: dict[str, Any]) -> bool:
    """Return whether the SDK takes such a result."""
    try:
        validate_server_result(method, _VERSION, result)
    except ValueError:
        return False
    return True


def _bare_tool(tool: Any) -> Any:
    """Return the tool with its description, but without its other optional fields, of which one may be wrong."""
    return {name: tool.get(name) for name in ("name", "description", "inputSchema")} if isinstance(tool, dict) else tool


def _as_text(block: Any) -> dict[str, str]:
    """Return a block of text in place of one that cannot be read: its own text, or its type."""
    fields = block if isinstance(block, dict) else {"text": block}
    text = fields.get("text")
    return {"type": "text", "text": text if isinstance(text, str) else f"[{fields.get('type')!s:.40}, not shown]"}


class CannotStart(Exception):
    """Failure to start a server; the text names the program and the cure."""


@asynccontextmanager
async def stdio_transport(
    name: str, settings: McpServerSettings, environ: Mapping[str, str], *, on_end: Callable[[], None]
) -> AsyncIterator[tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]]]:
    """Start a child and yield its streams. They end when it exits or closes its output; `on_end` is called then.

    On leaving, nothing of it is left: its input is closed, then come SIGTERM and
    SIGKILL, for its descendants as well. Raises CannotStart.
    """
    child = await _begin(name, settings, environ)
    loop = asyncio.get_running_loop()
    to_session, incoming = anyio.create_memory_object_stream[Incoming](math.inf)  # the filter bounds what waits
    outgoing, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    message_filter = MessageFilter(sees_sent=True)
    complaints = TokenBucket(burst=50, per_s=10)

    def complain(what: str, head: bytes) -> None:
        if complaints.take(loop.time()):
            logger.warning("MCP server %s printed %s: %r", name, what, head[:80])

    def take(line: Line) -> bool:
        message = _parse(line, complain)
        if message is None or not message_filter.admits(message, loop.time()):
            return False
        make_readable(message)
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            to_session.send_nowait(SessionMessage(message))
        return True

    def over() -> None:
        to_session.close()
        on_end()

    try:
        reader, writer = PipeReader(child.stdout, Lines(), take, over), PipeWriter(child.stdin)
    except BaseException:
        await child.end()
        raise
    duties = [  # `_end` awaits them
        asyncio.create_task(_write(writer, from_session, message_filter), name=f"mcp {name} input"),
        asyncio.create_task(_watch(child, over), name=f"mcp {name} exit"),
        asyncio.create_task(OrphanReaper().watch(lambda: [child.tree]), name=f"mcp {name} process tree"),
    ]
    try:
        yield incoming, outgoing
    finally:
        ending = asyncio.create_task(_end(child, reader, writer, duties), name=f"mcp {name} end")  # awaited below
        try:
            await asyncio.shield(ending)
        except asyncio.CancelledError:  # the server goes down: what was begun takes a moment more
            await asyncio.wait([ending])
            raise
        finally:
            for stream in (to_session, incoming, outgoing, from_session):
                stream.close()


async def _begin(name: str, settings: McpServerSettings, environ: Mapping[str, str]) -> ChildProcess:
    assert settings.command is not None, "the settings have it, or a url"
    try:
        return await ChildProcess.begin(
            [settings.command, *settings.args],
            label=f"MCP server {name}",
            folder=settings.dir,
            environment=child_environment(environ, settings.env),
        )
    except (OSError, ValueError) as error:
        where = f" in {settings.dir}" if settings.dir else ""
        reason = error.strerror if isinstance(error, OSError) else error
        raise CannotStart(f"{settings.command}{where} cannot be started: {reason}; see tools.mcp") from error


def _parse(line: Line, complain: Callable[[str, bytes], None]) -> JSONRPCMessage | None:
    """Return the message, or None for what cannot be one: it costs the call that it may have answered, and is logged."""
    if isinstance(line, Overlong):
        complain(f"a line of more than {MAX_LINE_BYTES >> 20} MiB", line.head)
    elif is_overfull(line):
        complain(f"a line of more than {MAX_PARTS} objects and lists", bytes(line[:200]))
    elif line.strip():
        try:
            # msgspec reads the text: pydantic needs eight times as long, and would hold the interpreter's lock in a thread too
            return jsonrpc_message_adapter.validate_python(msgspec.json.decode(line), by_name=False)
        except (ValueError, msgspec.DecodeError, RecursionError):
            complain("a line that is not a JSON-RPC message", bytes(line[:200]))
    return None


async def _write(
    writer: PipeWriter, from_session: MemoryObjectReceiveStream[SessionMessage], message_filter: MessageFilter
) -> None:
    with suppress(ConnectionError):
        async for message in from_session:
            message_filter.before_sending(message.message)
            data = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            writer.send(0, bytearray(data.encode(errors="replace") + b"\n"))
            await writer.drain()  # to a child that does not read, calls end by their time limits
            message_filter.after_sending(message.message)


async def _watch(child: ChildProcess, over: Callable[[], None]) -> None:
    await asyncio.wait({child.exited})
    await asyncio.sleep(_LAST_WORDS_S)
    over()


async def _end(child: ChildProcess, reader: PipeReader, writer: PipeWriter, duties: list[asyncio.Task[None]]) -> None:
    writer.close()
    await child.end()
    for duty in duties:
        duty.cancel()
    await asyncio.gather(*duties, return_exceptions=True)
    reader.close()


MAX_ANSWER_BYTES: Final = 8 << 20
"""The longest message: an answer in JSON, or one event."""

_EVENT_END: Final = re.compile(rb"(?:\r\n|\n|\r(?!\n)){2}")  # an empty line
_CONNECT_S: Final = 5.0
_WRITE_S: Final = 10.0


@asynccontextmanager
async def http_transport(
    url: str, headers: Mapping[str, str], *, read_s: float
) -> AsyncIterator[tuple[MemoryObjectReceiveStream[Incoming], Any]]:
    """Yield the streams of the SDK's transport, without what the filter drops.

    `read_s` limits the silence in an answer that the server has begun.
    """
    message_filter = MessageFilter(sees_sent=False)
    loop = asyncio.get_running_loop()
    http = httpx2.AsyncClient(
        headers={"Accept-Encoding": "identity", **headers},
        timeout=httpx2.Timeout(connect=_CONNECT_S, write=_WRITE_S, pool=_CONNECT_S, read=read_s),
        transport=_Limited(),
    )
    async with (
        http,
        streamable_http_client(url, http_client=http, max_sse_event_size=MAX_ANSWER_BYTES) as streams,
        anyio.create_task_group() as tasks,
    ):
        incoming, outgoing = streams
        passed_on, admitted = anyio.create_memory_object_stream[Incoming](0)

        async def pump() -> None:
            async with passed_on:
                async for message in incoming:
                    if not isinstance(message, Exception):
                        if not message_filter.admits(message.message, loop.time()):
                            continue
                        make_readable(message.message)
                    await passed_on.send(message)

        tasks.start_soon(pump)
        async with admitted:
            yield admitted, outgoing
            tasks.cancel_scope.cancel()


class _Limited(httpx2.AsyncHTTPTransport):
    """Transport that unpacks answers, limits their bytes and parts, and explains refusals.

    The SDK limits the bytes of a single event only; a stream of events may go on for ever. Of a refusal it passes on
    nothing but a JSON-RPC error, so each gets one that names the status.
    """

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        packed = await super().handle_async_request(request)
        packed.request = request
        has_events = packed.headers.get("content-type", "").lower().startswith("text/event-stream")
        headers = [
            (name, value)
            for name, value in packed.headers.multi_items()
            if name.lower() not in ("content-encoding", "content-length")
        ]
        answer = httpx2.Response(
            packed.status_code,
            headers=headers,
            stream=_Unpacked(packed, has_events=has_events),
            extensions=packed.extensions,
        )
        is_refusal = answer.status_code >= 400 and answer.status_code != 404  # of that the SDK knows what it means
        return await _explained(answer) if is_refusal else answer


async def _explained(refusal: httpx2.Response) -> httpx2.Response:
    """Return the refusal with a JSON-RPC error that names its status, and says what the server's own error says."""
    text = f"HTTP {refusal.status_code}"
    if refusal.status_code in (401, 403):
        text += ": check url and headers in tools.mcp"
    error = ErrorData(code=INTERNAL_ERROR, message=text)
    if refusal.headers.get("content-type", "").lower().startswith("application/json"):
        with suppress(httpx2.HTTPError, httpx2.StreamError, ValueError):
            message = jsonrpc_message_adapter.validate_json(await refusal.aread(), by_name=False)
            if isinstance(message, JSONRPCError):
                error = message.error.model_copy(update={"message": f"{text} ({message.error.message})"})
    await refusal.aclose()
    body = {"jsonrpc": "2.0", "id": None, "error": error.model_dump(exclude_none=True)}
    return httpx2.Response(refusal.status_code, json=body)


class _Unpacked(httpx2.AsyncByteStream):
    def __init__(self, packed: httpx2.Response, *, has_events: bool) -> None:
        self._packed = packed
        self._has_events = has_events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        total = 0
        parts = 0  # of the answer, or of the event that has not ended
        line_ends = b""  # at the end of what has come
        async for unpacked in self._packed.aiter_bytes():
            for start in range(0, len(unpacked), _CUT_BYTES):
                piece = unpacked[start : start + _CUT_BYTES]
                total += len(piece)
                if total > MAX_ANSWER_BYTES and not self._has_events:
                    raise httpx2.StreamError(f"an answer of more than {MAX_ANSWER_BYTES >> 20} MiB")
                text = line_ends + piece
                line_ends = text[len(text.rstrip(b"\r\n")) :][-3:]
                for number, event in enumerate(_EVENT_END.split(text) if self._has_events else [piece]):
                    is_next = number > 0
                    parts = event.count(b"{") + event.count(b"[") + (0 if is_next else parts)
                    if parts > MAX_PARTS:
                        raise httpx2.StreamError(f"an answer of more than {MAX_PARTS} objects and lists")
                yield piece
                await asyncio.sleep(0)  # a little that was packed can become much, of which nothing else is waited for

    async def aclose(self) -> None:
        await self._packed.aclose()
