"""What the server itself adds to a spoken turn: ears, model and voice answer at once."""

import asyncio
import json
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp
from websockets.asyncio.client import ClientConnection, connect

from benchmarks.figures import Figure, figure
from benchmarks.processes import parley, running
from benchmarks.voice_engines import STAMPS
from server.speech.audio import SPEECH_RATE, WINDOW, WINDOW_MS, samples_to_pcm16
from server.speech.turn_taking import TurnTakingConfig
from tests.support.speech_corpus import at_level, spoken

WARM_UP_TURNS: Final = 3
TURN_LIMIT_S: Final = 20.0
QUIET_S: Final = 0.7
"""After a turn: its sound has been played, and the echo gate is open again."""
_BETWEEN_POSTS_S: Final = 0.03  # as sentences of the model follow each other
_QUESTION_DBFS: Final = -24.0
_WINDOWS_A_MESSAGE: Final = 32


@dataclass
class Share:
    """Milliseconds of one way to speak."""

    total_ms: list[float] = field(default_factory=list)
    request_ms: list[float] = field(default_factory=list)
    sound_ms: list[float] = field(default_factory=list)

    def hear(self, sound: bytes) -> None:
        """The first message of a sentence's sound, as soon as it has arrived."""
        now_ns = time.monotonic_ns()
        request_ns, written_ns = STAMPS.unpack_from(sound)
        self.request_ms.append(request_ns / 1e6)
        self.sound_ms.append((now_ns - written_ns) / 1e6)


async def measure(*, is_quick: bool) -> list[Figure]:
    async with running("-m", "benchmarks.voice_engines") as engines:
        speech = {
            f"PARLEY_SPEECH__{part}__{key}": value
            for part in ("STT", "TTS")
            for key, value in (("PROVIDER", "openai"), ("BASE_URL", engines.url), ("MODEL", "time-teller"))
        }
        async with parley(engines.url, environ=speech) as server:
            pressed = await _converse(server.url, "push_to_talk", 10 if is_quick else 60)
            free = await _converse(server.url, "server_vad", 6 if is_quick else 30)
        bare = await _post(engines.url, 30 if is_quick else 180)
    both = Share(request_ms=pressed.request_ms + free.request_ms, sound_ms=pressed.sound_ms + free.sound_ms)
    return [
        figure("sentence complete at the model → request for its sound", "ms", both.request_ms, goal_p50=2),
        figure("… of that, what a bare aiohttp POST takes", "ms", bare.request_ms),
        figure("first bytes of synthesis → the client has them", "ms", both.sound_ms, goal_p50=2),
        figure("… of that, to whoever has sent a bare aiohttp POST", "ms", bare.sound_ms),
        figure("server's own share, key up → first sample of the reply", "ms", pressed.total_ms, goal_p95=10),
        figure("server's own share, deciding window → first sample", "ms", free.total_ms, goal_p95=10),
    ]


async def _converse(url: str, mode: str, turns: int) -> Share:
    share = Share()
    async with connect(url.replace("http", "ws", 1) + "/ws", compression=None, max_size=None) as socket:
        fields = {"turn_detection": mode, "input": {"format": "pcm16", "sample_rate": SPEECH_RATE}}
        await socket.send(json.dumps({"type": "configure", **fields}))
        talker = _Pressed(socket) if mode == "push_to_talk" else _Free(socket)
        for number in range(WARM_UP_TURNS + turns):
            async with asyncio.timeout(TURN_LIMIT_S):
                await _turn(socket, talker, share if number >= WARM_UP_TURNS else Share())
            await asyncio.sleep(QUIET_S)
    return share


async def _post(url: str, count: int) -> Share:
    """The floor: nothing but a request for sound, as seldom as sentences ask for it."""
    share = Share()
    async with aiohttp.ClientSession() as session:
        for number in range(WARM_UP_TURNS + count):
            body = {"model": "", "voice": "", "input": f"It is now t{time.monotonic_ns()}."}
            async with session.post(f"{url}/audio/speech", json=body) as response:
                (share if number >= WARM_UP_TURNS else Share()).hear(await response.content.readany())
                await response.read()
            await asyncio.sleep(_BETWEEN_POSTS_S)
    return share


async def _turn(socket: ClientConnection, talker: "_Talker", share: Share) -> None:
    """Ask, and listen to the end of the turn."""
    asking = asyncio.create_task(talker.ask(), name="microphone")
    first_s = 0.0
    is_first_of_sentence = False
    try:
        async for message in socket:
            if isinstance(message, bytes):
                first_s = first_s or time.perf_counter()
                if is_first_of_sentence:
                    share.hear(message)
                is_first_of_sentence = False
                continue
            frame = json.loads(message)
            is_first_of_sentence = frame["type"] == "sentence"
            if frame["type"] == "speech_started":
                await socket.send(json.dumps({"type": "history", "utterance": frame["utterance"], "messages": []}))
            elif frame["type"] == "error":
                raise RuntimeError(f"the server refused what is measured: {message!r}")
            elif frame["type"] == "turn_end":
                if frame["reason"] != "completed" or not first_s:
                    raise RuntimeError(f"the turn ended otherwise than measured: {message!r}")
                share.total_ms.append((first_s - talker.decided_s) * 1000)
                return
            talker.notice(frame)
    finally:
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
    raise ConnectionError("the server closed in the middle of a turn")


class _Talker(ABC):
    """`decided_s`: when the server was given what ended the utterance."""

    def __init__(self, socket: ClientConnection) -> None:
        self.decided_s = 0.0
        self._socket = socket
        self._windows = _question()

    @abstractmethod
    async def ask(self) -> None:
        """Speak, and set `decided_s`. Cancelled when the turn has ended."""

    async def _speak(self) -> None:
        """Faster than anybody can: the server judges it as it comes."""
        for at in range(0, len(self._windows), _WINDOWS_A_MESSAGE):
            await self._socket.send(b"".join(self._windows[at : at + _WINDOWS_A_MESSAGE]))

    @abstractmethod
    def notice(self, frame: dict[str, Any]) -> None:
        """What the server says of it."""


class _Pressed(_Talker):
    """Holds a key while it speaks."""

    async def ask(self) -> None:
        await self._socket.send('{"type":"speech_start"}')
        await self._speak()
        await asyncio.sleep(0.1)
        self.decided_s = time.perf_counter()
        await self._socket.send('{"type":"speech_end"}')

    def notice(self, frame: dict[str, Any]) -> None:
        """The key has decided."""


class _Free(_Talker):
    """Speaks at once what takes seconds, then is silent in real time, one window of the detector a message."""

    def __init__(self, socket: ClientConnection) -> None:
        super().__init__(socket)
        self._sent_windows = 0
        self._sent_s: dict[int, float] = {}  # by number of the window since connecting

    async def ask(self) -> None:
        self._sent_s.clear()
        await self._speak()
        self._sent_windows += len(self._windows)
        silence = bytes(2 * WINDOW)
        started_s = time.perf_counter()
        number = 0
        while True:
            number += 1
            await asyncio.sleep(max(0.0, started_s + number * WINDOW_MS / 1000 - time.perf_counter()))
            self._sent_windows += 1
            self._sent_s[self._sent_windows] = time.perf_counter()
            await self._socket.send(silence)

    def notice(self, frame: dict[str, Any]) -> None:
        """The words sound complete, so the utterance ended with the window that made its silence long enough."""
        if frame["type"] == "speech_stopped":
            end_ms = frame["audio_ms"] + TurnTakingConfig().complete_ms
            self.decided_s = self._sent_s[round(end_ms / WINDOW_MS)]


def _question() -> list[bytes]:
    """A spoken question as whole windows: some silence, the voice, none after it."""
    voice = at_level(spoken("What time is it now, please?", "en-us"), _QUESTION_DBFS)
    pcm = bytes(2 * 10 * WINDOW) + samples_to_pcm16(voice)
    pcm += bytes(-len(pcm) % (2 * WINDOW))
    return [pcm[at : at + 2 * WINDOW] for at in range(0, len(pcm), 2 * WINDOW)]
