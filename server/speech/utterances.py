"""Endpointing for one microphone: frames of PCM16 in, utterances out.

Joins resampler, voice detection and turn-taking. Everything happens in the
event loop; events are handed to `on_event` in order.
"""

import asyncio
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal

from server.speech.audio import (
    SILENCE_DBFS,
    SPEECH_RATE,
    WINDOW,
    WINDOW_MS,
    Resampler,
    pcm16_to_samples,
    samples_to_pcm16,
)
from server.speech.turn_taking import Edge, Phase, TurnTaking, TurnTakingConfig
from server.speech.vad import Judged, VoiceDetector

TurnDetection = Literal["server_vad", "push_to_talk"]

_WINDOW_BYTES: Final = 2 * WINDOW
_SHORTEST_PRESS_MS: Final = 160  # a shorter one is a slip of the finger
_WATCH_S: Final = 0.1
_MISSING_MAYBE_S: Final = 0.35  # sound that does not come: so long until the silence counts, undecided
_MISSING_SPEAKING_S: Final = 1.2  # and in mid-utterance, where it is more likely a bad network than a pause


@dataclass(frozen=True)
class _Event:
    utterance: str


@dataclass(frozen=True)
class _VoiceEvent(_Event):
    audio_ms: float


class Detected(_VoiceEvent):
    """Possible speech. Rejected or Started follows within 600 ms, or Discarded."""


class Rejected(_Event):
    """The end of what was not speech, or was discarded before that was sure."""


class Started(_VoiceEvent):
    """Speech (push-to-talk: the key is down; no Detected came before). Stopped or Discarded follows."""


@dataclass(frozen=True)
class Paused(_Event):
    """A possible end: `audio` (PCM16, 16 kHz) may be recognised already. Resumed, Stopped or Discarded follows."""

    audio: bytes = field(repr=False)


class Resumed(_Event):
    """Speech that goes on: what was recognised since Paused is of no use."""


@dataclass(frozen=True)
class Stopped(_Event):
    """The end of the utterance. `is_paused_audio`: `audio` is that of the last Paused, byte for byte."""

    audio: bytes = field(repr=False)
    audio_ms: float
    """The end of the voice."""
    silence_ms: float
    """The silence since then, in sound, when this was decided."""
    is_paused_audio: bool


class Discarded(_Event):
    """The end of an utterance thrown away after Started: by a `chat`, a `configure`, a cancelled key."""


@dataclass(frozen=True)
class NotSpeaking(_Event):
    """An answer to `end` and `cancel`, with the name that they were given: no utterance is under way."""

    ref: str = ""


UtteranceEvent = Detected | Rejected | Started | Paused | Resumed | Stopped | Discarded | NotSpeaking


class UtteranceDetector:
    """The utterances of one microphone. Call everything from the event loop; no event comes after `close`."""

    def __init__(
        self,
        detector: VoiceDetector,
        on_event: Callable[[UtteranceEvent], None],
        *,
        sample_rate: int = SPEECH_RATE,
        turn_detection: TurnDetection = "server_vad",
        config: TurnTakingConfig | None = None,
    ) -> None:
        self._detector = detector
        self._on_event = on_event
        self.turns = TurnTaking(config)
        """The state machine, to be told of playback, running turns and the end-of-turn hint."""
        self._stream = detector.open(self._on_judged)
        self._count = 0  # of utterances
        self._audio_ms = 0.0  # microphone sound so far
        self._audio = bytearray()  # of the utterance under way; at most max_utterance_ms and the pre-roll
        self._pause: bytes | None = None  # its audio at the last Paused, None while speaking
        self._voice_ms = 0.0  # where the utterance's voice began
        self._key_ms: float | None = None  # where the key went down; None while it is up
        self._watch: asyncio.TimerHandle | None = None
        self._judged_s = 0.0  # loop time of the last judgement
        self._rolled_s = 0.0  # loop time of the last sound that came while the key was up
        self._rest = bytearray()  # less than a window; all sound from here on is PCM16 at 16 kHz
        self._set_input(sample_rate, turn_detection)

    @property
    def utterance(self) -> str | None:
        return self._name if self.turns.is_open or self._key_ms is not None else None

    @property
    def waiting(self) -> int:
        return len(self._ends_ms)

    def configure(
        self, *, sample_rate: int, turn_detection: TurnDetection, config: TurnTakingConfig | None = None
    ) -> None:
        """Take frames of this kind from now on; discards the utterance under way. `config` replaces the settings, if given."""
        self.discard()
        self.turns.config = config or self.turns.config
        self._stream.close()
        self._stream = self._detector.open(self._on_judged)
        self._set_input(sample_rate, turn_detection)

    def feed(self, pcm: bytes | bytearray | memoryview) -> None:
        """Take the next frame, whole samples. The events that follow from it come a moment later in server_vad mode."""
        if self._turn_detection == "push_to_talk" and self._key_ms is None:
            self._drop_old_pre_roll()
        if self._resampler is not None:
            self._rest += samples_to_pcm16(self._resampler.feed(pcm16_to_samples(pcm)))
        else:
            self._rest += pcm
        self._audio_ms += len(pcm) * 500 / self._sample_rate
        whole = len(self._rest) - len(self._rest) % _WINDOW_BYTES
        for at in range(0, whole, _WINDOW_BYTES):
            end_ms = self._audio_ms - (len(self._rest) - at - _WINDOW_BYTES) * 500 / SPEECH_RATE
            self._add_window(bytes(self._rest[at : at + _WINDOW_BYTES]), end_ms)
        del self._rest[:whole]

    def discard(self) -> None:
        """Drop the utterance under way: Rejected before Started, Discarded after it, nothing if there is none."""
        name = self.utterance
        if name is None:
            return
        was_maybe = self._key_ms is None and self.turns.phase is Phase.MAYBE
        self.turns.discard()
        self._forget()
        self._on_event(Rejected(name) if was_maybe else Discarded(name))

    def close(self) -> None:
        self._stream.close()
        self._forget()
        self.turns.discard()

    def key_down(self) -> None:
        """Start at once. Ignored while the key is down and in server_vad mode."""
        if self._turn_detection != "push_to_talk" or self._key_ms is not None:
            return
        self._drop_old_pre_roll()
        self._key_ms = self._audio_ms
        self._open_utterance(self._audio_ms)
        self._on_event(Started(self._name, self._audio_ms))

    def end(self, ref: str = "") -> None:
        """Stop where the sound that came so far ends. A key that was hardly down, or is up, is discarded or ignored."""
        if self._turn_detection == "push_to_talk":
            self._key_up()
            return
        if self._rest:
            self._add_window(bytes(self._rest).ljust(_WINDOW_BYTES, b"\0"), self._audio_ms)
            self._rest.clear()
        if not self._ends_ms:
            self._end_now(self._audio_ms, ref)
        elif self._ends_ms[-1][1] is None:
            self._ends_ms[-1] = (self._audio_ms, ref)
        else:  # the `end` before ends what there is
            self._on_event(NotSpeaking("", ref))

    def cancel(self, ref: str = "") -> None:
        """Discard the utterance under way, and sound that is still being judged."""
        name = self.utterance
        if self._turn_detection == "server_vad":
            self.configure(sample_rate=self._sample_rate, turn_detection="server_vad")
            if name is None:
                self._on_event(NotSpeaking("", ref))
        elif name is not None:
            self.discard()

    def _end_now(self, end_ms: float, ref: str) -> None:
        """Stop, even if it is not sure yet that this was speech: the client says so."""
        phase = self.turns.phase
        if phase is Phase.QUIET:
            self._on_event(NotSpeaking("", ref))
            return
        silence_ms = self.turns.silence_ms
        self.turns.end()
        if phase is Phase.MAYBE:
            self._on_event(Started(self._name, self._voice_ms))
        self._stop(max(self._voice_ms, end_ms - silence_ms), silence_ms=silence_ms)

    def _key_up(self) -> None:
        if self._key_ms is None:
            return
        pressed_ms = self._audio_ms - self._key_ms
        if pressed_ms < _SHORTEST_PRESS_MS:
            self.discard()
            return
        self._audio += self._rest
        self._rest.clear()
        self._stop(self._audio_ms, silence_ms=0.0)

    def _set_input(self, sample_rate: int, turn_detection: TurnDetection) -> None:
        self._sample_rate = sample_rate
        self._turn_detection = turn_detection
        self._resampler = None if sample_rate == SPEECH_RATE else Resampler(sample_rate)
        self._rest.clear()
        # of the windows that are being judged: where each ends, and the name of the `end` that ends the utterance there
        self._ends_ms: deque[tuple[float, str | None]] = deque()
        taking = self.turns.config
        windows = math.ceil(taking.prefix_ms / WINDOW_MS) + math.ceil(taking.onset_ms / WINDOW_MS)
        self._pre_roll_bytes = windows * _WINDOW_BYTES
        self._pre_roll: deque[bytes] = deque(maxlen=windows)

    def _add_window(self, window: bytes, end_ms: float) -> None:
        if self._turn_detection == "push_to_talk":
            self._add_pressed(window)
        elif self._stream.feed(window):
            self._ends_ms.append((end_ms, None))

    def _add_pressed(self, window: bytes) -> None:
        if self._key_ms is None:
            self._pre_roll.append(window)
            return
        self._audio += window
        if self._audio_ms - self._key_ms >= self.turns.config.max_utterance_ms:
            self._stop(self._audio_ms, silence_ms=0.0)

    def _drop_old_pre_roll(self) -> None:
        """Forget what was said before the microphone was switched off: no key has sent it."""
        before_s, self._rolled_s = self._rolled_s, asyncio.get_running_loop().time()
        if self._rolled_s - before_s >= _MISSING_MAYBE_S:
            self._pre_roll.clear()
            self._rest.clear()

    def _on_judged(self, judged: Judged) -> None:
        end_ms, ended_by = self._ends_ms.popleft()
        self._judged_s = asyncio.get_running_loop().time()
        if self.turns.is_open:
            self._audio += judged.pcm
        else:
            self._pre_roll.append(judged.pcm)
        self._act(self.turns.feed(judged.probability, judged.level_dbfs, judged.brightness), end_ms)
        if ended_by is not None:
            self._end_now(end_ms, ended_by)

    def _act(self, edge: Edge | None, end_ms: float) -> None:
        match edge:
            case None:
                pass
            case Edge.DETECTED:
                self._open_utterance(end_ms - self.turns.config.onset_ms)
                self._watch_for_sound()
                self._on_event(Detected(self._name, self._voice_ms))
            case Edge.REJECTED:
                self._keep_as_pre_roll()
                self._forget()
                self._on_event(Rejected(self._name))
            case Edge.STARTED:
                self._on_event(Started(self._name, self._voice_ms))
            case Edge.PAUSED:
                self._pause = bytes(self._audio)
                self._on_event(Paused(self._name, self._pause))
            case Edge.RESUMED:
                self._pause = None
                self._on_event(Resumed(self._name))
            case Edge.STOPPED:
                silence_ms = self.turns.silence_ms
                self._stop(max(self._voice_ms, end_ms - silence_ms), silence_ms=silence_ms)

    def _open_utterance(self, voice_ms: float) -> None:
        self._count += 1
        self._voice_ms = max(0.0, voice_ms)
        self._audio = bytearray().join(self._pre_roll)
        self._pre_roll.clear()
        self._pause = None

    @property
    def _name(self) -> str:
        return f"u{self._count}"

    def _stop(self, audio_ms: float, *, silence_ms: float) -> None:
        is_paused_audio = self._pause is not None
        audio = self._pause if self._pause is not None else bytes(self._audio)
        self._forget()
        self._on_event(Stopped(self._name, audio, audio_ms, silence_ms, is_paused_audio))

    def _keep_as_pre_roll(self) -> None:
        """Keep the end of a rejected voice, which may go on: its sound belongs to what comes next."""
        tail = bytes(self._audio[-self._pre_roll_bytes :])
        self._pre_roll.extend(tail[at : at + _WINDOW_BYTES] for at in range(0, len(tail), _WINDOW_BYTES))

    def _forget(self) -> None:
        self._audio = bytearray()
        self._pause = None
        self._key_ms = None
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    def _watch_for_sound(self) -> None:
        self._watch = asyncio.get_running_loop().call_later(_WATCH_S, self._look_for_sound)

    def _look_for_sound(self) -> None:
        """Count missing sound as silence: a muted or stalled microphone must not leave an utterance open."""
        self._watch_for_sound()
        missing_s = asyncio.get_running_loop().time() - self._judged_s
        limit_s = _MISSING_MAYBE_S if self.turns.phase is Phase.MAYBE else _MISSING_SPEAKING_S
        if missing_s < limit_s:
            return
        for _ in range(math.ceil(limit_s * 1000 / WINDOW_MS)):
            self._act(self.turns.feed(0.0, SILENCE_DBFS, 0.0), self._audio_ms)
            if not self.turns.is_open:
                return
