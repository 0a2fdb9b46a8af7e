"""Whether a hook fires in an injection, or the reason why not (L1-41)."""

from dataclasses import dataclass
from typing import Literal

from skills_engine.hook_entries import HookInfo, Timing

Reason = Literal[
    "enabled", "tool_filter", "requires_tools", "once", "cooldown", "when", "persistent", "group", "budget"
]
"""The first to say no: a key of the hook, the limit of persistent hooks (L1-30), or `skills.hook_tokens`."""


@dataclass(frozen=True)
class NotFired:
    """A hook that stayed out of an injection of its timing."""

    hook: HookInfo
    timing: Timing
    reason: Reason
    path: str = ""
    """For `when`: the condition that said no, such as `when.not.channel`; else the name of the key, or ""."""
