"""The microphone of one client: messages in, utterances out."""

from collections.abc import Callable
from typing import Final

from server.session.speech_output import PlaybackClock
from server.speech.audio import SPEECH_RATE, WINDOW_MS
from server.speech.opus import MAX_PACKET_BYTES, OpusDecoder
from server.speech.service import SpeechService
from server.speech.utterances import UtteranceDetector, UtteranceEvent
from server.wire import frames as wire

FED_S: Final = 2.0
"""Time after its last sound for which a microphone counts as switched on."""
_NO_PACKET: Final = (
    f"a message was no Opus packet of at most {MAX_PACKET_BYTES} bytes and counts as lost, as further ones will: "
    "send one bare packet a message, without Ogg or WebM around it"
)


class Microphone:
    """Decodes the sound, knows whether the assistant can be heard in it, and has it parted into utterances."""

    def __init__(
        self,
        speech: SpeechService,
        on_event: Callable[[UtteranceEvent], None],
        *,
        on_open: Callable[[], None],
        send: Callable[[wire.ServerFrame], None],
        now_s: Callable[[], float],
    ) -> None:
        """`on_open` is called when there is a detector; `send` takes what the client is to know."""
        self._speech = speech
        self._on_event = on_event
        self._on_open = on_open
        self._send = send
        self._now_s = now_s
        self.detector: UtteranceDetector | None = None
        """Detector of utterances, made with the first sound: most connections never speak."""
        self.detection = wire.DetectionSettings(mode="server_vad")
        self.playback = PlaybackClock()
        """Playback at the time of the last sound."""
        self._input = wire.InputFormat()
        self._decoder: OpusDecoder | None = None  # where the input is Opus
        self._has_refused_packet = False  # since it is
        self._fed_s = float("-inf")

    def feed(self, sound: bytes, clock: PlaybackClock) -> None:
        """Take a message of the microphone; `clock` knows whether the assistant can be heard in it."""
        detector = self.open()
        self.playback = clock
        self._fed_s = self._now_s()
        lasted_ms = clock.speaking_ms(self._fed_s)
        detector.turns.playback(is_speaking=clock.is_speaking(self._fed_s), lasted_ms=lasted_ms)
        detector.feed(sound if self._decoder is None else self._decoded(sound, self._decoder))

    def _decoded(self, packet: bytes, decoder: OpusDecoder) -> bytes:
        """Return the packet's sound, or a substitute for a lost one, which an empty message stands for."""
        pcm = decoder.decode(packet)
        if pcm is not None:
            return pcm
        if packet and not self._has_refused_packet:
            self._has_refused_packet = True
            self._send(wire.Notice(code="audio_undecodable", level="warning", message=_NO_PACKET))
        return decoder.conceal()

    def configure(self, sound: wire.InputFormat, detection: wire.DetectionSettings) -> None:
        """Take such sound from now on; discards the utterance under way. Raises SpeechUnavailable without Opus."""
        self._decoder = OpusDecoder() if sound.format == "opus" else None
        self._has_refused_packet = False
        self._input, self.detection = sound, detection
        if self.detector is not None:
            config = self._speech.turn_taking.tuned(detection)
            self.detector.configure(sample_rate=self._sample_rate, turn_detection=detection.mode, config=config)

    @property
    def _sample_rate(self) -> int:
        return self._input.sample_rate if self._decoder is None else SPEECH_RATE

    @property
    def is_fed(self) -> bool:
        """Whether the microphone is on: its sound comes in."""
        return self._now_s() - self._fed_s < FED_S

    @property
    def unjudged_ms(self) -> float:
        """Sound that waits for voice detection."""
        return 0.0 if self.detector is None else self.detector.waiting * WINDOW_MS

    def open(self) -> UtteranceDetector:
        """Return the detector, made if there is none yet."""
        if self.detector is None:
            self.detector = UtteranceDetector(
                self._speech.detector,
                self._on_event,
                sample_rate=self._sample_rate,
                turn_detection=self.detection.mode,
                config=self._speech.turn_taking.tuned(self.detection),
            )
            self._on_open()
        return self.detector
