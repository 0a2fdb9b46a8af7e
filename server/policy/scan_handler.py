"""security_scan: takes secrets out of what tools give before anybody reads it. Fails closed: a text that could not
be scanned is withheld, and that is said."""

import asyncio
import traceback
from collections import Counter
from typing import Any, Final, Literal

from server import config
from server.policy.hook_types import ALLOW, CONTINUE, HookAction, HookContext, HookResult
from server.policy.redaction.redact import redact, redact_result, redact_text

INLINE_CHARS: Final = 2048
"""What is scanned within the event loop; more goes to a thread."""
_PART_CHARS: Final = 32
"""As what a part of a structure counts beside its text: as long it takes."""
MAX_CHARS: Final = 1 << 20
"""Of a longer result the rest is dropped: nobody would read it."""
_EDGE_CHARS: Final = 40_000
"""Dropped before the end of what was scanned: a secret that was cut there may not show what it is."""
WITHHELD: Final = "[The result was withheld: it could not be scanned for secrets.]"
_DENIED: Final = (
    "The arguments hold what looks like a secret ({kinds}), which this tool must not get; so it was not called."
)


class ScanSettings(config.Section, frozen=True, kw_only=True):
    arguments: Literal["conceal", "deny"] = "conceal"
    """pre_tool_use: whether a call with a secret in its arguments may run. They are concealed from logs either way."""


class SecurityScan:
    def __init__(self, settings: ScanSettings) -> None:
        self._settings = settings

    async def pre_execute(self, ctx: HookContext) -> HookResult:
        if self._settings.arguments == "conceal":
            return ALLOW
        _, counts = await conceal(ctx.arguments)
        if not counts:
            return ALLOW
        return HookResult(action=HookAction.DENY, message=_DENIED.format(kinds=", ".join(sorted(counts))))

    async def post_execute(self, ctx: HookContext) -> HookResult:
        """On a text; of the counts the caller makes what it needs."""
        text = str(ctx.result)
        clean, counts = await scan_text(text)
        if clean is text:
            return CONTINUE
        return HookResult(action=HookAction.MODIFY_RESULT, modified_result=clean, counts=dict(counts))

    on_error = post_execute
    on_skip = post_execute


async def scan_text(text: str) -> tuple[str, Counter[str]]:
    """The same object where there is nothing to take out."""
    if len(text) <= INLINE_CHARS:
        return redact_result(text)
    if len(text) <= MAX_CHARS:
        return await asyncio.to_thread(redact_result, text)
    clean, counts = await asyncio.to_thread(redact_result, text[:MAX_CHARS])
    return f"{clean[:-_EDGE_CHARS]}\n(truncated: {len(text)} characters are more than can be scanned)", counts


async def conceal(value: Any) -> tuple[Any, Counter[str]]:
    """A structure; the same object where there is nothing to take out."""
    if _is_small(value):
        return redact(value)
    return await asyncio.to_thread(redact, value)


def traceback_of(error: BaseException) -> str:
    """For the log: it may quote what its code held, so without secrets."""
    return redact_text("".join(traceback.format_exception(error)).rstrip())[0]


def _is_small(value: Any) -> bool:
    left, parts = INLINE_CHARS, [value]
    while parts and left >= 0:
        part = parts.pop()
        if isinstance(part, str):
            left -= len(part)
        elif isinstance(part, (dict, list, tuple)):
            left -= _PART_CHARS * len(part)
            if left >= 0:
                parts += [*part, *part.values()] if isinstance(part, dict) else part
    return left >= 0
