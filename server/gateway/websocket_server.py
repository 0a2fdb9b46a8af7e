"""`/ws`: admission of clients of any dialect, and everything that concerns all connections at once."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from aiohttp import WSCloseCode, web

from server import config
from server.accounts.principal import Principal, network_of
from server.bounded.fair_share import Share
from server.gateway.auth import Authenticator
from server.gateway.connection import Connection, ServerWebSocket
from server.gateway.dialect import DialectMaker, ParleyDialect
from server.gateway.responses import refuse_page
from server.gateway.routes import Access, Routes
from server.gateway.unread_meter import MAX_UNREAD_BYTES, UnreadMeter
from server.session.outbox import OutboxLimits
from server.session.services import Services
from server.session.session import Session
from server.session.turn_limits import UserPlaces
from server.wire.frames import PROTOCOL

logger = logging.getLogger(__name__)

MAX_WAITING: Final = 64
"""Changes that wait to be sent to all clients."""
RETRY_AFTER_S: Final = 5
IDLE_SPREAD_S: Final = 5.0
"""Time over which idle connections are closed while draining, so that the next server is not stormed."""
_MAX_STEP_S: Final = 0.1
_BEAT_S: Final = 1.0
_BATCH: Final = 32  # connections served before the event loop may do something else

Send = Callable[[Session], None]
"""Function called with each session that is open when the change is sent; returns at once."""


class WebSocketServer:
    """Admits clients within the limits, and owns their connections until they are gone."""

    def __init__(
        self,
        services: Services,
        authenticator: Authenticator,
        limits: config.LimitsSettings,
        *,
        outbox_limits: OutboxLimits | None = None,
    ) -> None:
        self._services = services
        self._authenticator = authenticator
        self._limits = limits
        self._outbox_limits = outbox_limits or OutboxLimits()
        self._connections: set[Connection] = set()
        self._admitted = 0
        self._by_address: Counter[str] = Counter()
        self._unread: Counter[Share] = Counter()
        exceptions = {entry.user: entry.limits.connections for entry in services.security.tokens}
        self._users = UserPlaces(limits.per_user, exceptions)
        self._all_gone = asyncio.Event()
        self._all_gone.set()

    @property
    def connections(self) -> frozenset[Connection]:
        """Connections that are open now."""
        return frozenset(self._connections)

    async def all_gone(self) -> None:
        """Wait until no connection is open."""
        await self._all_gone.wait()

    def add_routes(self, routes: Routes) -> None:
        routes.get("/ws", self._handle, Access.SOCKET)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        return await self.admit(request, PROTOCOL, ParleyDialect)

    async def admit(
        self, request: web.Request, protocol: str, dialect: DialectMaker, *, large_bytes: int = 0
    ) -> web.StreamResponse:
        """Serve one client, whom the auth middleware has checked. `large_bytes`: limit of a message, if it is higher here."""
        principal = self._authenticator.principal(request)
        if cause := self._overload(principal):
            self._services.metrics.refused.labels(cause).inc()
            code = "draining" if self._services.gate.is_draining else "too_many_connections"
            refusal = refuse_page(request, 503, code, f"refused: {cause}; try again")
            refusal.headers["Retry-After"] = str(RETRY_AFTER_S)
            return refusal
        max_bytes = self._limits.max_message_bytes
        with self._place(principal):
            ws = ServerWebSocket(
                protocols=(protocol,),
                compress=False,
                decode_text=False,
                autoping=False,
                autoclose=False,  # the outbox's writer says goodbye, in its place of the order
                timeout=self._outbox_limits.close_s,
                max_msg_size=max(max_bytes, large_bytes) + 1,  # aiohttp refuses what is as large as this
            )
            await ws.prepare(request)
            ws.headers.clear()  # sent; kept, they cost each connection 1.2 KB
            if not principal.may_enter:
                self._services.metrics.refused.labels("not authenticated").inc()
                await ws.close(code=4401, message=b"not authenticated", drain=False)
                return ws
            transport = request.transport
            if transport is not None:
                await self._serve(ws, transport, principal, dialect)
            return ws

    async def _serve(
        self,
        ws: web.WebSocketResponse,
        transport: asyncio.Transport,
        principal: Principal,
        dialect: DialectMaker,
    ) -> None:
        def refuse() -> None:
            text = f"more than {MAX_UNREAD_BYTES >> 20} MiB of yours are unread"
            connection.outbox.finish(WSCloseCode.MESSAGE_TOO_BIG, text)

        free_bytes = self._limits.max_message_bytes
        meter = UnreadMeter(transport, self._unread, principal.share, free_bytes=free_bytes, on_full=refuse)
        connection = Connection(
            ws,
            transport,
            principal,
            self._services,
            outbox_limits=self._outbox_limits,
            on_turn_over=self._turn_over,
            meter=meter,
            dialect=dialect,
        )
        self._connections.add(connection)
        self._services.metrics.connections.set(len(self._connections))
        self._all_gone.clear()
        if self._services.gate.is_draining:  # since it was let in
            connection.outbox.finish(1001, "going away")
        try:
            await connection.run()
        finally:
            self._connections.discard(connection)
            self._services.metrics.connections.set(len(self._connections))
            if not self._connections:
                self._all_gone.set()

    def _overload(self, principal: Principal) -> str | None:
        if self._services.gate.is_draining:
            return "draining"
        if self._admitted >= self._limits.connections:
            return "too many connections"
        if not principal.is_local and self._by_address[network_of(principal.address)] >= self._limits.per_address:
            return "too many connections from this address"
        if principal.is_logged_in and self._users.full(principal.share) is not None:
            return "too many connections of this user"
        return None

    @contextmanager
    def _place(self, principal: Principal) -> Iterator[None]:
        network = network_of(principal.address)
        self._admitted += 1
        self._by_address[network] += 1
        if principal.is_logged_in:
            self._users.take(principal.share)
        try:
            yield
        finally:
            self._admitted -= 1
            self._by_address -= Counter((network,))  # forgets who has none
            if principal.is_logged_in:
                self._users.give_back(principal.share)

    async def for_each_session(self, action: Callable[[Session], None]) -> None:
        """Call `action` with each session that is open now; other tasks run in between."""
        await self._for_each(lambda connection: action(connection.session))

    async def beat(self) -> None:
        """Beat for all connections with one timer, not one each. Runs until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(_BEAT_S)
            await self._for_each(lambda connection: self._beat(connection, loop.time()))

    def _beat(self, connection: Connection, now_s: float) -> None:
        if self._authenticator.has_ended(connection.principal):
            connection.end_login_at(now_s)
        connection.beat(now_s)

    async def drain(self, drain_s: float) -> None:
        """Let running turns end, for at most `drain_s`; close the rest with 1001 over 5 s.

        New connections and turns are refused from now on. Returns when every connection is gone.
        """
        self._services.gate.is_draining = True
        try:
            async with asyncio.timeout(drain_s):
                while self._connections:  # also those whose last sound is still being played become idle
                    await self._close_idle()
                    with suppress(TimeoutError):
                        async with asyncio.timeout(_BEAT_S):
                            await self.all_gone()
        except TimeoutError:
            logger.info("drain_s is over; %d connection(s) are closed with their turns", len(self._connections))
        await self.aclose()

    async def aclose(self) -> None:
        """Interrupt every turn and close every connection with 1001, now."""
        self._services.gate.is_draining = True
        for connection in list(self._connections):
            connection.session.interrupt(message="the server had to restart")
            connection.outbox.finish(1001, "going away")
        await self.all_gone()

    async def _for_each(self, action: Callable[[Connection], None]) -> None:
        for number, connection in enumerate(list(self._connections)):
            action(connection)
            if number % _BATCH == _BATCH - 1:
                await asyncio.sleep(0)

    async def _close_idle(self) -> None:
        idle = [c for c in self._connections if c.session.is_idle and not c.outbox.is_closing]
        step_s = min(_MAX_STEP_S, IDLE_SPREAD_S / max(1, len(idle)))
        for connection in idle:
            connection.outbox.finish(1001, "going away")
            await asyncio.sleep(step_s)

    def _turn_over(self, connection: Connection) -> None:
        if self._services.gate.is_draining and connection.session.is_idle:
            connection.outbox.finish(1001, "going away")


class Broadcaster:
    """Sends changes to every client: `publish` takes them, `run` sends them in the order in which they came.

    Of a topic that changes again before it was sent, clients learn the latest
    state. Beyond MAX_WAITING topics the newest is left out, and logged.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, Send] = {}  # by topic
        self._has_some = asyncio.Event()

    def publish(self, topic: str, send: Send) -> None:
        self._waiting.pop(topic, None)
        if len(self._waiting) >= MAX_WAITING:
            logger.warning("too many changes wait to be sent; clients do not learn of: %s", topic)
            return
        self._waiting[topic] = send
        self._has_some.set()

    async def run(self, for_each_session: Callable[[Send], Awaitable[None]]) -> None:
        """Send the changes; runs until cancelled."""
        while True:
            await self._has_some.wait()
            self._has_some.clear()
            while self._waiting:
                await for_each_session(self._waiting.pop(next(iter(self._waiting))))
