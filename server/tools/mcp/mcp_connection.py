"""One MCP server: connected, its tools registered; lost, and tried again; for as long as we run."""

import asyncio
import logging
import ssl
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import Any, Final

import httpx2
from mcp import Client, types
from mcp.client import IncomingMessage, Transport
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.exceptions import MCPError

from server import __version__
from server.config import McpServerSettings
from server.errors import ToolError
from server.subprocesses.supervisor import BackoffPolicy, Supervisor
from server.tools.mcp.conversion import MAX_TOOLS, convert_instructions, convert_tools, read_result
from server.tools.mcp.transports import CannotStart, http_transport, stdio_transport
from server.tools.registry import Tool
from server.tools.tool_calls import ToolAnswer

logger = logging.getLogger(__name__)

START_LIMIT_S: Final = 60.0
"""Time from the spawn to the list of tools; a package runner may have to download first."""
MAX_CALLS: Final = 32
"""The most calls at once, of all turns; one more is refused."""

_LIST_LIMIT_S: Final = 10.0
_HEARTBEAT_S: Final = 15.0
_RELIST_AFTER_S: Final = 0.5  # changes in a row are read once
_RELISTEN_S: Final = 30.0
_CANCEL_AGAIN_S: Final = 15.0  # ending a child that ignores signals takes less
_MAX_PAGES: Final = 20
_MAX_REASON_CHARS: Final = 300
_LOST: Final = (types.CONNECTION_CLOSED, types.INVALID_REQUEST)  # the latter also says "Session terminated"
_CLOSED: Final = "Connection closed"
"""The text of the library's own error; servers use the same code for errors of theirs."""

Put = Callable[[list[Tool], str], None]
"""Takes all tools of the server and its instructions, in place of those before."""
Notify = Callable[[str, str], None]


class McpConnection:
    """A connection to one server: `run` it in a task, cancel that to end it; any task may call the tools it puts.

    While it is lost its tools are gone, and a turn that still has them gets an
    error for each call. It tries again after 0.5 s, doubled up to 30 s, and
    once a minute after nine quick failures in a row.
    """

    def __init__(
        self,
        name: str,
        settings: McpServerSettings,
        environ: Mapping[str, str],
        *,
        default_timeout_s: float,
        put: Put,
        notify: Notify,
        backoff: BackoffPolicy | None = None,
        heartbeat_s: float = _HEARTBEAT_S,
    ) -> None:
        self._name = name
        self._settings = settings
        self._environ = environ
        self._timeout_s = settings.timeout_s or default_timeout_s
        self._put = put
        self._notify = notify
        backoff = backoff or BackoffPolicy(first_wait_s=0.5, longest_wait_s=30.0, max_quick=8)
        self._supervisor = Supervisor(f"mcp {name}", self._hold_and_report, backoff)
        self._heartbeat_s = heartbeat_s
        self._client: Client | None = None  # while it is connected
        self._changed = asyncio.Event()  # the list of tools may be another
        self._in_doubt = asyncio.Event()  # a call failed as if the connection were gone
        self._calls: set[asyncio.Task[types.CallToolResult]] = set()
        self._is_lost = False  # its loss was reported, and no return since

    async def run(self) -> None:
        """Run until cancelled. What a server does wrong ends its connection, never this."""
        await self._supervisor.run()

    async def _hold_and_report(self) -> float:
        """Hold one connection and report its loss; return how long it took, its start included."""
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        try:
            await self._hold_in_own_task()
            reason = "it has ended"
        except Exception as error:  # the boundary to a server's process, network and messages
            logger.debug("MCP server %s", self._name, exc_info=True)
            reason = _explain(error)
        self._report_loss(reason)
        return loop.time() - began_s

    async def _hold_in_own_task(self) -> None:
        """Hold the connection in a task of its own.

        The SDK's cancel scopes take a cancellation that comes while they end for one of theirs.
        """
        holding = asyncio.create_task(self._hold(), name=f"mcp {self._name} connection")  # awaited below
        try:
            await asyncio.wait([holding])
        finally:
            while not holding.done():
                holding.cancel()
                await asyncio.wait([holding], timeout=_CANCEL_AGAIN_S)
        holding.result()

    async def _hold(self) -> None:
        self._changed.clear()
        self._in_doubt.clear()
        over = asyncio.Event()
        client = Client(
            self._transport(over),
            client_info=types.Implementation(name="parley", version=__version__),
            message_handler=self._on_message,
            cache=None,
        )
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(START_LIMIT_S):
                await stack.enter_async_context(client)
                await self._register_tools(client)
            self._client = client
            try:
                await self._serve(client, over)
            finally:
                self._client = None
                self._put([], "")

    def _transport(self, over: asyncio.Event) -> Transport:
        if self._settings.url is not None:
            read_s = self._timeout_s + _LIST_LIMIT_S
            return http_transport(self._settings.url, self._settings.headers, read_s=read_s)
        return stdio_transport(self._name, self._settings, self._environ, on_end=over.set)

    async def _serve(self, client: Client, over: asyncio.Event) -> None:
        """Follow the list of tools until the connection is over. Raises what ended it."""
        if self._is_lost:
            self._is_lost = False
            self._notify("mcp_server_back", f"the tools of the MCP server {self._name} are back")
        duties = [  # awaited below: a TaskGroup would wrap what ended the connection
            asyncio.create_task(over.wait(), name=f"mcp {self._name} end"),
            asyncio.create_task(self._follow(client), name=f"mcp {self._name} list"),
            asyncio.create_task(self._listen(client), name=f"mcp {self._name} subscription"),
        ]
        if self._settings.url is not None:
            duties.append(asyncio.create_task(self._heartbeat(client), name=f"mcp {self._name} beat"))
        try:
            done, _ = await asyncio.wait(duties, return_when=asyncio.FIRST_COMPLETED)
            for duty in done:
                duty.result()
        finally:
            for duty in duties:
                duty.cancel()
            await asyncio.gather(*duties, return_exceptions=True)

    async def _register_tools(self, client: Client) -> None:
        listed = await self._list(client)
        convert = partial(convert_tools, call=self._run_tool, timeout_s=self._timeout_s)
        tools, left_out = await asyncio.to_thread(convert, self._name, self._settings, listed)
        for problem in left_out:
            logger.warning("MCP server %s: left out %s", self._name, problem)
        instructions = convert_instructions(self._name, client.instructions)
        is_unused = bool(instructions) and not self._settings.instructions
        self._put(tools, "" if is_unused else instructions)
        option = f"tools.mcp.{self._name}.instructions"
        more = f", and instructions, which {option} puts into the system prompt" if is_unused else ""
        logger.info("MCP server %s: %d tools%s", self._name, len(tools), more)

    async def _list(self, client: Client) -> list[types.Tool]:
        listed: list[types.Tool] = []
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            async with asyncio.timeout(_LIST_LIMIT_S):
                page = await client.list_tools(cursor=cursor)
            listed += page.tools
            cursor = page.next_cursor
            if cursor is None or len(listed) > MAX_TOOLS * 8:
                break
        return listed

    # following the list of tools

    async def _on_message(self, message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._changed.set()

    async def _follow(self, client: Client) -> None:
        while True:
            await self._changed.wait()
            await asyncio.sleep(_RELIST_AFTER_S)
            self._changed.clear()
            try:
                await self._register_tools(client)
            except TimeoutError:
                logger.warning("MCP server %s did not list its tools in time; the known ones stay", self._name)

    async def _listen(self, client: Client) -> None:
        """Subscribe to changes, which newer servers report to subscribers only; where that is not possible, just wait."""
        while True:
            try:
                async with asyncio.timeout(_LIST_LIMIT_S) as opening, client.listen(tools_list_changed=True) as events:
                    opening.reschedule(None)
                    async for _ in events:
                        self._changed.set()
            except ListenNotSupportedError:
                await asyncio.Event().wait()
            except (MCPError, SubscriptionLost, TimeoutError) as error:
                logger.debug("MCP server %s: no subscription: %s", self._name, error)
            await asyncio.sleep(_RELISTEN_S)
            self._changed.set()  # what happened meanwhile was not reported

    async def _heartbeat(self, client: Client) -> None:
        """Ask now and then, and when a call has failed, whether a server over HTTP is still there: nothing else tells."""
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._in_doubt.wait(), self._heartbeat_s)
            self._in_doubt.clear()
            await self._register_tools(client)

    # calls

    async def _run_tool(self, remote_name: str, arguments: dict[str, Any]) -> ToolAnswer:
        """Make one call. Cancelling gives it up at once; the server is told, if it still listens."""
        client = self._client
        if client is None:
            raise ToolError(f"the MCP server {self._name} is not available at the moment; continue without this tool")
        if len(self._calls) >= MAX_CALLS:
            raise ToolError(f"the MCP server {self._name} is busy with {MAX_CALLS} calls; try again later")
        request = types.CallToolRequest(params=types.CallToolRequestParams(name=remote_name, arguments=arguments))
        # awaited here, or by `aclose` if given up; not `call_tool`, which would check the result against a schema that may be hostile
        call = asyncio.create_task(
            client.session.send_request(request, types.CallToolResult), name=f"mcp {self._name} call"
        )
        self._calls.add(call)
        call.add_done_callback(self._forget)
        try:
            return read_result(await asyncio.shield(call))  # giving up may take seconds where a server does not read
        except MCPError as error:
            if error.code in _LOST:
                self._in_doubt.set()
            raise ToolError(self._explain_failure(error)) from error
        except ValueError as error:  # from pydantic
            raise ToolError(f"the MCP server {self._name} returned something that is not a tool result") from error
        finally:
            call.cancel()

    def _forget(self, call: asyncio.Task[types.CallToolResult]) -> None:
        self._calls.discard(call)
        if not call.cancelled():
            call.exception()  # the waiting caller has it already

    def _explain_failure(self, error: MCPError) -> str:
        if error.code == types.CONNECTION_CLOSED and error.message == _CLOSED:
            return f"the MCP server {self._name} was lost during the call; what it did until then is unknown"
        return f"the MCP server {self._name} refused the call: {_short(error.message)}"

    def _report_loss(self, reason: str) -> None:
        if not self._is_lost:
            self._is_lost = True
            self._notify(
                "mcp_server_lost", f"the tools of the MCP server {self._name} are unavailable until it is back"
            )
            logger.warning("MCP server %s is lost: %s", self._name, reason)
        else:
            logger.info("MCP server %s is still lost: %s", self._name, reason)

    async def aclose(self) -> None:
        """Wait for calls that were given up, a moment; after `run` has ended."""
        for call in self._calls:
            call.cancel()
        if self._calls:
            await asyncio.wait(self._calls, timeout=1.0)


def _explain(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    match error:
        case CannotStart():
            return str(error)
        case TimeoutError():
            return f"it did not list its tools within {START_LIMIT_S:g} s"
        case httpx2.ConnectError():
            return "no server answers at its url"
        case MCPError():
            return _short(error.message)
        case ssl.SSLError():
            return f"TLS: {error.reason}"
    return _short(f"{type(error).__name__}: {error}")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_REASON_CHARS else line[: _MAX_REASON_CHARS - 1] + "…"
