"""What the texts of all trades have in common: the secrets in them are invented, and the same everywhere."""

import json
from typing import Any

from server.policy.redaction.redact import redact, redact_result

INVENTED = (
    "8vKq2LrXw9TbN4mZc7Yp", "Zt5wQm8LxV2nKc7RbJ4yHs9P", "zt5wqm8lxv2nkc7rbj4yhs9p", "q83vEjRWeJ",
    "8a2bdf3f", "8A2BDF3F", "3f9c1d7be2a84506", "3F9C1D7BE2A84506", "c2VjcmV0OnZlcnlzZWNyZXQxMjM0NQ==",
    "Tundra-4417!x", "Kestrel_88!", "Sommerwind77", "Mondlicht42", "kX9pLm2",
    "4711", "482913", "482 913", "48291",
)  # fmt: skip


def clean(given: Any) -> Any:
    return redact_result(given)[0] if isinstance(given, str) else redact(given)[0]


def missed(entry: Any) -> list[str]:
    """The secrets that redaction leaves in a text or value; of a tuple (text, secret), that secret alone."""
    given, secrets = (entry[0], [entry[1]]) if isinstance(entry, tuple) else (entry, INVENTED)
    before, after = (json.dumps(value, ensure_ascii=False) for value in (given, clean(given)))
    there = [secret for secret in secrets if secret in before]
    assert there, f"no secret stands in {before}"
    return [secret for secret in there if secret in after]
