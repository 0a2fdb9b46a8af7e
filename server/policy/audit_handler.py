"""audit_log: writes what becomes of every call. Fails open, and says so."""

from typing import Final, Protocol

from server import config
from server.policy.hook_types import ALLOW, CONTINUE, HookContext, HookResult
from server.policy.scan_handler import SecretScanner
from server.storage.audit_entry import MAX_TEXT, AuditEntry
from server.tools.tool_calls import TurnFacts

_EDGE_CHARS: Final = 4096


class AuditSink(Protocol):
    def append(self, entry: AuditEntry) -> None:
        """Take an entry for the log. Never waits and never raises."""
        ...


class AuditSettings(config.Section, frozen=True, kw_only=True):
    arguments: bool = True
    """Whether the arguments are written, without their secrets."""
    result_chars: int = 200
    """Length of the result that is written, without its secrets; with 0 none of it is."""

    def __post_init__(self) -> None:
        if not 0 <= self.result_chars <= 2000:
            raise ValueError("result_chars must be between 0 and 2000")


class AuditLogHandler:
    """Handler of the type `audit_log`: sees only redacted arguments, and the result as the scan left it."""

    def __init__(self, settings: AuditSettings, sink: AuditSink, scanner: SecretScanner) -> None:
        self._settings = settings
        self._sink = sink
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
        # cut after the scan: a secret at the edge is whole when it is looked for
        return self._scanner.redact_text(text[: shown + _EDGE_CHARS])[:shown]

    def write(
        self, ctx: HookContext, outcome: str, *, handler: str = "audit_log", message: str = "", approval: str = ""
    ) -> None:
        """Write what has become of a call, by the decision of `handler`. `message` may quote anything: it is scanned."""
        text = ctx.result if isinstance(ctx.result, str) else ""
        facts: TurnFacts = ctx.metadata["facts"]
        details = {"redacted": counts} if (counts := ctx.metadata.get("redacted")) else {}
        self._sink.append(
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
                message=message and self._scanner.redact_text(message[: MAX_TEXT + _EDGE_CHARS]),
                address=facts.address,
                details=details,
            )
        )
