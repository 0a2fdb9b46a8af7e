"""Refuses calls that name production."""

from typing import Any

from server.hooks.policy.types import HookAction, HookContext, HookResult


class Handler:
    """Refuses calls that name production."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._word = str(config.get("word", "prod"))

    async def pre_execute(self, ctx: HookContext) -> HookResult:
        if self._word in str(ctx.arguments):
            return HookResult(action=HookAction.DENY, message="Not in production.")
        return HookResult(action=HookAction.ALLOW)
