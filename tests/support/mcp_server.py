"""An MCP server made with the official SDK, over stdio or HTTP.

python -m tests.support.mcp_server [PORT]
"""

import asyncio
import base64
import os
import signal
import sys
from typing import Any

from mcp import types
from mcp.server.mcpserver import Context, MCPServer

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"

server = MCPServer("scripted", version="1.0")


@server.tool(annotations=types.ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def fail(text: str) -> str:
    raise ValueError(text)


@server.tool()
def variable(name: str) -> str:
    return os.environ.get(name, "(not set)")


@server.tool()
def picture() -> list[Any]:
    return ["here it is", types.ImageContent(data=base64.b64encode(PNG).decode(), mime_type="image/png")]


@server.tool()
def structured() -> dict[str, int]:
    return {"answer": 42}


@server.tool()
async def hang() -> str:
    await asyncio.Event().wait()
    return ""


@server.tool()
async def die() -> str:
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


@server.tool()
async def grow(name: str, ctx: Context) -> str:
    """Add a tool and tell it, both to clients that subscribe and to those of before."""

    def grown() -> str:
        return name

    server.add_tool(grown, name=name)
    await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()
    return "grown"


def main() -> None:
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run()


if __name__ == "__main__":
    main()
