"""A real server that is spoken to for long: what it holds afterwards is what it held before.

Ears, model and voice are scripted and answer at once; voice detection is the real
one. A conversation's hour of sound is sent faster than it could be spoken.
"""

import asyncio
import json
import re
import statistics
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import psutil
import pytest
from websockets.asyncio.client import ClientConnection, connect

from benchmarks.processes import running
from server.speech.audio import SPEECH_RATE, samples_to_pcm16
from tests.model.profile import IS_WHOLE_SOAK, rounds
from tests.support.server_process import ServerProcess, endpoint
from tests.support.speech_corpus import at_level, noise, spoken

CYCLES: Final = rounds(5000, few=100)
AT_ONCE: Final = 5
HOUR_S: Final = rounds(3600, few=72)
TURN_S: Final = 8.0
"""Of sound in each turn of the long conversation."""
SAMPLES: Final = 20
POOLED: Final = 3 * AT_ONCE
"""Connections to ears, model and voice that the server keeps for a while, as many as were needed at once."""
_MESSAGE_BYTES: Final = 32_000
_CYCLE_KB: Final = 1.0
_TURN_KB: Final = 4.0
"""Less is what allocators settle with: an hour has 450 turns only. One utterance that stayed would be 50."""


@dataclass
class Watch:
    """What the server holds, from time to time."""

    server: ServerProcess
    rss_kb: list[float] = field(default_factory=list)

    def note_memory(self) -> None:
        self.rss_kb.append(psutil.Process(self.server.pid).memory_info().rss / 1024)

    def slope_kb(self, per_sample: float) -> float:
        """Of the second half, for one cycle or turn of which `per_sample` lie between two samples."""
        late = self.rss_kb[len(self.rss_kb) // 2 :]
        return statistics.linear_regression(range(len(late)), late).slope / per_sample

    async def holds(self) -> tuple[int, int, int, int]:
        """Tasks, descriptors, threads, processes."""
        process = psutil.Process(self.server.pid)
        found = re.search(r"^parley_tasks (\S+)$", await asyncio.to_thread(self._metrics), re.MULTILINE)
        assert found is not None
        return int(float(found[1])), process.num_fds(), process.num_threads(), len(process.children(recursive=True))

    async def settles_at(self, before: tuple[int, int, int, int]) -> None:
        tasks, descriptors, threads, processes = before
        limits = (tasks, descriptors + POOLED, threads, processes)
        now = await self.holds()
        for _ in range(200):
            if all(after <= limit for after, limit in zip(now, limits, strict=True)):
                return
            await asyncio.sleep(0.1)
            now = await self.holds()
        assert now == before, "tasks, descriptors (and those of pools), threads, processes"

    def _metrics(self) -> str:
        with urllib.request.urlopen(f"{self.server.url}/metrics", timeout=10) as response:
            return str(response.read(), "utf-8")


@asynccontextmanager
async def listening(folder: Path) -> AsyncIterator[Watch]:
    async with running("-m", "benchmarks.voice_engines") as engines:
        speech = {
            f"PARLEY_SPEECH__{part}__{key}": value
            for part in ("STT", "TTS")
            for key, value in (("PROVIDER", "openai"), ("BASE_URL", engines.url), ("MODEL", "scripted"))
        }
        limits = {"limits": {"max_frames_per_s": 1_000_000}}
        async with ServerProcess(folder, environ={**endpoint(engines.url), **speech}, settings=limits) as server:
            await until_it_hears(server.ws_url)
            yield Watch(server)


async def until_it_hears(url: str) -> None:
    async with connect(url, compression=None) as socket, asyncio.timeout(60):
        async for message in socket:
            frame = json.loads(message)
            speech = frame["speech"] if frame["type"] == "ready" else frame
            if frame["type"] in ("ready", "speech") and speech["vad"]["state"] == "ready":
                return


@cache
def question() -> bytes:
    return samples_to_pcm16(at_level(spoken("What time is it now, please?", "en-us"), -24.0))


async def send_sound(socket: ClientConnection, pcm: bytes) -> None:
    for at in range(0, len(pcm), _MESSAGE_BYTES):
        await socket.send(pcm[at : at + _MESSAGE_BYTES])


async def until(socket: ClientConnection, type_: str) -> dict[str, Any]:
    """The next frame of that type; `history` is answered on the way."""
    async for message in socket:
        if isinstance(message, bytes):
            continue
        frame: dict[str, Any] = json.loads(message)
        if frame["type"] == "speech_started":
            await socket.send(json.dumps({"type": "history", "utterance": frame["utterance"], "messages": []}))
        assert frame["type"] != "error", frame
        if frame["type"] == type_:
            return frame
    raise ConnectionError(f"closed before {type_}")


async def cycle(url: str, number: int) -> None:
    """Connect, speak, and be gone, at a moment that differs from one to the next."""
    async with connect(url, compression=None) as socket, asyncio.timeout(30):
        if number % 4 == 0:
            await socket.send(json.dumps({"type": "configure", "turn_detection": "push_to_talk"}))
            await socket.send('{"type":"speech_start"}')
        await send_sound(socket, question())
        match number % 4:
            case 0:
                await until(socket, "speech_started")
                await socket.send('{"type":"speech_end"}')
                await until(socket, "sentence")
            case 1:
                await until(socket, "speech_started")
            case 2:
                await send_sound(socket, bytes(2 * SPEECH_RATE))
                await until(socket, "turn_end")
        socket.transport.abort()


@pytest.mark.soak
@pytest.mark.timeout(7200)
async def test_clients_that_connect_speak_and_drop_leave_nothing_behind(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with listening(tmp_path) as watch:
        await cycles(watch, 0, 20)
        before = await watch.holds()
        for step in range(SAMPLES):
            await cycles(watch, step * CYCLES // SAMPLES, CYCLES // SAMPLES)
            watch.note_memory()

        report(request, watch, f"{CYCLES} cycles", CYCLES / SAMPLES)
        await watch.settles_at(before)
        assert not IS_WHOLE_SOAK or watch.slope_kb(CYCLES / SAMPLES) < _CYCLE_KB
        assert "Traceback" not in watch.server.log()


async def cycles(watch: Watch, start: int, count: int) -> None:
    for first in range(start, start + count, AT_ONCE):
        async with asyncio.TaskGroup() as group:
            for number in range(first, min(first + AT_ONCE, start + count)):
                group.create_task(cycle(watch.server.ws_url, number))


@pytest.mark.soak
@pytest.mark.timeout(7200)
async def test_an_hour_of_one_conversation_leaves_nothing_behind(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    turns = round(HOUR_S / TURN_S)
    room = samples_to_pcm16(noise(np.random.default_rng(1), "pink", TURN_S, -45.0))
    async with listening(tmp_path) as watch, connect(watch.server.ws_url, compression=None) as socket:
        await converse(socket, room)
        before = await watch.holds()
        for number in range(turns):
            await converse(socket, room)
            if number % max(1, turns // SAMPLES) == 0:
                watch.note_memory()

        report(request, watch, f"{turns} turns, {turns * TURN_S:.0f} s of sound", turns / SAMPLES)
        await watch.settles_at(before)
        assert not IS_WHOLE_SOAK or watch.slope_kb(turns / SAMPLES) < _TURN_KB
        assert "Traceback" not in watch.server.log()


async def converse(socket: ClientConnection, room: bytes) -> None:
    """A question, the silence that ends it, the reply, and the noise of the room for the rest of the turn."""
    silence = bytes(round(1.5 * SPEECH_RATE) * 2)
    async with asyncio.timeout(30):
        await send_sound(socket, question() + silence)
        end = await until(socket, "turn_end")
        assert end["reason"] == "completed", end
        playback = {"type": "playback", "turn_id": end["turn_id"], "index": 1, "ms": 10_000, "state": "stopped"}
        await socket.send(json.dumps(playback))
        await send_sound(socket, room[len(question()) + len(silence) :])
        await socket.send('{"type":"ping","t":"heard"}')
        await until(socket, "pong")


def report(request: pytest.FixtureRequest, watch: Watch, what: str, per_sample: float) -> None:
    reporter = request.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        first, last = watch.rss_kb[0] / 1024, watch.rss_kb[-1] / 1024
        slope = watch.slope_kb(per_sample)
        reporter.write_line(f"\n{what}: {first:.1f} MB → {last:.1f} MB, slope {slope * 1000:+.0f} B each at the end")
