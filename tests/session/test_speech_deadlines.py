"""Many turns before one voice: who is heard when. The engine is scripted, the clock is virtual."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from server.session.sentence_assembler import SpokenSentence, TTSResult
from server.session.speech_output import FIRST_SOUND_DUE_S, PlaybackClock, SpeechOutput, Voice
from server.session.turn_writer import TurnWriter
from server.speech.tts import EmbeddedSynthesizer
from server.speech.worker import SpeechWorker
from server.speech.worker_child import PREFIX, lengths, parse
from server.speech.worker_process import SpeechJob, WorkerProcess
from server.wire.frames import SpeechPart, TurnSettings
from tests.support.virtual_loop import VirtualLoop

RATE = 16_000
CHAR_S = 0.06
"""Sound of one character."""
WORK = 0.05
"""Seconds of work for a second of sound."""
PIECE_CHARS = 160
SENTENCE = "This is one of the sentences of a reply, and it is neither long nor short."
SENTENCE_WORK_S = len(SENTENCE) * CHAR_S * WORK


class ScriptedProcess(WorkerProcess):
    """Says pieces of a text, each in its time; stops at the end of a piece when it is cancelled."""

    def __init__(self, name: str, _command: Sequence[str], *, on_change: Callable[[], None]) -> None:
        super().__init__(name, (), on_change=on_change)
        self.status = SpeechPart(state="ready", name=name)
        self.begun: list[str] = []
        self._is_busy = False

    @property
    def is_free(self) -> bool:
        return not self._is_busy

    def begin(self, job: SpeechJob) -> None:
        head, _ = lengths(job.message[: PREFIX.size])
        request = parse(job.message[PREFIX.size : PREFIX.size + head])
        text, at = request["text"], request["piece"] * PIECE_CHARS
        piece = text[at : at + PIECE_CHARS]
        self.begun.append(piece)
        self._is_busy = True
        left = (len(text) - at - 1) // PIECE_CHARS
        asyncio.get_running_loop().call_later(len(piece) * CHAR_S * WORK, self._end, job, piece, left)

    def _end(self, job: SpeechJob, piece: str, left: int) -> None:
        self._is_busy = False
        pcm = bytes(2 * round(RATE * CHAR_S * len(piece)))
        job.answer.put_nowait(({"sample_rate": RATE, "left": left}, pcm))
        job.answer.put_nowait(None)
        self._on_change()

    def cancel(self, job: SpeechJob) -> None:
        pass


@dataclass
class Listener:
    """A turn as it is heard: its first sound, and how long it was silent after that."""

    asked_s: float
    first_s: float = 0.0
    gap_s: float = 0.0
    _heard_s: float = field(default=0.0, init=False)

    def hear(self, pcm: bytes) -> None:
        now_s = asyncio.get_running_loop().time()
        if not self.first_s:
            self.first_s = self._heard_s = now_s
        self.gap_s += max(0.0, now_s - self._heard_s)
        self._heard_s = max(now_s, self._heard_s) + len(pcm) / 2 / RATE

    @property
    def waited_s(self) -> float:
        return self.first_s - self.asked_s


class House:
    """One voice, and the turns that share it."""

    def __init__(self) -> None:
        self.process: ScriptedProcess
        self.worker = SpeechWorker("the voice", (), max_waiting=256, spawn=self._spawn)
        self.synthesizer = EmbeddedSynthesizer(self.worker)

    def _spawn(self, *args: Any, **kwargs: Any) -> WorkerProcess:
        self.process = ScriptedProcess(*args, **kwargs)
        return self.process

    async def say(self, *sentences: str, after_s: float = 0.0) -> Listener:
        """Say all of a turn that was written at once, and return how it was heard."""
        await asyncio.sleep(after_s)
        now_s = asyncio.get_running_loop().time
        listener = Listener(now_s())
        writer = TurnWriter(
            "t",
            lambda _: None,
            send_sound=listener.hear,
            sign=lambda *_: "",
            sign_state=str,
            received_s=now_s(),
            clock=now_s,
        )
        writer.start("chat", [])
        voice = Voice(self.synthesizer, TurnSettings(language="en"), now_s=now_s)
        output = SpeechOutput(writer, voice, PlaybackClock("t", began_s=now_s()), room=_no_wait)
        async with output.running():
            for text in sentences:
                await output.say(TTSResult(sentence=SpokenSentence(text)))
            await output.finish()
        return listener


async def _no_wait() -> None:
    pass


def played(test: Callable[[House], Awaitable[None]]) -> None:
    async def main() -> None:
        await test(House())

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(main())


def test_who_hears_nothing_yet_comes_before_who_is_seconds_ahead() -> None:
    async def play(house: House) -> None:
        turns = [house.say(*[SENTENCE] * 6, after_s=0.4 * number) for number in range(16)]
        heard = await asyncio.gather(*turns)

        assert max(listener.waited_s for listener in heard) < FIRST_SOUND_DUE_S + 3 * SENTENCE_WORK_S
        assert max(listener.gap_s for listener in heard) == 0

    played(play)


def test_a_very_long_reply_holds_up_nobody_and_has_no_gap_itself() -> None:
    async def play(house: House) -> None:
        story = ("And then, " * 380).strip() + "."
        long = house.say(*[story] * 3)
        others = [house.say(SENTENCE, after_s=1.0 + 3 * number) for number in range(20)]
        first, *heard = await asyncio.gather(long, *others)

        assert first.gap_s == 0
        assert max(each.waited_s for each in heard) <= (PIECE_CHARS * CHAR_S * WORK) + SENTENCE_WORK_S + 0.01

    played(play)


def test_a_listener_who_is_about_to_run_dry_comes_before_a_new_turn() -> None:
    async def play(house: House) -> None:
        talk = asyncio.create_task(house.say("Well.", "Once.", "Twice."))
        news = [asyncio.create_task(house.say(f"New {number}. {SENTENCE}")) for number in range(4)]
        await asyncio.gather(talk, *news)

        begun = house.process.begun
        assert begun[0] == "Well."
        assert begun[1] == "Once."
        assert (await talk).gap_s == 0

    played(play)


def test_a_turn_that_is_cancelled_leaves_the_queue_at_once() -> None:
    async def play(house: House) -> None:
        talk = asyncio.create_task(house.say(*[SENTENCE] * 9))
        other = asyncio.create_task(house.say(SENTENCE))
        await asyncio.sleep(SENTENCE_WORK_S / 2)
        assert house.worker.waiting > 3

        talk.cancel()
        with pytest.raises(asyncio.CancelledError):
            await talk
        assert house.worker.waiting == 1
        await other
        assert house.process.begun == [SENTENCE] * 2

    played(play)
