"""One microphone: frames in, events out, with a detector that the test answers for."""

import asyncio
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from server.speech.audio import WINDOW, WINDOW_MS, Samples, samples_to_pcm16
from server.speech.turn_taking import TurnTakingConfig
from server.speech.utterances import (
    Detected,
    Discarded,
    NotSpeaking,
    Paused,
    Rejected,
    Resumed,
    Started,
    Stopped,
    TurnDetection,
    UtteranceDetector,
    UtteranceEvent,
)
from server.speech.vad import SileroModel, VoiceDetector
from server.wire.frames import DetectionSettings

pytestmark = pytest.mark.virtual_time  # sound that does not come is silence: a busy machine must not be that slow

RATE = 16_000
VOICE, HUSH = 0.2, 0.004


class LoudIsVoice(SileroModel):
    """What is louder than -30 dBFS is a voice."""

    def __init__(self) -> None:
        pass

    def judge(self, windows: Samples, states: Samples) -> tuple[NDArray[np.float32], Samples]:
        return (np.abs(windows).mean(axis=1) > 0.05).astype(np.float32), states


class Room:
    """A detector, what it said, and a microphone that is spoken into in seconds."""

    def __init__(self, detector: VoiceDetector, *, rate: int = RATE, mode: TurnDetection = "server_vad") -> None:
        self.events: list[UtteranceEvent] = []
        self.rate = rate
        self.detector = detector
        self.on_event: Callable[[UtteranceEvent], None] = lambda event: None
        self.utterances = UtteranceDetector(
            detector,
            self._take,
            sample_rate=rate,
            turn_detection=mode,
            config=TurnTakingConfig(max_utterance_ms=3000),
        )
        self._random = np.random.default_rng(3)

    def _take(self, event: UtteranceEvent) -> None:
        self.events.append(event)
        self.on_event(event)

    async def hear(self, seconds: float, level: float) -> list[UtteranceEvent]:
        """The events that came of it, when all of it has been judged."""
        before = len(self.events)
        sound = self._random.normal(0, level, round(seconds * self.rate)).astype(np.float32)
        frame = self.rate // 50
        for at in range(0, sound.size, frame):
            self.utterances.feed(samples_to_pcm16(sound[at : at + frame]))
            await self.judged()
        return self.events[before:]

    async def judged(self) -> None:
        while self.utterances.waiting:
            await asyncio.sleep(0)

    def kinds(self) -> list[type]:
        return [type(event) for event in self.events]


@pytest.fixture
async def detector() -> VoiceDetector:
    detector = VoiceDetector()
    await detector.start(LoudIsVoice())
    return detector


@pytest.fixture(autouse=True)
async def _close(detector: VoiceDetector) -> object:
    yield
    await detector.aclose()


@pytest.mark.parametrize("rate", [8000, 16_000, 44_100, 48_000])
async def test_an_utterance_has_its_times_its_pre_roll_and_its_sound(detector: VoiceDetector, rate: int) -> None:
    room = Room(detector, rate=rate)

    await room.hear(1.0, HUSH)
    await room.hear(1.5, VOICE)
    await room.hear(1.0, HUSH)

    detected, started, paused, stopped = room.events
    assert isinstance(detected, Detected)
    assert detected.audio_ms == pytest.approx(1000, abs=50)
    assert started == Started("u1", detected.audio_ms)
    assert isinstance(paused, Paused)
    assert isinstance(stopped, Stopped)
    assert stopped.audio_ms == pytest.approx(2500, abs=50)
    assert stopped.silence_ms == pytest.approx(640, abs=33)
    assert stopped.is_paused_audio
    assert stopped.audio == paused.audio
    assert len(stopped.audio) / 2 / RATE == pytest.approx(0.3 + 1.5 + 0.192, abs=0.08)
    sound = np.frombuffer(stopped.audio, "<i2") / 32768
    assert np.abs(sound[: int(0.28 * RATE)]).mean() < 0.05 < np.abs(sound[int(0.4 * RATE) : RATE]).mean()


async def test_what_is_resumed_is_one_utterance_with_all_its_sound(detector: VoiceDetector) -> None:
    room = Room(detector)

    await room.hear(1.0, VOICE)
    await room.hear(0.4, HUSH)
    await room.hear(1.0, VOICE)
    await room.hear(1.0, HUSH)

    assert room.kinds() == [Detected, Started, Paused, Resumed, Paused, Stopped]
    stopped = room.events[-1]
    assert isinstance(stopped, Stopped)
    assert len(stopped.audio) / 2 / RATE == pytest.approx(1.0 + 0.4 + 1.0 + 0.192, abs=0.08)


async def test_words_that_sound_complete_end_it_sooner(detector: VoiceDetector) -> None:
    room = Room(detector)
    room.on_event = lambda event: room.utterances.turns.hint(True) if isinstance(event, Paused) else None

    await room.hear(1.0, VOICE)
    await room.hear(0.42, HUSH)

    assert room.kinds() == [Detected, Started, Paused, Stopped]


async def test_a_rejected_sound_is_named_apart_from_the_speech_that_follows(detector: VoiceDetector) -> None:
    room = Room(detector)

    await room.hear(0.1, VOICE)
    await room.hear(0.4, HUSH)
    await room.hear(0.5, VOICE)

    assert [(type(event), event.utterance) for event in room.events] == [
        (Detected, "u1"),
        (Rejected, "u1"),
        (Detected, "u2"),
        (Started, "u2"),
    ]


async def test_an_endless_utterance_is_cut_at_its_limit(detector: VoiceDetector) -> None:
    room = Room(detector)

    await room.hear(4.0, VOICE)

    assert room.kinds() == [Detected, Started, Stopped, Detected, Started]
    stopped = room.events[2]
    assert isinstance(stopped, Stopped)
    assert not stopped.is_paused_audio
    assert len(stopped.audio) / 2 / RATE == pytest.approx(3.0, abs=0.1)


async def test_discarding_ends_an_utterance_by_its_state(detector: VoiceDetector) -> None:
    room = Room(detector)

    await room.hear(0.1, VOICE)
    room.utterances.discard()
    await room.hear(0.5, HUSH)
    await room.hear(0.5, VOICE)
    room.utterances.discard()
    room.utterances.discard()
    await room.hear(1.0, HUSH)

    assert room.kinds() == [Detected, Rejected, Detected, Started, Discarded]
    assert room.utterances.utterance is None


async def test_a_new_rate_discards_the_utterance_and_is_heard_at_once(detector: VoiceDetector) -> None:
    room = Room(detector)
    await room.hear(0.5, VOICE)

    room.utterances.configure(sample_rate=48_000, turn_detection="server_vad")
    room.rate = 48_000
    await room.hear(0.5, HUSH)
    await room.hear(0.5, VOICE)

    assert room.kinds() == [Detected, Started, Discarded, Detected, Started]
    detected = room.events[3]
    assert isinstance(detected, Detected)
    assert detected.audio_ms == pytest.approx(1000, abs=60), "the clock runs on"


async def test_a_pressed_key_is_an_utterance_with_pre_roll_and_nothing_else_is(detector: VoiceDetector) -> None:
    room = Room(detector, mode="push_to_talk")

    await room.hear(1.0, VOICE)
    room.utterances.key_down()
    await room.hear(1.0, VOICE)
    await room.hear(1.0, HUSH)
    room.utterances.end()
    await room.hear(1.0, VOICE)

    started, stopped = room.events
    assert isinstance(started, Started)
    assert started.audio_ms == pytest.approx(1000, abs=1)
    assert isinstance(stopped, Stopped)
    assert stopped.audio_ms == pytest.approx(3000, abs=1)
    assert stopped.silence_ms == 0
    assert len(stopped.audio) / 2 / RATE == pytest.approx(2.35, abs=0.1)


@pytest.mark.parametrize("hush_s", [0.0, 0.1])
async def test_what_was_said_before_the_microphone_was_switched_off_is_not_sent_by_the_key(
    detector: VoiceDetector, hush_s: float
) -> None:
    room = Room(detector, mode="push_to_talk")

    await room.hear(1.0, VOICE)
    await asyncio.sleep(0.5)  # it is off
    await room.hear(hush_s, HUSH)
    room.utterances.key_down()
    await room.hear(1.0, HUSH)
    room.utterances.end()

    _, stopped = room.events
    assert isinstance(stopped, Stopped)
    assert np.abs(np.frombuffer(stopped.audio, "<i2") / 32768).max() < 0.05


async def test_a_slip_of_the_finger_and_a_cancelled_key_are_discarded(detector: VoiceDetector) -> None:
    room = Room(detector, mode="push_to_talk")

    room.utterances.key_down()
    await room.hear(0.1, VOICE)
    room.utterances.end()
    room.utterances.key_down()
    await room.hear(1.0, VOICE)
    room.utterances.cancel()
    room.utterances.end()

    assert room.kinds() == [Started, Discarded, Started, Discarded]


async def test_a_key_that_is_held_down_for_ever_is_cut_at_the_limit(detector: VoiceDetector) -> None:
    room = Room(detector, mode="push_to_talk")
    room.utterances.key_down()

    await room.hear(4.0, VOICE)
    room.utterances.end()

    assert room.kinds() == [Started, Stopped]


async def test_a_key_that_goes_down_means_nothing_while_the_server_listens(detector: VoiceDetector) -> None:
    room = Room(detector)

    room.utterances.key_down()

    assert room.events == []


async def test_an_utterance_ends_where_the_client_says(detector: VoiceDetector) -> None:
    room = Room(detector)

    await room.hear(1.0, HUSH)
    await room.hear(1.0, VOICE)
    room.utterances.end()
    await room.judged()
    stopped = room.events[-1]
    await room.hear(1.0, VOICE)

    assert room.kinds() == [Detected, Started, Stopped, Detected, Started]
    assert isinstance(stopped, Stopped)
    assert stopped.audio_ms == pytest.approx(2000, abs=1)
    assert stopped.silence_ms == 0
    assert len(stopped.audio) / 2 / RATE == pytest.approx(0.3 + 1.0, abs=0.1)


@pytest.mark.parametrize("seconds", [1.0, 0.1])
async def test_sound_that_came_before_the_end_but_is_not_judged_yet_is_in_the_utterance(
    detector: VoiceDetector, seconds: float
) -> None:
    room = Room(detector)
    room.utterances.feed(samples_to_pcm16(np.full(round(seconds * RATE), VOICE, dtype=np.float32)))

    room.utterances.end()
    assert room.events == []
    await room.judged()

    stopped = room.events[-1]
    assert room.kinds() == [Detected, Started, Stopped]
    assert isinstance(stopped, Stopped)
    assert 0 <= len(stopped.audio) / 2 / RATE - seconds < WINDOW_MS / 1000


async def test_sound_that_comes_faster_than_it_is_judged_is_cut_where_the_client_says(detector: VoiceDetector) -> None:
    room = Room(detector)
    for seconds in (1.0, 2.0):
        room.utterances.feed(samples_to_pcm16(np.full(round(seconds * RATE), VOICE, dtype=np.float32)))
        room.utterances.end()
    await room.judged()

    ends = [event.audio_ms for event in room.events if isinstance(event, Stopped)]
    assert ends == [pytest.approx(1000, abs=1), pytest.approx(3000, abs=1)]


async def test_where_nobody_speaks_there_is_nothing_to_end_or_to_cancel(detector: VoiceDetector) -> None:
    room = Room(detector)

    await room.hear(0.5, HUSH)
    room.utterances.end()
    await room.judged()
    room.utterances.cancel()
    room.utterances.feed(samples_to_pcm16(np.full(RATE, HUSH, dtype=np.float32)))
    room.utterances.end()
    await room.judged()

    assert room.kinds() == [NotSpeaking] * 3


@pytest.mark.parametrize("level", [HUSH, VOICE])
async def test_of_two_ends_at_once_each_has_its_answer(detector: VoiceDetector, level: float) -> None:
    room = Room(detector)

    await room.hear(1.0, level)
    room.utterances.feed(samples_to_pcm16(np.full(RATE, level, dtype=np.float32)))
    room.utterances.end("one")
    room.utterances.end("two")
    await room.judged()

    unanswered = {"one", "two"} - {event.ref for event in room.events if isinstance(event, NotSpeaking)}
    assert unanswered == ({"one"} if Stopped in room.kinds() else set())


async def test_what_is_cancelled_is_discarded_with_what_is_being_judged(detector: VoiceDetector) -> None:
    room = Room(detector)

    await room.hear(1.0, VOICE)
    room.utterances.feed(samples_to_pcm16(np.full(RATE, VOICE, dtype=np.float32)))
    room.utterances.end()
    room.utterances.cancel()
    await room.hear(1.0, HUSH)

    assert room.kinds() == [Detected, Started, Discarded]


@pytest.mark.parametrize("prefix_ms", [0, 300, 2000])
async def test_a_client_says_how_much_is_kept_from_before_the_first_voice(
    detector: VoiceDetector, prefix_ms: int
) -> None:
    room = Room(detector)
    wanted = DetectionSettings(mode="server_vad", prefix_ms=prefix_ms)
    room.utterances.configure(
        sample_rate=RATE, turn_detection=wanted.mode, config=room.utterances.turns.config.tuned(wanted)
    )

    await room.hear(3.0, HUSH)
    await room.hear(1.0, VOICE)
    room.utterances.end()
    await room.judged()

    stopped = room.events[-1]
    assert isinstance(stopped, Stopped)
    assert len(stopped.audio) / 2 / RATE == pytest.approx(prefix_ms / 1000 + 1.0, abs=0.08)


async def test_a_microphone_that_falls_silent_leaves_nothing_undecided(detector: VoiceDetector) -> None:
    room = Room(detector)
    await room.hear(0.1, VOICE)
    rejected = asyncio.Event()
    room.on_event = lambda event: rejected.set()

    await rejected.wait()

    assert room.kinds() == [Detected, Rejected]


async def test_a_microphone_that_is_muted_in_mid_sentence_ends_the_utterance(detector: VoiceDetector) -> None:
    room = Room(detector)
    await room.hear(0.5, VOICE)
    stopped = asyncio.Event()
    room.on_event = lambda event: stopped.set() if isinstance(event, Stopped) else None

    await stopped.wait()

    assert room.kinds() == [Detected, Started, Paused, Stopped]


async def test_nothing_is_said_after_closing(detector: VoiceDetector) -> None:
    room = Room(detector)
    await room.hear(0.5, VOICE)
    room.utterances.close()
    count = len(room.events)

    room.utterances.feed(samples_to_pcm16(np.full(RATE, VOICE, np.float32)))
    await asyncio.sleep(0)

    assert len(room.events) == count
    assert detector.streams == 0


async def test_a_second_of_sound_at_once_is_heard_like_a_second_in_frames(detector: VoiceDetector) -> None:
    room = Room(detector)
    sound = np.random.default_rng(3).normal(0, VOICE, RATE).astype(np.float32)
    silence = np.random.default_rng(3).normal(0, HUSH, RATE).astype(np.float32)
    stopped = asyncio.Event()
    room.on_event = lambda event: stopped.set() if isinstance(event, Stopped) else None

    room.utterances.feed(samples_to_pcm16(np.concatenate((sound, silence))))
    await room.judged()
    await stopped.wait()

    assert room.kinds() == [Detected, Started, Paused, Stopped]
    assert room.detector.refused == 0
    assert WINDOW == 512
