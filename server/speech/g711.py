"""G.711 (ITU-T): telephone sound, one byte a sample, as tables. Pure.

PCMU is µ-law (North America, Japan), PCMA A-law (elsewhere). Both are mono at RATE; the PCM is 16-bit
little-endian, whole samples, -32768…32767, of which µ-law reaches ±32124 and A-law ±32256: louder sound is clipped.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

RATE: Final = 8_000
"""Samples a second of telephone sound."""

_ULAW_BIAS: Final = 33  # of 14-bit magnitudes: makes each segment twice as wide as the one before
_ULAW_MAX: Final = 8158


class Companding(NamedTuple):
    """One of the two laws, as its tables."""

    to_pcm: NDArray[np.int16]
    from_pcm: NDArray[np.uint8]

    def decode(self, data: bytes) -> bytes:
        """Return n bytes of sound as 2n bytes of PCM16; every byte is a valid sample."""
        return bytes(self.to_pcm[np.frombuffer(data, np.uint8)])

    def encode(self, pcm: bytes) -> bytes:
        """Return 2n bytes of PCM16 as n bytes of sound."""
        return bytes(self.from_pcm[np.frombuffer(pcm, "<u2")])


def _ulaw_to_pcm() -> NDArray[np.int16]:
    code = ~np.arange(256, dtype=np.uint8)
    segment, step = (code >> 4 & 7).astype(int), (code & 15).astype(int)
    magnitude = ((2 * step + 33) << segment) - _ULAW_BIAS
    return np.asarray(np.where(code & 0x80, -magnitude, magnitude) * 4, "<i2")


def _pcm_to_ulaw() -> NDArray[np.uint8]:
    sample = np.arange(65_536, dtype=np.uint16).view(np.int16).astype(int) >> 2
    magnitude = np.minimum(np.abs(sample), _ULAW_MAX) + _ULAW_BIAS
    segment = np.floor(np.log2(magnitude)).astype(int) - 5
    code = segment << 4 | magnitude >> (segment + 1) & 15
    return np.asarray(code ^ np.where(sample < 0, 0x7F, 0xFF), np.uint8)


def _alaw_to_pcm() -> NDArray[np.int16]:
    code = np.arange(256, dtype=np.uint8) ^ 0x55
    segment, step = (code >> 4 & 7).astype(int), (code & 15).astype(int)
    magnitude = (2 * step + np.where(segment, 33, 1)) << np.maximum(segment - 1, 0)
    return np.asarray(np.where(code & 0x80, magnitude, -magnitude) * 8, "<i2")


def _pcm_to_alaw() -> NDArray[np.uint8]:
    sample = np.arange(65_536, dtype=np.uint16).view(np.int16).astype(int) >> 3
    magnitude = np.where(sample < 0, ~sample, sample)
    segment = np.maximum(np.floor(np.log2(np.maximum(magnitude, 1))).astype(int) - 4, 0)
    code = segment << 4 | magnitude >> np.maximum(segment, 1) & 15
    return np.asarray(code ^ np.where(sample < 0, 0x55, 0xD5), np.uint8)


PCMU: Final = Companding(_ulaw_to_pcm(), _pcm_to_ulaw())
PCMA: Final = Companding(_alaw_to_pcm(), _pcm_to_alaw())
