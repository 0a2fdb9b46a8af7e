"""Connections to one server: the first, and those that replace a lost one."""

import asyncio
import json
import random
import ssl
import time
from contextlib import suppress
from socket import gaierror
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import websockets
from websockets.asyncio.client import ClientConnection

PROTOCOL: Final = "parley.v1"
TRIES: Final = 8
"""Attempts to replace a connection: about a minute."""
_MAX_DELAY_S: Final = 15.0
_JITTER: Final = 0.3
_STEADY_S: Final = 2.0
"""Age at which a connection counts as a success: it is replaced at once, with all attempts."""


class Connector:
    """Opens connections, and waits longer from attempt to attempt."""

    def __init__(self, url: str, *, token: str | None, first_delay_s: float = 0.5) -> None:
        self._url = url
        self._headers = {"Authorization": f"Bearer {token}"} if token else None
        self._first_delay_s = first_delay_s
        self._closed = asyncio.Event()
        self._opened_s = 0.0
        self._tries = 0  # since the last steady connection
        self._asked_delay_s = 0.0  # by the server, when it refused the last one

    async def open(self) -> ClientConnection:
        """Open a connection. Raises ConnectionError, whose text says why that failed."""
        try:
            socket = await websockets.connect(
                self._url,
                subprotocols=[websockets.Subprotocol(PROTOCOL)],
                compression=None,
                additional_headers=self._headers,
            )
        except ssl.SSLError as error:
            raise ConnectionError(f"{self._url}: {error}; SSL_CERT_FILE names a certificate to trust") from error
        except websockets.InvalidStatus as error:
            self._asked_delay_s = _retry_after_s(error)
            raise ConnectionError(_refusal(self._url, error)) from error
        except gaierror as error:
            raise ConnectionError(f"{self._url}: there is no such host; check the address") from error
        except OSError as error:
            raise ConnectionError(f"nothing answers at {self._url}: start a server there, or name another") from error
        except websockets.InvalidMessage as error:
            raise ConnectionError(f"{self._url}: no web server, or one that hangs up; check the address") from error
        self._opened_s = _now_s()
        return socket

    async def reopen(self) -> ClientConnection:
        """Replace a connection that was lost. Raises ConnectionError after TRIES attempts, or once this is closed."""
        if _now_s() - self._opened_s >= _STEADY_S:
            self._tries = 0
        while True:
            await self._back_off()
            self._tries += 1
            try:
                socket = await self.open()
            except ConnectionError:
                if self._tries >= TRIES:
                    raise
                continue
            if not self._closed.is_set():
                return socket
            await socket.close()

    def close(self) -> None:
        """End a `reopen` that is under way; none succeeds from now on."""
        self._closed.set()

    async def _back_off(self) -> None:
        delay_s = min(self._first_delay_s * 2 ** (self._tries - 1), _MAX_DELAY_S) if self._tries else 0.0
        jitter = random.uniform(1 - _JITTER, 1 + _JITTER)  # noqa: S311  it is no secret
        wait_s = max(self._asked_delay_s, delay_s * jitter)
        self._asked_delay_s = 0.0
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                await self._closed.wait()
        if self._closed.is_set() or self._tries >= TRIES:
            raise ConnectionError(f"the connection to {self._url} was lost")


def socket_url(text: str) -> str:
    """Return the address of a server's socket: HOST:PORT and the address of its page will do. Raises ValueError."""
    try:
        url = urlsplit(text if "://" in text else f"ws://{text}")
    except ValueError as error:
        raise ValueError(f"{text}: {error}; give it as ws://HOST:PORT/ws") from error
    scheme = {"http": "ws", "https": "wss"}.get(url.scheme, url.scheme)
    return urlunsplit(url._replace(scheme=scheme, path=url.path.rstrip("/") or "/ws"))


def _now_s() -> float:
    return asyncio.get_running_loop().time()


def _retry_after_s(error: websockets.InvalidStatus) -> float:
    from server.openai_client import retry_after_s  # 0.2 s of imports, for a client that is refused

    return min(retry_after_s(dict(error.response.headers.raw_items()), now_s=time.time()) or 0.0, _MAX_DELAY_S)


def _refusal(url: str, error: websockets.InvalidStatus) -> str:
    said = bytes(error.response.body or b"").decode(errors="replace").strip()
    with suppress(ValueError, LookupError, TypeError):  # a page, or words alone
        said = str(json.loads(said)["error"]["message"])
    why = f": {said.splitlines()[0]}" if said and not said.startswith("<") else ""
    return f"{url} refused the conversation, HTTP {error.response.status_code}{why}"
