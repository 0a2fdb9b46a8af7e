"""Conversion, loudness and resampling of live sound."""

import numpy as np
import pytest

from server.speech.audio import (
    SILENCE_DBFS,
    PcmResampler,
    Resampler,
    Samples,
    brightness,
    level_dbfs,
    pcm16_to_samples,
    samples_to_pcm16,
)

RATES = [8000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 47_999, 48_000]


def tone(rate: int, hertz: float, seconds: float = 1.0, amplitude: float = 0.5) -> Samples:
    return np.asarray(amplitude * np.sin(2 * np.pi * hertz * np.arange(round(rate * seconds)) / rate), np.float32)


def resample(samples: Samples, rate: int, frame: int) -> Samples:
    resampler = Resampler(rate)
    return np.concatenate([resampler.feed(samples[at : at + frame]) for at in range(0, samples.size, frame)])


def test_pcm16_survives_the_way_to_floats_and_back() -> None:
    pcm = np.arange(-32768, 32768, 7, dtype="<i2").tobytes()

    assert samples_to_pcm16(pcm16_to_samples(pcm)) == pcm


def test_what_is_too_loud_is_clipped_and_does_not_wrap() -> None:
    pcm = samples_to_pcm16(np.array([2.0, -2.0], np.float32))

    assert np.frombuffer(pcm, "<i2").tolist() == [32767, -32768]


def test_loudness_is_measured_against_full_scale() -> None:
    assert level_dbfs(tone(16_000, 1000, amplitude=1.0)) == pytest.approx(-3.01, abs=0.01)
    assert level_dbfs(tone(16_000, 1000, amplitude=0.01)) == pytest.approx(-43.01, abs=0.01)
    assert level_dbfs(np.zeros(512, np.float32)) == SILENCE_DBFS


def test_a_hum_is_dark_and_a_vowel_is_bright() -> None:
    hum = tone(16_000, 180) + tone(16_000, 360, amplitude=0.1)
    vowel = tone(16_000, 700) + tone(16_000, 1200, amplitude=0.3)

    assert brightness(hum) < 0.012 < 0.05 < brightness(vowel)
    assert brightness(np.zeros(512, np.float32)) == 0


@pytest.mark.parametrize("rate", RATES)
def test_every_frame_gives_its_sound_at_once_without_bursts(rate: int) -> None:
    resampler = Resampler(rate)
    frame = rate // 50

    sizes = [resampler.feed(np.zeros(frame, np.float32)).size for _ in range(500)]

    assert max(sizes) - min(sizes) <= 1
    assert sum(sizes) == pytest.approx(500 * frame * 16_000 / rate, abs=1)


@pytest.mark.parametrize("rate", RATES)
def test_a_tone_keeps_its_pitch_and_loudness_whatever_the_frames(rate: int) -> None:
    sound = tone(rate, 1000)

    whole = resample(sound, rate, sound.size)
    pieces = resample(sound, rate, 137)

    assert np.allclose(whole, pieces, atol=1e-5)
    spectrum = np.abs(np.fft.rfft(whole[1600:14_400] * np.hanning(12_800)))
    assert np.argmax(spectrum) * 16_000 / 12_800 == pytest.approx(1000, abs=2)
    assert level_dbfs(whole[1600:14_400]) == pytest.approx(level_dbfs(sound), abs=0.3)


@pytest.mark.parametrize("rate", RATES)
def test_the_delay_is_at_most_a_millisecond(rate: int) -> None:
    sound = np.zeros(rate, np.float32)
    sound[rate // 2 : rate // 2 + rate // 500] = 1.0  # 2 ms, centred 1 ms behind the half second

    out = resample(sound, rate, rate // 50)

    centre_s = float(np.dot(out, np.arange(out.size))) / float(out.sum()) / 16_000
    assert centre_s - 0.501 <= 0.001


@pytest.mark.parametrize("rate", [24_000, 32_000, 44_100, 48_000])
def test_what_16_khz_cannot_hold_does_not_fold_back(rate: int) -> None:
    out = resample(tone(rate, 10_500), rate, rate // 50)

    assert level_dbfs(out[160:]) < level_dbfs(tone(rate, 10_500)) - 25


def test_noise_of_a_quiet_room_stays_quiet() -> None:
    noise = np.random.default_rng(1).normal(0, 0.001, 48_000).astype(np.float32)

    assert level_dbfs(resample(noise, 48_000, 960)) < -60


PLAYED = [(22_050, 24_000), (24_000, 8000), (22_050, 8000), (8000, 24_000), (16_000, 24_000), (48_000, 24_000)]


@pytest.mark.parametrize(("rate", "to_rate"), PLAYED)
def test_played_sound_is_the_same_whatever_the_pieces_and_not_late(rate: int, to_rate: int) -> None:
    resampler = PcmResampler(rate, to_rate)
    pcm = samples_to_pcm16(tone(rate, 1000))

    whole = resampler.feed(pcm) + resampler.finish()
    again = b"".join(resampler.feed(pcm[at : at + 274]) for at in range(0, len(pcm), 274)) + resampler.finish()

    assert again == whole
    assert len(whole) == 2 * to_rate
    error = pcm16_to_samples(whole)[100:-100] - tone(to_rate, 1000)[100:-100]
    assert level_dbfs(error) < -80


@pytest.mark.parametrize(("rate", "to_rate"), [(24_000, 8000), (22_050, 8000), (48_000, 24_000)])
def test_played_sound_keeps_the_band_and_nothing_folds_back(rate: int, to_rate: int) -> None:
    def level_of(hertz: float) -> float:
        resampler = PcmResampler(rate, to_rate)
        return float(level_dbfs(pcm16_to_samples(resampler.feed(samples_to_pcm16(tone(rate, hertz))))[200:]))

    assert level_of(to_rate * 0.4) == pytest.approx(-9, abs=1)
    assert level_of(to_rate / 2 * 1.06) < -9 - 40


def test_played_sound_of_the_same_rate_is_left_alone_and_full_scale_does_not_wrap() -> None:
    square = np.repeat(np.array([32767, -32768] * 60, "<i2"), 40).tobytes()

    same, other = PcmResampler(24_000, 24_000), PcmResampler(24_000, 22_050)

    assert same.feed(square) + same.finish() == square
    out = pcm16_to_samples(other.feed(square) + other.finish())
    for at in range(5, 115):  # the middle of each half wave keeps its sign
        assert out[round((at * 40 + 20) * 22_050 / 24_000)] * (-1) ** at > 0.9
