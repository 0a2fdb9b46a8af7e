"""Sound that waits for its device, and other rates than the device has. Pure."""

import numpy as np


class Playout:
    """PCM16 in the order in which it came, with silence where there is none."""

    def __init__(self) -> None:
        self.is_paused = False
        self._buffer = bytearray()

    def add(self, pcm: bytes) -> None:
        self._buffer += pcm

    def take(self, size: int) -> bytes:
        """Remove and return the next `size` bytes, filled up with silence; only silence while paused."""
        if self.is_paused:
            return bytes(size)
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken + bytes(size - len(taken))

    def cut(self) -> None:
        """Forget what was not played. Not paused any more."""
        self._buffer.clear()
        self.is_paused = False


class Resampler:
    """PCM16 of one rate to another, piece by piece, on straight lines: for the ear of a device that refuses a rate."""

    def __init__(self, rate: int, wanted_rate: int) -> None:
        self._step = rate / wanted_rate
        self._last = np.zeros(0, dtype=np.float64)  # the newest sample of the piece before
        self._position = 0.0  # of the next sample out, counted from that one

    def feed(self, pcm: bytes) -> bytes:
        """Convert whole samples; return as many as lie between those that have come."""
        if self._step == 1:
            return pcm
        sound = np.concatenate((self._last, np.frombuffer(pcm, dtype="<i2").astype(np.float64)))
        if sound.size == 0:
            return b""
        at = np.arange(self._position, sound.size - 1, self._step)
        self._position += at.size * self._step - (sound.size - 1)
        self._last = sound[-1:]
        out: bytes = np.rint(np.interp(at, np.arange(sound.size), sound)).astype("<i2").tobytes()
        return out
