"""Calls of the client's own tools: sent to it, and answered by its `tool_output`."""

import asyncio
from typing import Any

from server.session.turn_writer import TurnWriter
from server.tool_calls import ToolAnswer
from server.wire import frames as wire


class ClientCalls:
    """The calls of one connection that wait for its client.

    The executor limits their number and their time. A call whose turn ends is closed.
    """

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], asyncio.Future[wire.ToolOutput]] = {}  # (turn, call)

    def answer(self, output: wire.ToolOutput) -> bool:
        """Return whether a call waits for this output: the newest, where the output names no turn."""
        for (turn_id, call_id), waiting in reversed(self._open.items()):
            if call_id == output.id and output.turn_id in (None, turn_id) and not waiting.done():
                waiting.set_result(output)
                return True
        return False

    async def wait(self, turn_id: str, call_id: str) -> wire.ToolOutput:
        """Wait for the output of a call; cancelling closes it."""
        key = (turn_id, call_id)
        self._open[key] = asyncio.get_running_loop().create_future()
        try:
            return await self._open[key]
        finally:
            del self._open[key]


class TurnClient:
    """Lets the client of one turn run its tools (AskClient)."""

    def __init__(self, calls: ClientCalls, turn: TurnWriter) -> None:
        self._calls = calls
        self._turn = turn

    async def ask(self, call_id: str, name: str, arguments: dict[str, Any]) -> ToolAnswer:
        self.announce(call_id, name, arguments)
        output = await self._calls.wait(self._turn.id, call_id)
        return ToolAnswer(for_llm=output.content, is_error=output.is_error)

    def announce(self, call_id: str, name: str, arguments: dict[str, Any]) -> None:
        self._turn.write_client_call(call_id, name, arguments)
