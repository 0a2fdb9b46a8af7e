"""Bodies of requests: read before the handler runs, within limits of size, time and memory.

aiohttp must not unpack them (`auto_decompress=False`): it would do so while they
arrive, before they can be refused, and 1 KB can become 1 MB.
"""

import asyncio
from collections import Counter
from typing import Final

from aiohttp import web
from msgspec import Struct

from server.accounts.principal import Principal, network_of
from server.gateway.responses import refuse

MAX_STRANGER_BYTES: Final = 8 << 10
_RETRY_AFTER_S: Final = "1"


class BodyLimits(Struct, frozen=True, kw_only=True):
    """Limits of the bodies of one kind of clients. All that is being read counts as `in flight`."""

    max_bytes: int
    slowest_s: float
    """Longest time from the headers to the end of the body."""
    in_flight_of_address: int
    in_flight: int


STRANGERS: Final = BodyLimits(
    max_bytes=MAX_STRANGER_BYTES, slowest_s=5.0, in_flight_of_address=256 << 10, in_flight=4 << 20
)
"""Limits for clients who would have to log in first: there is nothing to send but a token."""
USERS: Final = BodyLimits(max_bytes=1 << 20, slowest_s=30.0, in_flight_of_address=8 << 20, in_flight=64 << 20)
"""Limits for users: with `auth: none`, for all clients. aiohttp's `client_max_size`, the same, holds for a body without length."""


class RequestBodies:
    """Reads bodies, and counts the bytes that are being read for each address and in all."""

    def __init__(self, *, strangers: BodyLimits = STRANGERS, users: BodyLimits = USERS) -> None:
        self._strangers = strangers
        self._users = users
        self._of_strangers = Counter[str]()
        self._of_users = Counter[str]()

    async def read(self, request: web.Request, principal: Principal) -> web.Response | None:
        """Read the body, which aiohttp keeps for the handler; return the refusal, if any."""
        if "Content-Encoding" in request.headers:
            message = "packed bodies are not read; send it without Content-Encoding"
            return refuse(415, "body_packed", message, Connection="close")
        if not request.can_read_body:
            return None
        limits, in_flight = (
            (self._users, self._of_users) if principal.may_enter else (self._strangers, self._of_strangers)
        )
        length = request.content_length
        if length is None and not principal.may_enter:
            return refuse(411, "length_required", "send Content-Length", Connection="close")
        size = limits.max_bytes if length is None else length
        if size > limits.max_bytes:
            message = f"{size} bytes; at most {limits.max_bytes} are read"
            return refuse(413, "body_too_large", message, Connection="close")
        network = network_of(principal.address)
        if in_flight[network] + size > limits.in_flight_of_address or in_flight.total() + size > limits.in_flight:
            message = "too many bodies are being read; try again"
            return refuse(503, "busy", message, Retry_After=_RETRY_AFTER_S, Connection="close")
        in_flight[network] += size
        try:
            async with asyncio.timeout(limits.slowest_s):
                await request.read()
        except web.HTTPRequestEntityTooLarge as error:
            return refuse(413, "body_too_large", error.text or "", Connection="close")
        except TimeoutError:
            message = f"the body did not arrive within {limits.slowest_s:g} s"
            return refuse(408, "too_slow", message, Connection="close")
        finally:
            in_flight[network] -= size
            if not in_flight[network]:
                del in_flight[network]
        return None
