"""Messages between the server and a speech worker: lengths, a JSON header, bytes. No I/O.

uint32 length of the header | uint32 length of the payload | header | payload
"""

import struct
from typing import Any, Final

import msgspec

Header = dict[str, Any]

PREFIX: Final = struct.Struct("<II")
MAX_HEADER_BYTES: Final = 64 << 10
MAX_PAYLOAD_BYTES: Final = 16 << 20


class WireError(Exception):
    """The other side wrote something that is no message: it is broken, and so is the pipe."""


def pack(header: Header, payload: bytes = b"") -> bytes:
    head = msgspec.json.encode(header)
    if len(head) > MAX_HEADER_BYTES or len(payload) > MAX_PAYLOAD_BYTES:
        raise WireError(f"a message of {len(head)} + {len(payload)} bytes is too large for the worker")
    return PREFIX.pack(len(head), len(payload)) + head + payload


def lengths(prefix: bytes) -> tuple[int, int]:
    """Of header and payload."""
    head, payload = PREFIX.unpack(prefix)
    if head > MAX_HEADER_BYTES or payload > MAX_PAYLOAD_BYTES:
        raise WireError("a message of the worker is too large")
    return head, payload


def parse(head: bytes) -> Header:
    try:
        return msgspec.json.decode(head, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise WireError("a message of the worker is no JSON object") from error
