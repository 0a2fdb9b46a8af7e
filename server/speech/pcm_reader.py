"""Bytes of a speech server → samples: PCM16 as it is, a WAV unpacked, and everything else refused. Pure."""

import re
import sys
from collections.abc import Mapping
from typing import Final

from server.errors import SpeechUnavailable

RAW_RATE: Final = 24_000
"""Samples a second of OpenAI's `response_format: pcm`."""

MIN_RATE: Final = 8_000
MAX_RATE: Final = 192_000
_CURE: Final = "set it to answer in 16-bit mono PCM or WAV"
_CURE_OF_TEXT: Final = (
    "check that speech.tts.base_url is a speech server that answers in PCM or WAV; its log may say more"
)
_MAGIC: Final[Mapping[bytes, str]] = {
    b"ID3": "MP3",
    b"fLaC": "FLAC",
    b"OggS": "Ogg",
    b"\x1aE\xdf\xa3": "WebM",
}
_HEAD_BYTES: Final = 8  # the longest magic ends here
_TEXT: Final = re.compile(rb"(?:\xef\xbb\xbf)?[\t\r\n -~]+")  # as sound, it would begin above -12 dBFS
_UNKNOWN_SIZES: Final = (0, 0xFFFF_FFFF)  # what streams write, which cannot know theirs
_WAVE_FORMAT_PCM: Final = 1
_WAVE_FORMAT_EXTENSIBLE: Final = 0xFFFE  # the format proper is the head of its GUID, at byte 24
_MAX_FORMAT_BYTES: Final = 256


class PcmReader:
    """Bytes as the network cuts them → whole samples. `sample_rate` is known from the first of them on.

    Anything that is not a WAV and shows no other format at its head is PCM16, little-endian, mono, `raw_rate` a
    second. A head is withheld until it is known, 8 bytes.
    """

    def __init__(self, raw_rate: int = RAW_RATE) -> None:
        self._raw_rate = raw_rate
        self.sample_rate: int | None = None
        self._rest = bytearray()
        self._is_wav: bool | None = None  # None until the head has come
        self._left = 0  # bytes of the WAV's open chunk
        self._is_sound = False  # it is its `data` chunk

    def feed(self, data: bytes) -> bytes:
        """Return the samples that are now whole. Raises SpeechUnavailable for anything but PCM16 mono."""
        self._rest += data
        return self._read(is_end=False)

    def finish(self) -> bytes:
        """Return what was withheld: nothing follows. Raises as `feed`."""
        return self._read(is_end=True)

    def _read(self, *, is_end: bool) -> bytes:
        if self._is_wav is None:
            self._is_wav = _begins_wav(self._rest, is_end=is_end)
        if self._is_wav is None:
            return b""
        if self._is_wav:
            return self._unpacked()
        self.sample_rate = self._raw_rate
        return self._pop(len(self._rest) - len(self._rest) % 2)

    def _pop(self, size: int) -> bytes:
        data = bytes(self._rest[:size])
        del self._rest[:size]
        return data

    def _unpacked(self) -> bytes:
        sound = b""
        while self._left or self._open_chunk():
            size = min(self._left, len(self._rest))
            if size < self._left and self._is_sound:
                size -= size % 2
            if self._left and not size:
                break
            self._left -= size
            data = self._pop(size)
            if self._is_sound:
                sound += data[: size - size % 2]
        return sound

    def _open_chunk(self) -> bool:
        """Read the head of the next chunk; return whether enough has come. Another RIFF may follow the first."""
        if len(self._rest) < 8:
            return False
        name, size = bytes(self._rest[:4]), int.from_bytes(self._rest[4:8], "little")
        self._is_sound = name == b"data"
        match name:
            case b"RIFF":
                if len(self._rest) < 12:
                    return False
                if self._rest[8:12] != b"WAVE":
                    raise _refusal("a RIFF file that is not WAV")
                del self._rest[:12]
            case b"fmt ":
                if not 16 <= size <= _MAX_FORMAT_BYTES:
                    raise _refusal("a WAV with a broken header")
                if len(self._rest) < 8 + size:
                    return False
                self._read_format(self._rest[8 : 8 + size])
                del self._rest[: 8 + size + size % 2]
            case b"data":
                if self.sample_rate is None:
                    raise _refusal("a WAV without a format")
                self._left = sys.maxsize if size in _UNKNOWN_SIZES else size
                del self._rest[:8]
            case _:
                self._left = size + size % 2
                del self._rest[:8]
        return True

    def _read_format(self, head: bytearray) -> None:
        kind, channels, rate = (int.from_bytes(head[at:to], "little") for at, to in ((0, 2), (2, 4), (4, 8)))
        bits = int.from_bytes(head[14:16], "little")
        if kind == _WAVE_FORMAT_EXTENSIBLE:
            kind = int.from_bytes(head[24:26], "little")
        if kind != _WAVE_FORMAT_PCM:
            raise _refusal(f"a WAV whose samples are not integers (format {kind})")
        if (channels, bits) != (1, 16):
            raise _refusal(f"a WAV of {bits} bits and {channels} channel{'s' * (channels != 1)}")
        if not MIN_RATE <= rate <= MAX_RATE or self.sample_rate not in (None, rate):
            raise _refusal(f"a WAV of {rate} samples per second")
        self.sample_rate = rate


def _begins_wav(head: bytearray, *, is_end: bool) -> bool | None:
    """Return False for sound as it is, None if more must come to know. Raises for another format."""
    if len(head) < _HEAD_BYTES and not is_end:
        return None
    if head.startswith(b"RIFF"):
        return True
    named = next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)
    if kind := named or ("MP4" if head[4:8] == b"ftyp" else _mpeg_format(head)):
        raise _refusal(kind)
    if _TEXT.fullmatch(head[:_HEAD_BYTES]):
        raise _refusal("text (JSON, HTML or an error)", _CURE_OF_TEXT)
    return False


def _mpeg_format(head: bytearray) -> str | None:
    """Return the format whose frame begins here (MP3: ISO 11172-3 and 13818-3, AAC: ADTS of 13818-7), or None.

    Such a frame may also be a first sample of PCM, at -30 dB. The sample after it would then be near to it, which
    the fourth byte of a frame never is. For servers that ignore `response_format`: played, MP3 is loud noise.
    """
    if len(head) < 4 or head[0] != 0xFF or head[3] & 0xF0 == 0xF0:
        return None
    if head[1] & 0xF6 == 0xF0:
        return "AAC" if head[2] >> 2 & 15 < 13 else None
    is_layer_3 = head[1] & 0xE6 == 0xE2 and head[1] & 0x18 != 0x08
    return "MP3" if is_layer_3 and 0 < head[2] >> 4 < 15 and head[2] & 0x0C != 0x0C else None


def _refusal(what: str, cure: str = _CURE) -> SpeechUnavailable:
    return SpeechUnavailable(f"the speech server sent {what}: {cure}")
