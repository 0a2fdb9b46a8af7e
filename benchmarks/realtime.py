"""What `/v1/realtime` costs over `/ws`: time to the first sound of a reply, and CPU of a talking session.

Ears, model and voice are scripted and answer at once; voice detection is the
real one. Both protocols carry the same sound at 24 kHz, in frames of 20 ms, and
the same replies of four seconds, a turn every ten seconds, and for the first sound the same history. They are
measured by turns at one server.
"""

import asyncio
import base64
import json
import os
import time
from collections.abc import Awaitable, Callable
from typing import Final

import numpy as np
from websockets.asyncio.client import ClientConnection, connect

from benchmarks.figures import Figure, figure
from benchmarks.processes import Running, parley, running
from benchmarks.talking import FRAME_S, conversation, meter, pin, send, send_histories
from server.speech.audio import SPEECH_RATE, samples_to_pcm16

RATE: Final = 24_000
MORE_MS: Final = 2.0
MORE_CPU_PERCENT: Final = 15.0
SESSIONS: Final = 20
_SENTENCE_BYTES: Final = 64_000
"""Sound of each of the three sentences of a reply: four seconds in all."""
_FRAME_BYTES: Final = 2 * round(RATE * FRAME_S)
_QUESTION: Final = "What time is it?"
_WARM_UP_S: Final = 3.0

Open = Callable[[str], Awaitable[ClientConnection]]


async def measure(*, is_quick: bool) -> list[Figure]:
    cores = sorted(os.sched_getaffinity(0))
    async with running("-m", "benchmarks.voice_engines", str(_SENTENCE_BYTES)) as engines:
        speech = {
            f"PARLEY_SPEECH__{part}__{key}": value
            for part in ("STT", "TTS")
            for key, value in (("PROVIDER", "openai"), ("BASE_URL", engines.url), ("MODEL", "time-teller"))
        }
        async with parley(engines.url, environ=speech) as server:
            pin(server.pid, {cores[0]})
            os.sched_setaffinity(0, set(cores[1:]) or set(cores))
            try:
                first = await _first_sounds(server.url, turns=20 if is_quick else 200)
                talking = await _talk(server, seconds=12.0 if is_quick else 40.0, rounds=1 if is_quick else 3)
            finally:
                os.sched_setaffinity(0, set(cores))
    return [*first, *talking]


async def _first_sounds(url: str, *, turns: int) -> list[Figure]:
    plain, realtime = await _open_plain(url), await _open_realtime(url)
    plain_ms: list[float] = []
    realtime_ms: list[float] = []
    history: list[dict[str, str]] = []  # as the Realtime conversation has it
    for number in range(turns + 2):
        pair = await _ask_plain(plain, history), await _ask_realtime(realtime)
        if number >= 2:  # these warm it up
            plain_ms.append(pair[0])
            realtime_ms.append(pair[1])
    for socket in (plain, realtime):
        await socket.close()
    more = [late - early for early, late in zip(plain_ms, realtime_ms, strict=True)]
    return [
        figure("/ws: question → first sound", "ms", plain_ms),
        figure("/v1/realtime: question → first sound", "ms", realtime_ms),
        figure("/v1/realtime: first sound, more than at /ws", "ms", more, goal_p50=MORE_MS),
    ]


async def _ask_plain(socket: ClientConnection, history: list[dict[str, str]]) -> float:
    """Ask once more, and add question and reply to the history."""
    history.append({"role": "user", "content": _QUESTION})
    began_s, first_ms, reply = time.perf_counter(), None, ""
    await socket.send(json.dumps({"type": "chat", "messages": history}))
    async for message in socket:
        if isinstance(message, bytes):
            first_ms = first_ms or 1000 * (time.perf_counter() - began_s)
        elif message.startswith('{"type":"text"'):
            reply += json.loads(message)["delta"]
        elif message.startswith('{"type":"turn_end"'):
            break
    assert first_ms is not None, "the reply had no sound"
    history.append({"role": "assistant", "content": reply})
    return first_ms


async def _ask_realtime(socket: ClientConnection) -> float:
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": _QUESTION}]}
    began_s, first_ms, created = time.perf_counter(), None, ""
    await socket.send(json.dumps({"type": "conversation.item.create", "item": item}))
    await socket.send(json.dumps({"type": "response.create"}))
    async for message in socket:
        assert isinstance(message, str), "Realtime has no binary messages"
        if "response.output_audio.delta" in message[:200]:
            first_ms = first_ms or 1000 * (time.perf_counter() - began_s)
        elif '"type":"response.done"' in message:
            created = message
            break
    assert first_ms is not None, f"the reply had no sound: {created}"
    return first_ms


async def _talk(server: Running, *, seconds: float, rounds: int) -> list[Figure]:
    pcm = _pcm()
    frames = [pcm[at : at + _FRAME_BYTES] for at in range(0, len(pcm), _FRAME_BYTES)]
    events = [
        json.dumps({"type": "input_audio_buffer.append", "audio": base64.b64encode(frame).decode()}) for frame in frames
    ]
    plain: list[float] = []
    realtime: list[float] = []
    for _ in range(rounds):
        plain.append(await _cpu(server, _open_plain, send_histories, frames, seconds))
        realtime.append(await _cpu(server, _open_realtime, _read, events, seconds))
    more = 100 * (sum(realtime) / sum(plain) - 1)
    return [
        figure("/ws: CPU of a talking session, a second", "ms", plain),
        figure("/v1/realtime: CPU of a talking session, a second", "ms", realtime),
        figure("/v1/realtime: CPU of a talking session, more than at /ws", "%", [more], goal_p95=MORE_CPU_PERCENT),
    ]


async def _cpu(
    server: Running,
    open_socket: Open,
    answer: Callable[[ClientConnection], Awaitable[None]],
    frames: list[bytes] | list[str],
    seconds: float,
) -> float:
    """Return the CPU time that a second of a session takes, in ms, while SESSIONS of them talk."""
    sockets = [await open_socket(server.url) for _ in range(SESSIONS)]
    readers = [asyncio.ensure_future(answer(socket)) for socket in sockets]
    try:
        await send(sockets, frames, _WARM_UP_S)
        before = await meter(server)
        await send(sockets, frames, seconds)
        after = await meter(server)
    finally:
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, *(socket.close() for socket in sockets), return_exceptions=True)
    due = SESSIONS * seconds / 10
    assert after.turns - before.turns > due / 2, (
        f"{after.turns - before.turns} turns of about {due}: this is no talking"
    )
    return 1000 * (after.process_s - before.process_s) / (SESSIONS * seconds)  # however busy the machine is


async def _open_plain(url: str) -> ClientConnection:
    socket = await connect(url.replace("http", "ws", 1) + "/ws", compression=None, max_size=None, open_timeout=30)
    await socket.recv()
    await socket.send(json.dumps({"type": "configure", "input": {"sample_rate": RATE}}))
    return socket


async def _open_realtime(url: str) -> ClientConnection:
    place = url.replace("http", "ws", 1) + "/v1/realtime?model=any"
    socket = await connect(place, compression=None, max_size=None, open_timeout=30)
    await socket.recv()
    return socket


async def _read(socket: ClientConnection) -> None:
    async for _ in socket:
        pass


def _pcm() -> bytes:
    sound = conversation()
    places = np.arange(0, sound.size, SPEECH_RATE / RATE)
    return samples_to_pcm16(np.interp(places, np.arange(sound.size), sound).astype(np.float32))
