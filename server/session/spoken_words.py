"""Words of utterances on their way from speech input to the session: what they lead to, and those that are remembered."""

from dataclasses import dataclass
from typing import Final, Literal, Protocol

from server.bounded.limits import BoundedDict
from server.errors import FrameError
from server.wire import frames as wire

RESPONSE_WAIT_S: Final = 5.0
"""Time from a transcript for which the client counts as busy with its `respond`."""
MAX_TRANSCRIBED: Final = 64
"""Utterances that a `respond` may name: the last ones."""

NEVER: Final = float("-inf")

LeadsTo = Literal["turn", "response", "nothing"]
"""The consequence of a transcript: a turn at once, one that the client may ask for by `respond`, or none."""


@dataclass(frozen=True, kw_only=True)
class SpokenWords:
    """Words of an utterance."""

    text: str
    stopped_s: float
    """Time at which the user stopped speaking, by the clock of the session."""
    recognized_s: float


class SpeechOwner(Protocol):
    """The session, as its speech input sees it. All methods return at once."""

    def send(self, frame: wire.ServerFrame) -> None: ...

    def barge_in(self) -> None:
        """End the running turn before this returns, if speech may: the user speaks."""

    @property
    def transcript_leads_to(self) -> LeadsTo:
        """Consequence that the transcript of an utterance has now."""

    def announce_turn(self) -> str:
        """Return the id of the turn that a transcript will start."""

    def begin_announced_turn(self, turn_id: str, words: SpokenWords, history: wire.History | None) -> None:
        """Start that turn, with the history if the client has sent it in time."""

    def prefill(self, history: list[wire.Message], words: str) -> None:
        """Prepare for a turn that will probably begin so, while the user still speaks.

        `words`: those recognised at a pause, "" before.
        """

    @property
    def is_draining(self) -> bool:
        """Whether the server stops: what is under way is served, and nothing new begins."""

    def refuse(self, error: FrameError) -> None:
        """Report that the server stops, or that recognition has failed."""

    def answer_by_voice(self, question: str, *, approved: bool, is_lasting: bool = False) -> None:
        """Answer the question of that id: yes, or no for anything else that was said.

        `is_lasting`: the yes was said for the rest of the conversation.
        """


class TranscribedWords:
    """The words of the last MAX_TRANSCRIBED utterances, by name, for the turns that the client asks for by `respond`."""

    def __init__(self) -> None:
        self._words = BoundedDict[str, SpokenWords](MAX_TRANSCRIBED)
        self.response_due_s = NEVER
        """The time, by the clock of the session, up to which a `respond` to the last words is awaited."""

    def keep(self, utterance: str, words: SpokenWords) -> None:
        self._words[utterance] = words

    def find(self, utterance: str) -> SpokenWords:
        """Return the words of the utterance. Raises FrameError if this connection remembers none of that name."""
        if (words := self._words.get(utterance)) is None:
            text = (
                f"no utterance of this name has a transcript with words, or it is not among the last {MAX_TRANSCRIBED}"
            )
            raise FrameError("frame_invalid", text, path="$.utterance")
        return words
