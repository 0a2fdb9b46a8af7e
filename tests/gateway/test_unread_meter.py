"""server/gateway/unread_meter.py: what counts as unread"""

import asyncio
from collections import Counter

from server.bounded.fair_share import Share
from server.gateway.unread_meter import UnreadMeter

ANNA = Share("anna")


class FakeTransport(asyncio.Transport):
    """A transport that only knows its protocol."""

    def __init__(self) -> None:
        super().__init__()
        self.protocol: asyncio.BaseProtocol = asyncio.Protocol()

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self.protocol

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol


def meter(unread: Counter[Share]) -> UnreadMeter:
    return UnreadMeter(FakeTransport(), unread, ANNA, free_bytes=1 << 20, on_full=lambda: None)


def test_the_headers_of_fragments_are_given_back_once_their_message_is_read() -> None:
    unread = Counter[Share]()
    counted = meter(unread)
    for _ in range(10):
        counted.listen()
        for _ in range(1000):
            counted.data_received(bytes(7))  # one byte and its header
        counted.read(1000)

    assert unread[ANNA] <= 7


def test_what_came_behind_a_message_that_waited_stays_unread() -> None:
    unread = Counter[Share]()
    counted = meter(unread)
    for size in (114, 50_000, 1_000):
        counted.data_received(bytes(size))
    counted.listen()
    counted.read(100)

    assert unread[ANNA] == 51_000
