"""Whose turn is it to speak? The pure part of the ears: judged windows in, edges out.

    quiet ──DETECTED──▶ maybe ──STARTED──▶ speaking ──PAUSED──▶ pausing ──STOPPED──▶ quiet
              ▲           │                     ▲                  │
              └─REJECTED──┘                     └─────RESUMED──────┘

Time is counted in windows of 32 ms; nothing here waits, and no state grows.
"""

from enum import Enum
from typing import Final

from server.config import VadSettings
from server.speech.audio import SILENCE_DBFS, WINDOW_MS
from server.speech.echo import EchoGate


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
    """Speech is what `threshold` calls speech; once heard, `threshold - hysteresis` keeps it up.

    What an operator may set stands in the configuration (`speech.vad`).
    """

    hysteresis: float = 0.15
    onset_ms: int = 64
    """Voice in a row that makes DETECTED: the client pauses playback."""
    decide_ms: int = 576
    """From DETECTED to REJECTED or STARTED; the protocol promises 600."""
    min_bright_ms: int = 96
    """Voice of an open mouth that a barge-in needs."""
    reject_silence_ms: int = 256
    """Silence after DETECTED that makes REJECTED."""
    pause_ms: int = 192
    """Silence that makes PAUSED: recognition starts on the chance that this was the end."""


BRIGHT: Final = 0.02
"""Brightness of an open mouth; a hum lies below 0.012, room noise does not matter above it."""


class TurnTaking:
    """One microphone's state. `feed` each window in order, and act on the edges in order."""

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
        """An utterance is under way."""
        return self.phase is not Phase.QUIET

    def discard(self) -> None:
        """Forget the utterance under way; no edge follows of it, nor of what is said on without a pause."""
        self._needs_silence = self.is_open
        self._end()

    def playback(self, *, is_speaking: bool) -> None:
        """Whether the client says that the assistant is to be heard. Repeats do no harm."""
        self.echo.playback(is_speaking=is_speaking)

    def turn(self, *, is_running: bool) -> None:
        """While a turn runs, more than a short sound is needed to end it, whether it is to be heard already or not."""
        self._is_turn_running = is_running

    def outlook(self, is_complete: bool | None) -> None:
        """What the words so far promise: complete, unfinished or no idea. Counts for the pause under way only."""
        if self.phase is Phase.PAUSING:
            self._is_complete = is_complete

    def feed(self, probability: float, level_dbfs: float, brightness: float) -> Edge | None:
        """The next window. At most one edge comes of it."""
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
            self._end()
            return Edge.REJECTED
        return None

    def _is_speech(self) -> bool:
        if not self._is_barge_in:
            return self._voiced_ms >= self.config.min_speech_ms
        return self._voiced_ms >= self.config.barge_in_ms and self._bright_ms >= self.config.min_bright_ms

    def _follow(self, is_voice: bool) -> Edge | None:
        if self.utterance_ms >= self.config.max_utterance_ms:
            self._end()
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

    def _end(self) -> None:
        self.phase = Phase.QUIET
        self._reset_voice()

    def _reset_voice(self) -> None:
        self._voiced_ms = 0.0
        self._bright_ms = 0.0
        self._loudest_dbfs = SILENCE_DBFS
