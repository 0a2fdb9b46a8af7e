"""Sound of a Realtime client, PCM at 24,000 Hz or G.711, to and from the PCM16 of the session."""

from typing import Final, assert_never

from server.errors import FrameError
from server.realtime.session_config import PcmaFormat, PcmFormat, PcmuFormat, SoundFormat
from server.speech import g711
from server.speech.audio import PcmResampler

PCM_RATE: Final = 24_000


def rate_of(sound: SoundFormat) -> int:
    return PCM_RATE if isinstance(sound, PcmFormat) else g711.RATE


def to_pcm(sound: SoundFormat, data: bytes) -> bytes:
    """Return PCM16 at `rate_of(sound)`. Raises FrameError for half a sample."""
    match sound:
        case PcmFormat():
            if len(data) % 2:
                raise FrameError("invalid_value", "sound is 16-bit samples: send whole ones", path="audio")
            return data
        case PcmuFormat():
            return g711.decode_pcmu(data)
        case PcmaFormat():
            return g711.decode_pcma(data)
        case _:
            assert_never(sound)


class ReplySound:
    """Converts the sound of a reply, PCM16 at `rate`, to the client's format; pieces join without a seam."""

    def __init__(self, sound: SoundFormat, rate: int) -> None:
        self.rate = rate
        self._sound = sound
        self._resampler = PcmResampler(rate, rate_of(sound))

    def feed(self, pcm: bytes) -> bytes:
        return self._encode(self._resampler.feed(pcm))

    def finish(self) -> bytes:
        """Return what is still withheld."""
        return self._encode(self._resampler.finish())

    def _encode(self, pcm: bytes) -> bytes:
        match self._sound:
            case PcmFormat():
                return pcm
            case PcmuFormat():
                return g711.encode_pcmu(pcm)
            case PcmaFormat():
                return g711.encode_pcma(pcm)
            case _:
                assert_never(self._sound)
