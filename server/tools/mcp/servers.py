"""Tools of MCP servers, as `tools.mcp` names them. The SDK is loaded only where there are any: it takes half a second."""

import asyncio
import importlib
import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from server import config
from server.tools.registry import DynamicToolRegistry

logger = logging.getLogger(__name__)

_END_S: Final = 5.0

Notify = Callable[[str, str], None]
"""Sends a notice, its code and its message, to every client."""


class McpServers:
    """Keeps the servers connected and their tools in the registry, between `start` and `aclose`."""

    def __init__(
        self,
        settings: config.ToolsSettings,
        registry: DynamicToolRegistry,
        environ: Mapping[str, str],
        *,
        notify: Notify,
    ) -> None:
        self._settings = settings
        self._registry = registry
        self._environ = environ
        self._notify_clients = notify
        self._connections: list[Any] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._lost: dict[str, str] = {}

    @property
    def lost(self) -> list[str]:
        """Notices of the servers that are gone now, for clients that come later."""
        return list(self._lost.values())

    async def start(self) -> None:
        """Begin to connect; returns without waiting for any server. None of them keeps us from starting."""
        wanted = [(name, server) for name, server in self._settings.mcp.items() if server.enabled]
        if not wanted:
            return
        module = await asyncio.to_thread(importlib.import_module, "server.tools.mcp.mcp_connection")
        for name, server in wanted:
            connection = module.McpConnection(
                name,
                server,
                self._environ,
                default_timeout_s=self._settings.timeout_s,
                put=partial(self._registry.put, name),
                notify=partial(self._on_notice, name),
            )
            self._connections.append(connection)
            self._tasks.append(asyncio.create_task(connection.run(), name=f"mcp {name}"))  # `aclose` awaits it

    def _on_notice(self, name: str, code: str, message: str) -> None:
        self._lost.pop(name, None)
        if code == "mcp_server_lost":
            self._lost[name] = message
        self._notify_clients(code, message)

    async def aclose(self) -> None:
        """End every server, side by side, with all that came of their processes."""
        for _ in range(2):  # a server that holds up the first cancellation gets a second
            for task in self._tasks:
                task.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=_END_S)
        for task in self._tasks:
            if not task.done():
                logger.error("%s does not end after it was cancelled", task.get_name())
        await asyncio.gather(*(connection.aclose() for connection in self._connections))
