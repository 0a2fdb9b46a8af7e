"""Talks to the server with WAV files: what is said in each is asked, and the reply is written beside it.

    python examples/clients/voice.py ws://localhost:8765/ws question.wav another.wav

It needs the package `websockets`; the files are mono, 16 bit. It speaks `parley.v1` (docs/protocol.md), push to talk.
The server keeps no conversation: the history stands here and goes along with each question.
"""

import asyncio
import json
import os
import sys
import wave
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

PIECE_BYTES = 32_000  # a binary message may have 64 KiB


class Talk:
    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.history: list[dict[str, Any]] = []
        self.state: Any = None  # what the hooks of the server remember

    async def send(self, type_: str, **fields: Any) -> None:
        await self.socket.send(json.dumps({"type": type_, **fields}))

    async def ready(self) -> None:
        """Wait for the engines, which may still be loading."""
        async for message in self.socket:
            frame = json.loads(message)
            speech = frame if frame["type"] == "speech" else frame.get("speech")
            if speech and "loading" not in (speech["stt"]["state"], speech["vad"]["state"], speech["tts"]["state"]):
                return

    async def ask(self, file: Path) -> None:
        with wave.open(str(file), "rb") as wav:
            pcm, rate = wav.readframes(wav.getnframes()), wav.getframerate()
        await self.send("configure", turn_detection="push_to_talk", input={"format": "pcm16", "sample_rate": rate})
        await self.send("speech_start")
        for at in range(0, len(pcm), PIECE_BYTES):
            await self.socket.send(pcm[at : at + PIECE_BYTES])
        await self.send("speech_end")
        sound, rate = await self.reply()
        if sound:
            with wave.open(str(file.with_suffix(".reply.wav")), "wb") as wav:
                wav.setnchannels(1)
                wav.setsampwidth(2)
                wav.setframerate(rate)
                wav.writeframes(sound)

    async def reply(self) -> tuple[bytes, int]:
        """Read up to the end of the turn, and keep in the history what it said."""
        sound, rate = b"", 0
        async for message in self.socket:
            if isinstance(message, bytes):
                sound += message
                continue
            frame = json.loads(message)
            match frame["type"]:
                case "speech_started":
                    history = {"utterance": frame["utterance"], "messages": self.history, "state": self.state}
                    await self.send("history", **history)
                case "transcript" if frame["final"]:
                    print(f"you: {frame['text'] or '(nothing)'}")
                    if not frame["text"]:
                        return b"", 0  # no words, no turn
                    self.history.append({"role": "user", "content": frame["text"]})
                case "sentence":
                    self.add("assistant", frame["text"])
                    rate = frame["audio"]["sample_rate"] if frame["audio"] else rate
                case "hook":
                    marks = {
                        f"_{of}": frame[name] for of, name in (("hook", "name"), ("skill", "skill"), ("sig", "sig"))
                    }
                    self.history.append({"role": frame["role"], "content": frame["content"], **marks})
                case "approval_request":
                    await self.send("approval", id=frame["id"], approved=False, reason="nobody is here to ask")
                case "error" | "notice":
                    print(f"[{frame['code']}: {frame['message']}]")
                    if frame["code"] == "speech_unavailable":
                        return b"", 0
                case "turn_end":
                    self.state = frame.get("state", self.state)
                    print(f"it: {self.history[-1]['content']}")
                    return sound, rate
        raise SystemExit("the server has closed the connection")

    def add(self, role: str, text: str) -> None:
        if self.history and self.history[-1]["role"] == role:
            self.history[-1]["content"] += text
        else:
            self.history.append({"role": role, "content": text})


async def main(url: str, files: list[Path]) -> None:
    token = os.environ.get("PARLEY_TOKEN")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with connect(url, additional_headers=headers, subprotocols=["parley.v1"], max_size=None) as socket:  # type: ignore[list-item]
        talk = Talk(socket)
        await talk.ready()
        for file in files:
            await talk.ask(file)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], [Path(name) for name in sys.argv[2:]]))
