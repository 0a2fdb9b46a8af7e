"""`python -m server.talk --mic` with a microphone and a loudspeaker: null devices of a PulseAudio, in real time.

Voice detection is the real one; ears, model and voice do as the test says.
"""

import asyncio
import os
import shutil
import signal
import sys
import wave
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from numpy.typing import NDArray

from server.speech.audio import SPEECH_RATE, samples_to_pcm16
from tests.support.openai_script import text
from tests.support.openai_server import OpenAIServer
from tests.support.parley import parley
from tests.support.pulse import sound_server
from tests.support.server_process import ROOT
from tests.support.speech_corpus import spoken
from tests.support.speech_server import speech_server

NEEDED: Final = ("pulseaudio", "pactl", "paplay", "parecord")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(60),
    pytest.mark.skipif(
        any(shutil.which(name) is None for name in NEEDED), reason=f"not all installed: {', '.join(NEEDED)}"
    ),
]

RATE: Final = 24_000
TONE_HZ: Final = 440
_BLOCK_S: Final = 0.05
LONG_REPLY: Final = tuple(f"This is sentence number {number} of a story. " for number in range(1, 9))


def tone(seconds: float) -> bytes:
    angles = 2 * np.pi * TONE_HZ / RATE * np.arange(round(RATE * seconds))
    pcm: bytes = np.rint(9000 * np.sin(angles)).astype("<i2").tobytes()
    return pcm


@pytest.fixture
def room(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of programs that stand in it: what is played to `air` is heard by the microphone."""
    (tmp_path / ".asoundrc").write_text("pcm.!default { type pulse }\nctl.!default { type pulse }\n")
    with sound_server(tmp_path, "air", "loudspeaker") as found:
        yield {
            **os.environ,
            **found,
            "HOME": str(tmp_path),
            "PULSE_SOURCE": "air.monitor",
            "PULSE_SINK": "loudspeaker",
            "PYTHONPATH": os.environ["SOUNDDEVICE"],
            "PYTHONUNBUFFERED": "1",
        }


@pytest.fixture
def question(tmp_path: Path) -> Path:
    path = tmp_path / "question.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(SPEECH_RATE)
        file.writeframes(samples_to_pcm16(spoken("What is the weather like in London today?", "en-us")))
    return path


async def play(path: Path, room: dict[str, str]) -> None:
    process = await asyncio.create_subprocess_exec("paplay", "--device=air", str(path), env=room)
    assert await process.wait() == 0


class Talk:
    """The command while it runs."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.said = ""

    async def says(self, words: str) -> None:
        """Returns when it has, since it was asked last."""
        assert self.process.stdout is not None
        while words not in self.said:
            came = await self.process.stdout.read(1000)
            assert came, f"it ended after {self.said!r}: {await self.complaint()}"
            self.said += came.decode()
        self.said = self.said.partition(words)[2]

    async def complaint(self) -> str:
        """What it says on the error stream until it ends. What ALSA and PortAudio say there of their own does not count."""
        assert self.process.stderr is not None
        lines = (await self.process.stderr.read()).decode().splitlines(keepends=True)
        return "".join(line for line in lines if not line.startswith(("ALSA lib ", "Expression '")))


@asynccontextmanager
async def talking(url: str, room: dict[str, str]) -> AsyncIterator[Talk]:
    command = [sys.executable, "-m", "server.talk", url, "--mic"]
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, env=room, stdout=PIPE, stderr=PIPE)
    try:
        yield Talk(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


class Recording:
    """Of the loudspeaker."""

    def __init__(self, process: Process) -> None:
        assert process.stdout is not None
        self._sound = process.stdout

    async def hear_tone(self, seconds: float) -> None:
        """Returns when so much of it was heard in all: a busy machine leaves gaps."""
        heard_s = 0.0
        while heard_s < seconds:
            samples = await self._block()
            spectrum = np.abs(np.fft.rfft(samples - samples.mean()))
            hz = np.fft.rfftfreq(samples.size, 1 / RATE)[spectrum.argmax()]
            heard_s += _BLOCK_S * bool(is_loud(samples) and abs(hz - TONE_HZ) < 40)

    async def hear_silence(self, seconds: float) -> None:
        """Returns when there was so much of it in a row."""
        silent_s = 0.0
        while silent_s < seconds:
            silent_s = 0.0 if is_loud(await self._block()) else silent_s + _BLOCK_S

    async def _block(self) -> NDArray[np.float64]:
        return np.frombuffer(await self._sound.readexactly(2 * round(RATE * _BLOCK_S)), "<i2").astype(np.float64)


def is_loud(samples: NDArray[np.float64]) -> bool:
    return bool(np.abs(samples).max() > 1000)


@asynccontextmanager
async def recording(room: dict[str, str]) -> AsyncIterator[Recording]:
    form = ["--raw", "--format=s16le", f"--rate={RATE}", "--channels=1", "--latency-msec=50"]
    process = await asyncio.create_subprocess_exec(
        "parecord", "--device=loudspeaker.monitor", *form, env=room, stdout=PIPE
    )
    try:
        yield Recording(process)
    finally:
        process.kill()
        await process.wait()


@asynccontextmanager
async def server(folder: Path, model: OpenAIServer) -> AsyncIterator[str]:
    async with speech_server(text="What is the weather like?", pieces=[tone(1)]) as speech:
        engine = {"provider": "openai", "base_url": speech.base_url, "api_key": "scripted", "model": "scripted"}
        settings: dict[str, Any] = {"speech": {"stt": engine, "tts": engine}, "agent": {"planning": False}}
        async with parley(folder, model.url, settings) as running:
            yield running.ws_url


async def test_what_is_asked_is_answered_aloud_and_a_voice_interrupts(
    tmp_path: Path, room: dict[str, str], question: Path
) -> None:
    async with (
        OpenAIServer() as model,
        server(tmp_path, model) as url,
        recording(room) as loudspeaker,
        talking(url, room) as talk,
    ):
        model.queue(text("It rains."), text(*LONG_REPLY), text("Good."))
        await talk.says("[speak;")
        await play(question, room)
        await talk.says("> What is the weather like?\n")
        await talk.says("It rains.")
        await loudspeaker.hear_tone(0.7)
        await loudspeaker.hear_silence(0.5)
        await play(question, room)
        await talk.says(LONG_REPLY[-1])
        await loudspeaker.hear_tone(1.5)
        await play(question, room)
        await talk.says("[interrupted]")
        await loudspeaker.hear_silence(0.3)
        await talk.says("Good.")
        await loudspeaker.hear_tone(0.7)
        talk.process.send_signal(signal.SIGINT)

        assert await talk.complaint() == ""
        assert await talk.process.wait() == 130
    told = [message["content"] for message in model.requests[-1].messages if message["role"] == "assistant"]
    assert told[0] == "It rains."
    assert LONG_REPLY[0] in told[1]
    assert LONG_REPLY[6].strip() not in told[1], "not heard"


async def test_a_microphone_that_is_unplugged_is_told(tmp_path: Path, room: dict[str, str]) -> None:
    async with OpenAIServer() as model, server(tmp_path, model) as url, talking(url, room) as talk:
        await talk.says("[speak;")
        unplug = await asyncio.create_subprocess_exec("pactl", "unload-module", "module-null-sink", env=room)
        assert await unplug.wait() == 0

        assert await talk.complaint() == ("talk: the microphone gives no more sound: plug it in again and restart\n")
        assert await talk.process.wait() == 1


async def test_a_machine_without_sound_is_told(room: dict[str, str]) -> None:
    async with talking("ws://localhost:1/ws", {**room, "PULSE_SERVER": "unix:/nowhere"}) as talk:
        complaint = await talk.complaint()

        assert complaint.startswith("talk: no microphone was found: plug one in, or use --wav FILE, or type")
        assert complaint.count("\n") == 1
        assert await talk.process.wait() == 1
