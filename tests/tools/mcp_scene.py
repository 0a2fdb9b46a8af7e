"""A connection to one MCP server in a test, with what it puts and tells."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from server.config import McpServerSettings
from server.subprocesses.supervisor import BackoffPolicy
from server.tools.mcp.mcp_connection import McpConnection
from server.tools.registry import Tool
from server.tools.tool_calls import ToolAnswer
from tests.support.waiting import LIMIT_S

AT_ONCE = BackoffPolicy(first_wait_s=0.01, longest_wait_s=0.05, max_quick=1000)


class Scene:
    """`tools` are those registered now; `notices` are the notices."""

    def __init__(self) -> None:
        self.tools: dict[str, Tool] = {}
        self.instructions = ""
        self.notices: list[str] = []
        self._changed = asyncio.Event()

    def put(self, tools: list[Tool], instructions: str) -> None:
        self.tools = {tool.name: tool for tool in tools}
        self.instructions = instructions
        self._changed.set()

    def notify(self, code: str, _message: str) -> None:
        self.notices.append(code)
        self._changed.set()

    def wake(self) -> None:
        self._changed.set()

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(LIMIT_S):
            while not is_so():
                self._changed.clear()
                await self._changed.wait()

    async def call(self, name: str, /, **arguments: Any) -> ToolAnswer:
        answer = await self.tools[name].run(arguments)
        assert isinstance(answer, ToolAnswer)
        return answer


@asynccontextmanager
async def connected(settings: McpServerSettings, *, waits: bool = True, **options: Any) -> AsyncIterator[Scene]:
    """`s`, connected; its tools are there, unless notices not to wait."""
    scene = Scene()
    connection = McpConnection(
        "s",
        settings,
        os.environ,
        default_timeout_s=30.0,
        put=scene.put,
        notify=scene.notify,
        backoff=AT_ONCE,
        **options,
    )
    running = asyncio.create_task(connection.run(), name="connection")
    try:
        if waits:
            await scene.until(lambda: bool(scene.tools))
        yield scene
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await connection.aclose()


def official(**settings: Any) -> McpServerSettings:
    """A server made with the official SDK, over stdio."""
    return McpServerSettings(command=sys.executable, args=["-m", "tests.support.mcp_server"], **settings)


def scripted(script: dict[str, Any], **settings: Any) -> McpServerSettings:
    """See tests/support/mcp_raw.py."""
    return McpServerSettings(
        command=sys.executable, args=["-m", "tests.support.mcp_raw", json.dumps(script)], **settings
    )


def with_results(**results: Any) -> dict[str, Any]:
    """A script with one tool for each result, that takes anything."""
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in results]
    return {"tools": tools, "results": results}


def says(text: str, **fields: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], **fields}
