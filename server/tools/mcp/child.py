"""The stdio transport: an MCP server in a child process, one message a line.

Instead of the SDK's own: this one bounds a line, reads on after garbage, keeps
the server's log out of ours by a budget, and ends all that came of the child.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

import anyio
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc

from server.config import McpServerSettings
from server.subprocesses.child_process import ChildProcess, child_environment
from server.subprocesses.lines import MAX_PARTS, Lines, Overlong, is_overfull
from server.subprocesses.process_tree import OrphanReaper
from server.token_bucket import TokenBucket
from server.tools.mcp.intake import Intake, shorten

logger = logging.getLogger(__name__)

MAX_LINE_BYTES: Final = 16 << 20

_CUT_BYTES: Final = 65_536
_LAST_WORDS_S: Final = 0.25
_MAX_NOISE: Final = 64
_REST_S: Final = 0.01

Incoming = SessionMessage | Exception


class CannotStart(Exception):
    """The text names the program and the cure."""


@asynccontextmanager
async def run_child(
    name: str, settings: McpServerSettings, environ: Mapping[str, str], *, on_end: Callable[[], None]
) -> AsyncIterator[tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]]]:
    """The streams of a new child. They end when it exits or closes its output; `on_end` is called then.

    On leaving, nothing of it is left: its input is closed, then come SIGTERM and
    SIGKILL, for its descendants as well. Raises CannotStart.
    """
    child = await _begin(name, settings, environ)
    pipes = await _Pipes.open(child)
    to_session, incoming = anyio.create_memory_object_stream[Incoming](0)
    outgoing, from_session = anyio.create_memory_object_stream[SessionMessage](0)

    def over() -> None:
        to_session.close()
        on_end()

    intake = Intake(sees_sent=True)
    duties = [
        asyncio.create_task(_read(name, pipes.reader, to_session, intake, over), name=f"mcp {name} output"),
        asyncio.create_task(_write(pipes.writer, from_session, intake), name=f"mcp {name} input"),
        asyncio.create_task(_watch(child, over), name=f"mcp {name} exit"),
        asyncio.create_task(OrphanReaper().watch(lambda: [child.tree]), name=f"mcp {name} process tree"),
    ]
    try:
        yield incoming, outgoing
    finally:
        ending = asyncio.create_task(_end(child, pipes, duties), name=f"mcp {name} end")
        try:
            await asyncio.shield(ending)
        except asyncio.CancelledError:  # the server goes down: what was begun takes a moment more
            await asyncio.wait([ending])
            raise
        finally:
            for stream in (to_session, incoming, outgoing, from_session):
                stream.close()


async def _begin(name: str, settings: McpServerSettings, environ: Mapping[str, str]) -> ChildProcess:
    assert settings.command is not None
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


@dataclass(frozen=True)
class _Pipes:
    """A child's standard output and input as streams: reading it waits for us, and writing for it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    output: asyncio.ReadTransport

    @classmethod
    async def open(cls, child: ChildProcess) -> "_Pipes":
        """Ends the child where that fails."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=_CUT_BYTES)
        try:
            output, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), child.stdout)
            transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, child.stdin)
        except BaseException:
            child.stdin.close()
            await child.end()
            raise
        return cls(reader, asyncio.StreamWriter(transport, protocol, None, loop), output)

    def close(self) -> None:
        """Even where somebody still holds the other ends, or has not read what was written."""
        if self.writer.transport.get_write_buffer_size():
            self.writer.transport.abort()
        self.output.close()


async def _read(
    name: str,
    stdout: asyncio.StreamReader,
    to_session: MemoryObjectSendStream[Incoming],
    intake: Intake,
    over: Callable[[], None],
) -> None:
    loop = asyncio.get_running_loop()
    lines = Lines(MAX_LINE_BYTES)
    garbage = _Garbage(name)
    noise = 0  # since the last rest
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError):
        while cut := await stdout.read(_CUT_BYTES):
            lines.feed(cut)
            while (line := lines.next()) is not None:
                message = _parse(line, garbage)
                if message is not None and intake.admits(message, loop.time()):
                    shorten(message)
                    await to_session.send(SessionMessage(message))
                else:
                    noise += 1
                if noise >= _MAX_NOISE:
                    noise = 0
                    await asyncio.sleep(_REST_S)  # a flood costs the server its own answers, and nobody else anything
    over()


def _parse(line: bytes | bytearray | Overlong, garbage: "_Garbage") -> jsonrpc.JSONRPCMessage | None:
    """None for what is no message: it costs the call that it may have answered, and is told in the log."""
    if isinstance(line, Overlong):
        garbage.note(f"a line of more than {MAX_LINE_BYTES >> 20} MiB", line.head)
        return None
    if not line.strip():
        return None
    if is_overfull(line):
        garbage.note(f"a line of more than {MAX_PARTS} objects and lists", bytes(line[:200]))
        return None
    try:
        # msgspec reads the text: pydantic needs eight times as long, and a thread lets nobody else run meanwhile
        return jsonrpc.jsonrpc_message_adapter.validate_python(msgspec.json.decode(line), by_name=False)
    except (ValueError, msgspec.DecodeError, RecursionError):
        garbage.note("a line that is no JSON-RPC message", bytes(line[:200]))
        return None


class _Garbage:
    def __init__(self, name: str) -> None:
        self._name = name
        self._bucket = TokenBucket(burst=50, per_s=10)

    def note(self, what: str, head: bytes) -> None:
        if self._bucket.take(asyncio.get_running_loop().time()):
            logger.warning("MCP server %s printed %s: %r", self._name, what, head[:80])


async def _write(
    stdin: asyncio.StreamWriter, from_session: MemoryObjectReceiveStream[SessionMessage], intake: Intake
) -> None:
    with suppress(anyio.ClosedResourceError, ConnectionError):
        async for message in from_session:
            intake.note_sending(message.message)
            data = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            stdin.write(data.encode(errors="replace") + b"\n")
            await stdin.drain()  # to a child that does not read, calls end by their time limits
            intake.note_sent(message.message)


async def _watch(child: ChildProcess, over: Callable[[], None]) -> None:
    await asyncio.wait({child.exited})
    await asyncio.sleep(_LAST_WORDS_S)
    over()


async def _end(child: ChildProcess, pipes: _Pipes, duties: list[asyncio.Task[None]]) -> None:
    pipes.writer.close()
    await child.end()
    for duty in duties:
        duty.cancel()
    await asyncio.gather(*duties, return_exceptions=True)
    pipes.close()
