"""Utterances that may answer a question: held back until their words are known."""

from collections.abc import Callable
from dataclasses import dataclass

from server.approval.yes_no import yes_or_no
from server.wire import frames as wire


@dataclass(kw_only=True)
class _Held:
    """The client knows of its `speech_detected` and no more."""

    question: str
    started_ms: float | None = None
    stopped_ms: float | None = None


class SpokenReplies:
    """An utterance is held that was detected while a question was open; it answers that one and no other.

    A yes, a no and a sound without words are rejected, as far as the client is
    told of speech; a yes or no is handed to `on_reply`, after it. Anything else
    is a no and then speech as ever: it is begun anew by `begin`, which ends the
    turn, and with it all that was held behind it.
    """

    def __init__(
        self,
        *,
        send: Callable[[wire.ServerFrame], None],
        begin: Callable[[str, float], None],
        on_reply: Callable[[str, bool], None],
    ) -> None:
        self.question: str | None = None
        """Id of the one that a voice may answer now."""
        self._send = send
        self._begin = begin
        self._on_reply = on_reply
        self._held: dict[str, _Held] = {}  # by utterance, in order of speech

    def __contains__(self, utterance: str) -> bool:
        return utterance in self._held

    def detected(self, utterance: str) -> None:
        if self.question is not None:
            self._held[utterance] = _Held(question=self.question)

    def started(self, utterance: str, audio_ms: float) -> None:
        if (held := self._held.get(utterance)) is None:
            self._begin(utterance, audio_ms)
        else:
            held.started_ms = audio_ms

    def stopped(self, utterance: str, audio_ms: float) -> None:
        if (held := self._held.get(utterance)) is None:
            self._send(wire.SpeechStopped(utterance=utterance, audio_ms=round(audio_ms)))
        else:
            held.stopped_ms = audio_ms

    def reject(self, utterance: str) -> bool:
        """It was no speech, or is discarded. False: it is not held, and nothing was sent."""
        if self._held.pop(utterance, None) is None:
            return False
        self._send(wire.SpeechRejected(utterance=utterance))
        return True

    def take(self, utterance: str, text: str, language: str | None) -> bool:
        """What was said is known. False: it is speech as ever, and is to be answered."""
        held = self._held.get(utterance)
        if held is None:
            return False
        is_yes = yes_or_no(text, language)
        if is_yes is None and text:
            self._on_reply(held.question, False)
            self._release()
            return False
        self.reject(utterance)
        if is_yes is not None:
            self._on_reply(held.question, is_yes)
        return True

    def _release(self) -> None:
        """Tell the client what it would have been told of all that is held."""
        released, self._held = self._held, {}
        for utterance, held in released.items():
            if held.started_ms is not None:
                self._begin(utterance, held.started_ms)
            if held.stopped_ms is not None:
                self.stopped(utterance, held.stopped_ms)
