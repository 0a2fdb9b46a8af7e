"""Opus (RFC 6716) by libopus: speech in less than a tenth of the bytes of PCM, one packet a message.

The library comes from the wheel of PyAV, which carries it for every platform, or else from the system. It is all that
is loaded: FFmpeg, for which the wheel is made, is GPL in that build, and conceals no lost packet.
"""

import asyncio
import ctypes
import ctypes.util
import importlib.util
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import ClassVar, Final, Literal

from server.errors import SpeechUnavailable
from server.speech.audio import SPEECH_RATE, PcmResampler
from server.speech.tts import SoundChunk
from server.wire.frames import SpeechPart

RATE: Final = 24_000
"""Samples a second that are encoded; a decoder may choose 8, 12, 16, 24 or 48 kHz."""
FRAME_MS: Final = 20
BITRATE: Final = 28_000
"""Bits a second of speech, about; silence takes far fewer."""
MAX_PACKET_BYTES: Final = 1275
"""Size of a packet of one frame, and of any packet that is decoded."""

_FRAME_SAMPLES: Final = RATE * FRAME_MS // 1000
_FRAME_BYTES: Final = 2 * _FRAME_SAMPLES
_MAX_PACKET_MS: Final = 120
_MISSING: Final = (
    "libopus was not found: install the package av (pip install -r requirements.txt) or the system's libopus, "
    'or use the format "pcm16"'
)
# opus_defines.h
_APPLICATION_VOIP: Final = 2048
_SET_BITRATE: Final = 4002
_GET_LOOKAHEAD: Final = 4027


@dataclass(frozen=True, slots=True)
class OpusChunk:
    """Sound as Opus packets of FRAME_MS each. `words` as in SoundChunk; the encoder's delay is counted in."""

    format: ClassVar[Literal["opus"]] = "opus"
    sample_rate: ClassVar[int] = RATE
    messages: Sequence[bytes] = field(repr=False)
    words: Sequence[tuple[int, float]] | None = None

    @property
    def ms(self) -> float:
        return float(FRAME_MS * len(self.messages))


Sound = SoundChunk | OpusChunk
"""A piece of a sentence's sound, in the format that the client has asked for."""


class OpusEncoder:
    """The Opus stream of one sentence. Blocks for about 0.2 ms a frame; the library lets other threads run.

    Raises SpeechUnavailable without libopus.
    """

    def __init__(self) -> None:
        self._lib = libopus()
        self._state = ctypes.create_string_buffer(self._lib.opus_encoder_get_size(1))
        _check(self._lib.opus_encoder_init(self._state, RATE, 1, _APPLICATION_VOIP))
        _check(self._lib.opus_encoder_ctl(self._state, _SET_BITRATE, ctypes.c_int(BITRATE)))
        lookahead = ctypes.c_int()
        _check(self._lib.opus_encoder_ctl(self._state, _GET_LOOKAHEAD, ctypes.byref(lookahead)))
        self._lookahead = lookahead.value  # samples by which a decoder's sound is late
        self._resampler: PcmResampler | None = None
        self._taken_ms = 0.0  # sound that was given
        self._packets = 0
        self._pcm = bytearray()  # less than a frame

    def encode(self, chunk: SoundChunk) -> OpusChunk:
        """Return the packets that are now whole; all chunks have one sample rate."""
        if self._resampler is None:
            self._resampler = PcmResampler(chunk.sample_rate, RATE)
        late_ms = self._taken_ms + self._lookahead * 1000 / RATE - self._packets * FRAME_MS
        words = None if chunk.words is None else [(offset, late_ms + ms) for offset, ms in chunk.words]
        self._taken_ms += chunk.ms
        self._pcm += self._resampler.feed(chunk.pcm)
        return OpusChunk(self._encoded(), words)

    def finish(self) -> OpusChunk:
        """Return the rest, padded with silence to a whole frame; none if there was no sound."""
        if self._resampler is not None:
            self._pcm += self._resampler.finish() + bytes(2 * self._lookahead)
            self._pcm += bytes(-len(self._pcm) % _FRAME_BYTES)
        return OpusChunk(self._encoded(), ())

    def _encoded(self) -> list[bytes]:
        whole = len(self._pcm) - len(self._pcm) % _FRAME_BYTES
        packets = [self._packet(bytes(self._pcm[at : at + _FRAME_BYTES])) for at in range(0, whole, _FRAME_BYTES)]
        del self._pcm[:whole]
        self._packets += len(packets)
        return packets

    def _packet(self, pcm: bytes) -> bytes:
        packet = ctypes.create_string_buffer(MAX_PACKET_BYTES)
        size = self._lib.opus_encode(self._state, pcm, _FRAME_SAMPLES, packet, MAX_PACKET_BYTES)
        return packet.raw[: _check(size)]


async def opus_of(chunks: AsyncGenerator[SoundChunk, None]) -> AsyncGenerator[OpusChunk, None]:
    """Encode a sentence's sound as it comes, off the event loop. Closing this closes `chunks`."""
    async with aclosing(chunks):
        encoder = OpusEncoder()
        async for chunk in chunks:
            yield await asyncio.to_thread(encoder.encode, chunk)
        rest = await asyncio.to_thread(encoder.finish)
        if rest.messages:
            yield rest


class OpusDecoder:
    """An Opus stream as PCM16 mono at 8, 12, 16, 24 or 48 kHz. Takes about 15 µs a frame.

    A packet has any length from 2.5 to 120 ms, and stereo becomes mono. A packet of a silent stretch (DTX) gives its
    length of faint noise. Redundancy that a packet carries for the one before it (FEC) is not used: a message is lost
    before it is sent, or not at all. Raises SpeechUnavailable without libopus.
    """

    def __init__(self, rate: int = SPEECH_RATE) -> None:
        self._lib = libopus()
        self._state = ctypes.create_string_buffer(self._lib.opus_decoder_get_size(1))
        _check(self._lib.opus_decoder_init(self._state, rate, 1))
        self._max_samples = rate * _MAX_PACKET_MS // 1000
        self._pcm = ctypes.create_string_buffer(2 * self._max_samples)
        self._last_samples = rate * FRAME_MS // 1000  # of the last packet

    def decode(self, packet: bytes) -> bytes | None:
        """Return the packet's sound, or None for what is no packet of at most MAX_PACKET_BYTES."""
        if not 0 < len(packet) <= MAX_PACKET_BYTES:
            return None
        samples = self._lib.opus_decode(self._state, packet, len(packet), self._pcm, self._max_samples, 0)
        if samples < 0:
            return None
        self._last_samples = samples
        return self._pcm.raw[: 2 * samples]

    def conceal(self) -> bytes:
        """Return sound in place of a lost packet, as long as the one before: its voice goes on and fades."""
        samples = _check(self._lib.opus_decode(self._state, None, 0, self._pcm, self._last_samples, 0))
        return self._pcm.raw[: 2 * samples]


@cache
def opus_status() -> SpeechPart:
    """Return whether Opus can be used, and why not."""
    try:
        version: bytes = libopus().opus_get_version_string()
    except SpeechUnavailable as error:
        return SpeechPart(state="missing", reason=str(error))
    return SpeechPart(state="ready", name=version.decode("ascii", "replace"))


@cache
def libopus() -> ctypes.CDLL:
    """Return the library, loaded once. Raises SpeechUnavailable with the cure where there is none."""
    for path in _candidates():
        try:
            return _with_types(ctypes.CDLL(path))
        except (OSError, AttributeError):
            continue
    raise SpeechUnavailable(_MISSING)


def _candidates() -> list[str]:
    spec = importlib.util.find_spec("av")
    folders = [Path(folder) for folder in (spec and spec.submodule_search_locations) or ()]
    carried = [
        path
        for folder in folders
        for libs in (folder.with_name("av.libs"), folder / ".dylibs")
        for path in libs.glob("libopus*")
    ]
    return [*map(str, carried), ctypes.util.find_library("opus") or "libopus.so.0"]


def _with_types(lib: ctypes.CDLL) -> ctypes.CDLL:
    pointer, number = ctypes.c_void_p, ctypes.c_int
    lib.opus_get_version_string.restype = ctypes.c_char_p
    lib.opus_encoder_get_size.argtypes = lib.opus_decoder_get_size.argtypes = [number]
    lib.opus_encoder_init.argtypes = [pointer, ctypes.c_int32, number, number]
    lib.opus_decoder_init.argtypes = [pointer, ctypes.c_int32, number]
    lib.opus_encoder_ctl.argtypes = [pointer, number]  # and one more: variable arguments, which arm64 passes otherwise
    lib.opus_encode.argtypes = [pointer, ctypes.c_char_p, number, pointer, ctypes.c_int32]
    lib.opus_decode.argtypes = [pointer, ctypes.c_char_p, ctypes.c_int32, pointer, number, number]
    return lib


def _check(result: int) -> int:
    """Return what a function of libopus returned. A negative number is a mistake of ours."""
    if result < 0:
        raise AssertionError(f"libopus: error {result}")
    return result
