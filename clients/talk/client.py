"""Frames in, frames out: one conversation over one WebSocket."""

import asyncio
import json
import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from typing import Any, Final, Protocol

import websockets
from websockets.asyncio.client import ClientConnection

from clients.talk.history import History

PROTOCOL: Final = "parley.v1"
_GONE: Final = "the server has closed the connection"
_UNAUTHENTICATED: Final = 4401

Frame = dict[str, Any]


class Output(Protocol):
    """Where the sound goes."""

    def open(self, sample_rate: int) -> None: ...

    def write(self, pcm: bytes) -> None: ...

    def pause(self) -> None:
        """Keep the place."""

    def resume(self) -> None: ...

    def cut(self) -> None: ...

    def close(self) -> None: ...


class TalkClient:
    """`show` gets every text frame in the order in which it arrives.

    `approves` answers the questions of its own turns whether a tool may run;
    None leaves them to the user's voice and other clients.
    """

    def __init__(
        self,
        socket: ClientConnection,
        *,
        show: Callable[[Frame], None],
        output: Output | None,
        approves: bool | None = None,
    ) -> None:
        self.history = History()
        self._approves = approves
        self._socket = socket
        self._show = show
        self._output = output
        self._is_quiet = asyncio.Event()  # no turn runs and none was announced
        self._is_quiet.set()
        self._is_over = False
        self._is_turn_running = False
        self._ready: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()

    @classmethod
    async def connect(
        cls,
        url: str,
        *,
        token: str | None,
        show: Callable[[Frame], None],
        output: Output | None,
        approves: bool | None = None,
    ) -> "TalkClient":
        """Raises ConnectionError, whose text says why nobody is there to talk to."""
        headers = {"Authorization": f"Bearer {token}"} if token else None
        try:
            socket = await websockets.connect(
                url, subprotocols=[websockets.Subprotocol(PROTOCOL)], compression=None, additional_headers=headers
            )
        except ssl.SSLError as error:
            raise ConnectionError(f"{url}: {error}; SSL_CERT_FILE names a certificate to trust") from error
        except websockets.InvalidStatus as error:
            raise ConnectionError(_refusal(url, error)) from error
        except OSError as error:
            raise ConnectionError(f"no server answers at {url} ({error}): is it running there?") from error
        return cls(socket, show=show, output=output, approves=approves)

    async def run(self) -> None:
        """Read until the connection is closed.

        Raises ConnectionError where the server takes nobody without a login, and what the output
        raises; then the connection is closed, so that nobody waits for it any longer.
        """
        try:
            async for message in self._socket:
                if isinstance(message, bytes):
                    if self._output is not None:
                        self._output.write(message)
                else:
                    await self._take(json.loads(message))
        except websockets.ConnectionClosedError as error:
            if self._socket.close_code == _UNAUTHENTICATED:
                raise self._gone() from error
            raise
        finally:
            self._is_over = True
            self._is_quiet.set()
            await self._socket.close()
            if not self._ready.done():
                self._ready.set_exception(self._gone())
                self._ready.exception()  # it may be that nobody asks

    async def ready(self) -> Frame:
        return await self._ready

    async def configure(self, **fields: Any) -> None:
        await self._send("configure", **fields)

    async def say(self, text: str) -> None:
        """Start a turn with typed words; a running one is cut."""
        self.history.user(text)
        self._is_quiet.clear()
        await self._send("chat", messages=self.history.messages)

    async def speak(self, frames: AsyncGenerator[bytes, None]) -> None:
        """Send sound until it ends. Raises ConnectionError when nobody is there to hear it."""
        async with aclosing(frames) as sound:
            async for pcm in sound:
                try:
                    await self._socket.send(pcm)
                except websockets.ConnectionClosed as error:
                    raise self._gone() from error

    async def quiet(self) -> None:
        """Wait until no turn runs. Raises ConnectionError when none will end any more."""
        await self._is_quiet.wait()
        if self._is_over:
            raise self._gone()

    async def close(self) -> None:
        await self._socket.close()
        if self._output is not None:
            self._output.close()

    def _gone(self) -> ConnectionError:
        if self._socket.close_code != _UNAUTHENTICATED:
            return ConnectionError(_GONE)
        return ConnectionError(
            f"not logged in ({self._socket.close_reason or _UNAUTHENTICATED}): give a valid token with --token"
        )

    async def _take(self, frame: Frame) -> None:
        self.history.take(frame)
        match frame["type"]:
            case "ready" if not self._ready.done():
                self._ready.set_result(frame)
            case "speech_detected" if self._output is not None:
                self._output.pause()
            case "speech_rejected" if self._output is not None:
                self._output.resume()
            case "speech_started":
                if self._output is not None:
                    self._output.cut()
                self._is_quiet.clear()
                await self._send("history", utterance=frame["utterance"], messages=self.history.messages)
            case "transcript" if frame["final"]:
                if frame["text"]:
                    self.history.user(frame["text"])
                else:
                    self._is_quiet.set()
            case "sentence" if frame["audio"] and self._output is not None:
                self._output.open(frame["audio"]["sample_rate"])
            case "approval_request" if "turn_id" in frame and self._approves is not None:
                await self._send("approval", id=frame["id"], approved=self._approves)
            case "turn_start":
                self._is_turn_running = True
                self._is_quiet.clear()
            case "turn_end":
                self._is_turn_running = False
                self._is_quiet.set()
            case "error" if "turn_id" not in frame and not self._is_turn_running:
                self._is_quiet.set()  # no turn comes of what was sent
        self._show(frame)

    async def _send(self, kind: str, **fields: Any) -> None:
        await self._socket.send(json.dumps({"type": kind, **fields}))


def _refusal(url: str, error: websockets.InvalidStatus) -> str:
    said = bytes(error.response.body or b"").decode(errors="replace").strip()
    with suppress(ValueError, LookupError, TypeError):  # a page, or words alone
        said = str(json.loads(said)["error"]["message"])
    why = f": {said.splitlines()[0]}" if said and not said.startswith("<") else ""
    return f"{url} refused the conversation, HTTP {error.response.status_code}{why}"
