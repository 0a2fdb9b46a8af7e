"""The inside of a worker process: one engine, one request at a time, messages on the standard streams.

A message is: uint32 length of the header | uint32 length of the payload | header (JSON) | payload.

A thread reads, so that a cancellation is known while the engine is at work; it
also ends the process when the server is gone, whatever the engine is doing.
"""

import ctypes
import os
import queue
import signal
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Final, Protocol

import msgspec

_PR_SET_PDEATHSIG: Final = 1
_NICENESS: Final = 2  # the event loop of the server goes first; a recognition does not starve
EXIT_LOAD_FAILED: Final = 3

Header = dict[str, Any]

PREFIX: Final = struct.Struct("<II")
MAX_HEADER_BYTES: Final = 64 << 10
MAX_PAYLOAD_BYTES: Final = 16 << 20


class WireError(Exception):
    """Bytes that are not a message: the other side is broken, and so is the pipe."""


def pack(header: Header, payload: bytes = b"") -> bytes:
    head = msgspec.json.encode(header)
    if len(head) > MAX_HEADER_BYTES or len(payload) > MAX_PAYLOAD_BYTES:
        raise WireError(f"a message of {len(head)} + {len(payload)} bytes is too large for the worker")
    return PREFIX.pack(len(head), len(payload)) + head + payload


def lengths(prefix: bytes) -> tuple[int, int]:
    head, payload = PREFIX.unpack(prefix)
    if head > MAX_HEADER_BYTES or payload > MAX_PAYLOAD_BYTES:
        raise WireError("a message of the worker is too large")
    return head, payload


def parse(head: bytes) -> Header:
    try:
        return msgspec.json.decode(head, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise WireError("a message of the worker is not a JSON object") from error


class Engine(Protocol):
    def load(self, progress: Callable[[str], None]) -> Header:
        """Get ready and return facts for the server. Any exception means that this engine is missing."""

    def run(self, request: Header, payload: bytes) -> Iterator[tuple[Header, bytes]]:
        """Yield the answers to one request; closed between two of them when it is cancelled."""

    def idle(self) -> None:
        """Tidy up after each request, when its answer is out."""


class Inbox:
    """Carries requests from the reading thread to the working one; the server sends the next when one is done."""

    def __init__(self) -> None:
        self.requests: queue.SimpleQueue[tuple[Header, bytes]] = queue.SimpleQueue()
        self.cancelled: int | None = None
        """Id of the request that was cancelled last."""


def run(engine: Engine) -> int:
    """Serve on the standard streams until the server closes them. Returns only if the engine cannot be loaded."""
    _die_with_the_server()
    source = os.fdopen(os.dup(0), "rb", buffering=1 << 16)
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not get between the messages
    os.nice(_NICENESS)
    inbox = Inbox()
    threading.Thread(target=_read, args=(source, inbox), daemon=True).start()
    return serve(engine, inbox, sink)


def serve(engine: Engine, inbox: Inbox, sink: BinaryIO) -> int:
    def send(header: Header, payload: bytes = b"") -> None:
        sink.write(pack(header, payload))
        sink.flush()

    try:
        facts = engine.load(lambda stage: send({"event": "loading", "stage": stage}))
    except Exception as error:  # noqa: BLE001  the boundary to the engine: a package may be missing or not made for this machine
        send({"event": "failed", "message": f"{type(error).__name__}: {error}"[:500]})
        return EXIT_LOAD_FAILED
    send({"event": "ready", "facts": facts})
    while True:
        request, payload = inbox.requests.get()
        _answer(engine, inbox, request, payload, send)
        engine.idle()


def _answer(
    engine: Engine, inbox: Inbox, request: Header, payload: bytes, send: Callable[[Header, bytes], None]
) -> None:
    try:
        for header, data in engine.run(request, payload):
            if inbox.cancelled == request["id"]:
                break
            send({"event": "part", "id": request["id"], **header}, data)
    except Exception as error:  # noqa: BLE001  the boundary to the engine: its failure is the answer
        send({"event": "error", "id": request["id"], "message": f"{type(error).__name__}: {error}"[:500]}, b"")
        return
    send({"event": "done", "id": request["id"]}, b"")


def _read(source: BinaryIO, inbox: Inbox) -> None:
    try:
        while (prefix := source.read(PREFIX.size)) and len(prefix) == PREFIX.size:
            head_bytes, payload_bytes = lengths(prefix)
            header = parse(source.read(head_bytes))
            payload = source.read(payload_bytes)
            if header.get("op") == "cancel":
                inbox.cancelled = header["id"]
            else:
                inbox.requests.put((header, payload))
    finally:
        os._exit(0)  # the server is gone, or speaks in tongues; the engine may be in the middle of anything


def _die_with_the_server() -> None:
    """End with the server even while a child of ours still holds a pipe, whose closing would end the process too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group: the server decides
    if sys.platform == "linux":
        parent = os.getppid()
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(0)
