"""The state machine of turn-taking and its echo gate, window by window."""

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.speech.audio import WINDOW_MS
from server.speech.turn_taking import (
    FIRST_GUARD_MS,
    MARGIN_DB,
    TAIL_MS,
    EchoGate,
    Edge,
    Phase,
    TurnTaking,
    TurnTakingConfig,
    sounds_complete,
)
from server.wire.frames import DetectionSettings

LOUD, QUIET = -24.0, -70.0


def feed(turns: TurnTaking, ms: float, *, p: float, dbfs: float = LOUD, bright: float = 0.1) -> list[Edge]:
    """`ms` of equal windows; the edges that came of them."""
    edges = [turns.feed(p, dbfs, bright) for _ in range(round(ms / WINDOW_MS))]
    return [edge for edge in edges if edge is not None]


def voice(turns: TurnTaking, ms: float, *, dbfs: float = LOUD, bright: float = 0.1) -> list[Edge]:
    return feed(turns, ms, p=0.95, dbfs=dbfs, bright=bright)


def silence(turns: TurnTaking, ms: float) -> list[Edge]:
    return feed(turns, ms, p=0.02, dbfs=QUIET)


def speaking(turns: TurnTaking | None = None) -> TurnTaking:
    turns = turns or TurnTaking()
    assert voice(turns, 500) == [Edge.DETECTED, Edge.STARTED]
    return turns


def test_a_sentence_is_detected_started_paused_and_stopped() -> None:
    turns = TurnTaking()

    assert silence(turns, 1000) == []
    assert voice(turns, 64) == [Edge.DETECTED]
    assert voice(turns, 2000) == [Edge.STARTED]
    assert silence(turns, 192) == [Edge.PAUSED]
    assert silence(turns, 416) == []
    assert silence(turns, 64) == [Edge.STOPPED]
    assert turns.phase is Phase.QUIET


def test_one_loud_window_is_no_speech() -> None:
    turns = TurnTaking()

    assert voice(turns, WINDOW_MS) == []
    assert silence(turns, 500) == []


def test_hysteresis_keeps_up_a_voice_that_grows_weak() -> None:
    turns = speaking()

    assert feed(turns, 2000, p=0.4) == []
    assert feed(turns, 2000, p=0.3) == [Edge.PAUSED, Edge.STOPPED]


def test_a_short_sound_is_rejected_after_a_short_silence() -> None:
    turns = TurnTaking()

    assert voice(turns, 96) == [Edge.DETECTED]
    assert silence(turns, 256) == [Edge.REJECTED]
    assert voice(turns, 64) == [Edge.DETECTED]


def test_a_pause_that_was_not_the_end_is_resumed() -> None:
    turns = speaking()

    assert silence(turns, 400) == [Edge.PAUSED]
    assert voice(turns, 400) == [Edge.RESUMED]
    assert silence(turns, 640) == [Edge.PAUSED, Edge.STOPPED]


@pytest.mark.parametrize(("is_complete", "silence_ms"), [(True, 352), (None, 640), (False, 1280)])
def test_the_hang_over_follows_what_the_words_promise(is_complete: bool | None, silence_ms: int) -> None:
    turns = speaking()
    assert silence(turns, 192) == [Edge.PAUSED]

    turns.hint(is_complete)

    assert silence(turns, silence_ms - 192 - WINDOW_MS) == []
    assert silence(turns, WINDOW_MS) == [Edge.STOPPED]


def test_a_hint_counts_for_its_own_pause_only() -> None:
    turns = speaking()
    silence(turns, 192)
    turns.hint(False)
    voice(turns, 200)
    turns.hint(False)  # too late: the pause is over

    assert silence(turns, 640) == [Edge.PAUSED, Edge.STOPPED]


def test_words_that_turn_out_complete_late_end_the_utterance_at_the_next_window() -> None:
    turns = speaking()
    silence(turns, 576)

    turns.hint(True)

    assert silence(turns, WINDOW_MS) == [Edge.STOPPED]


def test_an_utterance_without_end_is_cut_and_goes_on_as_a_new_one() -> None:
    turns = TurnTaking(TurnTakingConfig(max_utterance_ms=3000))

    edges = voice(turns, 7000)

    assert edges == [Edge.DETECTED, Edge.STARTED, Edge.STOPPED] * 2 + [Edge.DETECTED, Edge.STARTED]


def test_an_operator_decides_how_long_a_silence_ends_an_utterance() -> None:
    turns = TurnTaking(TurnTakingConfig(end_silence_ms=960))
    voice(turns, 640)

    assert silence(turns, 960 - WINDOW_MS) == [Edge.PAUSED]
    assert silence(turns, WINDOW_MS) == [Edge.STOPPED]


@pytest.mark.parametrize(
    ("eagerness", "complete_ms", "unknown_ms", "unfinished_ms"),
    [("low", 352, 2000, 8000), ("medium", 352, 1000, 4000), ("high", 352, 640, 2000)],
)
def test_eagerness_is_the_longest_silence_and_complete_sentences_end_sooner(
    eagerness: Literal["low", "medium", "high"], complete_ms: int, unknown_ms: int, unfinished_ms: int
) -> None:
    config = TurnTakingConfig().tuned(DetectionSettings(mode="server_vad", eagerness=eagerness))

    for hint, limit_ms in ((True, complete_ms), (None, unknown_ms), (False, unfinished_ms)):
        turns = speaking(TurnTaking(config))
        assert silence(turns, 192) == [Edge.PAUSED]
        turns.hint(hint)
        assert silence(turns, limit_ms - 192 - WINDOW_MS) == []
        assert silence(turns, 2 * WINDOW_MS) == [Edge.STOPPED]


@pytest.mark.parametrize("eagerness", [None, "low"])
@pytest.mark.parametrize("hint", [None, True, False])
def test_a_silence_that_a_client_has_chosen_ends_an_utterance_whatever_was_said(
    eagerness: Literal["low"] | None, hint: bool | None
) -> None:
    wanted = DetectionSettings(mode="server_vad", silence_ms=512, eagerness=eagerness)
    turns = speaking(TurnTaking(TurnTakingConfig().tuned(wanted)))

    silence(turns, 192)
    turns.hint(hint)

    assert silence(turns, 288) == []
    assert silence(turns, 32) == [Edge.STOPPED]


def test_a_client_chooses_the_threshold_and_what_it_leaves_out_is_the_operator_s() -> None:
    operators = TurnTakingConfig(threshold=0.4, end_silence_ms=1000)

    assert operators.tuned(DetectionSettings(mode="server_vad")) == operators
    turns = TurnTaking(operators.tuned(DetectionSettings(mode="server_vad", threshold=0.8)))
    assert turns.config.end_silence_ms == 1000
    assert feed(turns, 500, p=0.75) == []
    assert feed(turns, 500, p=0.85) == [Edge.DETECTED, Edge.STARTED]


def test_a_cough_during_a_turn_only_pauses_it() -> None:
    turns = TurnTaking()
    turns.turn(is_running=True)

    assert voice(turns, 256) == [Edge.DETECTED]
    assert silence(turns, 256) == [Edge.REJECTED]


def test_a_hum_during_a_turn_is_rejected_and_words_behind_it_are_not() -> None:
    turns = TurnTaking()
    turns.turn(is_running=True)

    assert voice(turns, 640, bright=0.008) == [Edge.DETECTED, Edge.REJECTED]
    assert voice(turns, 640) == [Edge.DETECTED, Edge.STARTED]


def test_a_hum_is_an_answer_when_nobody_else_speaks() -> None:
    assert voice(TurnTaking(), 500, bright=0.008) == [Edge.DETECTED, Edge.STARTED]


def test_discarding_forgets_what_is_said_on_without_a_pause() -> None:
    turns = speaking()

    turns.discard()

    assert not turns.is_open
    assert voice(turns, 3000) == []
    assert silence(turns, 192) == []
    assert voice(turns, 500) == [Edge.DETECTED, Edge.STARTED]


def test_the_guard_at_the_start_of_playback_learns_the_echo() -> None:
    turns = TurnTaking()
    turns.playback(is_speaking=True)

    assert voice(turns, FIRST_GUARD_MS - WINDOW_MS, dbfs=-40) == []
    assert voice(turns, 2000, dbfs=-40) == []
    assert voice(turns, 600, dbfs=-40 + MARGIN_DB + 1) == [Edge.DETECTED, Edge.STARTED]


def test_an_echo_that_was_rejected_does_not_pause_playback_again() -> None:
    turns = TurnTaking()
    turns.playback(is_speaking=True)
    silence(turns, FIRST_GUARD_MS)

    assert voice(turns, 128, dbfs=-35) == [Edge.DETECTED]
    assert silence(turns, 300) == [Edge.REJECTED]
    assert voice(turns, 2000, dbfs=-36) == []


def test_a_loud_voice_passes_whatever_was_learned() -> None:
    turns = TurnTaking()
    turns.playback(is_speaking=True)
    voice(turns, FIRST_GUARD_MS, dbfs=-25)

    assert voice(turns, 600, dbfs=-23) == [Edge.DETECTED, Edge.STARTED]


def test_a_loud_voice_is_not_lost_during_the_guard() -> None:
    turns = TurnTaking()
    turns.playback(is_speaking=True)

    assert voice(turns, 600, dbfs=-20) == [Edge.DETECTED, Edge.STARTED]


def test_a_loud_sound_during_the_guard_that_may_not_be_a_voice_is_learned_as_echo() -> None:
    turns = TurnTaking()
    turns.playback(is_speaking=True)

    assert feed(turns, FIRST_GUARD_MS, p=0.5, dbfs=-20) == []
    assert voice(turns, 2000, dbfs=-25) == []


def test_a_microphone_that_opens_during_a_reply_hears_a_soft_voice_at_once() -> None:
    turns = TurnTaking()
    turns.playback(is_speaking=True, lasted_ms=FIRST_GUARD_MS)

    assert voice(turns, 600, dbfs=-40) == [Edge.DETECTED, Edge.STARTED]


def test_a_microphone_that_opens_during_the_guard_waits_for_its_rest_alone() -> None:
    turns = TurnTaking()
    turns.playback(is_speaking=True, lasted_ms=FIRST_GUARD_MS / 2)

    assert silence(turns, FIRST_GUARD_MS / 2) == []
    assert voice(turns, 600, dbfs=-40) == [Edge.DETECTED, Edge.STARTED]


def test_the_gate_outlasts_playback_by_its_tail_and_opens_then() -> None:
    gate = EchoGate()
    gate.playback(is_speaking=True)
    gate.playback(is_speaking=False)

    assert gate.is_on
    for _ in range(round(TAIL_MS / WINDOW_MS)):
        gate.tick()
    assert not gate.is_on


def test_sentences_that_follow_each_other_start_one_guard() -> None:
    gate = EchoGate()
    gate.playback(is_speaking=True)
    for _ in range(round(FIRST_GUARD_MS / WINDOW_MS) + 1):
        gate.tick()
    gate.playback(is_speaking=False)
    gate.playback(is_speaking=True)

    assert gate.passes(0.9, -24)


Windows = st.lists(
    st.tuples(
        st.floats(0, 1), st.floats(-90, 0), st.floats(0, 2), st.sampled_from(["", "play", "stop", "turn", "end"])
    ),
    max_size=400,
)


@given(Windows)
def test_edges_keep_their_order_and_decisions_their_time(windows: list[tuple[float, float, float, str]]) -> None:
    turns = TurnTaking()
    following = {
        None: {Edge.DETECTED},
        Edge.DETECTED: {Edge.STARTED, Edge.REJECTED},
        Edge.REJECTED: {Edge.DETECTED},
        Edge.STARTED: {Edge.PAUSED, Edge.STOPPED},
        Edge.PAUSED: {Edge.RESUMED, Edge.STOPPED},
        Edge.RESUMED: {Edge.PAUSED, Edge.STOPPED},
        Edge.STOPPED: {Edge.DETECTED},
    }
    last: Edge | None = None
    undecided_ms = 0.0
    for probability, dbfs, bright, event in windows:
        if event in ("play", "stop"):
            turns.playback(is_speaking=event == "play")
        if event in ("turn", "end"):
            turns.turn(is_running=event == "turn")
        edge = turns.feed(probability, dbfs, bright)
        undecided_ms = undecided_ms + WINDOW_MS if last is Edge.DETECTED else 0.0
        assert undecided_ms <= 600
        if edge is not None:
            assert edge in following[last]
            last = edge


@pytest.mark.parametrize(
    "text",
    [
        "What is the weather like?",
        "Turn it on.",
        "Yes.",
        "I want more.",
        "What time is it?",
        'She said "stop."',
        "Who are you talking to?",
        "我想知道天气。",
        "今日はいい天気ですね。",
        "आज मौसम अच्छा है।",
        "ما هي عاصمة فرنسا؟",
        "What is that for?",
    ],
)
def test_a_sentence_that_is_whole_may_end_soon(text: str) -> None:
    assert sounds_complete(text) is True


@pytest.mark.parametrize(
    "text",
    [
        "I would like to know if",
        "I'd like a ticket to the",
        "I'd like a ticket to the.",
        "Give me bread, butter and",
        "Well,",
        "The thing is...",
        "The thing is…",
        "My name is Anna and um.",
        "我想去但是",
        "我想去，",
        "أريد أن أذهب،",
        "እኔ፣",
        "行きたいけど",
        "Because.",
    ],
)
def test_a_sentence_that_sounds_unfinished_is_waited_for(text: str) -> None:
    assert sounds_complete(text) is False


@pytest.mark.parametrize("text", ["", "  ", "hello there", "今天天气"])
def test_words_that_do_not_tell_leave_it_open(text: str) -> None:
    assert sounds_complete(text) is None
