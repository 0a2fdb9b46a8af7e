"""server/tools/mcp/child.py where no child is needed; tests/tools/mcp/test_server.py has real ones."""

import asyncio
import logging

import pytest

from server.tools.mcp.child import log_lines


async def test_a_flood_on_standard_error_holds_nobody_up(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    stderr = asyncio.StreamReader()
    stderr.feed_data(b"so it began\n" + b"\n" * 6400)
    stderr.feed_eof()

    rounds = 0
    log = asyncio.create_task(log_lines("x", stderr))
    while not log.done():
        await asyncio.sleep(0)
        rounds += 1

    assert rounds > 100, "the loop goes round between every few lines"
    assert caplog.messages == ["MCP server x: so it began"]
