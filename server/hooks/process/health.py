"""How a process hook fares, as its operator reads it."""

from typing import Literal

from msgspec import Struct

State = Literal["starting", "up", "down", "closed"]
"""starting: begun, hook.hello not yet answered. down: not there, and tried again later. closed: ended by us."""


class HookHealth(Struct, frozen=True, kw_only=True):
    """One hook at one moment."""

    name: str
    state: State
    modes: list[str]
    pid: int | None
    last_error: str
    """Of the last start, life or failed call; stays when the hook is up again."""
    restarts: int
    retry_in_s: float | None
    """While it is down: until it is tried again."""
    gates: list[str]
    """The stages at which it is a gate: what it does not let pass, also because it is down, is denied."""
    armed: bool | None
    """Of a gate: whether it answered its canary call as a gate has to. None: no gate, or not yet asked."""
    armed_reason: str
    calls: int
    failures: int
    p50_ms: float | None
    p99_ms: float | None
    dropped_events: int
    ignored: dict[str, int]
    """Lines of its output that counted for nothing, by reason (server/hooks/process/jsonrpc.py)."""
    warnings: dict[str, int]
    """What its author should know, and how often it happened."""
