"""A broker of questions that needs neither a database nor rules for commands."""

from collections.abc import Collection
from typing import Any

from server import config
from server.approval.broker import ApprovalBroker, CommandOf
from server.approval.remembered import Approved, RememberedApprovals


class ApprovalsInMemory(RememberedApprovals):
    """RememberedApprovals without a database."""

    def __init__(self) -> None:
        self._keys: set[tuple[str, str]] = set()

    async def find(self, user_id: str, keys: Collection[str]) -> bool:
        return any((user_id, key) in self._keys for key in keys)

    async def remember(self, user_id: str, approved: Approved) -> None:
        self._keys.add((user_id, approved.key))


async def no_command(_tool: str, _arguments: Any) -> str | None:
    return None


def memory_broker(
    settings: config.ApprovalSettings | None = None,
    remembered: RememberedApprovals | None = None,
    command_of: CommandOf = no_command,
) -> ApprovalBroker:
    return ApprovalBroker(settings or config.ApprovalSettings(), remembered or ApprovalsInMemory(), command_of)
