"""Speech of one session's user: from what the detector notices to words that start a turn."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, assert_never

from msgspec import UNSET, UnsetType

from server.approval.asking import is_lasting_yes, yes_or_no
from server.bounded.fair_share import Share, ShareFull
from server.errors import FrameError, SpeechError
from server.session.microphone import Microphone
from server.session.spoken_words import NEVER, RESPONSE_WAIT_S, SpeechOwner, SpokenWords, TranscribedWords
from server.speech.audio import SPEECH_RATE, PcmResampler
from server.speech.service import SpeechService
from server.speech.stt import OnPartial
from server.speech.turn_taking import sounds_complete
from server.speech.utterances import (
    Detected,
    Discarded,
    NotSpeaking,
    Paused,
    Rejected,
    Resumed,
    Started,
    Stopped,
    UtteranceEvent,
)
from server.speech.worker import DueIn, at_once
from server.wire import frames as wire

logger = logging.getLogger(__name__)

T = TypeVar("T")

HISTORY_WAIT_S: Final = 0.5
"""Time that a turn waits for the client's `history`, from the transcript on."""
UNENDED_DUE_S: Final = 10.0
"""Time in which a pause is due to be recognised, longer than any pause lasts: utterances that have ended go first."""
_FAILED: Final = "speech recognition failed; the server's log says why"
ASKED_S: Final = 0.6
"""Time from a question to the first utterance that may answer it; what comes before was not said to it."""


@dataclass(frozen=True)
class _NotRecognized:
    """Failure to recognise an utterance, in place of the exception, whose traceback would keep the sound."""

    reason: str


@dataclass(eq=False, kw_only=True)
class _Utterance:
    """An utterance from its detection until it is answered, rejected or discarded."""

    id: str
    question: str | None = None  # it may answer this one; until that is known the client learns of its detection only
    is_early: bool = False  # that was neither seen nor heard yet: a yes or no to it does not count
    started_ms: float | None = None
    stopped_ms: float | None = None
    stopped_s: float = 0.0
    history: asyncio.Future[wire.History] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    has_begun: bool = False  # `speech_started` was sent, and a history may come
    answering: asyncio.Task[None] | None = None  # set when it has ended
    has_transcript: bool = False  # sent, or none is due


class SpeechInput:
    """Listens, recognises, and waits for the history that belongs to an utterance.

    An utterance that is detected while a question is open may answer that one
    and no other: it is held back until its words are known. A yes, a no and a
    sound without words are then rejected, as far as the client can see; a yes
    or no within ASKED_S, or before the question was heard, does nothing else. Anything
    else is a no to the question and then speech as ever, which ends the turn,
    and with it all that was held behind it.

    All methods belong to the event loop and return at once; `aclose` waits.
    """

    def __init__(
        self,
        speech: SpeechService,
        owner: SpeechOwner,
        *,
        share: Share,
        now_s: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Take the recognitions from that share."""
        self._share = share
        self._speech = speech
        self._owner = owner
        self._now_s = now_s
        self.microphone = Microphone(speech, self._handle, on_open=self._update_listener, send=owner.send, now_s=now_s)
        self._language: str | None = None
        self._question: str | None = None  # a spoken yes or no answers it
        self._asked_s = 0.0  # when it was sent
        self._early: asyncio.Task[str | _NotRecognized] | None = None  # recognition of a pause, in case it is the end
        self._tasks: set[asyncio.Task[Any]] = set()
        self._transcribing = asyncio.Lock()  # first come, first served
        self._utterances: dict[str, _Utterance] = {}  # in order of speech
        self._speaking: str | None = None  # the utterance under way, once it has started
        self._refused: str | None = None  # the last utterance that began while the server was draining
        self.transcribed = TranscribedWords()
        self._carried = ""  # words of an utterance after which the user spoke on before it was answered
        self._is_turn_running = False
        self.last_speech_s = float("-inf")
        """Time at which something was last noticed in the sound, or an utterance was answered."""

    # --- what the client sends

    def set_language(self, language: str | None) -> None:
        self._language = language

    def delimit(self, frame: wire.SpeechStart | wire.SpeechEnd | wire.SpeechCancel) -> Sequence[wire.Notice]:
        """Begin, end or discard an utterance as the client says. A key that went down comes up, whatever became of engines.

        Raises FrameError where none can begin. Whether there is one to end may be known later (`no_utterance`).
        """
        is_key = self.microphone.detection.mode == "push_to_talk"
        detector = self.microphone.detector
        match frame:
            case wire.SpeechStart() if not is_key:
                text = 'configure `turn_detection: "push_to_talk"` first; here the server listens'
                return [wire.Notice(code="not_push_to_talk", level="info", message=text)]
            case wire.SpeechStart() if (reason := self._speech.unavailable_reason) is not None:
                self._owner.barge_in()
                raise FrameError("speech_unavailable", reason)
            case wire.SpeechStart():
                self.microphone.open().key_down()
            case _ if detector is None:
                return [] if is_key else [_no_utterance(frame.ref)]
            case wire.SpeechEnd():
                detector.end(frame.ref or "")
            case wire.SpeechCancel():
                detector.cancel(frame.ref or "")
        return ()

    def history(self, frame: wire.History) -> None:
        """Keep it for that utterance only; one for no utterance under way is ignored."""
        utterance = self._utterances.get(frame.utterance)
        if utterance is not None and utterance.has_begun and not utterance.history.done():
            utterance.history.set_result(frame)
            self._prefill(utterance, "")

    def transcribe(self, pcm: bytes, rate: int, done: Callable[[str | FrameError], None]) -> None:
        """Recognise sound that is not the microphone's, in the order of the calls; `done` gets its words, or why not."""
        _ = self._start(self._transcribe(pcm, rate, done), "transcription")  # awaited by `aclose`

    async def _transcribe(self, pcm: bytes, rate: int, done: Callable[[str | FrameError], None]) -> None:
        try:
            async with self._transcribing:
                audio = await asyncio.to_thread(PcmResampler(rate, SPEECH_RATE).feed, pcm)
                text = await self._recognize(audio)
        except Exception:  # the boundary of a turn: the client waits for its transcript
            logger.exception("sound of a client was not recognised")
            text = _NotRecognized(_FAILED)
        done(text if isinstance(text, str) else FrameError("speech_unavailable", text.reason))

    def discard(self) -> None:
        """Drop what is being said and what was said but not answered: a `chat` came instead."""
        self.transcribed.response_due_s = NEVER
        if self.microphone.detector is not None:
            self.microphone.detector.discard()
        for utterance, answering in self._ended():
            answering.cancel()
            if not utterance.has_transcript:
                self._send_nothing(utterance)
        self._carried = ""

    def set_turn(self, *, is_running: bool) -> None:
        self._is_turn_running = is_running
        self._update_listener()

    def expect_reply(self, question: str | None) -> None:
        """Take the next utterance as an answer to the question of this id, or as speech again where there is none."""
        self._question, self._asked_s = question, self._now_s()
        self._update_listener()

    @property
    def is_speaking(self) -> bool:
        """Whether the user is certainly speaking."""
        return self._speaking is not None

    @property
    def is_busy(self) -> bool:
        """Whether something is being said, perhaps, or was said and is not answered yet."""
        return bool(self._utterances) or self._now_s() < self.transcribed.response_due_s

    async def aclose(self) -> None:
        """Stop listening and end all recognition; nothing is sent from its beginning on."""
        if self.microphone.detector is not None:
            self.microphone.detector.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # --- what the detector notices

    def _update_listener(self) -> None:
        """Report whether a turn runs; none does while a reply is expected, so that a short word is enough."""
        if self.microphone.detector is not None:
            self.microphone.detector.turns.turn(is_running=self._is_turn_running and self._question is None)

    def _handle(self, event: UtteranceEvent) -> None:
        self.last_speech_s = self._now_s()
        if event.utterance == self._refused or self._is_refused(event):
            return
        match event:
            case Detected(id_, audio_ms):
                self._utterances[id_] = _Utterance(id=id_, question=self._question, is_early=not self._has_asked())
                self._owner.send(wire.SpeechDetected(utterance=id_, audio_ms=round(audio_ms)))
            case Rejected(id_):
                self._utterances.pop(id_, None)
                self._owner.send(wire.SpeechRejected(utterance=id_))
            case Started(id_, audio_ms):
                self._speaking = id_
                utterance = self._utterances.setdefault(id_, _Utterance(id=id_))
                utterance.started_ms = audio_ms
                if utterance.question is None:
                    self._begin_speech(utterance)
            case Paused(id_, audio):
                self._early = self._start(self._recognize_early(self._utterances[id_], audio), f"early {id_}")
            case Resumed():
                self._stop_early()
            case Stopped():
                self._end_speech(event)
            case Discarded(id_):
                self._stop_early()
                self._speaking = None
                self._carried = ""  # thrown away with what went on from them
                self._send_nothing(self._utterances.pop(id_))
            case NotSpeaking(ref=ref):
                self._owner.send(_no_utterance(ref or UNSET))
            case _:
                assert_never(event)

    def _has_asked(self) -> bool:
        """Return whether the user can know of the open question by now."""
        now_s = self._now_s()
        has_heard = self._question is None or self.microphone.playback.has_asked(self._question, now_s)
        return has_heard and now_s - self._asked_s >= ASKED_S

    def _is_refused(self, event: UtteranceEvent) -> bool:
        """Refuse an utterance that begins while the server is draining, unless it may answer a question."""
        is_new = isinstance(event, Detected | Started) and event.utterance not in self._utterances
        if not is_new or self._question is not None or not self._owner.is_draining:
            return False
        self._refused = event.utterance
        if isinstance(event, Detected):
            self._owner.send(wire.SpeechDetected(utterance=event.utterance, audio_ms=round(event.audio_ms)))
        self._owner.send(wire.SpeechRejected(utterance=event.utterance))
        self._owner.refuse(FrameError("turn_refused_draining", "the server is stopping; reconnect and say it again"))
        return True

    def _begin_speech(self, utterance: _Utterance) -> None:
        utterance.has_begun = True
        self._owner.barge_in()  # the client cuts what it plays, also of a turn that has ended here
        self._owner.send(wire.SpeechStarted(utterance=utterance.id, audio_ms=round(utterance.started_ms or 0)))

    def _end_speech(self, event: Stopped) -> None:
        self._speaking = None
        utterance = self._utterances[event.utterance]
        recognition, self._early = self._early, None
        if recognition is None or not event.is_paused_audio or _has_failed(recognition):
            if recognition is not None:
                recognition.cancel()
            recognition = self._start(self._recognize_utterance(utterance, event.audio), f"recognition {utterance.id}")
        utterance.stopped_s = self._now_s() - event.silence_ms / 1000
        utterance.stopped_ms = event.audio_ms
        if utterance.question is None:
            self._send_stopped(utterance)  # after recognition has begun: sending takes time, too
        ended = self._ended()
        before = ended[-1][1] if ended else None
        utterance.answering = self._start(self._answer(utterance, recognition, before), f"utterance {utterance.id}")
        utterance.answering.add_done_callback(lambda _: self._settle(utterance, recognition))

    def _settle(self, utterance: _Utterance, recognition: asyncio.Task[str | _NotRecognized]) -> None:
        """Forget an utterance that is answered, also when its answer was cancelled before it began."""
        self.last_speech_s = self._now_s()
        recognition.cancel()
        self._utterances.pop(utterance.id, None)

    def _ended(self) -> list[tuple[_Utterance, asyncio.Task[None]]]:
        """Return the utterances that are over and not yet answered, with the tasks that answer them."""
        return [(each, each.answering) for each in self._utterances.values() if each.answering is not None]

    # --- from sound to words

    async def _recognize_early(self, utterance: _Utterance, audio: bytes) -> str | _NotRecognized:
        text = await self._recognize_utterance(utterance, audio)
        if isinstance(text, _NotRecognized):
            return text
        if self.microphone.detector is not None and self._speaking == utterance.id:
            is_reply = utterance.question is not None and yes_or_no(text, self._language) is not None
            self.microphone.detector.turns.hint(is_reply or sounds_complete(text))
            if text:
                self._prefill(utterance, text)
        return text

    def _prefill(self, utterance: _Utterance, text: str) -> None:
        history = utterance.history
        if history.done() and not history.cancelled():
            self._owner.prefill(history.result().messages, f"{self._carried} {text}".strip() if text else "")

    async def _recognize_utterance(self, utterance: _Utterance, audio: bytes) -> str | _NotRecognized:
        def send_partial(text: str) -> None:
            if utterance.question is None:
                self._owner.send(wire.Transcript(utterance=utterance.id, text=text, final=False))

        def due_in_s() -> float:
            due_s = paused_s + UNENDED_DUE_S if utterance.stopped_ms is None else utterance.stopped_s
            return due_s - self._now_s()

        paused_s = self._now_s()
        return await self._recognize(audio, on_partial=send_partial, due_in_s=due_in_s)

    async def _recognize(
        self, audio: bytes, *, on_partial: OnPartial | None = None, due_in_s: DueIn = at_once
    ) -> str | _NotRecognized:
        try:
            async with self._speech.recognitions.place(self._share):
                return await self._speech.recognizer.recognize(
                    audio, language=self._language, on_partial=on_partial, due_in_s=due_in_s
                )
        except SpeechError as error:
            return _NotRecognized(str(error))
        except ShareFull:
            return _NotRecognized("too much of your speech waits to be recognised; wait for it and say this again")

    async def _answer(
        self,
        utterance: _Utterance,
        recognition: asyncio.Task[str | _NotRecognized],
        before: asyncio.Task[None] | None,
    ) -> None:
        text = await self._text_of(utterance, recognition)
        if before is not None:
            await asyncio.wait([before])
        if self._is_reply(utterance, text):
            utterance.has_transcript = True  # none is due
            return
        text = f"{self._carried} {text}".strip()
        self._carried = ""
        leads_to = self._owner.transcript_leads_to
        if leads_to != "turn" and text:
            self._send_words(utterance, text)
            self.transcribed.response_due_s = self._now_s() + RESPONSE_WAIT_S if leads_to == "response" else NEVER
            return
        if self._speaking is not None or not text:
            # the user speaks on: these words go before those that follow
            self._carried = text
            self._send_nothing(utterance)
            return
        await self._start_turn(utterance, text)

    async def _text_of(self, utterance: _Utterance, recognition: asyncio.Task[str | _NotRecognized]) -> str:
        try:
            text = await recognition
            if isinstance(text, str):
                return text
            logger.warning("utterance %s was not recognised: %s", utterance.id, text.reason)
            self._owner.refuse(FrameError("speech_unavailable", text.reason))
        except Exception:  # the boundary of a turn: the client waits for its transcript
            logger.exception("utterance %s was not recognised", utterance.id)
            self._owner.refuse(FrameError("speech_unavailable", _FAILED))
        return ""

    def _is_reply(self, utterance: _Utterance, text: str) -> bool:
        """Answer the question that was open when it was detected; return False for speech, which starts a turn."""
        question = utterance.question
        if question is None:
            return False
        is_yes = yes_or_no(text, self._language)
        if is_yes is None and text:
            self._owner.answer_by_voice(question, approved=False)
            self._release_held()
            return False
        self._send_nothing(utterance)
        if is_yes is not None and not utterance.is_early:
            is_lasting = is_lasting_yes(text, self._language)
            self._owner.answer_by_voice(question, approved=is_yes, is_lasting=is_lasting)
        return True

    async def _start_turn(self, utterance: _Utterance, text: str) -> None:
        turn_id = self._owner.announce_turn()
        words = self._send_words(utterance, text, turn_id)
        history: wire.History | None = None
        try:
            async with asyncio.timeout(HISTORY_WAIT_S):
                history = await utterance.history
        except TimeoutError:
            logger.debug("no history came for %s", utterance.id)
        self._owner.begin_announced_turn(turn_id, words, history)

    # --- what is sent to the client

    def _send_stopped(self, utterance: _Utterance) -> None:
        self._owner.send(wire.SpeechStopped(utterance=utterance.id, audio_ms=round(utterance.stopped_ms or 0)))

    def _send_words(self, utterance: _Utterance, text: str, turn_id: str | UnsetType = UNSET) -> SpokenWords:
        utterance.has_transcript = True
        words = SpokenWords(text=text, stopped_s=utterance.stopped_s, recognized_s=self._now_s())
        self.transcribed.keep(utterance.id, words)
        self._owner.send(wire.Transcript(utterance=utterance.id, text=text, final=True, turn_id=turn_id))
        return words

    def _send_nothing(self, utterance: _Utterance) -> None:
        """Report an utterance without words: rejected before `speech_started`, an empty transcript after it."""
        utterance.has_transcript = True
        if utterance.question is None:
            self._owner.send(wire.Transcript(utterance=utterance.id, text="", final=True))
        else:
            utterance.question = None
            self._owner.send(wire.SpeechRejected(utterance=utterance.id))

    def _release_held(self) -> None:
        """Send the frames of everything that was held back."""
        for utterance in [each for each in self._utterances.values() if each.question is not None]:
            utterance.question = None
            if utterance.started_ms is not None:
                self._begin_speech(utterance)
            if utterance.stopped_ms is not None:
                self._send_stopped(utterance)

    # --- tasks

    def _stop_early(self) -> None:
        early, self._early = self._early, None
        if early is not None:
            early.cancel()

    def _start(self, work: Coroutine[None, None, T], name: str) -> asyncio.Task[T]:
        task = asyncio.create_task(work, name=name)  # awaited by `aclose`
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(_retrieve)
        return task


def _no_utterance(ref: str | UnsetType) -> wire.Notice:
    text = "nothing is being said, so there is nothing to end or to discard"
    return wire.Notice(code="no_utterance", level="info", message=text, ref=ref)


def _has_failed(task: asyncio.Task[Any]) -> bool:
    """Return whether recognition failed at the pause: it is tried again at the end, so that no words are lost."""
    if not task.done() or task.cancelled():
        return False
    return task.exception() is not None or isinstance(task.result(), _NotRecognized)


def _retrieve(task: asyncio.Task[Any]) -> None:
    """Fetch the exception of a recognition that is not awaited any more, which asyncio would log."""
    if not task.cancelled():
        task.exception()
