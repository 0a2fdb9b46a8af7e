"""Sound of a Realtime client, PCM at 24,000 Hz or G.711, to and from the PCM16 of the session."""

from collections.abc import Callable
from typing import Final, NamedTuple

from server.errors import FrameError
from server.realtime.session_config import PcmaFormat, PcmFormat, PcmuFormat, SoundFormat
from server.speech import g711
from server.speech.audio import PcmResampler


class _Coding(NamedTuple):
    rate: int
    decode: Callable[[bytes], bytes]
    encode: Callable[[bytes], bytes]


def _whole_samples(data: bytes) -> bytes:
    if len(data) % 2:
        raise FrameError("invalid_value", "sound is 16-bit samples: send whole ones", path="audio")
    return data


_CODINGS: Final = {
    PcmFormat: _Coding(24_000, _whole_samples, bytes),
    PcmuFormat: _Coding(g711.RATE, g711.decode_pcmu, g711.encode_pcmu),
    PcmaFormat: _Coding(g711.RATE, g711.decode_pcma, g711.encode_pcma),
}


def rate_of(sound: SoundFormat) -> int:
    return _CODINGS[type(sound)].rate


def to_pcm(sound: SoundFormat, data: bytes) -> bytes:
    """Return PCM16 at `rate_of(sound)`. Raises FrameError for half a sample."""
    return _CODINGS[type(sound)].decode(data)


class ReplySound:
    """Converts the sound of a reply, PCM16 at `rate`, to the client's format; pieces join without a seam."""

    def __init__(self, sound: SoundFormat, rate: int) -> None:
        self.rate = rate
        self._encode = _CODINGS[type(sound)].encode
        self._resampler = PcmResampler(rate, rate_of(sound))

    def feed(self, pcm: bytes) -> bytes:
        return self._encode(self._resampler.feed(pcm))

    def finish(self) -> bytes:
        """Return what is still withheld."""
        return self._encode(self._resampler.finish())
