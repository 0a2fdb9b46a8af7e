"""The policy document of seed 003 §4.1, word for word."""

from typing import Any, Final

SEED: Final[dict[str, Any]] = {
    "hooks": {
        "pre_tool_use": {
            "enabled": True,
            "handlers": [
                {"type": "audit_log", "filter": None},
                {"type": "dangerous_confirmation", "filter": {"permissions": ["WRITE", "EXTERNAL"]}},
            ],
        },
        "post_tool_use": {
            "enabled": True,
            "handlers": [{"type": "security_scan", "filter": None}, {"type": "audit_log", "filter": None}],
        },
        "tool_error": {"enabled": True, "handlers": [{"type": "audit_log", "filter": None}]},
    }
}
