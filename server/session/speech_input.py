"""The ears of one session: from what the listener notices to words that start a turn."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final, TypeVar, assert_never

from server.approval.yes_no import yes_or_no
from server.errors import SpeechError
from server.session.playback import PlaybackClock
from server.session.spoken_replies import SpokenReplies
from server.speech.listener import (
    Detected,
    Discarded,
    Listener,
    ListenerEvent,
    Paused,
    Rejected,
    Resumed,
    Started,
    Stopped,
    TurnDetection,
)
from server.speech.service import SpeechService
from server.speech.turn_taking import sounds_complete
from server.wire import frames as wire

logger = logging.getLogger(__name__)

T = TypeVar("T")

HISTORY_WAIT_S: Final = 0.5
"""How long after the transcript a turn waits for the client's `history`."""


@dataclass(frozen=True, kw_only=True)
class Words:
    """An utterance that was understood."""

    utterance: str
    text: str
    stopped_s: float
    """When the user stopped speaking, by the clock of the session."""
    recognized_s: float


@dataclass(kw_only=True)
class _Ending:
    """An utterance that is over and not yet answered."""

    utterance: str
    stopped_s: float
    task: asyncio.Task[None] | None = None
    has_transcript: bool = False


class SpeechInput:
    """Listens, recognises, and waits for the history that belongs to an utterance.

    on_started: somebody speaks; the running turn ends before this returns.
    on_words: gives the id of the turn that the words will start.
    on_history: that turn may start; None: the client sent no history in time.
    on_prefill: the likely beginning of that turn, while the user speaks: history, and the words
        once a pause has let them be recognised ("" before).
    on_reply: a spoken yes or no (False also for anything else) to the question of that id.
    All methods belong to the event loop and return at once; `aclose` waits.
    """

    def __init__(
        self,
        speech: SpeechService,
        *,
        send: Callable[[wire.ServerFrame], None],
        on_started: Callable[[], None],
        on_words: Callable[[Words], str],
        on_history: Callable[[str, Words, list[wire.Message] | None], None],
        on_failed: Callable[[str], None],
        on_prefill: Callable[[list[wire.Message], str], None],
        on_reply: Callable[[str, bool], None],
        now_s: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._speech = speech
        self._now_s = now_s
        self._send = send
        self._on_started = on_started
        self._on_words = on_words
        self._on_history = on_history
        self._on_failed = on_failed
        self._on_prefill = on_prefill
        self._replies = SpokenReplies(send=send, begin=self._begin_utterance, on_reply=on_reply)
        self._listener: Listener | None = None  # made with the first sound: most connections never speak
        self._sample_rate = 16_000
        self._mode: TurnDetection = "server_vad"
        self._language: str | None = None
        self._early: asyncio.Task[str] | None = None  # recognition that runs on the chance that this was the end
        self._tasks: set[asyncio.Task[Any]] = set()
        self._endings: list[_Ending] = []  # in order of speech
        self._speaking: str | None = None  # the utterance under way, once it has started
        self._histories: dict[str, asyncio.Future[list[wire.Message]]] = {}
        self._carried = ""  # words of an utterance after which the user spoke on before it was answered
        self._is_playing = False
        self._is_turn_running = False

    # --- what the client sends

    def feed(self, pcm: bytes, clock: PlaybackClock) -> None:
        """A frame of the microphone; `clock` knows whether the assistant is to be heard in it."""
        listener = self._listen()
        is_playing = clock.is_speaking(self._now_s())
        if is_playing is not self._is_playing:
            self._is_playing = is_playing
            listener.playback(is_speaking=is_playing)
        listener.feed(pcm)

    def configure(self, *, sample_rate: int, mode: TurnDetection) -> None:
        """Discards the utterance under way."""
        self._sample_rate, self._mode = sample_rate, mode
        if self._listener is not None:
            self._listener.configure(sample_rate=sample_rate, turn_detection=mode)

    def speak_language(self, language: str | None) -> None:
        self._language = language

    def key_down(self) -> None:
        self._listen().key_down()

    def key_up(self) -> None:
        if self._listener is not None:
            self._listener.key_up()

    def key_cancel(self) -> None:
        if self._listener is not None:
            self._listener.key_cancel()

    def history(self, utterance: str, messages: list[wire.Message]) -> None:
        """Kept for that utterance only; one of no utterance under way is ignored."""
        waiting = self._histories.get(utterance)
        if waiting is not None and not waiting.done():
            waiting.set_result(messages)
            self._offer_prefill(utterance, "")

    def discard(self) -> None:
        """Drop what is being said and what was said but not answered: a `chat` came instead."""
        if self._listener is not None:
            self._listener.discard()
        for ending in list(self._endings):
            self._drop(ending)
        self._carried = ""

    def turn(self, *, is_running: bool) -> None:
        self._is_turn_running = is_running
        self._tell_turn()

    def expect_reply(self, question: str | None) -> None:
        """Id of the question that the next utterance answers; None: speech is speech again."""
        self._replies.question = question
        self._tell_turn()

    @property
    def is_speaking(self) -> bool:
        """The user is, for certain."""
        return self._speaking is not None

    async def aclose(self) -> None:
        """Nothing is sent after this begins."""
        if self._listener is not None:
            self._listener.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # --- what the listener notices

    def _listen(self) -> Listener:
        if self._listener is None:
            assert self._speech.detector is not None, "the session asks whether anything can be heard"
            self._listener = Listener(
                self._speech.detector,
                self._notice,
                sample_rate=self._sample_rate,
                turn_detection=self._mode,
                config=self._speech.turn_taking,
            )
            self._tell_turn()
        return self._listener

    def _tell_turn(self) -> None:
        """While a reply is expected no turn is to be interrupted: a short word is enough."""
        if self._listener is not None:
            self._listener.turn(is_running=self._is_turn_running and self._replies.question is None)

    def _notice(self, event: ListenerEvent) -> None:
        match event:
            case Detected(utterance, audio_ms):
                self._replies.detected(utterance)
                self._send(wire.SpeechDetected(utterance=utterance, audio_ms=round(audio_ms)))
            case Rejected(utterance):
                if not self._replies.reject(utterance):
                    self._send(wire.SpeechRejected(utterance=utterance))
            case Started(utterance, audio_ms):
                self._speaking = utterance
                self._replies.started(utterance, audio_ms)
            case Paused(utterance, audio):
                self._early = self._begin(self._recognize_early(utterance, audio), f"early recognition {utterance}")
            case Resumed():
                self._stop_early()
            case Stopped():
                self._end_utterance(event)
            case Discarded(utterance):
                self._stop_early()
                self._forget(utterance)
                self._carried = ""  # thrown away with what went on from them
                self._tell_nothing(utterance)
            case _:
                assert_never(event)

    def _begin_utterance(self, utterance: str, audio_ms: float) -> None:
        self._histories[utterance] = asyncio.get_running_loop().create_future()
        self._on_started()
        self._send(wire.SpeechStarted(utterance=utterance, audio_ms=round(audio_ms)))

    def _end_utterance(self, event: Stopped) -> None:
        self._speaking = None
        early, self._early = self._early, None
        if early is None or not event.is_paused_audio or _has_failed(early):
            if early is not None:
                early.cancel()
            early = self._begin(self._recognize(event.utterance, event.audio), f"recognition {event.utterance}")
        self._replies.stopped(event.utterance, event.audio_ms)  # after it was begun: telling takes time, too
        ending = _Ending(utterance=event.utterance, stopped_s=self._now_s() - event.silence_ms / 1000)
        before = self._endings[-1].task if self._endings else None
        self._endings.append(ending)
        ending.task = self._begin(self._answer(ending, early, before), f"utterance {event.utterance}")
        ending.task.add_done_callback(lambda _: self._settle(ending, early))

    def _settle(self, ending: _Ending, recognition: asyncio.Task[str]) -> None:
        """Also when it was dropped before it began."""
        recognition.cancel()
        self._forget(ending.utterance)
        self._endings.remove(ending)

    async def _recognize_early(self, utterance: str, audio: bytes) -> str:
        text = await self._recognize(utterance, audio)
        if self._listener is not None and self._speaking == utterance:
            is_reply = utterance in self._replies and yes_or_no(text, self._language) is not None
            self._listener.hint(is_reply or sounds_complete(text))
            if text:
                self._offer_prefill(utterance, text)
        return text

    def _offer_prefill(self, utterance: str, text: str) -> None:
        history = self._histories.get(utterance)
        if history is not None and history.done() and not history.cancelled():
            self._on_prefill(history.result(), f"{self._carried} {text}".strip() if text else "")

    async def _recognize(self, utterance: str, audio: bytes) -> str:
        def tell_partial(text: str) -> None:
            if utterance not in self._replies:
                self._send(wire.Transcript(utterance=utterance, text=text, final=False))

        return await self._speech.recognizer.recognize(audio, language=self._language, on_partial=tell_partial)

    async def _answer(self, ending: _Ending, recognition: asyncio.Task[str], before: asyncio.Task[None] | None) -> None:
        text = await self._text_of(ending, recognition)
        if before is not None:
            await asyncio.wait([before])
        if self._replies.take(ending.utterance, text, self._language):
            ending.has_transcript = True  # none is due
            return
        text = f"{self._carried} {text}".strip()
        self._carried = ""
        if self._speaking is not None or not text:
            # the user speaks on: these words go before those that follow
            self._carried = text
            self._say_nothing(ending)
            return
        await self._start_turn(ending, text)

    async def _text_of(self, ending: _Ending, recognition: asyncio.Task[str]) -> str:
        try:
            return await recognition
        except SpeechError as error:
            logger.warning("utterance %s was not recognised: %s", ending.utterance, error)
            self._on_failed(str(error))
        except Exception:  # the boundary of a turn: the client waits for its transcript
            logger.exception("utterance %s was not recognised", ending.utterance)
            self._on_failed("speech recognition failed; the server's log says why")
        return ""

    async def _start_turn(self, ending: _Ending, text: str) -> None:
        words = Words(
            utterance=ending.utterance,
            text=text,
            stopped_s=ending.stopped_s,
            recognized_s=self._now_s(),
        )
        turn_id = self._on_words(words)
        ending.has_transcript = True
        self._send(wire.Transcript(utterance=ending.utterance, text=text, final=True, turn_id=turn_id))
        messages: list[wire.Message] | None = None
        try:
            async with asyncio.timeout(HISTORY_WAIT_S):
                messages = await self._histories[ending.utterance]
        except TimeoutError:
            logger.debug("no history came for %s", ending.utterance)
        self._on_history(turn_id, words, messages)

    # --- ends

    def _drop(self, ending: _Ending) -> None:
        if ending.task is not None:
            ending.task.cancel()
        if not ending.has_transcript:
            self._say_nothing(ending)

    def _say_nothing(self, ending: _Ending) -> None:
        ending.has_transcript = True
        self._tell_nothing(ending.utterance)

    def _tell_nothing(self, utterance: str) -> None:
        """It came to nothing: before `speech_started` it is rejected, after it its transcript is empty."""
        if not self._replies.reject(utterance):
            self._send(wire.Transcript(utterance=utterance, text="", final=True))

    def _forget(self, utterance: str) -> None:
        self._histories.pop(utterance, None)
        if self._speaking == utterance:
            self._speaking = None

    def _stop_early(self) -> None:
        early, self._early = self._early, None
        if early is not None:
            early.cancel()

    def _begin(self, work: Coroutine[None, None, T], name: str) -> asyncio.Task[T]:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(_retrieve)
        return task


def _has_failed(task: asyncio.Task[Any]) -> bool:
    """What failed at the pause may succeed at the end: the words are not to be lost for it."""
    return task.done() and not task.cancelled() and task.exception() is not None


def _retrieve(task: asyncio.Task[Any]) -> None:
    """An early recognition that failed after nobody wanted it any more is no news."""
    if not task.cancelled():
        task.exception()
