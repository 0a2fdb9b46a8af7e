"""Sound as numbers: PCM16 ↔ float32, loudness, resamplers for live sound.

Samples are mono float32 in -1…1. Nothing here waits, and nothing holds more
than 4 ms of sound.
"""

from functools import lru_cache
from math import gcd
from typing import Final

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.float32]

SPEECH_RATE: Final = 16_000
"""Samples a second for VAD and recognition."""

WINDOW: Final = 512
"""Samples that voice detection judges at once."""
WINDOW_MS: Final = WINDOW * 1000 / SPEECH_RATE

SILENCE_DBFS: Final = -120.0

_FILTER_S: Final = 0.0016  # length of the resampler's filter; half of it is the delay
_PLAYED_FILTER: Final = 32  # samples of the lower rate: the filter for sound that people listen to
_MAX_PHASES: Final = 640  # exact up to 11025 and 44100 Hz; odder rates take the nearest of as many
_MAX_MATRIX_PHASES: Final = 2  # so few are quicker one by one than by gathering windows


def pcm16_to_samples(pcm: bytes | bytearray | memoryview) -> Samples:
    """Convert little-endian PCM16 of whole samples to float32."""
    return np.frombuffer(pcm, dtype="<i2").astype(np.float32) * np.float32(1 / 32768)


def samples_to_pcm16(samples: Samples) -> bytes:
    """Convert to PCM16; anything louder than full scale is clipped."""
    scaled = np.clip(samples * np.float32(32768), -32768, 32767)
    pcm: bytes = np.rint(scaled).astype("<i2").tobytes()
    return pcm


def level_dbfs(samples: Samples) -> Samples:
    """Return the RMS of each row against full scale; SILENCE_DBFS for digital silence."""
    power = np.einsum("...i,...i->...", samples, samples) / samples.shape[-1]
    return np.asarray(np.maximum(10 * np.log10(np.maximum(power, 1e-20)), SILENCE_DBFS))


def brightness(samples: Samples) -> Samples:
    """Return power of the first difference over power, row by row: 0 for a hum, 0.02-0.3 for vowels, 2 for noise.

    It tells a closed mouth ("mm-hmm") from an open one at the price of two dot products.
    """
    steps = np.diff(samples)
    power = np.einsum("...i,...i->...", samples, samples)
    return np.asarray(np.einsum("...i,...i->...", steps, steps) / np.maximum(power, 1e-9))


class Resampler:
    """A resampler of live sound: m samples in give m × to_rate / rate out, rounded up at most by one.

    A windowed sinc of `filter_s`. Short as it is by default, every call yields its sound at once, 0.8 ms late, and
    what lies above the lower of the two bands is 20 dB down from 1.3 kHz past the edge: enough for VAD and
    recognition. With `is_aligned`, half of the filter is withheld instead, and the sound comes out without delay.
    """

    def __init__(
        self, rate: int, to_rate: int = SPEECH_RATE, *, filter_s: float = _FILTER_S, is_aligned: bool = False
    ) -> None:
        common = gcd(rate, to_rate)
        self._up = to_rate // common
        self._down = rate // common
        self._is_identity = rate == to_rate
        self._filters = _polyphase_filters(rate, to_rate, min(self._up, _MAX_PHASES), filter_s)
        taps = self._filters.shape[1]
        self._history = np.zeros(taps - 1, dtype=np.float32)
        self.withheld = taps // 2 if is_aligned and not self._is_identity else 0  # samples; twice as many are kept
        self._position = self.withheld * self._up  # of the next output, in 1/up of an input sample, from the newest on

    def feed(self, samples: Samples) -> Samples:
        if self._is_identity:
            return samples
        sound = np.concatenate((self._history, samples))
        count = max(0, -((self._position - samples.size * self._up) // self._down))
        out = self._matrix(sound, count) if self._up <= _MAX_MATRIX_PHASES else self._gather(sound, count)
        self._position += count * self._down - samples.size * self._up
        self._history = sound[sound.size - self._history.size :]
        return out

    def _gather(self, sound: Samples, count: int) -> Samples:
        at = self._position + np.arange(count) * self._down
        windows = np.lib.stride_tricks.sliding_window_view(sound, self._filters.shape[1])
        phases = (at % self._up) * len(self._filters) // self._up
        out: Samples = np.einsum("ij,ij->i", windows[at // self._up], self._filters[phases], dtype=np.float32)
        return out

    def _matrix(self, sound: Samples, count: int) -> Samples:
        out = np.empty(count, dtype=np.float32)
        windows = np.lib.stride_tricks.sliding_window_view(sound, self._filters.shape[1])
        for turn in range(self._up):
            at = self._position + turn * self._down
            out[turn :: self._up] = (
                windows[at // self._up :: self._down][: len(out[turn :: self._up])] @ self._filters[at % self._up]
            )
        return out


class PcmResampler:
    """A resampler of PCM16 mono from one rate to another, for sound that is played or encoded.

    Its filter reads across the borders of the pieces, so they cannot be heard. Half of the filter, at most 2 ms, is
    withheld until more sound or `finish` comes; what comes out is not delayed: n samples give n × to_rate / rate,
    rounded up, the last ones by `finish`. Rates are 8000 to 192,000. What lies above the lower of the two bands is
    40 dB down from 6 % past the edge. Nothing is done where both rates are the same.
    """

    def __init__(self, rate: int, to_rate: int) -> None:
        self.rate, self.to_rate = rate, to_rate
        self._resampler = self._new()

    def feed(self, pcm: bytes) -> bytes:
        """Return what is known now of `pcm`, whole samples of any number; full scale is clipped, not wrapped."""
        if self.rate == self.to_rate or not pcm:
            return pcm
        return samples_to_pcm16(self._resampler.feed(pcm16_to_samples(pcm)))

    def finish(self) -> bytes:
        """Return what was withheld; what is fed next begins a new sound."""
        rest = self.feed(bytes(2 * self._resampler.withheld))
        self._resampler = self._new()
        return rest

    def _new(self) -> Resampler:
        filter_s = _PLAYED_FILTER / min(self.rate, self.to_rate)
        return Resampler(self.rate, self.to_rate, filter_s=filter_s, is_aligned=True)


@lru_cache(maxsize=16)
def _polyphase_filters(rate: int, to_rate: int, phases: int, filter_s: float) -> Samples:
    """Return one row a phase, each of sum 1, newest sample last; an odd number of taps, so that one is the middle."""
    taps = max(9, round(filter_s * rate) | 1)
    cutoff = min(rate, to_rate) / rate * 0.92  # of the input's band
    # Phase p stands p/phases of an input sample later than phase 0, so its filter is moved earlier by as much.
    time = np.arange(taps)[None, :] - (taps - 1) / 2 - np.arange(phases)[:, None] / phases
    window = 0.5 + 0.5 * np.cos(np.pi * np.clip(time / (taps / 2), -1, 1))
    filters = np.sinc(time * cutoff) * window
    return np.asarray(filters / filters.sum(axis=1, keepdims=True), dtype=np.float32)
