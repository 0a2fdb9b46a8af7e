from collections.abc import Callable

import numpy as np
import pytest

from server.speech import g711

Codec = Callable[[bytes], bytes]

EVERY_BYTE = bytes(range(256))
EVERY_SAMPLE = np.arange(-32768, 32768).astype("<i2").tobytes()


def values(pcm: bytes) -> list[int]:
    samples: list[int] = np.frombuffer(pcm, "<i2").tolist()
    return samples


@pytest.mark.parametrize(
    ("decode", "sequence", "loudest", "overload_db"),
    [  # G.711, tables 5 and 6: one period of 1 kHz at 0 dBm0, against the overload points 3.14 and 3.17 dBm0
        (g711.PCMA.decode, bytes.fromhex("34 21 21 34 b4 a1 a1 b4"), 4096 * 8, 3.14),
        (g711.PCMU.decode, bytes.fromhex("1e 0b 0b 1e 9e 8b 8b 9e"), 8159 * 4, 3.17),
    ],
    ids=["A-law", "u-law"],
)
def test_the_itus_1_khz_sequence_is_a_sine_at_0_dbm0(
    decode: Codec, sequence: bytes, loudest: int, overload_db: float
) -> None:
    wave = np.array(values(decode(sequence)), float)

    assert np.array_equal(wave[:4], -wave[4:])
    assert 10 * np.log10((wave**2).mean() / (loudest**2 / 2)) == pytest.approx(-overload_db, abs=0.01)


@pytest.mark.parametrize(
    ("code", "value"),
    [(0x80, 32124), (0x00, -32124), (0x8F, 16764), (0xFE, 8), (0xFF, 0), (0x7F, 0), (0x7E, -8)],
)
def test_u_law_has_the_values_of_the_itus_table_2(code: int, value: int) -> None:
    assert values(g711.PCMU.decode(bytes([code]))) == [value]


@pytest.mark.parametrize(("code", "value"), [(0xAA, 32256), (0x2A, -32256), (0xD5, 8), (0x55, -8), (0xC5, 264)])
def test_a_law_has_the_values_of_the_itus_table_1(code: int, value: int) -> None:
    assert values(g711.PCMA.decode(bytes([code]))) == [value]


def test_every_byte_survives_the_way_to_pcm_and_back() -> None:
    assert g711.PCMA.encode(g711.PCMA.decode(EVERY_BYTE)) == EVERY_BYTE
    negative_zero = g711.PCMU.encode(g711.PCMU.decode(EVERY_BYTE))
    assert negative_zero == EVERY_BYTE.replace(b"\x7f", b"\xff")


@pytest.mark.parametrize(
    ("encode", "decode", "loudest"),
    [(g711.PCMU.encode, g711.PCMU.decode, 32124), (g711.PCMA.encode, g711.PCMA.decode, 32256)],
    ids=["u-law", "A-law"],
)
def test_every_sample_comes_back_within_a_step_and_louder_ones_are_clipped(
    encode: Codec, decode: Codec, loudest: int
) -> None:
    samples = np.array(values(EVERY_SAMPLE))

    back = np.array(values(decode(encode(EVERY_SAMPLE))))

    assert np.all(np.diff(back) >= 0)
    clipped = np.clip(samples, -loudest, loudest)
    assert np.all(np.abs(back - clipped) <= np.maximum(16, (np.abs(clipped) + 132) / 32 + 4))
    assert (back.min(), back.max()) == (-loudest, loudest)
