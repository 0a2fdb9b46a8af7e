"""The handlers that ask no human: audit_log, and security_scan with the scanner of secrets.

security_scan takes secrets out of results before the model, the user or an observer reads them. It fails closed: a
text that could not be scanned is withheld, with a word in its place. audit_log fails open, and says so.
"""

import traceback
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar

from msgspec import Meta

from server import config
from server.bounded.fair_share import FairShare
from server.policy.hook_types import ALLOW, CONTINUE, HookAction, HookContext, HookResult
from server.storage.audit_entry import MAX_TEXT, AuditEntry
from server.toolguard.scans import ScanTooSlow
from server.tools.tool_calls import TurnFacts

if TYPE_CHECKING:
    from server.toolguard.redaction.redact import Redactor

T = TypeVar("T")

INLINE_CHARS: Final = 4096
"""Texts up to this length are scanned in the event loop, longer ones in a thread."""
_INLINE_S: Final = 0.001
"""Processor time of a scan in the event loop; one that takes longer begins again in a thread."""
_PART_CHARS: Final = 32
"""Weight of one part of a structure, in characters that take as long to scan."""
MAX_CHARS: Final = 1 << 20
"""Limit of a result's length; the rest is dropped: no model reads as much."""
_EDGE_CHARS: Final = 40_000
"""Length dropped before the end of a cut result: a secret that was cut there may not show what it is."""
WITHHELD: Final = "[The result was withheld: it could not be scanned for secrets.]"
_DENIED: Final = (
    "The arguments hold what looks like a secret ({kinds}), which this tool must not get; so it was not called."
)
_OVERLAP_CHARS: Final = 4096
"""Text scanned beyond what the audit log keeps, so that a secret at the cut is whole when it is looked for."""


class SecretScanner:
    """Redaction of texts and structures. Its rules are loaded at the first use, which takes a while: see `load`."""

    def __init__(self, table: Path | None = None, threads: FairShare | None = None) -> None:
        """`table`: the operator's own rules, laid over the built-in ones."""
        self._table = table
        self._threads = threads or FairShare(1, per_user=1)

    @cached_property
    def _redactor(self) -> "Redactor":
        from server.toolguard.redaction.redact import redactor

        return redactor(self._table)

    @property
    def is_loaded(self) -> bool:
        return "_redactor" in vars(self)

    def load(self) -> None:
        """Load the rules now, where waiting does no harm. Raises ConfigError for a wrong line of a table."""
        _ = self._redactor

    def redact(self, value: Any) -> tuple[Any, Counter[str]]:
        """Return a JSON value without its secrets, and how many there were; the same object where there are none."""
        return self._redactor.redact(value)

    def redact_text(self, text: str) -> str:
        """Return a text without its secrets."""
        return self._redactor.redact_text(text)[0]

    async def scan_text(self, text: str) -> tuple[str, Counter[str]]:
        """Return a tool's result without its secrets; the same object where there are none."""
        scan = self._redactor.redact_result
        if len(text) <= INLINE_CHARS:
            return await self._scan_briefly(scan, text)
        clean, counts = await self._threads.in_thread(scan, text[:MAX_CHARS])
        if len(text) > MAX_CHARS:
            clean = f"{clean[:-_EDGE_CHARS]}\n(truncated: {len(text)} characters are more than can be scanned)"
        return clean, counts

    async def conceal(self, value: Any) -> tuple[Any, Counter[str]]:
        """Return a structure without its secrets; the same object where there are none."""
        scan = self._redactor.redact
        return await (self._scan_briefly if _is_small(value) else self._threads.in_thread)(scan, value)

    async def _scan_briefly(self, scan: Callable[..., tuple[T, Counter[str]]], value: T) -> tuple[T, Counter[str]]:
        """Scan in the event loop, or in a thread where that holds the loop."""
        try:
            return scan(value, _INLINE_S)
        except ScanTooSlow:
            return await self._threads.in_thread(scan, value)

    def traceback_of(self, error: BaseException) -> str:
        """Return the traceback for the log without secrets: it may quote what its code held."""
        return self.redact_text("".join(traceback.format_exception(error)).rstrip())


class ScanSettings(config.Section, frozen=True, kw_only=True):
    arguments: Literal["conceal", "deny"] = "conceal"
    """pre_tool_use: whether a call with a secret in its arguments may run. They are concealed from logs either way."""


class SecurityScan:
    """Handler of the type `security_scan`. Results are scanned by the engine, once, after all handlers that may change them."""

    def __init__(self, settings: ScanSettings, scanner: SecretScanner) -> None:
        self._settings = settings
        self._scanner = scanner

    async def pre_execute(self, ctx: HookContext) -> HookResult:
        if self._settings.arguments == "conceal":
            return ALLOW
        _, counts = await self._scanner.conceal(ctx.arguments)
        if not counts:
            return ALLOW
        return HookResult(action=HookAction.DENY, message=_DENIED.format(kinds=", ".join(sorted(counts))))


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


WriteEntry = Callable[[AuditEntry], None]
"""Takes an entry for the audit log. Never waits and never raises."""


class AuditSettings(config.Section, frozen=True, kw_only=True):
    arguments: bool = True
    """Whether the arguments are written, without their secrets."""
    result_chars: Annotated[int, Meta(ge=0, le=2000)] = 200
    """Length of the result that is written, without its secrets; with 0 none of it is."""


class AuditLogHandler:
    """Handler of the type `audit_log`: sees only redacted arguments, and the result as the scan left it."""

    def __init__(self, settings: AuditSettings, write_entry: WriteEntry, scanner: SecretScanner) -> None:
        self._settings = settings
        self._write_entry = write_entry
        self._scanner = scanner

    async def pre_execute(self, ctx: HookContext) -> HookResult:
        self.write(ctx, "called")
        return ALLOW

    async def post_execute(self, ctx: HookContext) -> HookResult:
        self.write(ctx, ctx.metadata["ending"])
        return CONTINUE

    on_error = on_skip = post_execute

    def _summary(self, ctx: HookContext, text: str) -> str:
        shown = self._settings.result_chars
        if not text or not shown or ctx.metadata.get("is_scanned"):
            return text[:shown]
        return self._scanner.redact_text(text[: shown + _OVERLAP_CHARS])[:shown]

    def write(
        self, ctx: HookContext, outcome: str, *, handler: str = "audit_log", message: str = "", approval: str = ""
    ) -> None:
        """Write what has become of a call, by the decision of `handler`. `message` may quote anything: it is scanned."""
        text = ctx.result if isinstance(ctx.result, str) else ""
        facts: TurnFacts = ctx.metadata["facts"]
        details = {"redacted": counts} if (counts := ctx.metadata.get("redacted")) else {}
        self._write_entry(
            AuditEntry(
                phase=ctx.phase.value,
                outcome=outcome,
                user=facts.user_id,
                session=facts.session_id,
                turn=facts.turn_id,
                call=str(ctx.metadata.get("call_id", "")),
                tool=ctx.tool_name,
                handler=handler,
                arguments=ctx.shown_arguments if self._settings.arguments else None,
                result=self._summary(ctx, text),
                result_bytes=len(text.encode("utf-8", "replace")) if text else None,
                duration_ms=ctx.metadata.get("duration_ms"),
                approval=approval,
                error_type=ctx.metadata.get("error_type", ""),
                message=message and self._scanner.redact_text(message[: MAX_TEXT + _OVERLAP_CHARS]),
                address=facts.address,
                details=details,
            )
        )
