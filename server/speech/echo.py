"""The assistant's own voice in the microphone: how loud and how sure a voice must be to be somebody else's.

Pure. The browser cancels most of the echo, not all, and least in the first
second. While playback lasts, a voice counts when the model is surer of it than
usual and it is louder than what has been heard of the loudspeaker so far:
learned during the guard at the start of playback, and from voices that turned
out to be none (the client pauses when it is told of a voice: an echo ends then).
"""

from typing import Final

from server.speech.audio import SILENCE_DBFS, WINDOW_MS

THRESHOLD: Final = 0.7
MARGIN_DB: Final = 6.0
"""How much louder than the echo a voice must be."""
FIRST_GUARD_MS: Final = 1000
"""The first playback of a connection: echo cancellers need that long to learn the room."""
GUARD_MS: Final = 256
TAIL_MS: Final = 320
"""The gate outlasts the report that playback ended: sound is still on its way through room and network."""

_FORGET_DB_A_S: Final = 2.0
_ECHO_PROBABILITY: Final = 0.3  # of windows that are learned from during the guard
_HIGHEST_GATE_DBFS: Final = -24.0  # a louder voice passes whatever was learned: the guard may have learned the user


class EchoGate:
    """`tick` once a window, before it is judged."""

    def __init__(self) -> None:
        self._is_speaking = False
        self._has_spoken = False
        self._guard_ms = 0.0  # left
        self._tail_ms = 0.0  # left
        self.echo_dbfs = SILENCE_DBFS

    @property
    def is_on(self) -> bool:
        return self._is_speaking or self._tail_ms > 0

    def playback(self, *, is_speaking: bool) -> None:
        """A pause shorter than the tail starts no new guard: sentences follow each other."""
        if is_speaking and not self.is_on:
            self._guard_ms = GUARD_MS if self._has_spoken else FIRST_GUARD_MS
            self._has_spoken = True
        if self._is_speaking and not is_speaking:
            self._tail_ms = TAIL_MS
        self._is_speaking = is_speaking

    def tick(self) -> None:
        self._guard_ms = max(0.0, self._guard_ms - WINDOW_MS)
        self._tail_ms = max(0.0, self._tail_ms - WINDOW_MS)
        self.echo_dbfs = max(SILENCE_DBFS, self.echo_dbfs - _FORGET_DB_A_S * WINDOW_MS / 1000)

    def passes(self, probability: float, level_dbfs: float) -> bool:
        """Is this window somebody's voice and not the loudspeaker's?"""
        if self._guard_ms > 0:
            if probability >= _ECHO_PROBABILITY:
                self.learn(level_dbfs)
            return False
        gate_dbfs = min(self.echo_dbfs + MARGIN_DB, _HIGHEST_GATE_DBFS)
        return probability >= THRESHOLD and level_dbfs >= gate_dbfs

    def learn(self, level_dbfs: float) -> None:
        """So loud was something that was not the user."""
        self.echo_dbfs = max(self.echo_dbfs, level_dbfs)
