"""The handlers that come along, as a document names them."""

from typing import Final

from server.policy.document import HandlerKind
from server.policy.handlers.audit_log import AuditSettings
from server.policy.handlers.dangerous_confirmation import ConfirmationSettings
from server.policy.handlers.security_scan import ScanSettings

BUILTIN_KINDS: Final = (
    HandlerKind(
        name="audit_log",
        description="Writes every call, its result, failure or refusal to the audit log.",
        settings=AuditSettings,
    ),
    HandlerKind(
        name="dangerous_confirmation",
        description="Asks a human before a dangerous call of a WRITE or EXTERNAL tool runs.",
        stages=("pre_tool_use",),
        settings=ConfirmationSettings,
    ),
    HandlerKind(
        name="security_scan",
        description="Redacts passwords, keys and tokens before anybody reads the result.",
        stages=("pre_tool_use", "post_tool_use", "tool_error"),
        settings=ScanSettings,
    ),
)
