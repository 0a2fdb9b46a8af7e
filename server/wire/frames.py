"""Every frame of the protocol `parley.v1` as a typed struct (docs/protocol.md), under one name, and the legal order of a turn's frames.

Text messages are JSON objects with a string `type`; the structs carry it as
their tag. Unknown fields are ignored in both directions.

Those of the server are what a session gives. The codec writes them for `/ws`,
and `server.realtime` translates them for `/v1/realtime`.
"""

from collections.abc import Mapping
from typing import Final, Literal

from server.wire.client_frames import *  # noqa: F403  # the vocabulary of this package, whole
from server.wire.server_frames import *  # noqa: F403  # as above

PROTOCOL = "parley.v1"

OrderState = Literal["new", "open", "sentence", "failed", "over"]

_AT_ONCE: Final = (
    *("text", "reasoning", "trace", "notice"),
    *("client_tool_call", "approval_request", "approval_resolved"),
)
TURN_ORDER: Final[Mapping[OrderState, Mapping[str, OrderState]]] = {
    "new": {"turn_start": "open"},
    "open": {
        **dict.fromkeys((*_AT_ONCE, "hook", "tool_call", "tool_result", "media"), "open"),
        "sentence": "sentence",
        "error": "failed",
        "turn_end": "over",
    },
    "sentence": {**dict.fromkeys((*_AT_ONCE, "binary"), "sentence"), "sentence_end": "open"},
    "failed": {**dict.fromkeys(("trace", "approval_resolved", "hook", "tool_result"), "failed"), "turn_end": "over"},
    "over": {},
}
"""By state: types of frames that carry the turn's `turn_id` (a `transcript` only names a turn), and binary messages."""
_OF_CALLS: Final = frozenset(("tool_call", "tool_result", "turn_end"))


class TurnOrder:
    """Follows one turn, frame by frame."""

    def __init__(self) -> None:
        self.state: OrderState = "new"
        self._calls: dict[str, bool] = {}  # id of a tool call → whether its result is still to come

    @property
    def open_calls(self) -> list[str]:
        """Ids of the calls without a result yet, which a turn must not end with."""
        return [call_id for call_id, is_open in self._calls.items() if is_open]

    def take(self, kind: str, call_id: str = "") -> bool:
        """Go on to the state after this frame; return whether it may come now. `call_id`: of a tool's call or result."""
        after = TURN_ORDER[self.state].get(kind)
        if after is None or (kind in _OF_CALLS and not self._count(kind, call_id)):
            return False
        self.state = after
        return True

    def _count(self, kind: str, call_id: str) -> bool:
        """Return whether an id is used for one call, then for one result, and the turn ends behind all results."""
        if kind == "turn_end":
            return not self.open_calls
        is_call = kind == "tool_call"
        is_due = call_id not in self._calls if is_call else self._calls.get(call_id, False)
        if is_due:
            self._calls[call_id] = is_call
        return is_due
