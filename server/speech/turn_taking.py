"""Turn detection: when speech begins, is interrupted and ends. Pure: judged windows in, edges out.

    quiet ──DETECTED──▶ maybe ──STARTED──▶ speaking ──PAUSED──▶ pausing ──STOPPED──▶ quiet
              ▲           │                     ▲                  │
              └─REJECTED──┘                     └─────RESUMED──────┘

Time is counted in windows of 32 ms; nothing here waits, and no state grows.
"""

import re
from enum import Enum
from typing import Final

import msgspec

from server.config import VadSettings
from server.speech.audio import SILENCE_DBFS, WINDOW_MS
from server.speech.sentences import CLAUSE_STOPS, SENTENCE_ENDS, WIDE_CLAUSE_STOPS
from server.wire.frames import DetectionSettings

ECHO_THRESHOLD: Final = 0.7
"""Probability of a voice that the model must give while the assistant is to be heard."""
MARGIN_DB: Final = 6.0
"""Level above the echo that a voice must have."""
FIRST_GUARD_MS: Final = 1000
"""Guard of a connection's first playback: echo cancellers need that long to learn the room."""
GUARD_MS: Final = 256
TAIL_MS: Final = 320
"""Time that the gate outlasts the report that playback ended: sound is still on its way."""

_FORGET_DB_A_S: Final = 2.0
_ECHO_PROBABILITY: Final = 0.3  # of windows that are learned from during the guard
_HIGHEST_GATE_DBFS: Final = -24.0  # a louder voice passes whatever was learned: the guard may have learned the user

_DANGLING: Final = frozenset(
    "a an the my your his their our and or but because although while if unless until whenever whether than into "
    "onto with from of for at i'm i've i'd i'll we're we've it's that's there's um uh er erm hmm i we they he she "
    "tell give".split()
)
"""English words that hardly ever end a sentence, unlike `on`, `is` or `more`: a wrong guess costs a second."""

_DANGLING_TAIL: Final = re.compile(
    r"(?:因为|但是|可是|然后|所以|如果|还有|以及|和|跟|或者|的话|けど|から|それで|でも|あの|えっと|、|，)$"
)
_UNFINISHED_MARKS: Final = (*CLAUSE_STOPS, *WIDE_CLAUSE_STOPS, "-", "...", "…")

_LONGEST_SILENCE_MS: Final = {"low": 8000, "medium": 4000, "high": 2000}
"""Eagerness → silence that ends an utterance which sounds unfinished."""


class Edge(Enum):
    DETECTED = "detected"
    REJECTED = "rejected"
    STARTED = "started"
    PAUSED = "paused"
    RESUMED = "resumed"
    STOPPED = "stopped"


class Phase(Enum):
    QUIET = "quiet"
    MAYBE = "maybe"
    SPEAKING = "speaking"
    PAUSING = "pausing"


class TurnTakingConfig(VadSettings, frozen=True, kw_only=True):
    """Settings of turn-taking: `threshold` begins speech, `threshold - hysteresis` keeps it up.

    Those that an operator may set are in the configuration (`speech.vad`).
    """

    hysteresis: float = 0.15
    onset_ms: int = 64
    """Voice in a row that makes DETECTED: the client pauses playback."""
    decide_ms: int = 576
    """Longest time from DETECTED to REJECTED or STARTED; the protocol promises 600."""
    min_bright_ms: int = 96
    """Voice of an open mouth that a barge-in needs."""
    reject_silence_ms: int = 256
    pause_ms: int = 192
    """Silence that makes PAUSED: recognition starts in case this was the end."""
    prefix_ms: int = 300
    """Sound kept from before the first voice: its first syllable begins below every threshold."""

    def tuned(self, chosen: DetectionSettings) -> "TurnTakingConfig":
        """Return these settings with those that a client has chosen."""
        changed: dict[str, float] = {}
        if chosen.silence_ms is not None:
            changed = dict.fromkeys(("complete_ms", "end_silence_ms", "unfinished_ms"), chosen.silence_ms)
        elif chosen.eagerness is not None:
            longest_ms = _LONGEST_SILENCE_MS[chosen.eagerness]
            changed = {
                "complete_ms": min(self.complete_ms, longest_ms),
                "end_silence_ms": min(max(self.end_silence_ms, longest_ms // 4), longest_ms),
                "unfinished_ms": longest_ms,
            }
        if chosen.threshold is not None:
            changed["threshold"] = chosen.threshold
        if chosen.prefix_ms is not None:
            changed["prefix_ms"] = chosen.prefix_ms
        return msgspec.structs.replace(self, **changed)


BRIGHT: Final = 0.02
"""Brightness of an open mouth; a hum lies below 0.012, room noise does not matter above it."""


class EchoGate:
    """The assistant's own voice in the microphone: how loud and how sure another voice must be.

    The browser cancels most of the echo, not all, and least in the first second. While playback lasts, a voice counts
    when the model is surer of it than usual and it is louder than what has been heard of the loudspeaker so far:
    learned during the guard at the start of playback, when only a loud voice counts, and from voices that turned out to
    be none (the client pauses when it is told of a voice: an echo ends then). Call `tick` once a window, before it is
    judged.
    """

    def __init__(self) -> None:
        self._is_speaking = False
        self._has_spoken = False
        self._guard_ms = 0.0  # left
        self._tail_ms = 0.0  # left
        self.echo_dbfs = SILENCE_DBFS

    @property
    def is_on(self) -> bool:
        return self._is_speaking or self._tail_ms > 0

    def playback(self, *, is_speaking: bool, lasted_ms: float = 0.0) -> None:
        """Take whether the assistant is to be heard, and for how long it already was, unless windows have counted that.

        A pause between sentences starts no new guard.
        """
        if is_speaking and not self.is_on:
            self._guard_ms = (GUARD_MS if self._has_spoken else FIRST_GUARD_MS) - lasted_ms
            self._has_spoken = True
        if self._is_speaking and not is_speaking:
            self._tail_ms = TAIL_MS
        self._is_speaking = is_speaking

    def tick(self) -> None:
        self._guard_ms = max(0.0, self._guard_ms - WINDOW_MS)
        self._tail_ms = max(0.0, self._tail_ms - WINDOW_MS)
        self.echo_dbfs = max(SILENCE_DBFS, self.echo_dbfs - _FORGET_DB_A_S * WINDOW_MS / 1000)

    def passes(self, probability: float, level_dbfs: float) -> bool:
        """Return whether this window is a person's voice and not the loudspeaker's."""
        is_guarded = self._guard_ms > 0
        gate_dbfs = _HIGHEST_GATE_DBFS if is_guarded else min(self.echo_dbfs + MARGIN_DB, _HIGHEST_GATE_DBFS)
        is_voice = probability >= ECHO_THRESHOLD and level_dbfs >= gate_dbfs
        if is_guarded and not is_voice and probability >= _ECHO_PROBABILITY:
            self.learn(level_dbfs)
        return is_voice

    def learn(self, level_dbfs: float) -> None:
        """Remember the level of a sound that was not the user."""
        self.echo_dbfs = max(self.echo_dbfs, level_dbfs)


class TurnTaking:
    """Turn-taking at one microphone. `feed` each window in order, and act on the edges in order."""

    def __init__(self, config: TurnTakingConfig | None = None) -> None:
        self.config = config or TurnTakingConfig()
        self.echo = EchoGate()
        self.phase = Phase.QUIET
        self.silence_ms = 0.0  # since the last voice, while not QUIET
        self.utterance_ms = 0.0  # since DETECTED, while not QUIET
        self._voiced_ms = 0.0  # QUIET: in a row; MAYBE: in all
        self._bright_ms = 0.0  # of the voice
        self._loudest_dbfs = SILENCE_DBFS  # of the voice
        self._is_turn_running = False
        self._is_barge_in = False  # the voice was detected during a turn or its playback
        self._needs_silence = False  # what goes on after a discarded utterance is a part of it
        self._is_complete: bool | None = None

    @property
    def is_open(self) -> bool:
        """Whether an utterance is under way."""
        return self.phase is not Phase.QUIET

    def discard(self) -> None:
        """Forget the utterance under way; no edge follows for it, nor for speech that goes on without a pause."""
        self._needs_silence = self.is_open
        self.end()

    def end(self) -> None:
        """End the utterance under way; no edge follows for it. Speech that goes on is another."""
        self.phase = Phase.QUIET
        self._reset_voice()

    def playback(self, *, is_speaking: bool, lasted_ms: float = 0.0) -> None:
        """Take whether the client says that the assistant is to be heard, and since when. Repeats do no harm."""
        self.echo.playback(is_speaking=is_speaking, lasted_ms=lasted_ms)

    def turn(self, *, is_running: bool) -> None:
        """Take whether a turn runs: more than a short sound is needed to end it, even before it is to be heard."""
        self._is_turn_running = is_running

    def hint(self, is_complete: bool | None) -> None:
        """Take what `sounds_complete` says of the words so far. Counts for the pause under way only."""
        if self.phase is Phase.PAUSING:
            self._is_complete = is_complete

    def feed(self, probability: float, level_dbfs: float, brightness: float) -> Edge | None:
        """Take the next window; at most one edge comes of it."""
        self.echo.tick()
        is_voice = self._is_voice(probability, level_dbfs)
        if self.phase is Phase.QUIET:
            return self._listen(is_voice, level_dbfs, brightness)
        self.utterance_ms += WINDOW_MS
        self.silence_ms = 0.0 if is_voice else self.silence_ms + WINDOW_MS
        if self.phase is Phase.MAYBE:
            return self._decide(is_voice, level_dbfs, brightness)
        return self._follow(is_voice)

    def _is_voice(self, probability: float, level_dbfs: float) -> bool:
        threshold = self.config.threshold
        if self.phase is Phase.SPEAKING or self.phase is Phase.PAUSING:
            return probability >= threshold - self.config.hysteresis
        if self.echo.is_on:
            return self.echo.passes(probability, level_dbfs)
        return probability >= (threshold if self.phase is Phase.QUIET else threshold - self.config.hysteresis)

    def _listen(self, is_voice: bool, level_dbfs: float, brightness: float) -> Edge | None:
        if self._needs_silence:
            self.silence_ms = 0.0 if is_voice else self.silence_ms + WINDOW_MS
            self._needs_silence = self.silence_ms < self.config.pause_ms
            return None
        if not is_voice:
            self._reset_voice()
            return None
        self._count_voice(level_dbfs, brightness)
        if self._voiced_ms < self.config.onset_ms:
            return None
        self.phase = Phase.MAYBE
        self.utterance_ms = 0.0
        self.silence_ms = 0.0
        self._is_barge_in = self._is_turn_running or self.echo.is_on
        return Edge.DETECTED

    def _decide(self, is_voice: bool, level_dbfs: float, brightness: float) -> Edge | None:
        if is_voice:
            self._count_voice(level_dbfs, brightness)
        if self._is_speech():
            self.phase = Phase.SPEAKING
            return Edge.STARTED
        if self.silence_ms >= self.config.reject_silence_ms or self.utterance_ms >= self.config.decide_ms:
            if self.echo.is_on:
                self.echo.learn(self._loudest_dbfs)
            self.end()
            return Edge.REJECTED
        return None

    def _is_speech(self) -> bool:
        if not self._is_barge_in:
            return self._voiced_ms >= self.config.min_speech_ms
        return self._voiced_ms >= self.config.barge_in_ms and self._bright_ms >= self.config.min_bright_ms

    def _follow(self, is_voice: bool) -> Edge | None:
        if self.utterance_ms >= self.config.max_utterance_ms:
            self.end()
            return Edge.STOPPED
        if self.phase is Phase.SPEAKING:
            if self.silence_ms < self.config.pause_ms:
                return None
            self.phase = Phase.PAUSING
            self._is_complete = None
            return Edge.PAUSED
        if is_voice:
            self.phase = Phase.SPEAKING
            return Edge.RESUMED
        if self.silence_ms < self._hang_over_ms():
            return None
        self.discard()
        return Edge.STOPPED

    def _hang_over_ms(self) -> int:
        if self._is_complete is None:
            return self.config.end_silence_ms
        return self.config.complete_ms if self._is_complete else self.config.unfinished_ms

    def _count_voice(self, level_dbfs: float, brightness: float) -> None:
        self._voiced_ms += WINDOW_MS
        self._bright_ms += WINDOW_MS if brightness >= BRIGHT else 0.0
        self._loudest_dbfs = max(self._loudest_dbfs, level_dbfs)

    def _reset_voice(self) -> None:
        self._voiced_ms = 0.0
        self._bright_ms = 0.0
        self._loudest_dbfs = SILENCE_DBFS


def sounds_complete(text: str) -> bool | None:
    """Return whether the words so far sound complete, if that is known: a hint of how long a silence must be."""
    text = text.strip().rstrip("\"'”’」』)")
    if not text:
        return None
    if text.endswith(_UNFINISHED_MARKS):
        return False
    bare = text.rstrip(SENTENCE_ENDS).lower()
    if _DANGLING_TAIL.search(bare):
        return False
    words = bare.replace("’", "'").split()
    last = words[-1] if words else ""
    is_question = text.endswith(("?", "？", "؟"))
    if last in _DANGLING and not is_question:
        return False
    return True if text[-1] in SENTENCE_ENDS else None
