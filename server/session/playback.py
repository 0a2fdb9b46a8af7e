"""Playback of a turn's sound: how much was heard, as `playback` frames say, else by the clock. Pure."""

from typing import Final, Literal

TAIL_S: Final = 0.3
"""The speakers and the air hold sound a little longer than the client's clock."""


class PlaybackClock:
    """Knows how much of a turn's sound was heard. Times are seconds of the caller's monotonic clock, sound is in ms."""

    def __init__(self, turn_id: str | None = None, *, began_s: float = 0.0) -> None:
        """`began_s`: the time at which the user stopped speaking, or the client's `chat` came."""
        self.turn_id = turn_id
        self.began_s = began_s
        self._starts_ms: list[float] = []  # where each sentence begins in the turn's sound
        self._sent_ms = 0.0
        self._heard_ms = 0.0
        self._heard_at_s = 0.0
        self._is_playing = False
        self._reports = False  # the client sends `playback`: its word counts, not our clock
        self.first_audible_s: float | None = None

    def begin_sentence(self) -> None:
        self._starts_ms.append(self._sent_ms)

    def sent(self, ms: float, now_s: float) -> None:
        """Add `ms` of sound that left for the client."""
        if not self._reports and not self.is_speaking(now_s):
            self._heard_ms, self._heard_at_s, self._is_playing = self._sent_ms, now_s, True
        self._sent_ms += ms

    def report(self, index: int, ms: float, state: Literal["started", "playing", "stopped"], now_s: float) -> None:
        """Apply a `playback` frame. A position beyond what was sent counts as its end."""
        if index >= len(self._starts_ms):
            return
        self._reports = True
        self._heard_ms = min(self._starts_ms[index] + ms, self._sent_ms)
        self._heard_at_s = now_s
        self._is_playing = state != "stopped"
        if self.first_audible_s is None and self._is_playing:
            self.first_audible_s = now_s

    def heard_ms(self, now_s: float) -> float:
        elapsed_ms = (now_s - self._heard_at_s) * 1000 if self._is_playing else 0.0
        return min(self._heard_ms + elapsed_ms, self._sent_ms)

    def ahead_ms(self, now_s: float) -> float:
        """Return the sound that was sent and is not heard yet."""
        return self._sent_ms - self.heard_ms(now_s)

    def is_speaking(self, now_s: float) -> bool:
        """Whether the listener's loudspeaker may be heard by the microphone now."""
        return self.silent_at_s(now_s) > now_s

    def silent_at_s(self, now_s: float) -> float:
        """Return the time at which it falls silent if nothing more is sent."""
        if not self._is_playing:
            return now_s
        return self._heard_at_s + (self._sent_ms - self._heard_ms) / 1000 + TAIL_S
