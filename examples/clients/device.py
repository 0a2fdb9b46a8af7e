"""A device with a button, a microphone and a loudspeaker, such as an ESP32; here WAV files stand for all three.

    python examples/clients/device.py ws://localhost:8765/ws question.wav another.wav

Each file (mono, 16 bit, 16,000 Hz) is what is said while the button is held; the reply is written beside it. It needs
the packages `websockets` and `av`; firmware takes libopus. What a small device has to mind is here: Opus both ways,
packet by packet; a second of reply at most that waits to be played; bounded messages and a bounded history; a lost
connection. It speaks `parley.v1` (docs/protocol.md).
"""

import asyncio
import json
import os
import sys
import time
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

FRAME_S = 0.02
SAMPLES = 320  # of a frame of the microphone
MAX_AHEAD_MS = 1000
MAX_MESSAGE_BYTES = 64 << 10  # `ready` is the largest
MAX_HISTORY_BYTES = 16 << 10
SPEAKER_RATE = 48_000


def packets_of(file: Path) -> Iterator[bytes]:
    """The microphone: an Opus packet every 20 ms."""
    encoder: Any = av.CodecContext.create("libopus", "w")
    encoder.sample_rate, encoder.layout, encoder.format, encoder.bit_rate = 16_000, "mono", "s16", 24_000
    encoder.options = {"application": "voip", "frame_duration": "20"}
    with wave.open(str(file), "rb") as wav:
        while len(pcm := wav.readframes(SAMPLES)) == 2 * SAMPLES:
            frame = av.AudioFrame.from_ndarray(np.frombuffer(pcm, "<i2").reshape(1, -1), format="s16", layout="mono")
            frame.sample_rate = 16_000
            for packet in encoder.encode(frame):
                yield bytes(packet)


class Loudspeaker:
    """Decodes packets as they come; how much waited to be played shows what a device would have to store."""

    def __init__(self) -> None:
        self._decoder: Any = av.CodecContext.create("libopus", "r")
        self._decoder.layout = "mono"
        self._ends_s = 0.0
        self.pcm = bytearray()
        self.most_waiting_ms = 0

    def play(self, packet: bytes) -> None:
        for frame in self._decoder.decode(av.Packet(packet)):
            self.pcm += frame.to_ndarray().tobytes()
        now_s = time.monotonic()
        self._ends_s = max(self._ends_s, now_s) + FRAME_S
        self.most_waiting_ms = max(self.most_waiting_ms, round(1000 * (self._ends_s - now_s)))

    def write(self, file: Path) -> None:
        with wave.open(str(file), "wb") as wav:
            wav.setnchannels(1)
            wav.setsampwidth(2)
            wav.setframerate(SPEAKER_RATE)
            wav.writeframes(self.pcm)


class Device:
    def __init__(self) -> None:
        self.history: list[dict[str, Any]] = []
        self.state: Any = None

    async def ready(self, socket: ClientConnection) -> None:
        """Wait for the server's engines, which may still be loading."""
        async for message in socket:
            frame = json.loads(message)
            speech = frame if frame["type"] == "speech" else frame.get("speech")
            if speech and "loading" not in (speech["stt"]["state"], speech["vad"]["state"], speech["tts"]["state"]):
                return
        raise ConnectionError("the server has closed the connection")

    async def hold_button(self, socket: ClientConnection, file: Path) -> None:
        """Speak, and hear the reply. Raises ConnectionClosed."""
        loudspeaker = Loudspeaker()
        await socket.send(json.dumps({"type": "speech_start"}))
        for packet in packets_of(file):
            await socket.send(packet)
            await asyncio.sleep(FRAME_S)
        await socket.send(json.dumps({"type": "speech_end"}))
        turn: list[dict[str, Any]] = []
        async for message in socket:
            if isinstance(message, bytes):
                loudspeaker.play(message)
                continue
            frame = json.loads(message)
            match frame["type"]:
                case "speech_started":
                    asked = {"type": "history", "utterance": frame["utterance"], "state": self.state}
                    await socket.send(json.dumps({**asked, "messages": self.history}))
                case "transcript" if frame["final"]:
                    if not frame["text"]:
                        return print("[nothing was said]")
                    turn.append({"role": "user", "content": frame["text"]})
                case "sentence":
                    if turn[-1]["role"] != "assistant":
                        turn.append({"role": "assistant", "content": ""})
                    turn[-1]["content"] += frame["text"]
                case "hook":
                    marks = {"_hook": frame["name"], "_skill": frame["skill"], "_sig": frame["sig"]}
                    turn.append({"role": frame["role"], "content": frame["content"], **marks})
                case "error":
                    print(f"[{frame['code']}: {frame['message']}]")
                    if "turn_id" not in frame:
                        return None
                case "turn_end":
                    self.remember(turn, frame)
                    loudspeaker.write(file.with_suffix(".reply.wav"))
                    played_ms = len(loudspeaker.pcm) // (2 * SPEAKER_RATE // 1000)
                    print(f"{turn[-1]['content']} [{played_ms} ms, at most {loudspeaker.most_waiting_ms} waiting]")
                    return None
        raise ConnectionError("the server has closed the connection")

    def remember(self, turn: list[dict[str, Any]], end: dict[str, Any]) -> None:
        """Add a turn to the history, and forget the oldest ones when it grows too large."""
        if end.get("rollback"):
            return
        self.state = end.get("state", self.state)
        self.history += turn
        while len(json.dumps(self.history)) > MAX_HISTORY_BYTES:
            del self.history[0]
            while self.history and self.history[0]["role"] != "user":
                del self.history[0]


async def main(url: str, files: list[Path]) -> None:
    token = os.environ.get("PARLEY_TOKEN")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    settings = {
        "turn_detection": "push_to_talk",
        "input": {"format": "opus"},
        "output": {"format": "opus", "max_ahead_ms": MAX_AHEAD_MS},
    }
    device, wait_s = Device(), 0.5
    while files:
        try:
            async with connect(url, additional_headers=headers, max_size=MAX_MESSAGE_BYTES, compression=None) as socket:
                await socket.send(json.dumps({"type": "configure", **settings}))
                await device.ready(socket)
                while files:
                    await device.hold_button(socket, files[0])
                    wait_s = 0.5
                    del files[0]
        except (OSError, ConnectionClosed) as lost:
            print(f"[not connected: {lost}; again in {wait_s} s]")
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, 15)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], [Path(name) for name in sys.argv[2:]]))
