"""server/session/speech_output.py: how much of a turn's sound was heard"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.session.speech_output import TAIL_S, PlaybackClock


def clock_with(*sentences_ms: float, now_s: float = 10.0) -> PlaybackClock:
    clock = PlaybackClock("t1", began_s=9.0)
    for ms in sentences_ms:
        clock.begin_sentence()
        clock.sent(ms, now_s)
    return clock


def test_a_turn_without_sound_is_silent() -> None:
    clock = PlaybackClock()

    assert not clock.is_speaking(5.0)
    assert clock.heard_ms(5.0) == clock.ahead_ms(5.0) == 0
    assert clock.silent_at_s(5.0) == 5.0


def test_without_reports_the_clock_plays_from_the_first_sound() -> None:
    clock = clock_with(1000, 500)

    assert clock.heard_ms(10.4) == pytest.approx(400)
    assert clock.ahead_ms(10.4) == pytest.approx(1100)
    assert clock.heard_ms(60.0) == 1500
    assert clock.is_speaking(11.5 + TAIL_S - 0.01)
    assert not clock.is_speaking(11.5 + TAIL_S + 0.01)
    assert clock.first_audible_s is None, "nobody said so"


def test_sound_that_comes_after_a_silence_is_played_from_then_on() -> None:
    clock = clock_with(1000)
    clock.begin_sentence()
    clock.sent(1000, 20.0)

    assert clock.heard_ms(20.25) == pytest.approx(1250)
    assert clock.is_speaking(20.25)


def test_a_report_counts_more_than_the_clock() -> None:
    clock = clock_with(1000, 1000)
    clock.report(0, 0, "started", 12.0)

    assert clock.first_audible_s == 12.0
    assert clock.heard_ms(12.5) == pytest.approx(500)
    clock.report(1, 100, "playing", 13.5)
    assert clock.heard_ms(13.5) == 1100
    clock.report(1, 1000, "stopped", 14.4)
    assert clock.heard_ms(14.4) == 2000
    assert not clock.is_speaking(14.4)


def test_after_a_first_report_sound_alone_starts_no_playing() -> None:
    clock = clock_with(1000)
    clock.report(0, 1000, "stopped", 11.0)
    clock.begin_sentence()
    clock.sent(500, 12.0)

    assert not clock.is_speaking(12.0)
    assert clock.ahead_ms(13.0) == 500
    clock.report(1, 0, "playing", 13.0)
    assert clock.is_speaking(13.0)
    assert clock.first_audible_s == 13.0, "stopped was not audible"


def test_a_clock_knows_for_how_long_the_loudspeaker_has_been_heard_without_a_pause() -> None:
    clock = clock_with(1000, 1000)
    assert clock.speaking_ms(10.5) == pytest.approx(500)
    clock.report(0, 0, "started", 11.0)
    clock.report(1, 0, "playing", 12.0)
    assert clock.speaking_ms(12.5) == pytest.approx(2500)

    clock.report(1, 500, "stopped", 12.5)
    assert clock.speaking_ms(13.0) == 0
    clock.report(1, 500, "playing", 14.0)
    assert clock.speaking_ms(14.25) == pytest.approx(250)


@pytest.mark.parametrize(("index", "ms", "heard"), [(0, 99_999, 2000), (1, 99_999, 2000), (1, 0, 1000), (7, 5, 0)])
def test_a_client_cannot_have_heard_more_than_was_sent(index: int, ms: float, heard: float) -> None:
    clock = clock_with(1000, 1000)
    clock.report(index, ms, "playing", 10.0)

    assert clock.heard_ms(10.0) == heard


@given(
    st.lists(
        st.tuples(st.just("sent"), st.floats(0, 2000))
        | st.tuples(st.just("sentence"), st.just(0.0))
        | st.tuples(st.sampled_from(["started", "playing", "stopped"]), st.floats(0, 3000)),
        max_size=30,
    ),
    st.floats(0.01, 3),
)
def test_heard_never_passes_sent_and_silence_comes_in_the_end(steps: list[tuple[str, float]], step_s: float) -> None:
    clock, now_s, sent_ms = PlaybackClock("t"), 0.0, 0.0
    for kind, value in steps:
        now_s += step_s
        if kind == "sentence":
            clock.begin_sentence()
        elif kind == "sent":
            clock.sent(value, now_s)
            sent_ms += value
        else:
            clock.report(0, value, kind, now_s)  # type: ignore[arg-type]  # one of the three
        assert 0 <= clock.heard_ms(now_s) <= sent_ms
        assert clock.ahead_ms(now_s) >= 0

    assert not clock.is_speaking(max(now_s, clock.silent_at_s(now_s)) + 0.001)
