"""Turn-taking on generated sound with the real model; docs/turn-taking.md has the figures of a larger run."""

import pytest

from benchmarks.turn_taking import Outcome, measure
from tests.support.speech_corpus import corpus

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    return measure(corpus(size=8))


def of(outcomes: dict[str, Outcome], *kinds: str) -> list[Outcome]:
    found = [outcome for kind, outcome in outcomes.items() if kind.startswith(kinds)]
    assert found
    return found


def test_no_sentence_and_no_short_word_is_missed_late_or_cut(outcomes: dict[str, Outcome]) -> None:
    for outcome in of(outcomes, "sentence", "short word", "interruption"):
        if outcome is not outcomes["short word during a turn"]:
            assert (outcome.missed, outcome.late, outcome.false_cuts, outcome.false_starts) == (0, 0, 0, 0)


def test_noise_silence_and_music_start_nothing(outcomes: dict[str, Outcome]) -> None:
    for outcome in of(outcomes, "silence", "noise", "chords"):
        assert outcome.false_starts == 0


def test_coughs_doors_hums_and_the_echo_end_no_turn(outcomes: dict[str, Outcome]) -> None:
    for outcome in of(outcomes, "cough", "door", "mm-hmm", "echo"):
        assert outcome.false_starts == 0


def test_half_of_the_short_words_at_least_interrupt_a_turn(outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes["short word during a turn"]

    assert outcome.missed <= outcome.clips / 2


def test_decisions_come_within_600_ms(outcomes: dict[str, Outcome]) -> None:
    assert max(ms for outcome in outcomes.values() for ms in outcome.decision_ms) <= 600


def test_speech_is_noticed_within_150_ms_and_its_end_within_the_hang_over(outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes["sentence, quiet room"]

    assert sorted(outcome.detected_ms)[len(outcome.detected_ms) // 2] <= 150
    assert sorted(outcome.stopped_ms)[len(outcome.stopped_ms) // 2] <= 640 + 100
