"""What HTTP headers carry, and what services put in their place: RFC 7617, 6750."""

from typing import Final

from server.policy.redaction.forms.checks import Form, Q, is_credential, is_value
from server.policy.redaction.plausible import is_random

HEADERS: Final[tuple[Form, ...]] = (
    ("bearer", "bearer, ", r"bearer, [\"'](?P<s>[^\"'\s]{12,4096})[\"']", is_value),
    ("bearer", "bearer, ", r"bearer, (?P<s>[\w.~+/=-]{20,4096})(?=\s|\Z)", is_random),
    # RFC 7617, 6750 and what services put in their place
    ("authorization", "uthorization", rf"uthorization{Q}?\]?\s*[:=,]\s*{Q}?\s*(?:[A-Za-z][\w-]{{1,20}} +)?(?P<s>[\w+/=.~:\-]{{8,2048}})", is_credential),
    ("bearer", "earer", rf"earer[ _]{{1,3}}(?:{Q} ?[+.] ?{Q})?(?P<s>[\w+/=.~\-]{{12,4096}})", is_credential),
    ("basic_auth", "asic ", r"asic +(?P<s>[A-Za-z0-9+/]{10,2048}={0,2})(?![\w.-])", lambda v: is_random(v, at_least=10) or v.endswith("=")),
)  # fmt: skip
