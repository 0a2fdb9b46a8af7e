"""A client with a microphone, before a session that hears and speaks without engines."""

from typing import Any

from tests.session.fakes import FakeAgent, Frame, SessionHarness, kinds, say
from tests.session.speech_fakes import FakeRecognizer, FakeSynthesizer, hear, speech

HEARD = ["speech_detected", "speech_started", "speech_stopped", "transcript"]


class Talk(SessionHarness):
    """A client with a microphone."""

    def __init__(
        self, recognizer: FakeRecognizer | None = None, agent: FakeAgent | None = None, **options: Any
    ) -> None:
        self.recognizer = recognizer or FakeRecognizer()
        self.agent = agent or FakeAgent([say("Hello back.")])
        self.synthesizer = FakeSynthesizer()
        super().__init__(self.agent, speech=speech(self.recognizer, self.synthesizer), **options)

    async def voice(self, seconds: float = 0.5) -> None:
        await hear(self.session.receive_binary, seconds, is_voice=True)

    async def silence(self, seconds: float = 1.4) -> None:
        await hear(self.session.receive_binary, seconds, is_voice=False)

    async def utter(self) -> None:
        await self.voice()
        await self.silence()

    def history(self, utterance: str, *messages: Frame) -> None:
        self.send("history", utterance=utterance, messages=list(messages))

    def kinds(self) -> list[str]:
        return kinds(self.frames)
