"""Never answers."""

import asyncio

from server.hooks.policy.types import HookContext


async def pre_execute(_ctx: HookContext) -> None:
    await asyncio.Event().wait()
