"""clients/talk/playout.py"""

import numpy as np
import pytest

from clients.talk.playout import Playout, Resampler


def tone(rate: int, *, hz: float = 440.0, seconds: float = 0.5) -> bytes:
    angles = 2 * np.pi * hz / rate * np.arange(round(rate * seconds))
    pcm: bytes = np.rint(8000 * np.sin(angles)).astype("<i2").tobytes()
    return pcm


def test_what_waits_is_played_in_order_and_then_silence() -> None:
    playout = Playout()
    playout.add(b"\1\0\2\0")
    playout.add(b"\3\0")

    assert playout.take(4) == b"\1\0\2\0"
    assert playout.take(4) == b"\3\0\0\0"
    assert playout.take(4) == bytes(4)


def test_a_pause_keeps_the_place() -> None:
    playout = Playout()
    playout.add(b"\1\0\2\0")
    playout.is_paused = True
    assert playout.take(2) == bytes(2)
    playout.is_paused = False

    assert playout.take(4) == b"\1\0\2\0"


def test_what_was_cut_is_never_played_and_ends_the_pause() -> None:
    playout = Playout()
    playout.add(b"\1\0")
    playout.is_paused = True
    playout.cut()
    playout.add(b"\2\0")

    assert playout.take(2) == b"\2\0"


@pytest.mark.parametrize(("rate", "wanted_rate"), [(24_000, 48_000), (24_000, 44_100), (22_050, 16_000)])
def test_another_rate_holds_the_same_tone_however_it_is_cut_into_pieces(rate: int, wanted_rate: int) -> None:
    sound = tone(rate)
    whole = Resampler(rate, wanted_rate).feed(sound)
    resampler = Resampler(rate, wanted_rate)
    pieces = b"".join(resampler.feed(sound[at : at + 126]) for at in range(0, len(sound), 126))

    given, ideal = np.frombuffer(pieces, "<i2"), np.frombuffer(tone(wanted_rate), "<i2")
    assert np.abs(given.astype(int) - np.frombuffer(whole, "<i2")).max() <= 1
    assert given.size == pytest.approx(ideal.size, abs=3)
    size = min(given.size, ideal.size)
    assert np.abs(given[:size].astype(int) - ideal[:size]).max() < 100


def test_the_same_rate_is_left_alone() -> None:
    assert Resampler(24_000, 24_000).feed(b"\1\0\2\0") == b"\1\0\2\0"


def test_nothing_gives_nothing() -> None:
    assert Resampler(24_000, 48_000).feed(b"") == b""
