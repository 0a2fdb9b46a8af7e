"""One WebSocket: messages in and out, heartbeat, rate. What they mean is the session's business."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from aiohttp import WSCloseCode, WSMsgType, web

from server import log
from server.errors import FrameError
from server.gateway.auth import Visitor
from server.gateway.rate_limit import RateLimiter, Verdict
from server.session.outbox import Closed, Kind, Outbox, OutboxLimits
from server.session.session import Services, Session

logger = logging.getLogger(__name__)

PING_EVERY_S: Final = 20.0
SILENCE_S: Final = 20.0
"""Silence after a ping that closes the connection."""
_LINGER_S: Final = 1.0
_LINGER_STEP_S: Final = 0.05
_BATCH: Final = 16  # messages read before the event loop may do something else

_OPCODES: Final = {
    Kind.TEXT: WSMsgType.TEXT,
    Kind.BINARY: WSMsgType.BINARY,
    Kind.PING: WSMsgType.PING,
    Kind.PONG: WSMsgType.PONG,
}


class ServerWebSocket(web.WebSocketResponse):
    """A WebSocketResponse that lets a client read why it was closed while it is still sending.

    Closing a TCP connection with unread data resets it, and the close frame
    1009 is lost with what the client was just sending.
    """

    async def close(self, *, code: int = WSCloseCode.OK, message: bytes = b"", drain: bool = True) -> bool:
        if code == WSCloseCode.MESSAGE_TOO_BIG and not self.closed:
            await self.send_frame(int(code).to_bytes(2, "big") + message, WSMsgType.CLOSE)
            for _ in range(int(_LINGER_S / _LINGER_STEP_S)):
                request = self._req
                if request is None or request.transport is None or request.transport.is_closing():
                    break
                await asyncio.sleep(_LINGER_STEP_S)
        return await super().close(code=code, message=message, drain=drain)


class AiohttpSocket:
    """The outbox's way to the client."""

    def __init__(self, ws: web.WebSocketResponse, transport: asyncio.Transport, *, close_s: float) -> None:
        self._ws = ws
        self._close_s = close_s
        self._transport = transport

    async def send(self, kind: Kind, data: bytes) -> None:
        await self._ws.send_frame(data, _OPCODES[kind])

    def unsent_bytes(self) -> int:
        return self._transport.get_write_buffer_size()

    async def close(self, code: int, reason: str) -> None:
        try:
            async with asyncio.timeout(self._close_s):
                # not drained: a client that does not read would hold us here
                await self._ws.close(code=code, message=reason.encode(), drain=False)
        except TimeoutError:
            logger.debug("the client does not close; the connection is cut")
        finally:
            if self._transport.get_write_buffer_size():
                self._transport.abort()  # else the kernel would keep it for a client that never reads


class Connection:
    """Owns the socket's reader (`run`), its writer task and the session.

    `on_over` is called when a turn of it has ended.
    """

    def __init__(
        self,
        ws: web.WebSocketResponse,
        transport: asyncio.Transport,
        visitor: Visitor,
        services: Services,
        *,
        outbox_limits: OutboxLimits,
        on_turn_over: Callable[["Connection"], None] | None = None,
    ) -> None:
        self._ws = ws
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self.outbox = Outbox(
            AiohttpSocket(ws, transport, close_s=outbox_limits.close_s),
            outbox_limits,
            on_slow=services.metrics.slow_clients.inc,
        )
        self.session = Session(
            services,
            self.outbox,
            is_local=visitor.is_local,
            on_turn_over=None if on_turn_over is None else lambda: on_turn_over(self),
        )
        self._rate = RateLimiter(services.limits.max_frames_per_s, self._loop.time())
        self._heard_s = self._loop.time()  # when the client last sent anything
        self._ping_at_s = self._heard_s + PING_EVERY_S
        self._pinged_s: float | None = None  # when the ping was sent that nothing has answered yet

    async def run(self) -> None:
        """Talk until either side closes; then everything of this client has ended."""
        log.session_id.set(self.session.id)
        writer = asyncio.create_task(self.outbox.run(), name=f"writer {self.session.id}")
        try:
            self.session.greet()
            await self._read()
        finally:
            self.session.interrupt()
            if not self.outbox.is_closing:
                self.outbox.abandon()
            await self.session.aclose()
            await writer

    def close(self, code: int, reason: str) -> None:
        """Send what waits, then close."""
        self.outbox.finish(code, reason)

    def beat(self, now_s: float) -> None:
        """Called every second or so: ping, or give the client up."""
        if self._pinged_s is not None and now_s - self._pinged_s >= SILENCE_S:
            logger.info("the client is silent; closing")
            self._transport.abort()
        elif self._pinged_s is None and now_s >= self._ping_at_s:
            self._pinged_s = now_s
            self._ping_at_s = now_s + PING_EVERY_S
            self.outbox.put(Kind.PING, b"")

    async def _read(self) -> None:
        count = 0
        while True:
            message = await self._ws.receive()
            self._heard_s = self._loop.time()
            self._pinged_s = None
            if message.type not in (WSMsgType.TEXT, WSMsgType.BINARY, WSMsgType.PING, WSMsgType.PONG):
                return
            if message.type is not WSMsgType.PONG and not self.outbox.is_closing:
                self._take(message.type, message.data)
            count += 1
            if count % _BATCH == 0:
                await asyncio.sleep(0)
            try:
                await self.outbox.room(is_urgent=True)
            except Closed:
                return

    def _take(self, kind: WSMsgType, data: bytes) -> None:
        match self._rate.judge(self._heard_s):
            case Verdict.CLOSE:
                self.close(4429, "too many messages")
            case Verdict.DROP:
                self.session.refuse(FrameError("rate_limited", "too many messages a second; this one was dropped"))
            case Verdict.TAKE if kind is WSMsgType.TEXT:
                self.session.receive_text(data)
            case Verdict.TAKE if kind is WSMsgType.BINARY:
                self.session.receive_binary(data)
            case Verdict.TAKE:
                self.outbox.put(Kind.PONG, data)
