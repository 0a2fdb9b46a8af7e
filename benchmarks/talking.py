"""Talking sessions on one pinned core: is the event loop still free, and does every frame arrive?

Ears, model and voice are scripted and answer at once; voice detection is the
real one. Each session sends 50 frames a second: 40 % speech, 60 % the noise of a
room above the energy floor, and a turn in every ten seconds.

What the event loop does is told apart by subtraction: first as many frames come
that are too quiet to be judged.
"""

import asyncio
import json
import os
import re
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import psutil
from websockets.asyncio.client import ClientConnection, connect

from benchmarks.figures import Figure, figure
from benchmarks.processes import Running, parley, running
from server.speech.audio import SPEECH_RATE, Samples, samples_to_pcm16
from tests.support.speech_corpus import SENTENCES, VOICES, at_level, noise, spoken

FRAME_S: Final = 0.02
PERIOD_S: Final = 10.0
_SPEECH_S: Final = 4.0
_ROOM_DBFS: Final = -45.0
_QUIET_DBFS: Final = -70.0
_FRAME_BYTES: Final = 2 * round(SPEECH_RATE * FRAME_S)
_HOLD_P99_MS: Final = 20.0
_WARM_UP_S: Final = 3.0


@dataclass(frozen=True)
class Meter:
    """What the server has counted and used so far."""

    frames: float
    turns: float
    vad_s: float
    loop_s: float
    process_s: float
    holds: dict[float, float]
    """Upper edge in seconds → how often the loop was held no longer."""


@dataclass(frozen=True, kw_only=True)
class Use:
    """Of a stretch of time; `vad`, `loop`, `process` as a share of a core, `turns` a second."""

    vad: float
    loop: float
    process: float
    turns: float
    hold_p99_ms: float
    lost_percent: float


async def measure(*, is_quick: bool) -> list[Figure]:
    cores = sorted(os.sched_getaffinity(0))
    seconds = 12.0 if is_quick else 40.0
    figures: list[Figure] = []
    async with running("-m", "benchmarks.voice_engines") as engines:
        speech = {
            f"PARLEY_SPEECH__{part}__{key}": value
            for part in ("STT", "TTS")
            for key, value in (("PROVIDER", "openai"), ("BASE_URL", engines.url), ("MODEL", "time-teller"))
        }
        async with parley(engines.url, environ=speech) as server:
            pin(server.pid, {cores[0]})
            os.sched_setaffinity(0, set(cores[1:]) or set(cores))
            try:
                for sessions in (20,) if is_quick else (50, 100):
                    figures += await _talk(server, sessions, seconds)
            finally:
                os.sched_setaffinity(0, set(cores))
    return figures


def pin(pid: int, cores: set[int]) -> None:
    """Every thread that is there already, and with them those to come."""
    for thread in psutil.Process(pid).threads():
        os.sched_setaffinity(thread.id, cores)


async def _talk(server: Running, sessions: int, seconds: float) -> list[Figure]:
    quiet, speech = _cut(_room(_QUIET_DBFS)), _cut(conversation())
    sockets = [await _open(server.url) for _ in range(sessions)]
    readers = [asyncio.create_task(send_histories(socket), name="reader") for socket in sockets]
    try:
        listening = await _use(server, sockets, quiet, seconds / 4)
        await send(sockets, speech, _WARM_UP_S)  # all have spoken before it counts
        talking = await _use(server, sockets, speech, seconds)
    finally:
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, *(socket.close() for socket in sockets), return_exceptions=True)
    name = f"{sessions} talking sessions"
    shares = {
        "voice detection": talking.vad,
        "event loop": talking.loop,
        "event loop, of it messages and sound in": listening.loop,
        "event loop, of it speech, turns, messages out": talking.loop - listening.loop,
        "other threads": talking.process - talking.loop - talking.vad,
        "all": talking.process,
    }
    return [
        figure(f"{name}: loop held, p99 (upper edge)", "ms", [talking.hold_p99_ms], goal_p95=_HOLD_P99_MS),
        figure(f"{name}: frames that did not arrive in time", "%", [talking.lost_percent], goal_p95=1),
        figure(f"{name}: turns a second", "", [talking.turns]),
        *(figure(f"{name}: core, {part}", "%", [100 * max(0.0, share)]) for part, share in shares.items()),
    ]


async def _use(server: Running, sockets: list[ClientConnection], frames: list[bytes], seconds: float) -> Use:
    before, began_s = await meter(server), time.perf_counter()
    await send(sockets, frames, seconds)
    after, took_s = await meter(server), time.perf_counter() - began_s
    return Use(
        vad=(after.vad_s - before.vad_s) / took_s,
        loop=(after.loop_s - before.loop_s) / took_s,
        process=(after.process_s - before.process_s) / took_s,
        turns=(after.turns - before.turns) / took_s,
        hold_p99_ms=_p99_ms(before, after),
        lost_percent=_lost(before, after, len(sockets) * seconds / FRAME_S),
    )


def _lost(before: Meter, after: Meter, due: float) -> float:
    return max(0.0, 100 * (1 - (after.frames - before.frames) / due))


def _p99_ms(before: Meter, after: Meter) -> float:
    counts = {edge: count - before.holds[edge] for edge, count in after.holds.items()}
    total = max(counts.values())
    edge = min(edge for edge, count in counts.items() if count >= 0.99 * total)
    return 1000 * min(edge, 1.0)  # the last edge is no number


async def _open(url: str) -> ClientConnection:
    socket = await connect(url.replace("http", "ws", 1) + "/ws", compression=None, open_timeout=30)
    await socket.recv()  # ready
    return socket


async def send_histories(socket: ClientConnection) -> None:
    """Read everything, and give each utterance the history that its turn waits for."""
    async for message in socket:
        if isinstance(message, str) and message.startswith('{"type":"speech_started"'):
            utterance = json.loads(message)["utterance"]
            await socket.send(json.dumps({"type": "history", "utterance": utterance, "messages": []}))


async def send(sockets: list[ClientConnection], frames: Sequence[bytes | str], seconds: float) -> None:
    """Each session stands at another place of the corpus."""
    started_s = time.perf_counter()
    for tick in range(round(seconds / FRAME_S)):
        for number, socket in enumerate(sockets):
            await socket.send(frames[(tick + number * len(frames) // len(sockets)) % len(frames)])
        await asyncio.sleep(max(0.0, started_s + (tick + 1) * FRAME_S - time.perf_counter()))


def conversation() -> Samples:
    """Ten seconds: sentences that are as long as their share, then the room."""
    sound = _room(_ROOM_DBFS)
    voice = _long_enough()
    sound[: voice.size] += voice
    return sound


def _room(dbfs: float) -> Samples:
    return noise(np.random.default_rng(5), "pink", PERIOD_S, dbfs)


def _cut(sound: Samples) -> list[bytes]:
    pcm = samples_to_pcm16(sound)
    return [pcm[at : at + _FRAME_BYTES] for at in range(0, len(pcm), _FRAME_BYTES)]


def _long_enough() -> Samples:
    said = np.concatenate([at_level(spoken(text, VOICES[0]), -24.0) for text in SENTENCES[:3]])
    return said[: round(_SPEECH_S * SPEECH_RATE)]


async def meter(server: Running) -> Meter:
    text = await asyncio.to_thread(_metrics, server.url)
    used = psutil.Process(server.pid)
    times = used.cpu_times()
    loop = next(thread for thread in used.threads() if thread.id == server.pid)
    holds = re.findall(r'^parley_loop_hold_seconds_bucket\{le="([^"]+)"\} (\S+)$', text, re.MULTILINE)
    return Meter(
        frames=_value(text, 'parley_frames_in_total{type="binary"}'),
        turns=_value(text, 'parley_turns_total{reason="completed"}'),
        vad_s=_value(text, "parley_vad_busy_seconds"),
        loop_s=loop.user_time + loop.system_time,
        process_s=times.user + times.system,
        holds={float(edge): float(count) for edge, count in holds},
    )


def _metrics(url: str) -> str:
    with urllib.request.urlopen(f"{url}/metrics", timeout=30) as answer:
        return str(answer.read(), "utf-8")


def _value(text: str, name: str) -> float:
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    return 0.0 if found is None else float(found[1])
