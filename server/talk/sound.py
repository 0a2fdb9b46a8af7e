"""Sound in and out: WAV files, or microphone and loudspeaker where `sounddevice` is installed."""

import asyncio
import time
import wave
from collections.abc import AsyncGenerator
from pathlib import Path
from types import ModuleType
from typing import Any, Final

FRAME_S: Final = 0.02
TRAILING_SILENCE_S: Final = 3.0
"""After a WAV, so that the server hears the end of what was said."""
_MAX_FRAMES: Final = 50  # a second of microphone; what does not fit any more is dropped


class SoundError(Exception):
    """The text names the file or device and the cure."""


def wav_rate(path: Path) -> int:
    """The sample rate of a 16-bit mono WAV of 8 to 48 kHz. Raises SoundError for any other file."""
    try:
        with wave.open(str(path), "rb") as file:
            if file.getnchannels() != 1 or file.getsampwidth() != 2 or not 8000 <= file.getframerate() <= 48_000:
                raise SoundError(f"{path}: a WAV of 16 bits, one channel, 8 to 48 kHz is wanted")
            return file.getframerate()
    except (OSError, wave.Error, EOFError) as error:
        raise SoundError(f"{path}: not a WAV file that can be read: {error}") from error


async def wav_frames(path: Path) -> AsyncGenerator[bytes, None]:
    """The file in real time, 20 ms a frame, then silence."""
    rate = wav_rate(path)
    samples = round(rate * FRAME_S)
    started = time.monotonic()
    with wave.open(str(path), "rb") as file:
        number = 0
        silent = 0
        while silent < TRAILING_SILENCE_S / FRAME_S:
            pcm = file.readframes(samples)
            silent += not pcm
            yield pcm or bytes(2 * samples)
            number += 1
            await asyncio.sleep(max(0.0, started + number * FRAME_S - time.monotonic()))


class WavWriter:
    """Writes what is heard; its rate is that of the first sentence."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: wave.Wave_write | None = None

    def open(self, sample_rate: int) -> None:
        if self._file is None:
            self._file = wave.open(str(self._path), "wb")  # noqa: SIM115  closed by `close`
            self._file.setnchannels(1)
            self._file.setsampwidth(2)
            self._file.setframerate(sample_rate)

    def write(self, pcm: bytes) -> None:
        if self._file is not None:
            self._file.writeframes(pcm)

    def cut(self) -> None:
        """A file has played nothing yet: what was received stays."""

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def sounddevice() -> ModuleType:
    try:
        import sounddevice
    except (ImportError, OSError) as error:
        raise SoundError("no microphone here: `pip install sounddevice`, or use --wav FILE, or type") from error
    module: ModuleType = sounddevice
    return module


async def microphone_frames(sample_rate: int) -> AsyncGenerator[bytes, None]:
    """The default microphone, 20 ms a frame. Raises SoundError."""
    device = sounddevice()
    loop = asyncio.get_running_loop()
    frames: asyncio.Queue[bytes] = asyncio.Queue(_MAX_FRAMES)

    def take(pcm: bytes) -> None:
        if not frames.full():
            frames.put_nowait(pcm)

    def on_sound(data: object, *_: object) -> None:
        loop.call_soon_threadsafe(take, bytes(data))  # type: ignore[call-overload]  # a buffer of cffi

    try:
        stream = device.RawInputStream(
            samplerate=sample_rate,
            channels=1,
            dtype="int16",
            blocksize=round(sample_rate * FRAME_S),
            callback=on_sound,
        )
    except device.PortAudioError as error:
        raise SoundError(f"the microphone cannot be opened: {error}") from error
    with stream:
        while True:
            yield await frames.get()


class Loudspeaker:
    """Plays what comes through the default device."""

    def __init__(self) -> None:
        self._device = sounddevice()
        self._buffer = bytearray()
        self._rate: int | None = None
        self._stream: Any = None  # sounddevice has no types

    def open(self, sample_rate: int) -> None:
        if self._rate == sample_rate:
            return
        self.close()
        self._rate = sample_rate
        self._stream = self._device.RawOutputStream(
            samplerate=sample_rate, channels=1, dtype="int16", callback=self._fill
        )
        self._stream.start()

    def write(self, pcm: bytes) -> None:
        self._buffer += pcm

    def cut(self) -> None:
        self._buffer.clear()

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _fill(self, out: memoryview, _frames: int, *_: object) -> None:
        size = min(len(out), len(self._buffer))
        out[:size] = self._buffer[:size]
        out[size:] = bytes(len(out) - size)
        del self._buffer[:size]
