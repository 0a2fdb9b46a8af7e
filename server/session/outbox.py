"""Frames that wait to be sent to one client: counted, encoded, bounded, in one order."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Protocol

from server.errors import Closed
from server.metrics import Metrics
from server.wire import codec
from server.wire import frames as wire

logger = logging.getLogger(__name__)

_BROKEN: Final = (1011, "internal error")
_BATCH: Final = 32  # messages written before the event loop may do something else


class Kind(IntEnum):
    """Kinds of WebSocket messages, by their opcodes (RFC 6455, 5.2)."""

    TEXT = 1
    BINARY = 2
    PING = 9
    PONG = 10


class Socket(Protocol):
    """A connection as the outbox sees it; the gateway has the real one."""

    async def send(self, kind: Kind, data: bytes) -> None:
        """Return when the transport takes more. Raises ConnectionError when it is gone."""

    def unsent_bytes(self) -> int:
        """Return the bytes that the transport holds because the client does not read."""

    async def close(self, code: int, reason: str) -> None:
        """Close in bounded time, whatever the client does. Never raises."""


@dataclass(frozen=True, kw_only=True)
class OutboxLimits:
    """Limits of what may wait.

    Past `high` the turn waits; past `full` the client's next frame waits as well;
    past twice that the client is too slow, and also when it reads nothing for
    `stall_s` while past `high`.
    """

    high_frames: int = 512
    high_bytes: int = 1 << 20
    full_frames: int = 2048
    full_bytes: int = 4 << 20
    stall_s: float = 10.0
    close_s: float = 5.0
    """Time for the client to answer our close frame."""


class Outbox:
    """One FIFO for immediate and queued frames alike, emptied by one task (`run`).

    Sending never waits and never fails: after `finish` or the end of the
    connection what is sent is dropped. A client that reads too slowly is
    closed with 4408.
    """

    def __init__(
        self,
        socket: Socket,
        metrics: Metrics,
        limits: OutboxLimits | None = None,
        *,
        on_slow: Callable[[], None] = lambda: None,
    ) -> None:
        self._socket = socket
        self._metrics = metrics
        self._limits = limits or OutboxLimits()
        self._on_slow = on_slow
        self._waiting: deque[tuple[Kind, bytes]] = deque()
        self._bytes = 0  # sum of what is in _waiting
        self._idle: asyncio.Future[None] | None = None  # while `run` waits for a message, or the end
        self._drained: asyncio.Future[None] | None = None  # while a turn waits in `room`
        self._stall: asyncio.TimerHandle | None = None  # armed while past `high`
        self._stalled_at_bytes = 0  # unsent when the timer was armed
        self._close: tuple[int, str] | None = None  # set: nothing more is taken
        self._is_closed = False  # what waits is dropped; `run` ends
        self._patience: asyncio.Timeout | None = None  # around all writing of `run`

    @property
    def is_closing(self) -> bool:
        return self._close is not None

    def send(self, frame: wire.ServerFrame) -> None:
        if isinstance(frame, wire.Error):
            self._metrics.errors.labels(frame.code).inc()
        self._metrics.count_out(frame.__struct_config__.tag)  # type: ignore[arg-type]  # our tags are str
        self.put_frame(frame)

    def send_sound(self, pcm: bytes, *, turn_id: str) -> None:
        self._metrics.count_out("binary")
        self.put_sound(pcm, turn_id)

    def put_frame(self, frame: wire.ServerFrame) -> None:
        """Queue a frame as the client's protocol writes it; so does `put_sound`."""
        self.put(Kind.TEXT, codec.encode(frame))

    def put_sound(self, pcm: bytes, turn_id: str) -> None:  # noqa: ARG002 - for protocols that name the turn
        self.put(Kind.BINARY, pcm)

    def put(self, kind: Kind, data: bytes) -> None:
        """Queue one message as it is."""
        if self._close is not None:
            return
        if self._is_past(2 * self._limits.full_frames, 2 * self._limits.full_bytes):
            self._give_up()
            return
        self._waiting.append((kind, data))
        self._bytes += len(data)
        if self._is_high():
            self._arm()
        self._resume()

    async def room(self, *, is_urgent: bool = False) -> None:
        """Wait until the box is below its high mark (urgent: below `full`). Raises Closed."""
        while self._is_full() if is_urgent else self._is_high():
            self._drained = self._drained or asyncio.get_running_loop().create_future()
            await asyncio.shield(self._drained)  # others may wait for it, too
        if self._is_closed:
            raise Closed("the connection is gone")

    def finish(self, code: int, reason: str) -> None:
        """Send what waits, for at most `stall_s`, then close with `code`. The first call counts."""
        if self._close is None:
            self._close = (code, reason)
            self._resume()
            self._hurry(self._limits.stall_s)

    def abandon(self) -> None:
        """Drop what waits: the connection is gone, or something broke here (1011). Idempotent."""
        self._end(*_BROKEN)

    async def run(self) -> None:
        """Write until `finish`, `abandon` or the end of the connection; then close the socket."""
        try:
            async with asyncio.timeout(None) as self._patience:
                await self._write_all()
        except TimeoutError:
            logger.debug("the client does not read; waiting messages are dropped")
        except ConnectionError:
            logger.debug("the client left while a message was being sent")
        finally:
            self._patience = None
            self.abandon()
        await self._socket.close(*(self._close or _BROKEN))

    async def _write_all(self) -> None:
        while not self._is_closed:
            if self._waiting:
                await self._write_some()
            elif self._close is not None:
                return
            else:
                self._idle = asyncio.get_running_loop().create_future()
                await self._idle
                await asyncio.sleep(0)  # a write takes time: let other tasks run first, and send their frames along

    def _resume(self) -> None:
        """Let `run` go on, if it waits."""
        if self._idle is not None and not self._idle.done():
            self._idle.set_result(None)

    async def _write_some(self) -> None:
        for _ in range(_BATCH):
            if not self._waiting:
                return
            kind, data = self._waiting.popleft()
            self._bytes -= len(data)
            await self._socket.send(kind, data)
            if self._stall is not None:
                self._disarm()
                if self._is_high():
                    self._arm()
            if not self._is_full():
                self._wake()
        await asyncio.sleep(0)

    def _is_high(self) -> bool:
        return self._is_past(self._limits.high_frames, self._limits.high_bytes)

    def _is_full(self) -> bool:
        return self._is_past(self._limits.full_frames, self._limits.full_bytes)

    def _is_past(self, frames: int, size_bytes: int) -> bool:
        return len(self._waiting) >= frames or self._bytes >= size_bytes

    # the slow client

    def _arm(self) -> None:
        if self._stall is None:
            self._stalled_at_bytes = self._socket.unsent_bytes()
            self._stall = asyncio.get_running_loop().call_later(self._limits.stall_s, self._check_stall)

    def _disarm(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def _check_stall(self) -> None:
        self._stall = None
        if self._socket.unsent_bytes() < self._stalled_at_bytes:
            self._arm()  # slow, but reading
        else:
            self._give_up()

    def _give_up(self) -> None:
        self._end(4408, "client too slow to read")
        self._on_slow()

    def _end(self, code: int, reason: str) -> None:
        self._close = self._close or (code, reason)
        self._is_closed = True
        self._disarm()
        self._waiting.clear()
        self._bytes = 0
        self._resume()
        self._wake()
        self._hurry(0.0)

    def _wake(self) -> None:
        """Let those who wait for room look again."""
        if self._drained is not None:
            self._drained.set_result(None)
            self._drained = None

    def _hurry(self, limit_s: float) -> None:
        """Limit how long `run` may wait for a client that does not read."""
        if self._patience is not None:
            self._patience.reschedule(asyncio.get_running_loop().time() + limit_s)
