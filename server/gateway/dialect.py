"""Protocols that a connection can speak, and the one of `/ws`: what a message means, and how many may come."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from server.accounts.principal import Principal
from server.bounded.limits import TokenBucket
from server.errors import FrameError
from server.session.outbox import Outbox, OutboxLimits, Socket
from server.session.services import Services
from server.session.session import Session

MAX_EXCESS_S: Final = 5.0
"""Time for which a client may send too fast before its connection is closed."""
_CALM_S: Final = 1.0  # without a dropped frame: the excess is over


@dataclass(frozen=True, kw_only=True)
class ConnectionContext:
    """Parts of a connection from which its dialect builds session and outbox."""

    socket: Socket
    services: Services
    principal: Principal
    outbox_limits: OutboxLimits
    on_slow: Callable[[], None]
    """Callback for a client that does not read, when the outbox has closed."""
    on_turn_over: Callable[[], None]


class Dialect(Protocol):
    """The protocol that a connection speaks: messages reach the session through it, and its frames the client."""

    @property
    def outbox(self) -> Outbox: ...

    @property
    def session(self) -> Session: ...

    async def admit(self, now_s: float) -> bool:
        """Return whether the next message is not too many; one that is dropped is reported to the client. May wait."""
        ...

    async def receive(self, data: bytes, *, is_text: bool) -> None:
        """Act on a message; the next one is read when this returns."""
        ...


DialectMaker = Callable[[ConnectionContext], Dialect]


class RateLimiter:
    """Judges each frame by a token bucket that holds one second's worth."""

    __slots__ = ("_bucket", "_last_drop_s", "_over_since_s")

    def __init__(self, rate_per_s: float, now_s: float) -> None:
        self._bucket = TokenBucket(burst=rate_per_s, per_s=rate_per_s)
        self._over_since_s = now_s  # first drop of the excess under way
        self._last_drop_s = float("-inf")

    def judge(self, now_s: float) -> Literal["take", "drop", "close"]:
        if self._bucket.take(now_s):
            return "take"
        if now_s - self._last_drop_s > _CALM_S:
            self._over_since_s = now_s
        self._last_drop_s = now_s
        return "close" if now_s - self._over_since_s >= MAX_EXCESS_S else "drop"


class ParleyDialect:
    """`parley.v1`: a text message is a frame, a binary one is sound. What comes too fast is dropped."""

    def __init__(self, context: ConnectionContext) -> None:
        services = context.services
        self.outbox = Outbox(context.socket, services.metrics, context.outbox_limits, on_slow=context.on_slow)
        self.session = Session(services, self.outbox, principal=context.principal, on_turn_over=context.on_turn_over)
        self.rate = RateLimiter(services.limits.max_frames_per_s, asyncio.get_running_loop().time())

    async def admit(self, now_s: float) -> bool:
        match self.rate.judge(now_s):
            case "close":
                self.session.interrupt()
                self.outbox.finish(4429, "too many messages")
            case "drop":
                text = "too many messages a second; this one was dropped"
                self.session.refuse(FrameError("rate_limited", text, path="$"))
            case "take":
                return True
        return False

    async def receive(self, data: bytes, *, is_text: bool) -> None:
        if is_text:
            self.session.receive_text(data)
        else:
            self.session.receive_binary(data)
