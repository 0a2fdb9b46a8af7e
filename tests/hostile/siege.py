"""Sends frames over a real socket and judges what comes back.

Behind every frame goes a `ping` with a number of ours: what arrives between
two of its `pong`s answers the frame, whatever a running turn says meanwhile.
"""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from tests.hostile.grammar import Frame, Verdict
from tests.support.turn_orders import TurnOrders
from tests.support.waiting import LIMIT_S

Json = dict[str, Any]
_OUR_PING = 1 << 40


class Siege:
    """One connection. Most turns are cut short by what follows; every other good chat is let finish."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._change = asyncio.Condition()
        self._answered = 0
        self._turns = TurnOrders()
        self.complaints: list[str] = []
        self.completed_turns = 0

    async def send(self, frames: Sequence[Frame]) -> None:
        """Send them all, read all answers. Raises ConnectionClosed."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._judge(frames), name="answers")
            group.create_task(self._send(frames), name="frames")

    async def _send(self, frames: Sequence[Frame]) -> None:
        chats = 0
        for number, frame in enumerate(frames):
            await self._socket.send(frame.data, text=frame.is_text)
            await self._socket.send(json.dumps({"type": "ping", "t": _OUR_PING + number}))
            chats += frame.is_chat
            if (frame.is_chat and chats % 2 == 0) or number == len(frames) - 1:
                async with asyncio.timeout(LIMIT_S), self._change:
                    await self._change.wait_for(lambda: self._answered > number and self._turns.running is None)  # noqa: B023 # awaited here

    async def _judge(self, frames: Sequence[Frame]) -> None:
        for number, frame in enumerate(frames):
            errors: list[Json] = []
            while (answer := await self._receive()) != {"type": "pong", "t": _OUR_PING + number}:
                if answer["type"] == "error" and "turn_id" not in answer:
                    errors.append(answer)
            if complaint := find_fault(frame, errors):
                self.complaints.append(f"{frame.what}: {complaint}: {frame.data[:300]!r}")
            async with self._change:
                self._answered = number + 1
                self._change.notify()
        while self._turns.running is not None:
            await self._receive()

    async def _receive(self) -> Json:
        async with asyncio.timeout(LIMIT_S):
            answer: Json = json.loads(await self._socket.recv())
        if fault := self._turns.fault(answer):
            self.complaints.append(fault)
        if answer["type"] == "turn_end":
            async with self._change:
                self._change.notify()
            self.completed_turns += answer.get("reason") == "completed"
        return answer


async def besiege(ws_url: str, frames: Sequence[Frame]) -> tuple[list[str], int]:
    """Send them on a connection of their own: what the server did wrong, and how many turns completed."""
    async with connect(ws_url, compression=None, max_size=None) as socket:
        siege = Siege(socket)
        await siege.send(frames)
        return siege.complaints, siege.completed_turns


def find_fault(frame: Frame, errors: Sequence[Json]) -> str | None:
    """What is wrong with the errors that answered this frame."""
    match frame.verdict:
        case Verdict.EITHER:
            return f"{len(errors)} errors" if len(errors) > 1 else None
        case Verdict.VALID:
            refused = [error for error in errors if error["code"].startswith("frame_")]
            return f"refused with {refused}" if refused else None
        case Verdict.INVALID:
            return _find_fault_of_refusal(frame, errors)


def _find_fault_of_refusal(frame: Frame, errors: Sequence[Json]) -> str | None:
    if len(errors) != 1:
        return f"{len(errors)} errors"
    [error] = errors
    if not _names(error.get("path"), frame.path):
        return f"the path is {error.get('path')!r}, not {frame.path!r}"
    if frame.code is not None and error["code"] != frame.code:
        return f"the code is {error['code']!r}, not {frame.code!r}"
    if not error.get("message"):
        return "no message"
    if (
        frame.code == "frame_invalid"
        and frame.path != "$.ref"
        and error.get("ref") != json.loads(frame.data).get("ref")
    ):
        return "not the `ref` of the frame"
    return None


def _names(path: object, mistake: str | None) -> bool:
    """The path is that of the mistake, or inside it."""
    if not isinstance(path, str) or mistake is None:
        return False
    return path == mistake or path.startswith((f"{mistake}.", f"{mistake}["))
