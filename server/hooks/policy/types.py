"""Types that custom handlers import; the same objects as in server.policy.hook_types."""

from server.policy.hook_types import ALLOW, CONTINUE, HookAction, HookContext, HookResult, HookType

__all__ = ["ALLOW", "CONTINUE", "HookAction", "HookContext", "HookResult", "HookType"]
