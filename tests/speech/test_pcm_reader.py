"""server/speech/pcm_reader.py"""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.errors import SpeechUnavailable
from server.speech.pcm_reader import PcmReader
from server.speech.stt import wav_of

SOUND = bytes(range(2, 252)) * 200
INFO = b"LIST" + struct.pack("<I", 12) + b"INFOdatadata"
EXTENSIBLE = struct.pack("<HHI", 22, 16, 4) + struct.pack("<H", 1) + bytes.fromhex("000000001000800000aa00389b71")


def wav(
    sound: bytes = SOUND,
    *,
    rate: int = 24_000,
    channels: int = 1,
    bits: int = 16,
    kind: int = 1,
    more: bytes = b"",
    between: bytes = b"",
    after: bytes = b"",
    size: int | None = None,
) -> bytes:
    step = channels * bits // 8
    head = struct.pack("<HHIIHH", kind, channels, rate, rate * step, step, bits) + more
    data = b"data" + struct.pack("<I", len(sound) if size is None else size) + sound
    body = b"WAVEfmt " + struct.pack("<I", len(head)) + head + between + data + after
    return b"RIFF" + struct.pack("<I", len(body)) + body


def mp3(frame: bytes, size: int) -> bytes:
    """Three frames of it."""
    return (frame + bytes(size - len(frame))) * 3


def read(sent: bytes, size: int = 4096) -> tuple[bytes, int | None]:
    reader = PcmReader()
    pieces = [reader.feed(sent[at : at + size]) for at in range(0, len(sent), size)] + [reader.finish()]
    assert all(len(piece) % 2 == 0 for piece in pieces)
    return b"".join(pieces), reader.sample_rate


SIZES = pytest.mark.parametrize("size", [1, 3, 7, 44, 4096, 60_000])


@SIZES
def test_samples_are_kept_whole_however_the_network_cuts_them(size: int) -> None:
    assert read(SOUND, size) == (SOUND, 24_000)


@SIZES
@pytest.mark.parametrize(
    "sent",
    [
        wav_of(SOUND, 22_050),
        wav(rate=22_050, after=b"LIST" + struct.pack("<I", 400) + b"INFO" + b"x" * 396),
        wav(rate=22_050, between=INFO),
        wav(rate=22_050, between=b"odd " + struct.pack("<I", 3) + b"data"),
        wav(rate=22_050, size=0),
        wav(rate=22_050, size=0xFFFF_FFFF),
        wav(rate=22_050, kind=0xFFFE, more=EXTENSIBLE),
        wav(SOUND[:20_000], rate=22_050) + wav(SOUND[20_000:], rate=22_050),
    ],
    ids=["wave", "after", "list", "padded", "size 0", "size unknown", "extensible", "two files"],
)
def test_of_a_wav_only_the_sound_is_heard_at_its_own_rate(sent: bytes, size: int) -> None:
    assert read(sent, size) == (SOUND, 22_050)


@SIZES
@pytest.mark.parametrize(
    ("sent", "says"),
    [
        (wav(channels=2), "16 bits and 2 channels"),
        (wav(bits=8), "8 bits and 1 channel:"),
        (wav(bits=24), "24 bits"),
        (wav(bits=32, kind=3), r"format 3"),
        (wav(kind=0xFFFE, more=EXTENSIBLE.replace(b"\1\0\0\0", b"\3\0\0\0")), r"format 3"),
        (wav(rate=0), "0 samples"),
        (wav() + wav(rate=16_000), "16000 samples"),
        (b"RIFF" + bytes(5000), "not WAV"),
        (b"RIFF\0\0\0\0WAVEdata\4\0\0\0\0\0\0\0", "without a format"),
        (b"RIFF\0\0\0\0WAVEfmt \4\0\0\0\1\0\1\0", "broken header"),
        (b"ID3\x04" + SOUND, "MP3"),
        (mp3(b"\xff\xfb\x90\x64", 417), "MP3"),  # 128 kbit/s at 44.1 kHz
        (mp3(b"\xff\xf3\x84\xc4", 192), "MP3"),  # 64 kbit/s at 24 kHz
        (mp3(b"\xff\xfb\x92\x64", 418)[:418], "MP3"),  # padded, and the only one
        (mp3(b"\xff\xf1\x50\x80\x20\x1f\xfc", 256), "AAC"),
        (b"fLaC" + SOUND, "FLAC"),
        (b"OggS" + SOUND, "Ogg"),
        (b"\x1aE\xdf\xa3" + SOUND, "WebM"),
        (b"\0\0\0\x20ftypM4A " + SOUND, "MP4"),
        (b"<!doctype html><html>" + b"x" * 5000, "text"),
        (b'{"error":"out of memory"}', "text"),
        ('\ufeff\n{"error":"мало памяти, попробуйте ещё раз"}'.encode(), "text"),
        (b"Internal Server Error", "text"),
    ],
)
def test_what_is_no_pcm16_mono_is_named_and_never_played(sent: bytes, says: str, size: int) -> None:
    with pytest.raises(SpeechUnavailable, match=says) as refused:
        read(sent, size)
    assert "PCM or WAV" in str(refused.value)


@pytest.mark.parametrize(
    "head",
    [
        b"\xff\xff\xff\xff",  # nearly silence
        b"\xff\xfb\x90\xfb" + bytes(2000),  # one sample like a frame of MP3, and one near to it
        b"\xff\xf1\x50\xf2\x20\x1f" + bytes(2000),
        b"\xff\xfb\xf0\x64" + bytes(2000),  # no bit rate
        b"{\0<\0[\0",
        b"ID\0\0",
    ],
)
def test_sound_that_only_begins_like_something_else_is_played(head: bytes) -> None:
    assert read(head + SOUND) == (head + SOUND, 24_000)


@given(
    st.binary(max_size=300) | st.binary(max_size=300).map(lambda tail: b"RIFF\0\0\0\0WAVE" + tail), st.integers(1, 50)
)
def test_how_the_bytes_are_cut_changes_nothing(sent: bytes, size: int) -> None:
    def outcome(size: int) -> tuple[bytes, int | None] | str:
        try:
            return read(sent, size)
        except SpeechUnavailable as error:
            return str(error)

    assert outcome(size) == outcome(1000)


def test_four_samples_are_enough_to_tell_sound() -> None:
    assert PcmReader().feed(b"\1\0\2\0" * 2) == b"\1\0\2\0" * 2
