"""The handlers that come along, as a document names them."""

from typing import Final

from server.policy.audit_handler import AuditSettings
from server.policy.confirmation_handler import ConfirmationSettings
from server.policy.document import HandlerSpec
from server.policy.scan_handler import ScanSettings

BUILTIN_SPECS: Final = (
    HandlerSpec(
        name="audit_log",
        description="Writes every call, its result, failure or refusal to the audit log.",
        settings=AuditSettings,
    ),
    HandlerSpec(
        name="dangerous_confirmation",
        description="Asks a human before a dangerous call of a WRITE or EXTERNAL tool runs.",
        stages=("pre_tool_use",),
        settings=ConfirmationSettings,
    ),
    HandlerSpec(
        name="security_scan",
        description="Redacts passwords, keys and tokens before anybody reads the result.",
        stages=("pre_tool_use", "post_tool_use", "tool_error"),
        settings=ScanSettings,
    ),
)
