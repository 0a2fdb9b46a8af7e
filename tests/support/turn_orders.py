"""An oracle for what a connection sends: the frames of each turn follow the table, and one turn the other."""

from collections.abc import Mapping
from typing import Any

from server.wire.frames import TurnOrder


class TurnOrders:
    def __init__(self) -> None:
        self._orders: dict[str, TurnOrder] = {}
        self.running: str | None = None

    def fault(self, frame: Mapping[str, Any]) -> str | None:
        """What is wrong with the next message; one of the type "binary" is sound."""
        kind = frame["type"]
        turn_id = self.running if kind == "binary" else frame.get("turn_id")
        if kind == "transcript" or (turn_id is None and kind != "binary"):
            return None
        if turn_id is None or (kind == "turn_start" and self.running is not None):
            return f"{kind} while {self.running} runs"
        order = self._orders.setdefault(turn_id, TurnOrder())
        if not order.take(kind, frame.get("id", "")):
            return f"{kind} in the state {order.state} of {turn_id}"
        self.running = None if order.state == "over" else turn_id
        return None
