"""The stdio transport: an MCP server in a child process, one message a line.

Instead of the SDK's own: this one bounds a line, reads on after garbage, keeps
the server's log out of ours by a budget, and ends all that came of the child.
"""

import asyncio
import logging
import secrets
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Final

import anyio
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc

from server.config import McpServer, ProcessHook
from server.hooks.process.group import MARK, Family, Orphans, adopt_orphans, look_around
from server.hooks.process.lines import MAX_PARTS, Lines, Overlong, is_overfull
from server.hooks.process.settings import environment
from server.hooks.process.stderr import LogBudget
from server.tools.mcp.intake import Intake, shorten

logger = logging.getLogger(__name__)

MAX_LINE_BYTES: Final = 16 << 20
EXIT_AFTER_EOF_S: Final = 1.0
KILL_AFTER_S: Final = 2.0

_CUT_BYTES: Final = 65_536
_MAX_LOG_LINE_BYTES: Final = 8192
_EXIT_LOOK_S: Final = 0.25  # wait() would wait for grandchildren that hold the pipes open
_FAMILY_LOOK_S: Final = 5.0
_MAX_NOISE: Final = 64
_REST_S: Final = 0.01

Incoming = SessionMessage | Exception


class CannotStart(Exception):
    """The text names the program and the cure."""


@asynccontextmanager
async def run_child(
    name: str, settings: McpServer, environ: Mapping[str, str], *, on_end: Callable[[], None]
) -> AsyncIterator[tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]]]:
    """The streams of a new child. They end when it exits or closes its output; `on_end` is called then.

    On leaving, nothing of it is left: its input is closed, then come SIGTERM and
    SIGKILL, for its descendants as well. Raises CannotStart.
    """
    mark = secrets.token_hex(8)
    assert settings.command is not None
    kept = environment(ProcessHook(env=settings.env), environ)
    try:
        process = await asyncio.create_subprocess_exec(
            settings.command,
            *settings.args,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            cwd=settings.dir,
            env={**kept, MARK: mark},
            start_new_session=True,
        )
    except OSError as error:
        where = f" in {settings.dir}" if settings.dir else ""
        raise CannotStart(f"{settings.command}{where} cannot be started: {error.strerror}; see tools.mcp") from error
    assert process.stderr is not None
    adopt_orphans(True)  # for good: process hooks may want it too, and know nothing of us
    family = Family(process.pid, mark)
    to_session, incoming = anyio.create_memory_object_stream[Incoming](0)
    outgoing, from_session = anyio.create_memory_object_stream[SessionMessage](0)

    def over() -> None:
        to_session.close()
        on_end()

    intake = Intake(sees_sent=True)
    pipes = [
        asyncio.create_task(_read(name, process, to_session, intake, over), name=f"mcp {name} output"),
        asyncio.create_task(_write(process, from_session, intake), name=f"mcp {name} input"),
        asyncio.create_task(log_lines(name, process.stderr), name=f"mcp {name} log"),
        asyncio.create_task(_watch(process, over), name=f"mcp {name} exit"),
        asyncio.create_task(_know(family), name=f"mcp {name} family"),
    ]
    try:
        yield incoming, outgoing
    finally:
        ending = asyncio.create_task(_end(process, family, pipes), name=f"mcp {name} end")
        try:
            await asyncio.shield(ending)
        except asyncio.CancelledError:  # the server goes down: what was begun takes a moment more
            await asyncio.wait([ending])
            raise
        finally:
            for stream in (to_session, incoming, outgoing, from_session):
                stream.close()


async def _read(
    name: str,
    process: Process,
    to_session: MemoryObjectSendStream[Incoming],
    intake: Intake,
    over: Callable[[], None],
) -> None:
    assert process.stdout is not None
    loop = asyncio.get_running_loop()
    lines = Lines(MAX_LINE_BYTES)
    garbage = _Garbage(name)
    noise = 0  # since the last rest
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError):
        while cut := await process.stdout.read(_CUT_BYTES):
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
        self._budget = LogBudget()

    def note(self, what: str, head: bytes) -> None:
        if self._budget.spend(asyncio.get_running_loop().time()):
            logger.warning("MCP server %s printed %s: %r", self._name, what, head[:80])


async def _write(process: Process, from_session: MemoryObjectReceiveStream[SessionMessage], intake: Intake) -> None:
    assert process.stdin is not None
    with suppress(anyio.ClosedResourceError, ConnectionError):
        async for message in from_session:
            intake.note_sending(message.message)
            data = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            process.stdin.write(data.encode(errors="replace") + b"\n")
            await process.stdin.drain()  # to a child that does not read, calls end by their time limits
            intake.note_sent(message.message)


async def log_lines(name: str, stderr: asyncio.StreamReader) -> None:
    """Until its end: what a server complains of into our log, within limits."""
    lines, budget = Lines(_MAX_LOG_LINE_BYTES), LogBudget()
    loop = asyncio.get_running_loop()
    count = 0
    with suppress(ConnectionError):
        while cut := await stderr.read(_CUT_BYTES):
            lines.feed(cut)
            while (line := lines.next()) is not None:
                text = (line.head if isinstance(line, Overlong) else line).decode(errors="replace").strip()
                if text and budget.spend(loop.time()):
                    logger.info("MCP server %s: %s", name, text[:2000])
                count += 1
                if count % _MAX_NOISE == 0:
                    await asyncio.sleep(_REST_S)  # a flood is read slowly


async def _watch(process: Process, over: Callable[[], None]) -> None:
    while process.returncode is None:  # noqa: ASYNC110  # nothing tells it: see _EXIT_LOOK_S
        await asyncio.sleep(_EXIT_LOOK_S)
    await asyncio.sleep(_EXIT_LOOK_S)  # for its last words
    over()


async def _know(family: Family) -> None:
    """Know what the child started before it can hide, and reap what nobody else will."""
    orphans = Orphans()
    while True:
        await asyncio.sleep(_FAMILY_LOOK_S)
        around = await asyncio.to_thread(look_around)
        await asyncio.to_thread(family.members, around)
        orphans.reap(around, [family.leader])


async def _end(process: Process, family: Family, pipes: list[asyncio.Task[None]]) -> None:
    loop = asyncio.get_running_loop()
    by_s = loop.time() + KILL_AFTER_S
    adopt_orphans(True)  # hooks that went before us may have ended it
    assert process.stdin is not None
    process.stdin.close()
    await _exited(process, EXIT_AFTER_EOF_S)
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.terminate()
    await family.end(by_s)
    await _exited(process, by_s - loop.time())
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
        await _exited(process, KILL_AFTER_S)
        await family.end(loop.time())  # what it started while the others were ended
    for pipe in pipes:
        pipe.cancel()
    await asyncio.gather(*pipes, return_exceptions=True)
    _close_pipes(process)


async def _exited(process: Process, limit_s: float) -> None:
    """Look instead of `wait()`: that one may wait for the pipes, which a grandchild can hold."""
    until_s = asyncio.get_running_loop().time() + limit_s
    while process.returncode is None and asyncio.get_running_loop().time() < until_s:  # noqa: ASYNC110  # as said
        await asyncio.sleep(0.01)


def _close_pipes(process: Process) -> None:
    """Ours, even where somebody still holds the other ends."""
    transport = getattr(process, "_transport", None)  # asyncio offers no other way to it
    close: Callable[[], None] | None = getattr(transport, "close", None)
    if close is not None:
        with suppress(ProcessLookupError, PermissionError):
            close()
