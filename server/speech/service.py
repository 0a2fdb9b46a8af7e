"""Recognition, synthesis and voice detection as one service to start, stop and ask for its status."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import structs

from server import config
from server.bounded.fair_share import FairShare
from server.errors import SpeechUnavailable
from server.speech.opus import opus_status
from server.speech.stt import Recognizer, recognizer_of
from server.speech.tts import Synthesizer, synthesizer_of
from server.speech.turn_taking import TurnTakingConfig
from server.speech.vad import VoiceDetector
from server.wire.frames import SpeechPart, SpeechStatus

logger = logging.getLogger(__name__)


_NOTHING_RECOGNIZED: Final = "nothing is recognised (speech.stt.provider: none)"
MAX_RECOGNITIONS: Final = 64
"""Limit of utterances that are at the recogniser, which has a queue for as many."""
RECOGNITIONS_PER_USER: Final = 4
"""Limit of one user's utterances that are at a server for recognition; at the engine here it is one."""
MAX_UTTERANCES_WAITING: Final = 4
"""Limit of one user's utterances that wait for a place; a minute of sound each."""


class SpeechService:
    def __init__(
        self,
        recognizer: Recognizer,
        synthesizer: Synthesizer,
        detector: VoiceDetector | None = None,
        turn_taking: TurnTakingConfig | None = None,
        *,
        recognitions_per_user: int = 1,
        opus: SpeechPart | None = None,
    ) -> None:
        self.recognizer = recognizer
        self.synthesizer = synthesizer
        self.detector = detector or VoiceDetector(failure=_NOTHING_RECOGNIZED)
        self.opus = opus or opus_status()
        self.turn_taking = turn_taking or TurnTakingConfig()
        self.recognitions = FairShare(
            MAX_RECOGNITIONS, per_user=recognitions_per_user, max_waiting=MAX_UTTERANCES_WAITING
        )
        """Places at the recogniser, to be held while it works."""

    @classmethod
    def build(
        cls, settings: config.SpeechSettings, environ: Mapping[str, str], *, on_change: Callable[[], None]
    ) -> "SpeechService":
        """Return the service that the configuration describes, not started. Raises ConfigError.

        `on_change` is called in the event loop when `status` has changed.
        """
        return cls(
            recognizer_of(settings.stt, environ, on_change=on_change),
            synthesizer_of(settings.tts, environ, on_change=on_change),
            None if settings.stt.provider == "none" else VoiceDetector(on_change),
            TurnTakingConfig(**structs.asdict(settings.vad)),
            recognitions_per_user=1 if settings.stt.provider == "embedded" else RECOGNITIONS_PER_USER,
        )

    @property
    def status(self) -> SpeechStatus:
        return SpeechStatus(
            stt=self.recognizer.status,
            tts=self.synthesizer.status,
            vad=self.detector.status,
            opus=self.opus,
            stt_languages=self.recognizer.languages,
            tts_languages=self.synthesizer.languages,
            voices=self.synthesizer.voices,
            output_sample_rate=self.synthesizer.sample_rate,
        )

    @property
    def unavailable_reason(self) -> str | None:
        for part in (self.recognizer.status, self.detector.status):
            if part.state == "loading":
                return "speech recognition is still loading; try again in a moment"
            if part.state != "ready":
                return part.reason or "speech recognition is missing"
        return None

    async def start(self) -> None:
        """Begin to load; `status` says when each part is ready, or why it is missing."""
        await asyncio.gather(self.recognizer.start(), self.synthesizer.start(), self._start_detector())

    async def aclose(self) -> None:
        await asyncio.gather(self.recognizer.aclose(), self.synthesizer.aclose(), self.detector.aclose())

    async def _start_detector(self) -> None:
        if self.detector.failure is None:
            try:
                await self.detector.start()
            except SpeechUnavailable as error:
                logger.warning("no voice detection: %s", error)
