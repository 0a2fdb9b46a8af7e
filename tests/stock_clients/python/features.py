"""What the Python clients share: where the server is, what is said to it, and how they report what worked."""

import asyncio
import json
import os
import sys
import traceback
from collections.abc import Awaitable, Callable, Iterator
from itertools import chain
from pathlib import Path

URL = os.environ["PARLEY_URL"]
WS_URL = URL.replace("http", "ws", 1)
KEY = os.environ["PARLEY_KEY"]
LIMIT_S = 30
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
IMAGE = f"data:image/png;base64,{PNG}"
MCP = {"type": "mcp", "server_label": "theirs", "server_url": "https://mcp.example.com/"}
RATE = 24_000
CHUNK_S = 0.04


class Refused(Exception):
    """The server says clearly that it does not do this."""


def question() -> Iterator[bytes]:
    """A spoken question with silence around it: PCM16 at 24 kHz in pieces of 40 ms."""
    pcm = Path(os.environ["PARLEY_SPEECH"]).read_bytes()
    size = 2 * round(CHUNK_S * RATE)
    return (pcm[at : at + size] for at in range(0, len(pcm), size))


async def speak(send: Callable[[bytes], Awaitable[None]], *, quiet_s: float = 0) -> None:
    """Send the question at the pace of a microphone, after silence.

    Who interrupts the first reply needs a second of it: the server learns then how loud the reply's echo is.
    """
    silence = (bytes(2 * round(CHUNK_S * RATE)) for _ in range(round(quiet_s / CHUNK_S)))
    for piece in chain(silence, question()):
        await send(piece)
        await asyncio.sleep(CHUNK_S)


async def report(**attempts: Callable[[], Awaitable[str]]) -> None:
    """Try the features, all at once, and print a line of JSON about each; what an attempt returns is the detail.

    A feature that is not named here is not tried.
    """
    await asyncio.gather(*(tried(feature, attempt) for feature, attempt in attempts.items()))


async def tried(feature: str, attempt: Callable[[], Awaitable[str]]) -> None:
    try:
        async with asyncio.timeout(LIMIT_S):
            result, detail = "works", await attempt()
    except Refused as refusal:
        result, detail = "refused", str(refusal)
    except Exception as error:  # noqa: BLE001  # whatever a client fails with goes into the matrix
        result, detail = "fails", f"{type(error).__name__}: {error}"
        print(traceback.format_exc(), file=sys.stderr)
    print(json.dumps({"feature": feature, "result": result, "detail": detail}), flush=True)
