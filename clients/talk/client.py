"""Frames in, frames out: one conversation over one WebSocket."""

import asyncio
import json
import secrets
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import websockets
from websockets.asyncio.client import ClientConnection

from clients.talk.connector import Connector
from clients.talk.history import History, Message
from clients.talk.pause_gate import PauseGate
from clients.talk.tools import LocalTools

if TYPE_CHECKING:
    from server.speech.opus import OpusDecoder

_GONE: Final = "the server has closed the connection"
_UNAUTHENTICATED: Final = 4401
_GOING_AWAY: Final = 1001
_REPLACED: Final = (_GOING_AWAY, 1006, 1011, 1012)
"""Close codes after which there is another server, or the same one again: it went away, broke or did not answer."""

Frame = dict[str, Any]


class Output(Protocol):
    """Destination of the sound: a loudspeaker or a file."""

    def open(self, sample_rate: int) -> None: ...

    def write(self, pcm: bytes) -> None: ...

    def pause(self) -> None:
        """Keep the place."""

    def resume(self) -> None: ...

    def cut(self) -> None: ...

    def close(self) -> None: ...


@dataclass
class _Chat:
    """A typed turn that has not begun."""

    id: str
    messages: list[Message]
    is_refused: bool = False  # by a server that is draining
    is_resent: bool = False


class TalkClient:
    """A conversation. `show` gets all text frames in order, and what happens to the connection as frames:
    a `notice` `reconnecting`, a `notice` `connected`, an `error` `turn_lost`, an `error` `speech_lost`.

    `approves` answers the questions of its own turns whether a tool may run;
    None leaves them to the user's voice and other clients. `is_typing` tells whether the user has begun a line, over
    which no skill breaks a silence.
    """

    def __init__(
        self,
        socket: ClientConnection,
        connector: Connector,
        *,
        show: Callable[[Frame], None],
        output: Output | None,
        approves: bool | None = None,
        tools: LocalTools | None = None,
        is_typing: Callable[[], bool] = lambda: False,
    ) -> None:
        self.history = History()
        self._approves = approves
        self._tools = tools
        self._is_typing = is_typing
        self._running: set[asyncio.Task[None]] = set()  # tools of this client, for the turn that runs
        self._socket = socket
        self._connector = connector
        self._show = show
        self._output = output
        self._decoder: OpusDecoder | None = None  # where the sentence that is read is Opus
        self._is_quiet = asyncio.Event()  # no turn runs and none was announced
        self._is_quiet.set()
        self._is_online = asyncio.Event()  # or over
        self._is_online.set()
        self._gate = PauseGate(self._tell_speech_lost)
        self._is_over = False
        self._settings: Frame = {}  # all that was configured
        self._greetings: set[tuple[str, str]] = set()  # skill and name of the triggers for connect
        self._chat: _Chat | None = None
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
        tools: LocalTools | None = None,
        is_typing: Callable[[], bool] = lambda: False,
    ) -> "TalkClient":
        """Connect to the server. Raises ConnectionError, whose text says why that failed."""
        connector = Connector(url, token=token)
        socket = await connector.open()
        return cls(socket, connector, show=show, output=output, approves=approves, tools=tools, is_typing=is_typing)

    async def run(self) -> None:
        """Read until the conversation is over; a connection that is lost is replaced by another.

        Raises ConnectionError where the server demands a login or is not found again, and what the
        output raises; then the connection is closed, so that no task waits for it any longer.
        """
        try:
            error = await self._read()
            while self._socket.close_code in _REPLACED:
                await self._reconnect()
                error = await self._read()
            if error is not None:
                raise self._gone() if self._socket.close_code == _UNAUTHENTICATED else error
        finally:
            self._is_over = True
            self._is_quiet.set()
            self._is_online.set()
            self._stop_tools()
            await asyncio.gather(*self._running, return_exceptions=True)
            await self._socket.close()
            if not self._ready.done():
                self._ready.set_exception(self._gone())
                self._ready.exception()  # else asyncio logs it where `ready` is never awaited

    async def _read(self) -> websockets.ConnectionClosedError | None:
        """Read until the connection is closed; returns the error that closed it."""
        try:
            async for message in self._socket:
                if isinstance(message, bytes):
                    if self._output is not None:
                        self._output.write(self._pcm(message))
                else:
                    await self._take(json.loads(message))
        except websockets.ConnectionClosedError as error:
            return error
        return None

    def _pcm(self, message: bytes) -> bytes:
        if self._decoder is None:
            return message
        pcm = self._decoder.decode(message)
        return self._decoder.conceal() if pcm is None else pcm

    async def _reconnect(self) -> None:
        """Replace the connection, and send a turn that never began once more. Raises ConnectionError."""
        self._is_online.clear()
        self._gate.close()
        is_goodbye = self._socket.close_code == _GOING_AWAY
        chat = self._chat
        if chat is None or chat.is_resent or not (is_goodbye or chat.is_refused):
            chat = self._chat = None
        self._leave_turn(is_sent_again=chat is not None)
        why = "the server restarts" if is_goodbye else "the connection to the server was lost"
        self._show({"type": "notice", "code": "reconnecting", "message": why})
        self._socket = await self._connector.reopen()
        self._show({"type": "notice", "code": "connected", "message": "there is a connection again"})
        await self._send("configure", **self._settings)
        if chat is not None:
            chat.is_resent = True
            await self._send_with_history("chat", id=chat.id, messages=chat.messages, resend=True)
        self._is_online.set()

    def _leave_turn(self, *, is_sent_again: bool) -> None:
        """Keep what was heard of the turn that ran, and report one that was waited for and will not be answered."""
        self.history.cut()
        self._is_turn_running = False
        if self._output is not None:
            self._output.resume()  # the server will not report any more whether that was speech
        if not is_sent_again and not self._is_quiet.is_set():
            text = "not answered, because the connection was lost; say it again"
            self._show({"type": "error", "code": "turn_lost", "message": text})
            self._is_quiet.set()

    def _tell_speech_lost(self) -> None:
        text = "the connection was lost while you were speaking; pause for a moment, then say it again"
        self._show({"type": "error", "code": "speech_lost", "message": text})

    async def ready(self) -> Frame:
        return await self._ready

    async def configure(self, **fields: Any) -> None:
        self._settings |= fields
        await self._send("configure", **fields)

    async def say(self, text: str) -> None:
        """Start a turn with typed words, once there is a connection; a running one is cut."""
        await self._is_online.wait()
        self.history.user(text, is_typed=True)
        self._is_quiet.clear()
        chat = self._chat = _Chat(secrets.token_hex(8), list(self.history.messages))
        await self._send_with_history("chat", id=chat.id, messages=chat.messages)

    async def speak(
        self, frames: AsyncGenerator[bytes, None], encode: Callable[[bytes], Sequence[bytes]] = lambda pcm: [pcm]
    ) -> None:
        """Send sound until it ends. Raises ConnectionError once there will be no connection any more.

        Without one it is dropped, and with the next one up to the first pause. `encode` makes messages of PCM16.
        """
        async with aclosing(frames) as sound:
            async for pcm in sound:
                if not self._gate.passes(pcm, is_online=self._is_online.is_set()) and not self._is_over:
                    continue
                try:
                    for message in encode(pcm):
                        await self._socket.send(message)
                except websockets.ConnectionClosed as error:
                    if self._is_over or self._socket.close_code not in _REPLACED:
                        raise self._gone() from error

    async def quiet(self) -> None:
        """Wait until no turn runs. Raises ConnectionError when none will end any more."""
        await self._is_quiet.wait()
        if self._is_over:
            raise self._gone()

    async def close(self) -> None:
        self._connector.close()
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
        if "skills" in frame and frame["type"] in ("ready", "skills"):
            self._greetings = _greetings(frame["skills"])
        match frame["type"]:
            case "nudge":
                await self._answer(frame)
                return
            case "error" if frame["code"] == "nudge_unknown":
                return  # the user was quicker, and has asked for nothing
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
                await self._send_with_history("history", utterance=frame["utterance"], messages=self.history.messages)
            case "transcript" if frame["final"]:
                if "turn_id" in frame:
                    self.history.user(frame["text"])
                else:
                    self._is_quiet.set()
            case "sentence" if frame["audio"] and self._output is not None:
                audio = frame["audio"]
                self._decoder = _opus_decoder(audio["sample_rate"]) if audio["format"] == "opus" else None
                self._output.open(audio["sample_rate"])
            case "approval_request" if "turn_id" in frame and self._approves is not None:
                await self._send("approval", id=frame["id"], approved=self._approves)
            case "client_tool_call" if self._tools is not None:
                task = asyncio.create_task(self._run_tool(self._tools, frame), name=f"tool {frame['name']}")
                self._running.add(task)
                task.add_done_callback(self._running.discard)
            case "turn_start":
                if self._chat is not None and self._chat.id == frame["turn_id"]:
                    self._chat = None
                self._is_turn_running = True
                self._is_quiet.clear()
            case "turn_end":
                self._is_turn_running = False
                self._is_quiet.set()
                self._stop_tools()
            case "error" if "turn_id" not in frame and self._is_kept(frame):
                frame = frame | {"type": "notice"}  # no failure yet
            case "error" if frame["code"] == "turn_id_reused":  # it had begun on the last connection
                self._chat = None
                self._leave_turn(is_sent_again=False)
                return
            case "error" if "turn_id" not in frame and not self._is_turn_running:
                self._chat = None
                self._is_quiet.set()  # no turn comes of what was sent
        self._show(frame)

    async def _run_tool(self, tools: LocalTools, call: Frame) -> None:
        output, is_error = await tools.run(call["name"], call["arguments"])
        await self._send("tool_output", turn_id=call["turn_id"], id=call["id"], content=output, is_error=is_error)

    def _stop_tools(self) -> None:
        """Cancel the tools that still run: their results are no longer awaited."""
        for task in self._running:
            task.cancel()

    async def _answer(self, nudge: Frame) -> None:
        """Let a skill speak first: greet in a conversation without messages, break a silence in any."""
        is_greeting = (nudge["skill"], nudge["name"]) in self._greetings
        is_unwanted = bool(self.history.messages) if is_greeting else self._is_typing()
        if self._is_quiet.is_set() and not is_unwanted:
            await self._send_with_history("chat", nudge=nudge["id"], messages=self.history.messages)

    def _is_kept(self, error: Frame) -> bool:
        """Return whether the error refuses the typed turn, which is then sent once more with the next connection."""
        chat = self._chat
        if error["code"] != "turn_refused_draining" or chat is None or chat.is_resent:
            return False
        chat.is_refused = True
        return True

    async def _send_with_history(self, kind: str, **fields: Any) -> None:
        state = {} if self.history.state is None else {"state": self.history.state}
        await self._send(kind, **fields, **state)

    async def _send(self, kind: str, **fields: Any) -> None:
        """Send a frame. Without a connection it is dropped: what must not be lost is sent again by `_reconnect`."""
        with suppress(websockets.ConnectionClosed):
            await self._socket.send(json.dumps({"type": kind, **fields}))


def _opus_decoder(rate: int) -> "OpusDecoder":
    from server.speech.opus import OpusDecoder  # half a second that PCM alone does not need

    return OpusDecoder(rate)


def _greetings(skills: list[Frame]) -> set[tuple[str, str]]:
    return {
        (skill["name"], trigger["name"])
        for skill in skills
        for trigger in skill.get("triggers", ())
        if trigger["on"] == "connect"
    }
