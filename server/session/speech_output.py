"""Says a turn aloud: sentences are synthesised ahead and leave in spoken order.

What the client handles in playback order (sentences, hooks, tool frames) passes
through one queue; what it handles on arrival (text, notices) does not wait.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from server.agent.chunks import NoticeGiven
from server.errors import SpeechError, SpeechTimeout
from server.session.playback import PlaybackClock
from server.session.sentence_assembler import SpokenSentence, TTSResult
from server.session.turn_writer import TurnWriter
from server.speech.tts import SoundChunk, Synthesizer
from server.wire import frames as wire

logger = logging.getLogger(__name__)

MAX_SYNTHESES: Final = 4
"""Sentences of a turn that are being synthesised, or are and wait for their turn to be sent."""
MAX_QUEUED: Final = 64
"""Then the agent waits; a long reply is not written minutes ahead of the voice."""
PATIENCE_S: Final = 60.0
"""A client that hears nothing more for so long gets the rest of the turn at once, that the turn may end."""
SLACK_S: Final = 30.0
"""A sentence's sound may take so long to come, and _SLOWEST times what it lasts: who trickles does not end either."""
_SLOWEST: Final = 4
_PACE_STEP_S: Final = 0.25
_SOUND_MS: Final = 10_000
_SOUND_MS_A_CHAR: Final = 500

_QUEUED: Final = ("sentence", "hook", "tool_call", "tool_result", "media")


@dataclass(frozen=True, kw_only=True)
class Voice:
    """The voice of one turn."""

    synthesizer: Synthesizer
    language: str | None
    max_ahead_ms: float
    clock: PlaybackClock
    now_s: Callable[[], float] = time.perf_counter


@dataclass
class _Job:
    """A sentence on its way through synthesis."""

    sentence: SpokenSentence
    chunks: asyncio.Queue[SoundChunk | None] = field(default_factory=asyncio.Queue)  # holds `longest_ms` at most
    task: asyncio.Task[None] | None = None
    failure: SpeechError | None = None
    has_slot: bool = False
    withdrawn: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def longest_ms(self) -> float:
        """More sound than anybody needs for these words: who sends more does not end by himself."""
        return _SOUND_MS + _SOUND_MS_A_CHAR * len(_words(self.sentence))

    def withdraw(self) -> None:
        """Nobody needs to hear it any more, or the rest of it: who waits for its sound goes on at once."""
        self.withdrawn.set()
        self.chunks.put_nowait(None)
        self.stop()

    def stop(self) -> None:
        if self.task is not None:
            self.task.cancel()


class SpeechOutput:
    """`async with output.running(): await output.say(result) … await output.finish()`.

    Without a voice, or while its engine is not there, sentences leave as text.
    Leaving the context early, or being cancelled, cancels every synthesis.
    """

    def __init__(
        self,
        writer: TurnWriter,
        voice: Voice | None,
        *,
        room: Callable[[], Awaitable[None]],
        patience_s: float = PATIENCE_S,
        slack_s: float = SLACK_S,
    ) -> None:
        self._writer = writer
        self._slack_s = slack_s
        self._patience_s = patience_s
        self._is_hurried = False  # the client is not waited for any more
        self._voice = voice if voice is not None and voice.synthesizer.status.state == "ready" else None
        self._room = room
        self._queue: asyncio.Queue[TTSResult | _Job | None] = asyncio.Queue(MAX_QUEUED)
        self._slots = asyncio.Semaphore(MAX_SYNTHESES)
        self._jobs: set[asyncio.Task[None]] = set()
        self._told_failure = False
        self._is_mute = False  # the last sentence waited for its sound in vain: none waits any more
        self._broken: Exception | None = None  # why nothing can be sent any more

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        if self._voice is None:
            yield
            return
        self._writer.unsent_hooks = self._unsent_hooks
        self._writer.speak = self._speak
        emitter = asyncio.create_task(self._emit(self._voice), name=f"output {self._writer.id}")
        try:
            yield
            await emitter
            self._check()
        finally:
            for task in (emitter, *self._jobs):
                task.cancel()
            await asyncio.gather(emitter, *self._jobs, return_exceptions=True)

    async def say(self, result: TTSResult) -> None:
        """In order. Waits while MAX_QUEUED things are still to be said. Raises what keeps them from being sent."""
        self._check()
        if self._voice is None or all(getattr(result, name) is None for name in _QUEUED):
            self._writer.write(result)
        elif result.sentence is not None and _words(result.sentence) and not self._is_mute:
            self._writer.mark_sentence()
            await self._queue.put(self._begin(_Job(result.sentence), self._voice))
        else:
            await self._queue.put(result)

    async def finish(self) -> None:
        """Nothing follows; `running` ends when all of it has left."""
        if self._voice is not None:
            await self._queue.put(None)

    def _speak(self, question: SpokenSentence) -> Callable[[], None]:
        """In its place among what is said; not at all while MAX_QUEUED things wait before it."""
        assert self._voice is not None, "a turn without a voice is not told of it"
        job = _Job(question)
        if not self._queue.full():
            self._begin(job, self._voice)
            self._queue.put_nowait(job)
        return job.withdraw

    def _unsent_hooks(self) -> list[TTSResult]:
        """The turn ends here: of what is queued only the hooks still leave."""
        left = []
        while not self._queue.empty():
            item = self._queue.get_nowait()
            if isinstance(item, TTSResult) and item.hook is not None:
                left.append(item)
        return left

    def _begin(self, job: _Job, voice: Voice) -> _Job:
        job.task = asyncio.create_task(self._synthesize(job, voice), name=f"synthesis {self._writer.id}")
        self._jobs.add(job.task)
        job.task.add_done_callback(self._jobs.discard)
        return job

    async def _synthesize(self, job: _Job, voice: Voice) -> None:
        await self._slots.acquire()  # given back when the sentence has been sent: what waits is bounded, too
        job.has_slot = True
        try:
            await self._fetch(job, voice)
        except SpeechError as error:
            job.failure = error
        except Exception:  # the boundary of a turn: the rest of it is still to be said
            logger.exception("synthesis failed")
            job.failure = SpeechError("speech synthesis failed; the server's log says why")
        finally:
            job.chunks.put_nowait(None)

    async def _fetch(self, job: _Job, voice: Voice) -> None:
        """The sound into the job's queue. Raises SpeechError for what is too long or too slow."""
        sound_ms, began_s = 0.0, asyncio.get_running_loop().time()
        words = _words(job.sentence)
        try:
            async with (
                asyncio.timeout(self._slack_s) as limit,
                aclosing(voice.synthesizer.synthesize(words, language=voice.language)) as chunks,
            ):
                async for chunk in chunks:
                    sound_ms += len(chunk.pcm) / 2 * 1000 / chunk.sample_rate
                    if sound_ms > job.longest_ms:
                        raise SpeechError("the voice sent far more sound than a sentence needs; the rest is left out")
                    job.chunks.put_nowait(chunk)
                    limit.reschedule(began_s + self._slack_s + _SLOWEST * sound_ms / 1000)
        except TimeoutError as error:
            raise SpeechTimeout("the voice sends its sound far too slowly; the rest is left out") from error

    def _check(self) -> None:
        if self._broken is not None:
            raise self._broken

    async def _emit(self, voice: Voice) -> None:
        try:
            await self._emit_all(voice)
        except Exception as error:  # noqa: BLE001  # to be raised by `say`, which must not wait for a queue that nobody empties
            self._broken = error
            while await self._queue.get() is not None:
                pass

    async def _emit_all(self, voice: Voice) -> None:
        while (item := await self._queue.get()) is not None:
            if isinstance(item, TTSResult):
                self._show(item, voice)
            else:
                await self._send(item, voice)
                if item.has_slot:
                    self._slots.release()
            await self._room()

    def _show(self, result: TTSResult, voice: Voice) -> None:
        if result.sentence is not None:
            voice.clock.begin_sentence()
        self._writer.write(result)

    async def _send(self, job: _Job, voice: Voice) -> None:
        if self._is_mute and job.chunks.empty():
            job.stop()
            self._show(TTSResult(sentence=job.sentence), voice)
            return
        first = await job.chunks.get()
        if job.withdrawn.is_set():
            return
        rate = None if first is None else first.sample_rate
        audio = None if rate is None else wire.AudioFormat(format="pcm16", sample_rate=rate)
        self._writer.open_sentence(job.sentence, audio)
        voice.clock.begin_sentence()
        if first is not None:
            async with aclosing(_rest(first, job)) as chunks:
                async for chunk in chunks:
                    voice.clock.sent(self._writer.write_sound(chunk.pcm, chunk.words), voice.now_s())
                    await self._room()
                    await self._keep_pace(voice)
                    if job.withdrawn.is_set():
                        break
        self._writer.close_sentence()
        self._is_mute = isinstance(job.failure, SpeechTimeout)
        if job.failure is not None and not self._told_failure:
            self._told_failure = True
            logger.warning("a sentence was not spoken: %s", job.failure)
            notice = NoticeGiven("speech_failed", "warning", f"the reply goes on as text: {job.failure}")
            self._writer.write(TTSResult(notice=notice))

    async def _keep_pace(self, voice: Voice) -> None:
        """Wait while the client has more sound than it asked for; its `playback` frames tell when it has not."""
        moved_s, heard_ms = voice.now_s(), 0.0
        while not self._is_hurried:
            now_s = voice.now_s()
            too_much_ms = voice.clock.ahead_ms(now_s) - voice.max_ahead_ms
            if too_much_ms <= 0:
                return
            if voice.clock.heard_ms(now_s) > heard_ms:
                moved_s, heard_ms = now_s, voice.clock.heard_ms(now_s)
            self._is_hurried = now_s - moved_s > self._patience_s
            await asyncio.sleep(min(_PACE_STEP_S, too_much_ms / 1000))


async def _rest(first: SoundChunk, job: _Job) -> AsyncGenerator[SoundChunk, None]:
    chunk: SoundChunk | None = first
    while chunk is not None:
        yield chunk
        chunk = await job.chunks.get()


def _words(sentence: SpokenSentence) -> str:
    """Return what is said of it."""
    return sentence.text.strip() if sentence.spoken is None else sentence.spoken.strip()
