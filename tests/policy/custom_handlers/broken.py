"""Fails whatever it is asked."""

from server.hooks.policy.types import HookContext


async def pre_execute(ctx: HookContext) -> None:
    raise RuntimeError(ctx.tool_name)


async def post_execute(ctx: HookContext) -> None:
    raise RuntimeError(ctx.tool_name)
