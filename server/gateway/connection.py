"""One WebSocket: messages in and out, heartbeat, and the end of its client's rights. Its dialect knows what messages mean."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from aiohttp import WSCloseCode, WSMsgType, web

from server import log
from server.accounts.principal import Principal
from server.bounded.fair_share import SLICE_S, Share
from server.errors import Closed
from server.gateway.dialect import ConnectionContext, DialectMaker
from server.gateway.unread_meter import UnreadMeter
from server.session.outbox import Kind, OutboxLimits
from server.session.services import Services

logger = logging.getLogger(__name__)

PING_EVERY_S: Final = 20.0
SILENCE_S: Final = 20.0
"""Silence after a ping that closes the connection."""
LOGIN_OVER: Final = 4401
"""Close code: the login has ended."""
TIME_OVER: Final = 4410
"""Close code: the connection has lasted as long as a Realtime key allows."""
LAST_TURN_S: Final = 30.0
"""Time for which a turn may go on after its connection's rights have ended."""
MAX_KEY_CONNECTION_S: Final = 3600.0
"""Time after which a connection that a Realtime key has opened is closed, its last turn included."""
_LINGER_S: Final = 1.0
_STEP_S: Final = 0.05


class ServerWebSocket(web.WebSocketResponse):
    """A WebSocketResponse that lets a client read why it was closed while it is still sending.

    Closing a TCP connection with unread data resets it, and the close frame
    1009 is lost with what the client was just sending.
    """

    async def close(self, *, code: int = WSCloseCode.OK, message: bytes = b"", drain: bool = True) -> bool:
        if code == WSCloseCode.MESSAGE_TOO_BIG and not self.closed:
            await self.send_frame(_close_payload(code, ""), WSMsgType.CLOSE)
            for _ in range(int(_LINGER_S / _STEP_S)):
                request = self._req
                if request is None or request.transport is None or request.transport.is_closing():
                    break
                await asyncio.sleep(_STEP_S)
        return await super().close(code=code, message=message, drain=drain)


class AiohttpSocket:
    """A WebSocket as the outbox writes to it. `reading_ended` gets its result from the socket's reader."""

    def __init__(self, ws: web.WebSocketResponse, transport: asyncio.Transport, *, close_s: float) -> None:
        self.reading_ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._ws = ws
        self._transport = transport
        self._close_s = close_s

    async def send(self, kind: Kind, data: bytes) -> None:
        await self._ws.send_frame(data, WSMsgType(kind))

    def unsent_bytes(self) -> int:
        return self._transport.get_write_buffer_size()

    async def close(self, code: int, reason: str) -> None:
        """Send the close code, and let the client read it and answer, for `close_s` at most."""
        try:
            async with asyncio.timeout(self._close_s):
                await self._send_close(code, reason)
                while self._transport.get_write_buffer_size():  # noqa: ASYNC110 - asyncio has no event for it
                    await asyncio.sleep(_STEP_S)
        except (TimeoutError, ConnectionError):
            logger.debug("the client does not close; the connection is cut")
        finally:
            if self._transport.get_write_buffer_size():
                self._transport.abort()  # else it would be kept for a client that never reads
            else:
                self._transport.close()

    async def _send_close(self, code: int, reason: str) -> None:
        if self.reading_ended.done():
            theirs = self._ws.close_code  # None if something broke here, not closed by the client; 0: no code
            answer = code if theirs is None else theirs or WSCloseCode.OK
            await self._ws.close(code=answer, drain=False)  # no-op where all is over
        else:
            # reading goes on meanwhile: closing a connection with unread data would reset it, the code lost
            await self._ws.send_frame(_close_payload(code, reason), WSMsgType.CLOSE)
            await asyncio.shield(self.reading_ended)


class Connection:
    """Owns the socket's reader (`run`), its writer task and, in its dialect, the session.

    `on_turn_over` is called when one of its turns has ended.
    """

    def __init__(
        self,
        ws: web.WebSocketResponse,
        transport: asyncio.Transport,
        principal: Principal,
        services: Services,
        *,
        outbox_limits: OutboxLimits,
        on_turn_over: Callable[["Connection"], None],
        meter: UnreadMeter,
        dialect: DialectMaker,
    ) -> None:
        self._ws = ws
        self._transport = transport
        self._meter = meter
        self.principal = principal
        self._loop = asyncio.get_running_loop()
        self._socket = AiohttpSocket(ws, transport, close_s=outbox_limits.close_s)
        self._metrics = services.metrics
        self._loop_share = services.loop_share
        self.dialect = dialect(
            ConnectionContext(
                socket=self._socket,
                services=services,
                principal=principal,
                outbox_limits=outbox_limits,
                on_slow=self._give_up,
                on_turn_over=lambda: on_turn_over(self),
            )
        )
        self.outbox, self.session = self.dialect.outbox, self.dialect.session
        self._heard_pieces = 0  # of what the client has sent, up to the last beat
        self._ping_at_s = self._loop.time() + PING_EVERY_S
        self._ends = _end_of(principal, self._loop.time())
        self._pinged_s: float | None = None  # when the ping was sent that nothing has answered yet
        self._is_listening = False  # else a message is being acted on, and what the client sends waits

    async def run(self) -> None:
        """Serve the client until either side closes; then everything of it has ended."""
        log.session_id.set(self.session.id)
        share = self.principal.share
        writing = self._loop_share.metered(share, self.outbox.run())
        writer = asyncio.create_task(writing, name=f"writer {self.session.id}")  # awaited below
        where = "local" if self.principal.is_local else "not local"
        logger.info("session begins, %s%s", where, ", logged in" if self.principal.is_logged_in else "")
        try:
            self.session.greet()
            # a task of its own, awaited here: a message would wake every layer of the HTTP request on its way to `_read`
            reading = self._loop_share.metered(share, self._read(share))
            await asyncio.create_task(reading, name=f"reader {self.session.id}")
        finally:
            self._socket.reading_ended.set_result(None)
            self.session.hang_up()
            if not self.outbox.is_closing:
                self.outbox.abandon()
            await self.session.aclose()
            await writer
            logger.info("session ends, code %s", self._ws.close_code)

    def end_login_at(self, now_s: float) -> None:
        """End the login at that time, if it lasts longer: the next beats close the connection."""
        self._ends = min(self._ends, _RightsEnd(now_s, LOGIN_OVER, "the login was ended"))

    def beat(self, now_s: float) -> None:
        """Ping the client, or give it up, or close it after its rights have ended; called every second or so.

        Whatever arrives keeps it: of a long message, no answer to a ping can come before the end.
        """
        if now_s >= self._ends.at_s and not self.outbox.is_closing:
            self._end(now_s)
        if self._heard_pieces != self._meter.pieces:
            self._heard_pieces, self._pinged_s = self._meter.pieces, None
        if self._pinged_s is not None and now_s - self._pinged_s >= SILENCE_S:
            if self._is_listening:
                logger.info("the client is silent; closing")
                self._transport.abort()
        elif self._pinged_s is None and now_s >= self._ping_at_s:
            self._pinged_s = now_s
            self._ping_at_s = now_s + PING_EVERY_S
            self.outbox.put(Kind.PING, b"")

    def _end(self, now_s: float) -> None:
        """Close the connection; a turn that runs gets LAST_TURN_S to end."""
        if self.session.is_idle or now_s >= self._ends.at_s + LAST_TURN_S:
            logger.info("%s; closing", self._ends.reason)
            self.session.interrupt()
            self.outbox.finish(self._ends.code, self._ends.reason)

    async def _read(self, share: Share) -> None:
        spent_s = 0.0  # on messages, since others have last gone first
        while True:
            self._is_listening = True
            self._meter.listen()
            message = await self._ws.receive()
            self._is_listening = False
            if message.type not in (WSMsgType.TEXT, WSMsgType.BINARY, WSMsgType.PING, WSMsgType.PONG):
                return
            self._meter.read(len(message.data))
            await self._loop_share.turn(share)
            began_s = time.perf_counter()
            if message.type is not WSMsgType.PONG and not self.outbox.is_closing:
                await self._handle(message.type, message.data)
            spent_s += time.perf_counter() - began_s
            if spent_s >= SLICE_S:
                spent_s = 0.0
                await asyncio.sleep(0)
            try:
                await self.outbox.room(is_urgent=True)
            except Closed:
                return
            self._pinged_s = None  # an answer may have waited meanwhile

    def _give_up(self) -> None:
        """End the turn of a client that does not read; its outbox closes."""
        logger.info("the client reads too slowly; closing")
        self._metrics.slow_clients.inc()
        self.session.hang_up()

    async def _handle(self, kind: WSMsgType, data: bytes) -> None:
        if not await self.dialect.admit(self._loop.time()):
            return
        if kind is WSMsgType.PING:
            self.outbox.put(Kind.PONG, data)
        else:
            await self.dialect.receive(data, is_text=kind is WSMsgType.TEXT)


class _RightsEnd(NamedTuple):
    """End of a connection's rights: when by the event loop's clock, the close code, and why."""

    at_s: float
    code: int
    reason: str


def _end_of(principal: Principal, now_s: float) -> _RightsEnd:
    expires_in_s = float("inf") if principal.expires_at_s is None else principal.expires_at_s - time.time()
    lasts_s = MAX_KEY_CONNECTION_S - LAST_TURN_S if principal.is_key else float("inf")
    return min(
        _RightsEnd(now_s + expires_in_s, LOGIN_OVER, "the login has expired"),
        _RightsEnd(now_s + lasts_s, TIME_OVER, "a key's connection lasts 60 minutes at most"),
    )


def expires_at_s(principal: Principal) -> int | None:
    """Return the Unix time at which a connection that begins now ends at the latest, or None if nothing ends it."""
    lasts_s = _end_of(principal, 0.0).at_s + LAST_TURN_S
    return None if lasts_s == float("inf") else round(time.time() + lasts_s)


def _close_payload(code: int, reason: str) -> bytes:
    return code.to_bytes(2, "big") + reason.encode()  # RFC 6455, 5.5.1
