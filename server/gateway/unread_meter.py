"""The limit of what one user's connections may have unread in large messages (docs/decisions/0013)."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Final

from server.bounded.fair_share import Share

MAX_UNREAD_BYTES: Final = 32 << 20
"""Limit of what all connections of one user may have unread in large messages, beyond what any connection may."""
_HEADER_BYTES: Final = 14  # of a client's frame, at most (RFC 6455, 5.2)
_LINGER_S: Final = 1.0  # for a client to read why its connection ends


class UnreadMeter(asyncio.Protocol):
    """Counts one connection's bytes, as the protocol between its transport and aiohttp's.

    aiohttp collects a message until it is whole and shows nothing of it before. A connection that takes its user
    beyond MAX_UNREAD_BYTES, and whose own part exceeds `free_bytes`, is full: what it goes on to send is dropped, and
    after _LINGER_S it is cut.
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        unread: Counter[Share],
        share: Share,
        *,
        free_bytes: int,
        on_full: Callable[[], None],
    ) -> None:
        """Count until the connection is lost. `unread`: the bytes of all users, which their meters share.

        `on_full` tells the client.
        """
        protocol = transport.get_protocol()
        assert isinstance(protocol, asyncio.Protocol), "it is aiohttp's"
        self._transport, self._protocol = transport, protocol
        self._unread, self._share = unread, share
        self._free_bytes, self._on_full = free_bytes, on_full
        self._own = 0
        self._latest_bytes = 0  # size of the last piece, if one has come since `listen`
        self._is_full = False
        self.pieces = 0
        """Pieces that have arrived, also of messages that are not whole yet."""
        transport.set_protocol(self)

    def listen(self) -> None:
        """Note that the reader goes on: with the next whole message, or once that has arrived."""
        self._latest_bytes = 0

    def read(self, message_bytes: int) -> None:
        """Count a message as read.

        Nothing says how many frames it came in. If the reader has waited for it, what is left came in the same piece.
        """
        left = max(0, self._own - message_bytes - _HEADER_BYTES)
        self._add((min(left, self._latest_bytes) if self._latest_bytes else left) - self._own)

    def _add(self, count: int) -> None:
        self._own += count
        self._unread[self._share] += count
        if not self._unread[self._share]:
            del self._unread[self._share]

    def data_received(self, data: bytes) -> None:
        self.pieces += 1
        self._latest_bytes = len(data)
        if self._is_full:
            return
        self._add(len(data))
        if self._own <= self._free_bytes or self._unread[self._share] <= MAX_UNREAD_BYTES:
            self._protocol.data_received(data)
            return
        self._is_full = True
        self._add(-self._own)
        self._on_full()
        asyncio.get_running_loop().call_later(_LINGER_S, self._transport.abort)

    def pause_writing(self) -> None:
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        self._protocol.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._add(-self._own)
        self._protocol.connection_lost(exc)
