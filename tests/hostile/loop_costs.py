"""The worst message of each type that one user can send on either socket, and what it costs others.

`FLOODS` has a row for each client frame of `parley.v1`, each Realtime client event and what both sockets take besides.
A row's messages are sent over and over, as fast as the server reads, on all connections that one user may have.
"""

import asyncio
import json
import os
import re
import sys
import urllib.request
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.model.profile import IS_SOAK
from tests.support.openai_script import text
from tests.support.openai_server import OpenAIServer
from tests.support.server_process import ServerProcess
from tests.support.speech_server import speech_server
from tests.support.talking_server import talking_server

TOKENS = {user: f"{user}-token-0123456789abcdef" for user in ("greedy", "bystander")}
CONNECTIONS = 20
"""Connections that one user may have."""
MESSAGES = 60
"""Messages that each of them sends at most, as fast as the server reads; three at least."""
FLOOD_CHARS = 60_000_000 if IS_SOAK else 500_000
"""Characters after which a connection has sent enough: the server works off what it has read of large messages for long."""
FLOOD_S = 3.0
"""Time after which a flood that has not been read is given up."""
_CHARGED = "parley_loop_time_seconds_sum"

Message = str | bytes


def _json(type_: str, **fields: Any) -> str:
    return json.dumps({"type": type_, **fields}, separators=(",", ":"))


def _says(words: str, times: int) -> list[dict[str, str]]:
    return [{"role": "user", "content": words}] * times


@dataclass(frozen=True)
class Flood:
    socket: str
    """The path of the address."""
    messages: Sequence[Message]
    """Sent over and over."""
    before: Sequence[Message] = ()
    """Sent once on each connection."""


_LISTS: list[list[Any]] = [[]] * 45_000
_TOOLS = [
    {"name": f"tool{n}", "parameters": {"type": "object", "x": [[]] * 150}, "description": "x"} for n in range(100)
]
_REALTIME_TOOLS = [{"type": "function", **tool} for tool in _TOOLS]
_LARGE = "a b, " * 200_000
_ITEM = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}] * 1000}
_IN = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]}
_SOUND = "AAEC" * 250_000
_UPDATE = {"type": "realtime", "tools": _REALTIME_TOOLS, "tracing": {"x": _LISTS}}
_REFUSED_UPDATE = _json("session.update", session=_UPDATE)
_BIG_UPDATE = _json("session.update", session={"type": "realtime", "tracing": {"x": [[]] * 9_000}})

PARLEY: Mapping[str, Sequence[Message]] = {
    "configure": [_json("configure", tools=_TOOLS, instructions="x" * 16_000)],
    "chat": [_json("chat", messages=_says("hello there", 1000), voice=False)],
    "respond": [_json("respond", messages=_says("hello there", 1000), voice=False)],
    "speak": [_json("speak", text="One. " * 4000)],
    "history": [_json("history", utterance="u1", messages=_says("hello there", 2000))],
    "speech_start": [_json("speech_start")],
    "speech_end": [_json("speech_end")],
    "speech_cancel": [_json("speech_cancel")],
    "interrupt": [_json("interrupt", turn_id="x" * 64)],
    "playback": [_json("playback", turn_id="t1", index=0, ms=1, state="playing")],
    "approval": [_json("approval", id="a1", approved=False, arguments={"x": _LISTS})],
    "tool_output": [_json("tool_output", id="c1", content="x" * 1_000_000)],
    "ping": [_json("ping", t="x" * 256)],
    "sound": [bytes(range(256)) * 256],
    "of no type": [_json("no", x=[[]] * 99_000)],
}
REALTIME: Mapping[str, tuple[Sequence[Message], Sequence[Message]]] = {
    "session.update": ([_json("session.update", session={})], [_REFUSED_UPDATE, _BIG_UPDATE]),
    "input_audio_buffer.append": ([_json("input_audio_buffer.append", audio=_SOUND)], []),
    "input_audio_buffer.commit": ([_json("input_audio_buffer.commit")], []),
    "input_audio_buffer.clear": ([_json("input_audio_buffer.clear")], []),
    "output_audio_buffer.clear": ([_json("output_audio_buffer.clear")], []),
    "conversation.item.create": (
        [_json("conversation.item.create", item={**_ITEM, "id": "i"}), _json("conversation.item.delete", item_id="i")],
        [],
    ),
    "conversation.item.delete": ([_json("conversation.item.delete", item_id="i" * 100_000)], []),
    "conversation.item.retrieve": (
        [_json("conversation.item.retrieve", item_id="i")],
        [
            _json(
                "conversation.item.create",
                item={**_ITEM, "id": "i", "content": [{"type": "input_text", "text": _LARGE * 3}]},
            )
        ],
    ),
    "conversation.item.truncate": (
        [_json("conversation.item.truncate", item_id="i", content_index=0, audio_end_ms=1)],
        [_json("conversation.item.create", item={**_ITEM, "id": "i"})],
    ),
    "response.create": (
        [
            _json("response.create", response={"input": [_IN] * 2000, "tools": _REALTIME_TOOLS}),
            _json("response.cancel"),
        ],
        [],
    ),
    "response.cancel": ([_json("response.cancel")], []),
    "parley.approval": (
        [_json("parley.approval", id="a", approved=False)],
        [_json("session.update", session={"type": "realtime", "include": ["parley.approval_request"]})],
    ),
    "binary": ([_json("response.cancel", x=[[]] * 40_000).encode()], []),
    "of no type": ([_json("no", x=[[]] * 99_000)], []),
}
FLOODS = {f"/ws {name}": Flood("/ws", messages) for name, messages in PARLEY.items()} | {
    f"/v1/realtime {name}": Flood("/v1/realtime?model=any", messages, before)
    for name, (messages, before) in REALTIME.items()
}


@dataclass(frozen=True)
class Cost:
    """What a flood came to."""

    sent: int
    seconds: float
    cpu_s: float
    """Processor time of the server's event loop."""
    charged_s: float | None
    """Loop time that the server has charged; None where it charges none."""
    waits_ms: Sequence[float]
    """Processor time of the event loop that passed while the bystander waited for each of his pongs, sorted.

    On a machine with other work it counts, too, what the loop did before the bystander got to read his pong.
    """

    def _wait_ms(self, part: float) -> float:
        return self.waits_ms[int(len(self.waits_ms) * part)]

    @property
    def row(self) -> str:
        p50, p99 = self._wait_ms(0.5), self._wait_ms(0.99)
        charged = "–" if self.charged_s is None else f"{self.charged_s:.2f}"
        return (
            f"{self.sent:>7} {self.seconds:>6.1f} {self.cpu_s:>6.2f} {charged:>8} {p50:>8.1f} {p99:>8.1f} "
            f"{self.waits_ms[-1]:>8.1f}"
        )


HEAD = f"{'':44}{'sent':>7} {'s':>6} {'cpu s':>6} {'charged':>8} {'p50 ms':>8} {'p99 ms':>8} {'max ms':>8}"


class Scene:
    """A server and a bystander, both in processes of their own."""

    def __init__(self, server: ServerProcess, bystander: asyncio.subprocess.Process) -> None:
        self._server = server
        self._bystander = bystander

    async def measure(self, flood: Flood) -> Cost:
        loop = asyncio.get_running_loop()
        async with AsyncExitStack() as stack:
            sockets = []
            for _ in range(CONNECTIONS):
                address = self._server.url.replace("http", "ws", 1) + flood.socket
                options: dict[str, Any] = {
                    "compression": None,
                    "max_size": None,
                    "ping_interval": None,
                    "additional_headers": _headers("greedy"),
                }
                socket = await stack.enter_async_context(connect(address, **options))
                for message in flood.before:
                    await socket.send(message)
                sockets.append(socket)
            readers = [asyncio.create_task(_read(socket)) for socket in sockets]
            await self._ask("begin")
            began_s, cpu_s, charged_s = loop.time(), self._cpu_s(), await self._metric(_CHARGED)
            senders = [asyncio.create_task(_send(socket, flood.messages)) for socket in sockets]
            sent = sum(await asyncio.gather(*senders))
            waits_ms = sorted(json.loads(await self._ask("end")))
            cpu_s = self._cpu_s() - cpu_s
            charged_after_s = await self._metric(_CHARGED)
            seconds = loop.time() - began_s
            for socket in sockets:
                socket.transport.abort()
            await asyncio.gather(*readers)
        while await self._metric("parley_connections") != 1:  # noqa: ASYNC110 - the bystander's; the server has no event
            await asyncio.sleep(0.1)
        charged = None if charged_s is None or charged_after_s is None else charged_after_s - charged_s
        return Cost(sent, seconds, cpu_s, charged, waits_ms)

    async def _ask(self, what: str) -> str:
        assert self._bystander.stdin is not None
        assert self._bystander.stdout is not None
        self._bystander.stdin.write(f"{what}\n".encode())
        return (await self._bystander.stdout.readline()).decode()

    def _cpu_s(self) -> float:
        return _loop_cpu_s(self._server.pid)

    async def _metric(self, name: str) -> float | None:
        def get() -> str:
            asked = urllib.request.Request(f"{self._server.url}/metrics", headers=_headers("bystander"))
            with urllib.request.urlopen(asked, timeout=60) as response:
                return str(response.read(), "utf-8")

        found = re.search(rf"^{name} (\S+)$", await asyncio.to_thread(get), re.MULTILINE)
        return None if found is None else float(found[1])


@asynccontextmanager
async def scene(folder: Path) -> AsyncIterator[Scene]:
    tokens = [{"user": user, "token": token, "operator": user == "bystander"} for user, token in TOKENS.items()]
    async with (
        OpenAIServer(respond=lambda _: text("Hi.")) as model,
        speech_server() as speech,
        talking_server(folder, model, speech, security={"auth": "token", "tokens": tokens}) as server,
    ):
        bystander = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.hostile.loop_costs", server.ws_url, str(server.pid)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=1 << 24,
        )
        with suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, bystander.pid, -10)  # so that he reads his pongs as they come
        try:
            yield Scene(server, bystander)
        finally:
            bystander.kill()
            await bystander.wait()


def _headers(user: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {TOKENS[user]}"}


async def _send(socket: ClientConnection, messages: Sequence[Message]) -> int:
    """Send them over and over, and wait until they were read; return how many were sent in the time there is."""
    sent = 0
    try:
        async with asyncio.timeout(FLOOD_S):
            for sent in range(max(3, min(MESSAGES, FLOOD_CHARS // max(map(len, messages))))):
                await socket.send(messages[sent % len(messages)])
            await (await socket.ping())
    except (TimeoutError, ConnectionClosed):
        pass
    return sent + 1


async def _read(socket: ClientConnection) -> None:
    try:
        async for _ in socket:
            pass
    except ConnectionClosed:
        pass


def _loop_cpu_s(pid: int) -> float:
    """Return the processor time of a server's main thread, in which its event loop runs."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text("ascii").split()[0]) / 1e9


async def _stand_by(ws_url: str, pid: int) -> None:
    """Ping all the time; print what the server's loop did during each ping between `begin` and `end`, in milliseconds."""
    waits_ms: list[float] = []

    async def ping() -> None:
        async with connect(ws_url, compression=None, max_size=None, additional_headers=_headers("bystander")) as socket:
            while True:
                began_s = _loop_cpu_s(pid)
                await socket.send('{"type": "ping", "t": 1}')
                while json.loads(await socket.recv())["type"] != "pong":
                    pass
                waits_ms.append((_loop_cpu_s(pid) - began_s) * 1000)
                await asyncio.sleep(0.01)

    pinging = asyncio.create_task(ping())
    while await asyncio.to_thread(sys.stdin.readline):
        count = len(waits_ms)
        while len(waits_ms) == count:  # noqa: ASYNC110 - the one under way belongs to what was before
            await asyncio.sleep(0.001)
        sys.stdout.write(json.dumps(waits_ms) + "\n")
        sys.stdout.flush()
        waits_ms.clear()
    pinging.cancel()


if __name__ == "__main__":
    asyncio.run(_stand_by(sys.argv[1], int(sys.argv[2])))
