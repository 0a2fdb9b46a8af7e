"""Spoken output of a turn: sentences are synthesised ahead, leave in spoken order, and are played by the client.

What the client handles in playback order (sentences, hooks, tool frames) passes
through one queue; what it handles on arrival (text, notices) does not wait.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from typing import Any, Final, Literal

from server.agent.chunks import NoticeGiven
from server.errors import SpeechError, SpeechTimeout
from server.session.sentence_assembler import SpokenSentence, TTSResult
from server.session.turn_writer import TurnWriter
from server.speech.opus import Sound, opus_of
from server.speech.tts import SpeechRequest, Synthesizer
from server.wire import frames as wire

logger = logging.getLogger(__name__)

MAX_SYNTHESES: Final = 4
"""Sentences of a turn that are being synthesised, or wait to be sent."""
MAX_QUEUED: Final = 64
"""Results that wait to be sent; at the limit the agent waits, so that it writes no minutes ahead of the voice."""
FIRST_SOUND_DUE_S: Final = 1.0
"""Time from a sentence to its sound while nothing is heard; listeners who have less sound left than that go first."""
PATIENCE_S: Final = 60.0
"""Time without progress in playback after which the client gets the rest of the turn at once, so that it ends."""
SLACK_S: Final = 30.0
"""Time that a sentence's sound may take to come, beside _SLOWEST times its length: an engine must not trickle on."""
_SLOWEST: Final = 4
VOICE_LATE_S: Final = 5.0
"""Time without sound, with nothing else to hear, after which the client is told that the turn waits for the voice."""
TAIL_S: Final = 0.3
"""Time for which speakers and air hold sound longer than the client's clock says."""
QUESTION_MS: Final = 600
"""Sound of a question after which its listener knows that he is asked, or all of it if that is shorter."""
_PACE_STEP_S: Final = 0.25
_LEAST_MS_A_CHAR: Final = 50  # sound of a sentence that is not synthesised yet; less makes the next one due earlier
_SOUND_MS: Final = 10_000
_SOUND_MS_A_CHAR: Final = 500

_QUEUED: Final = frozenset(("sentence", "hook", "tool_call", "tool_result", "media"))

Metered = Callable[[Coroutine[Any, Any, None]], Coroutine[Any, Any, None]]
"""Wraps work so that a user is charged for its time on the event loop."""


class PlaybackClock:
    """Knows how much of a turn's sound was heard. Times are seconds of the caller's monotonic clock, sound is in ms."""

    def __init__(self, turn_id: str | None = None, *, began_s: float = 0.0) -> None:
        """`began_s`: the time at which the user stopped speaking, or the client's `chat` came."""
        self.turn_id = turn_id
        self.began_s = began_s
        self._starts_ms: list[float] = []  # where each sentence begins in the turn's sound
        self._questions_ms: dict[str, float] = {}  # as above, of those that are questions; inf: it is still to be said
        self._sent_ms = 0.0
        self._heard_ms = 0.0
        self._heard_at_s = 0.0
        self._speaking_since_s = 0.0  # while it is speaking
        self._is_playing = False
        self._reports = False  # the client sends `playback`: its word counts, not our clock
        self.first_audible_s: float | None = None

    def begin_sentence(self, question: str | None = None) -> None:
        self._starts_ms.append(self._sent_ms)
        if question is not None:
            self._questions_ms[question] = self._sent_ms

    def will_ask(self, question: str) -> None:
        """Announce a question that is going to be said."""
        self._questions_ms[question] = float("inf")

    def has_asked(self, question: str, now_s: float) -> bool:
        """Return whether the question, or its first QUESTION_MS, was heard; True for one that is not said."""
        start_ms = self._questions_ms.get(question, float("-inf"))
        return start_ms <= self._sent_ms and self.heard_ms(now_s) >= min(start_ms + QUESTION_MS, self._sent_ms)

    def sent(self, ms: float, now_s: float) -> None:
        """Add `ms` of sound that left for the client."""
        if not self._reports and not self.is_speaking(now_s):
            self._heard_ms, self._heard_at_s, self._is_playing = self._sent_ms, now_s, True
            self._speaking_since_s = now_s
        self._sent_ms += ms

    def report(self, index: int, ms: float, state: Literal["started", "playing", "stopped"], now_s: float) -> None:
        """Apply a `playback` frame. A position beyond what was sent counts as its end."""
        if index >= len(self._starts_ms):
            return
        self._reports = True
        if not self.is_speaking(now_s):
            self._speaking_since_s = now_s
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
        """Return whether the listener's loudspeaker may be heard by the microphone now."""
        return self.silent_at_s(now_s) > now_s

    def speaking_ms(self, now_s: float) -> float:
        """Return for how long the loudspeaker may have been heard without a pause; 0 while it is silent."""
        return (now_s - self._speaking_since_s) * 1000 if self.is_speaking(now_s) else 0.0

    def silent_at_s(self, now_s: float) -> float:
        """Return the time at which it falls silent if nothing more is sent."""
        if not self._is_playing:
            return now_s
        return self._heard_at_s + (self._sent_ms - self._heard_ms) / 1000 + TAIL_S


@dataclass(frozen=True)
class Voice:
    """The voice of one turn."""

    synthesizer: Synthesizer
    settings: wire.TurnSettings
    output: wire.OutputFormat = field(default_factory=wire.OutputFormat)
    now_s: Callable[[], float] = time.perf_counter
    metered: Metered = lambda work: work

    @property
    def is_ready(self) -> bool:
        """Whether the turn is to be spoken, and the engine is there."""
        return self.settings.voice and self.synthesizer.status.state == "ready"

    def synthesize(self, words: str, due_in_s: Callable[[], float]) -> AsyncGenerator[Sound, None]:
        """Yield the sound in its format. Raises as the synthesizer, and where there is no Opus."""
        chosen = self.settings
        request = SpeechRequest(words, chosen.language, chosen.speaker, chosen.speed, due_in_s)
        sound = self.synthesizer.synthesize(request)
        return opus_of(sound) if self.output.format == "opus" else sound


@dataclass
class _Synthesis:
    """A sentence on its way through synthesis."""

    sentence: SpokenSentence
    asked_s: float
    speed: float
    chunks: asyncio.Queue[Sound | None] = field(default_factory=asyncio.Queue)  # holds `max_sound_ms` at most
    task: asyncio.Task[None] | None = None
    failure: SpeechError | None = None
    has_slot: bool = False
    sound_ms: float = 0.0  # that has come
    sent_ms: float = 0.0
    withdrawn: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def max_sound_ms(self) -> float:
        """Limit of the sound, more than these words need: an engine that sends more would not end by itself."""
        return _SOUND_MS + _SOUND_MS_A_CHAR * len(self.sentence.words)

    @property
    def unsent_ms(self) -> float:
        """The sound that is still to be sent, estimated while it has not come."""
        if self.withdrawn.is_set():
            return 0.0
        is_complete = self.task is not None and self.task.done()
        least_ms = 0.0 if is_complete else _LEAST_MS_A_CHAR / self.speed * len(self.sentence.words)
        return max(least_ms, self.sound_ms) - self.sent_ms

    def withdraw(self) -> None:
        """Leave out what is not sent of it yet; a wait for its sound ends at once."""
        self.withdrawn.set()
        self.chunks.put_nowait(None)
        self.stop()

    def stop(self) -> None:
        if self.task is not None:
            self.task.cancel()


class TextOutput:
    """Output of a turn without a voice: everything leaves at once, sentences as text."""

    def __init__(self, writer: TurnWriter) -> None:
        self._writer = writer

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        yield

    async def say(self, result: TTSResult) -> None:
        self._writer.write(result)

    async def finish(self) -> None:
        pass

    def speak(self, _question: SpokenSentence) -> Callable[[], None]:
        return lambda: None

    def unsent_hooks(self) -> list[TTSResult]:
        return []


class SpeechOutput:
    """Says a turn aloud: `async with output.running(): await output.say(result) … await output.finish()`.

    Leaving the context early, or being cancelled, cancels every synthesis.
    """

    def __init__(
        self,
        writer: TurnWriter,
        voice: Voice,
        clock: PlaybackClock,
        *,
        room: Callable[[], Awaitable[None]],
        patience_s: float = PATIENCE_S,
        slack_s: float = SLACK_S,
    ) -> None:
        self._writer = writer
        self._slack_s = slack_s
        self._patience_s = patience_s
        self._is_hurried = False  # the client is not waited for any more
        self._voice = voice
        self._clock = clock
        self._room = room
        self._queue: asyncio.Queue[TTSResult | _Synthesis | None] = asyncio.Queue(MAX_QUEUED)
        self._unsent: list[_Synthesis] = []  # in spoken order
        self._slots = asyncio.Semaphore(MAX_SYNTHESES)
        self._syntheses: set[asyncio.Task[None]] = set()
        self._has_reported_failure = False
        self._has_reported_wait = False
        self._is_mute = False  # the last sentence waited for its sound in vain: none waits any more
        self._broken: Exception | None = None  # why nothing can be sent any more

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        # awaited below, as the syntheses: a TaskGroup would wrap what the turn raises, which has to be told apart
        emitter = asyncio.create_task(self._voice.metered(self._emit()), name=f"output {self._writer.id}")
        try:
            yield
            await emitter
            self._check()
        finally:
            for task in (emitter, *self._syntheses):
                task.cancel()
            await asyncio.gather(emitter, *self._syntheses, return_exceptions=True)

    async def say(self, result: TTSResult) -> None:
        """Send in order. Waits while MAX_QUEUED things are still to be said. Raises what keeps them from being sent."""
        self._check()
        if result.kind not in _QUEUED:
            self._writer.write(result)
        elif result.sentence is not None and result.sentence.words and not self._is_mute:
            self._writer.mark_sentence()
            await self._queue.put(self._begin(result.sentence))
        else:
            await self._queue.put(result)

    async def finish(self) -> None:
        """Mark the end: `running` ends when everything has left."""
        await self._queue.put(None)

    def speak(self, question: SpokenSentence) -> Callable[[], None]:
        """Queue a question, and return what takes it back; it is not said at all while MAX_QUEUED things wait before it."""
        if self._queue.full():
            return lambda: None
        if question.approval is not None:
            self._clock.will_ask(question.approval)
        synthesis = self._begin(question)
        self._queue.put_nowait(synthesis)
        return synthesis.withdraw

    def unsent_hooks(self) -> list[TTSResult]:
        """Empty the queue at the end of the turn and return its hooks: a cut must not lose what the model has read (L1-29)."""
        left = [self._queue.get_nowait() for _ in range(self._queue.qsize())]
        return [item for item in left if isinstance(item, TTSResult) and item.hook is not None]

    def _begin(self, sentence: SpokenSentence) -> _Synthesis:
        synthesis = _Synthesis(sentence, asked_s=self._voice.now_s(), speed=self._voice.settings.speed)
        self._unsent.append(synthesis)
        work = self._voice.metered(self._synthesize(synthesis))
        synthesis.task = asyncio.create_task(work, name=f"synthesis {self._writer.id}")  # awaited by `running`
        self._syntheses.add(synthesis.task)
        synthesis.task.add_done_callback(self._syntheses.discard)
        return synthesis

    async def _synthesize(self, synthesis: _Synthesis) -> None:
        await self._slots.acquire()  # given back when the sentence has been sent: what waits is bounded, too
        synthesis.has_slot = True
        try:
            await self._fetch(synthesis)
        except SpeechError as error:
            synthesis.failure = error
        except Exception:  # the boundary of a turn: the rest of it is still to be said
            logger.exception("synthesis failed")
            synthesis.failure = SpeechError("speech synthesis failed; the server's log says why")
        finally:
            synthesis.chunks.put_nowait(None)

    async def _fetch(self, synthesis: _Synthesis) -> None:
        """Put the sound into the queue of chunks. Raises SpeechError for what is too long or too slow."""
        due_in_s = partial(self._due_in_s, synthesis)
        due_s = asyncio.get_running_loop().time() + max(0.0, due_in_s())
        sound = self._voice.synthesize(synthesis.sentence.words, due_in_s)
        try:
            async with asyncio.timeout_at(due_s + self._slack_s) as limit, aclosing(sound) as chunks:
                async for chunk in chunks:
                    synthesis.sound_ms += chunk.ms
                    if synthesis.sound_ms > synthesis.max_sound_ms:
                        raise SpeechError("the voice sent far more sound than a sentence needs; the rest is left out")
                    synthesis.chunks.put_nowait(chunk)
                    limit.reschedule(due_s + self._slack_s + _SLOWEST * synthesis.sound_ms / 1000)
        except TimeoutError as error:
            raise SpeechTimeout("the voice sends its sound far too slowly; the rest is left out") from error

    def _due_in_s(self, synthesis: _Synthesis) -> float:
        """Return in how many seconds the listener has heard all that is to be heard before what `synthesis` lacks."""
        now_s = self._voice.now_s()
        before = takewhile(lambda each: each is not synthesis, self._unsent)
        ahead_ms = self._clock.ahead_ms(now_s) + sum(each.unsent_ms for each in before)
        ahead_ms += synthesis.sound_ms - synthesis.sent_ms
        return ahead_ms / 1000 if ahead_ms > 0 else synthesis.asked_s + FIRST_SOUND_DUE_S - now_s

    def _check(self) -> None:
        if self._broken is not None:
            raise self._broken

    async def _emit(self) -> None:
        try:
            while (item := await self._queue.get()) is not None:
                if isinstance(item, TTSResult):
                    self._write(item)
                else:
                    await self._send(item)
                    self._unsent.remove(item)
                    if item.has_slot:
                        self._slots.release()
                await self._room()
        except Exception as error:  # noqa: BLE001  # raised by `say`, which must not wait for a dead queue
            self._broken = error
            while await self._queue.get() is not None:
                pass

    def _write(self, result: TTSResult) -> None:
        if result.sentence is not None:
            self._clock.begin_sentence(result.sentence.approval)
        self._writer.write(result)

    async def _send(self, synthesis: _Synthesis) -> None:
        if self._is_mute and synthesis.chunks.empty():
            synthesis.stop()
            self._write(TTSResult(sentence=synthesis.sentence))
            return
        chunk = await self._first_chunk(synthesis)
        if synthesis.withdrawn.is_set():
            return
        audio = None if chunk is None else wire.AudioFormat(format=chunk.format, sample_rate=chunk.sample_rate)
        self._writer.open_sentence(synthesis.sentence, audio)
        self._clock.begin_sentence(synthesis.sentence.approval)
        while chunk is not None:
            sent_ms = self._writer.write_sound(chunk)
            self._clock.sent(sent_ms, self._voice.now_s())
            synthesis.sent_ms += sent_ms
            await self._room()
            await self._keep_pace()
            chunk = None if synthesis.withdrawn.is_set() else await synthesis.chunks.get()
        self._writer.close_sentence()
        self._is_mute = isinstance(synthesis.failure, SpeechTimeout)
        if synthesis.failure is not None and not self._has_reported_failure:
            self._has_reported_failure = True
            logger.warning("a sentence was not spoken: %s", synthesis.failure)
            notice = NoticeGiven("speech_failed", "warning", f"the reply continues as text: {synthesis.failure}")
            self._writer.write(TTSResult(notice=notice))

    async def _first_chunk(self, synthesis: _Synthesis) -> Sound | None:
        late_s = None if self._has_reported_wait else VOICE_LATE_S + self._clock.ahead_ms(self._voice.now_s()) / 1000
        try:
            async with asyncio.timeout(late_s):
                return await synthesis.chunks.get()
        except TimeoutError:
            self._has_reported_wait = True
            notice = NoticeGiven("speech_slow", "info", "the reply is written, and waits for its voice")
            self._writer.write(TTSResult(notice=notice))
            return await synthesis.chunks.get()

    async def _keep_pace(self) -> None:
        """Wait while the client has more sound than it asked for; its `playback` frames tell how much that is."""
        moved_s, heard_ms = self._voice.now_s(), 0.0
        while not self._is_hurried:
            now_s = self._voice.now_s()
            too_much_ms = self._clock.ahead_ms(now_s) - self._voice.output.max_ahead_ms
            if too_much_ms <= 0:
                return
            if self._clock.heard_ms(now_s) > heard_ms:
                moved_s, heard_ms = now_s, self._clock.heard_ms(now_s)
            self._is_hurried = now_s - moved_s > self._patience_s
            await asyncio.sleep(min(_PACE_STEP_S, too_much_ms / 1000))


TurnOutput = TextOutput | SpeechOutput


def output_for(
    writer: TurnWriter, voice: Voice, clock: PlaybackClock, *, room: Callable[[], Awaitable[None]]
) -> TurnOutput:
    """Return the output of a turn; while its voice is not ready, sentences leave as text."""
    return SpeechOutput(writer, voice, clock, room=room) if voice.is_ready else TextOutput(writer)
