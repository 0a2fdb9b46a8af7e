"""Sound in and out of WAV files."""

import asyncio
import time
import wave
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Final

FRAME_S: Final = 0.02
TRAILING_SILENCE_S: Final = 3.0
"""Silence sent after a WAV, so that the server hears the end of what was said."""


class SoundError(Exception):
    """A sound file or device that cannot be used; the text names it and the cure."""


def wav_rate(path: Path) -> int:
    """Return the sample rate of a 16-bit mono WAV of 8 to 48 kHz. Raises SoundError for any other file."""
    try:
        with wave.open(str(path), "rb") as file:
            if file.getnchannels() != 1 or file.getsampwidth() != 2 or not 8000 <= file.getframerate() <= 48_000:
                raise SoundError(f"{path}: expected a WAV with 16 bits, one channel, 8 to 48 kHz")
            return file.getframerate()
    except (OSError, wave.Error, EOFError) as error:
        raise SoundError(f"{path}: not a readable WAV file: {error}") from error


async def wav_frames(path: Path) -> AsyncGenerator[bytes, None]:
    """Yield the file in real time, 20 ms a frame, then silence."""
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

    @property
    def has_sound(self) -> bool:
        """Whether a sentence has come."""
        return self._file is not None

    def open(self, sample_rate: int) -> None:
        if self._file is None:
            self._file = wave.open(str(self._path), "wb")  # noqa: SIM115  closed by `close`
            self._file.setnchannels(1)
            self._file.setsampwidth(2)
            self._file.setframerate(sample_rate)

    def write(self, pcm: bytes) -> None:
        if self._file is not None:
            self._file.writeframes(pcm)

    def pause(self) -> None:
        """Do nothing: a file has no time of its own."""

    def resume(self) -> None:
        """Do nothing, as `pause`."""

    def cut(self) -> None:
        """Keep what was received: a file has played nothing yet."""

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
