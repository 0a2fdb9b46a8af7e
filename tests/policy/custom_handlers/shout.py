"""Makes every result loud: plain functions, run in a thread."""

from server.hooks.policy.types import HookAction, HookContext, HookResult


def post_execute(ctx: HookContext) -> HookResult:
    return HookResult(action=HookAction.MODIFY_RESULT, modified_result=str(ctx.result).upper())
