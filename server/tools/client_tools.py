"""Tools that the client of a turn runs: asked for over its connection."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from server.llm.language_model import ToolSpec
from server.tools.registry import OfferedTool
from server.tools.tool_calls import ToolAnswer
from server.wire.frames import ToolItem


class AskClient(Protocol):
    """The client of one turn, as its tools see it."""

    async def ask(self, call_id: str, name: str, arguments: dict[str, Any]) -> ToolAnswer:
        """Let the client run its tool, and wait for the output. Cancelling ends the wait."""
        ...

    def announce(self, call_id: str, name: str, arguments: dict[str, Any]) -> None:
        """Let the client run its tool after the turn."""
        ...


@dataclass(frozen=True, kw_only=True)
class ClientTool(OfferedTool):
    """Tool of the client; always EXTERNAL."""

    client: AskClient
    is_left_open: bool
    """Whether the client runs it after the turn, which its calls end."""

    async def call(self, call_id: str, arguments: dict[str, Any]) -> ToolAnswer:
        return await self.client.ask(call_id, self.name, arguments)


def client_tools(items: Iterable[ToolItem], client: AskClient, *, are_left_open: bool = False) -> list[ClientTool]:
    """Return the tools that a client has given, to be run by it."""
    specs = [ToolSpec(name=item.name, description=item.description, parameters=item.parameters) for item in items]
    return [ClientTool(spec=spec, client=client, is_left_open=are_left_open) for spec in specs]
