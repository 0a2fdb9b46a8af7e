"""The sound of a microphone after a lost connection: half a sentence must not pass for a whole one. Pure."""

from array import array
from collections.abc import Callable
from typing import Final

from clients.talk.sound import FRAME_S

PAUSE_S: Final = 0.5
MAX_DROP_S: Final = 15.0
"""Longest time for which sound is dropped: a noise that never pauses passes again after it."""
_SPOKEN_S: Final = 0.2  # of loud sound: less was a click
_MIN_LOUD: Final = 260.0  # of 32768: -42 dB
_ABOVE_FLOOR: Final = 2.8  # 9 dB louder than the room
_FLOOR_RISE: Final = 1.014  # a frame: the room may have become louder, 6 dB a second


class PauseGate:
    """Lets frames of FRAME_S pass; once closed, again from the first pause on that follows with a connection.

    `on_dropped` is called when something that was said is dropped, once for each `close`.
    """

    def __init__(self, on_dropped: Callable[[], None]) -> None:
        self._on_dropped = on_dropped
        self._is_open = True
        self._floor = 1.0
        self._quiet_s = PAUSE_S
        self._spoken_s = self._closed_s = 0.0  # since it was closed
        self._has_told = False

    def close(self) -> None:
        self._is_open = self._has_told = False
        self._spoken_s = self._closed_s = 0.0

    def passes(self, pcm: bytes, *, is_online: bool) -> bool:
        """Return whether the frame may be sent."""
        level = _rms(pcm)
        self._floor = max(1.0, min(level, self._floor * _FLOOR_RISE))
        is_loud = level > max(_MIN_LOUD, self._floor * _ABOVE_FLOOR)
        self._quiet_s = 0.0 if is_loud else self._quiet_s + FRAME_S
        if self._is_open:
            return True
        self._spoken_s += FRAME_S * is_loud
        if self._spoken_s >= _SPOKEN_S and not self._has_told:
            self._has_told = True
            self._on_dropped()
        if is_online:
            self._closed_s += FRAME_S
            self._is_open = self._quiet_s >= PAUSE_S or self._closed_s >= MAX_DROP_S
        return self._is_open


def _rms(pcm: bytes) -> float:
    samples = array("h", pcm)
    return float((sum(sample * sample for sample in samples) / max(1, len(samples))) ** 0.5)
