"""server/session/speech_output.py"""

import asyncio
import math
import time
from collections.abc import AsyncGenerator

import msgspec
import pytest

from server.agent.chunks import LLMChunk, NoticeGiven
from server.errors import Closed, SpeechTimeout
from server.session.sentence_assembler import SpokenSentence, TTSResult
from server.session.speech_output import (
    MAX_QUEUED,
    MAX_SYNTHESES,
    VOICE_LATE_S,
    PlaybackClock,
    SpeechOutput,
    TurnOutput,
    Voice,
    output_for,
)
from server.session.turn_writer import TurnWriter
from server.speech.tts import SoundChunk, SpeechRequest
from server.wire import frames as wire
from tests.session.fakes import SOUND, Frame, Pause, call, hook, kinds, result
from tests.session.speech_fakes import CHUNK, RATE, FakeSynthesizer
from tests.support.virtual_loop import VirtualLoop

SPOKEN = ["sentence", SOUND, SOUND, "sentence_end"]
SILENT = ["sentence", "sentence_end"]
ENGLISH = wire.TurnSettings(language="en")
QUESTION = SpokenSentence("", "May I?", approval="q1")


class Stage:
    """A turn, what it sent, and a speech output for it."""

    def __init__(
        self,
        synthesizer: FakeSynthesizer | None = None,
        *,
        max_ahead_ms: int = 30_000,
        patience_s: float = 60.0,
        slack_s: float = 60.0,
    ) -> None:
        self.frames: list[Frame] = []
        self.synthesizer = synthesizer or FakeSynthesizer()
        self.clock = PlaybackClock("t1", began_s=0.0)
        self.news = asyncio.Event()
        self.is_gone = False
        self.turn = TurnWriter(
            "t1",
            self._send,
            send_sound=lambda pcm: self._add({"type": SOUND, "bytes": len(pcm)}),
            sign=lambda *_: "sig",
            sign_state=str,
            received_s=time.perf_counter(),
        )
        self.turn.start("chat", [])
        self.frames.clear()
        voice = Voice(self.synthesizer, ENGLISH, wire.OutputFormat(max_ahead_ms=max_ahead_ms))
        self.output: TurnOutput = SpeechOutput(
            self.turn, voice, self.clock, room=self.room, patience_s=patience_s, slack_s=slack_s
        )

    def _send(self, frame: wire.ServerFrame) -> None:
        self._add(msgspec.json.decode(msgspec.json.encode(frame)))

    def _add(self, frame: Frame) -> None:
        self.frames.append(frame)
        self.news.set()

    async def room(self) -> None:
        if self.is_gone:
            raise Closed("gone")

    async def until(self, count: int, type_: str = SOUND) -> None:
        while kinds(self.frames).count(type_) < count:
            self.news.clear()
            await self.news.wait()

    async def say_all(self, *results: TTSResult) -> list[str]:
        async with self.output.running():
            for each in results:
                await self.output.say(each)
            await self.output.finish()
        return kinds(self.frames)


def sentence(text: str, spoken: str | None = None) -> TTSResult:
    return TTSResult(sentence=SpokenSentence(text, spoken))


def of(chunk: LLMChunk) -> TTSResult:
    return TTSResult(hook=chunk.hook, tool_call=chunk.tool_call, tool_result=chunk.tool_result)


async def tasks() -> set[str]:
    await asyncio.sleep(0)
    return {task.get_name() for task in asyncio.all_tasks()} - {asyncio.current_task().get_name()}  # type: ignore[union-attr]  # there is one


async def test_a_sentence_opens_its_sound_follows_and_its_end_tells_how_long_it_was() -> None:
    stage = Stage()

    assert await stage.say_all(sentence(" One."), sentence(" Two.", "Second.")) == [*SPOKEN, *SPOKEN]
    assert stage.synthesizer.asked == [("One.", "en"), ("Second.", "en")]
    assert stage.frames[0]["audio"] == {"format": "pcm16", "sample_rate": 16_000}
    assert [f["duration_ms"] for f in stage.frames if f["type"] == "sentence_end"] == [200, 200]
    assert [(f["text"], f["spoken"]) for f in stage.frames if f["type"] == "sentence"] == [
        (" One.", None),
        (" Two.", "Second."),
    ]
    assert stage.clock.heard_ms(math.inf) == 400


class Loading(FakeSynthesizer):
    status = wire.SpeechPart(state="loading")


@pytest.mark.parametrize("voice", [Voice(FakeSynthesizer(), wire.TurnSettings(voice=False)), Voice(Loading(), ENGLISH)])
async def test_without_a_voice_sentences_leave_at_once_as_text_and_nothing_is_asked_aloud(voice: Voice) -> None:
    stage = Stage()
    output = output_for(stage.turn, voice, stage.clock, room=stage.room)

    async with output.running():
        output.speak(QUESTION)()
        await output.say(sentence("One."))
        assert kinds(stage.frames) == SILENT
        await output.finish()

    assert stage.frames[0]["audio"] is None
    assert kinds(stage.frames) == SILENT


async def test_what_is_not_said_keeps_its_place_without_sound() -> None:
    stage = Stage()
    code = sentence("\n```x```", "")

    assert await stage.say_all(sentence("One."), code, sentence("Two.")) == [*SPOKEN, *SILENT, *SPOKEN]
    assert stage.synthesizer.texts == ["One.", "Two."]


async def test_hooks_and_tools_keep_their_place_between_sentences() -> None:
    said = await Stage().say_all(
        of(hook()), sentence("One."), of(call("1")), of(result("1")), of(hook()), sentence("Two.")
    )

    assert said == ["hook", *SPOKEN, "tool_call", "tool_result", "hook", *SPOKEN]


async def test_text_and_notices_do_not_wait_for_sound() -> None:
    pause = Pause()
    stage = Stage(FakeSynthesizer({"One.": [pause, CHUNK]}))
    async with stage.output.running():
        await stage.output.say(sentence("One."))
        await pause.reached.wait()
        await stage.output.say(TTSResult(text="Two"))
        await stage.output.say(TTSResult(notice=NoticeGiven("c", "info", "text")))
        assert kinds(stage.frames) == ["text", "notice"]
        pause.resume.set()
        await stage.output.finish()

    assert kinds(stage.frames) == ["text", "notice", "sentence", SOUND, "sentence_end"]


async def test_the_first_sound_leaves_before_the_sentence_is_ready() -> None:
    pause = Pause()
    stage = Stage(FakeSynthesizer({"One.": [CHUNK, pause, CHUNK]}))
    async with stage.output.running():
        await stage.output.say(sentence("One."))
        await pause.reached.wait()
        await stage.until(1)
        assert kinds(stage.frames) == ["sentence", SOUND]
        pause.resume.set()
        await stage.output.finish()

    assert kinds(stage.frames) == SPOKEN


async def test_sentences_leave_in_order_however_their_sound_comes_and_at_most_four_are_under_way() -> None:
    pause = Pause()
    stage = Stage(FakeSynthesizer({"0": [pause, CHUNK, CHUNK]}))
    async with stage.output.running():
        for number in range(10):
            await stage.output.say(sentence(str(number)))
        await pause.reached.wait()
        for _ in range(100):  # the others are done
            await asyncio.sleep(0)
        assert stage.synthesizer.open == 1
        assert stage.synthesizer.texts == ["0", "1", "2", "3"]
        assert stage.frames == []
        pause.resume.set()
        await stage.output.finish()

    assert [f["text"] for f in stage.frames if f["type"] == "sentence"] == [str(number) for number in range(10)]
    assert kinds(stage.frames) == SPOKEN * 10
    assert stage.synthesizer.most_open <= MAX_SYNTHESES == 4


async def test_a_voice_that_does_not_end_is_ended() -> None:
    second = bytes(2 * RATE)
    stage = Stage(FakeSynthesizer({"One.": [second] * 100}))

    said = await stage.say_all(sentence("One."), sentence("Two."))

    assert said == ["sentence", *[SOUND] * 12, "sentence_end", "notice", *SPOKEN]
    assert stage.frames[13]["duration_ms"] == 12_000
    assert "more sound" in stage.frames[14]["message"]
    assert stage.synthesizer.open == 0


class Trickle(FakeSynthesizer):
    """A sample at a time, or never one, without end."""

    def __init__(self, chunk: bytes) -> None:
        super().__init__()
        self.chunk = chunk

    async def synthesize(self, request: SpeechRequest) -> AsyncGenerator[SoundChunk, None]:
        self.open += 1
        try:
            while True:
                await asyncio.sleep(0.001)
                if self.chunk:
                    yield SoundChunk(self.chunk, RATE)
        finally:
            self.open -= 1


@pytest.mark.parametrize("chunk", [b"\1\0", b""], ids=["a sample", "nothing"])
async def test_a_voice_that_trickles_does_not_hold_the_turn(chunk: bytes) -> None:
    stage = Stage(Trickle(chunk), slack_s=0.05)

    said = await stage.say_all(sentence("One."), sentence("Two."))

    assert [kind for kind in said if kind != SOUND] == ["sentence", "sentence_end", "notice", *SILENT]
    [notice] = [frame for frame in stage.frames if frame["type"] == "notice"]
    assert "too slowly" in notice["message"]
    assert stage.synthesizer.open == 0


async def test_a_slow_voice_has_longer_the_more_it_has_sent() -> None:
    pause = Pause()
    stage = Stage(FakeSynthesizer({"One.": [bytes(20 * RATE), pause, CHUNK]}), slack_s=0.05)
    async with stage.output.running():
        await stage.output.say(sentence("One."))
        await pause.reached.wait()
        await asyncio.sleep(0.2)  # beyond the slack, within what ten seconds of sound allow
        pause.resume.set()
        await stage.output.finish()

    assert kinds(stage.frames) == SPOKEN


async def test_a_failure_leaves_the_text_and_one_notice_and_the_turn_goes_on() -> None:
    broken = SpeechTimeout("piper did not answer for 10 s")
    stage = Stage(FakeSynthesizer({"One.": [broken], "Two.": [CHUNK, broken]}))

    said = await stage.say_all(sentence("One."), sentence("Two."), sentence("Three."))

    assert said == [*SILENT, "notice", "sentence", SOUND, "sentence_end", *SPOKEN]
    notice = stage.frames[2]
    assert (notice["code"], notice["level"]) == ("speech_failed", "warning")
    assert "piper did not answer for 10 s" in notice["message"]


async def test_after_a_voice_that_said_nothing_in_time_no_sentence_waits_for_it() -> None:
    late = SpeechTimeout("too late")
    voice = FakeSynthesizer({"One.": [late], "Two.": [Pause()], "Three.": [Pause()]})
    stage = Stage(voice)
    async with stage.output.running():
        for text in ("One.", "Two.", "Three."):
            await stage.output.say(sentence(text))
        await stage.until(3, "sentence_end")
        await stage.output.say(sentence("Four."))
        await stage.output.finish()

    assert kinds(stage.frames) == [*SILENT, "notice", *SILENT * 3]
    assert voice.texts == ["One.", "Two.", "Three."]
    assert voice.open == 0


async def test_a_sentence_whose_sound_is_there_is_said_though_the_one_before_it_waited_in_vain() -> None:
    pause = Pause()
    stage = Stage(FakeSynthesizer({"One.": [pause, SpeechTimeout("too late")]}))
    async with stage.output.running():
        await stage.output.say(sentence("One."))
        await stage.output.say(sentence("Two."))
        await pause.reached.wait()
        for _ in range(8):
            await asyncio.sleep(0)
        pause.resume.set()
        await stage.until(2, "sentence_end")
        await stage.output.say(sentence("Three."))
        await stage.output.finish()

    assert kinds(stage.frames) == [*SILENT, "notice", *SPOKEN, *SPOKEN]


async def test_a_bug_in_an_engine_costs_the_sound_only(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage(FakeSynthesizer({"One.": [ValueError("odd")]}))

    assert await stage.say_all(sentence("One."), sentence("Two.")) == [*SILENT, "notice", *SPOKEN]
    assert "synthesis failed" in caplog.text
    assert "odd" not in stage.frames[2]["message"]


async def test_a_sentence_without_a_sound_is_silent_and_no_failure() -> None:
    assert await Stage(FakeSynthesizer({"Hm.": []})).say_all(sentence("Hm."), sentence("Two.")) == [*SILENT, *SPOKEN]


async def test_cancelling_closes_every_synthesis_and_leaves_no_task() -> None:
    pauses = [Pause() for _ in range(3)]
    stage = Stage(FakeSynthesizer({str(i): [CHUNK, pause] for i, pause in enumerate(pauses)}))
    before = await tasks()
    work = asyncio.create_task(stage.say_all(*(sentence(str(number)) for number in range(6))), name="turn")
    for pause in pauses:
        await pause.reached.wait()
    await stage.until(1)
    stage.turn.end("interrupted")
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work

    assert stage.synthesizer.open == 0
    assert await tasks() == before
    assert kinds(stage.frames) == ["sentence", SOUND, "sentence_end", "turn_end"]
    assert stage.frames[-2]["duration_ms"] == 100


async def test_nothing_is_sent_after_the_end_of_the_turn() -> None:
    pause = Pause()
    stage = Stage(FakeSynthesizer({"One.": [CHUNK, pause, CHUNK]}))
    async with stage.output.running():
        await stage.output.say(sentence("One."))
        await stage.output.say(of(hook()))
        await stage.until(1)
        stage.turn.end("interrupted")
        pause.resume.set()
        await stage.output.say(sentence("Two."))
        await stage.output.finish()

    assert kinds(stage.frames)[-1] == "turn_end"
    assert stage.clock.heard_ms(math.inf) == 100


async def test_a_lost_client_is_told_to_whoever_speaks_even_while_the_queue_is_full() -> None:
    stage = Stage()
    stage.is_gone = True

    with pytest.raises(Closed):
        async with asyncio.timeout(10), stage.output.running():
            for number in range(3 * MAX_QUEUED):
                await stage.output.say(sentence(str(number)))
    assert stage.synthesizer.open == 0


async def test_a_lost_client_is_told_after_the_last_word_as_well() -> None:
    stage = Stage()
    stage.is_gone = True

    with pytest.raises(Closed):
        await stage.say_all(sentence("One."))


async def test_the_agent_waits_when_it_is_far_ahead_of_the_voice() -> None:
    pause = Pause()
    stage = Stage(FakeSynthesizer({"first": [pause, CHUNK]}), max_ahead_ms=600_000)
    told = 0

    async def tell() -> None:
        nonlocal told
        async with stage.output.running():
            await stage.output.say(sentence("first"))
            for number in range(3 * MAX_QUEUED):
                await stage.output.say(sentence(str(number)))
                told += 1
            await stage.output.finish()

    work = asyncio.create_task(tell(), name="turn")
    await pause.reached.wait()
    for _ in range(10 * MAX_QUEUED):
        await asyncio.sleep(0)
    assert told <= MAX_QUEUED
    pause.resume.set()
    await work
    assert told == 3 * MAX_QUEUED


async def test_no_more_sound_leaves_than_the_client_wants_ahead() -> None:
    stage = Stage(FakeSynthesizer({"Long.": [CHUNK] * 6}), max_ahead_ms=250)
    work = asyncio.create_task(stage.say_all(sentence("Long.")), name="turn")
    await stage.until(1)
    stage.clock.report(0, 0, "stopped", time.perf_counter())  # the client has paused
    for _ in range(200):
        await asyncio.sleep(0)
    assert kinds(stage.frames) == ["sentence", SOUND, SOUND, SOUND]

    stage.clock.report(0, 300, "stopped", time.perf_counter())
    await stage.until(6)
    assert not work.done(), "more than 250 ms are ahead again"
    stage.clock.report(0, 600, "stopped", time.perf_counter())
    await work


async def test_a_client_that_stops_for_good_does_not_hold_the_turn() -> None:
    stage = Stage(FakeSynthesizer({"Long.": [CHUNK] * 6}), max_ahead_ms=250, patience_s=0.0)
    work = asyncio.create_task(stage.say_all(sentence("Long.")), name="turn")
    await stage.until(1)
    stage.clock.report(0, 0, "stopped", time.perf_counter())

    assert await work == ["sentence", *[SOUND] * 6, "sentence_end"]


async def test_a_client_that_reports_nothing_is_paced_by_the_clock() -> None:
    stage = Stage(FakeSynthesizer({"Long.": [CHUNK] * 6}), max_ahead_ms=100)
    began_s = time.perf_counter()
    await stage.say_all(sentence("Long."))

    assert time.perf_counter() - began_s >= 0.4  # 600 ms of sound, at most 100 of it ahead, the last one of 100


async def test_the_first_sentence_is_timed_when_its_words_are_there() -> None:
    pause = Pause()
    stage = Stage(FakeSynthesizer({"One.": [pause, CHUNK]}))
    async with stage.output.running():
        await stage.output.say(sentence("One."))
        await pause.reached.wait()
        pause.resume.set()
        await stage.output.finish()
    stage.turn.end("completed")

    metrics = stage.frames[-1]["metrics"]
    assert metrics["first_sentence"] <= metrics["first_audio"] <= metrics["total"]


@pytest.mark.rule("L1-29")
async def test_a_cut_turn_still_hands_over_the_hooks_that_wait_for_its_voice() -> None:
    pause = Pause()
    stage = Stage(FakeSynthesizer({"One.": [CHUNK, pause]}))
    async with stage.output.running():
        for each in (sentence("One."), of(hook("calm")), sentence("Two."), of(hook("clock")), of(call("c1"))):
            await stage.output.say(each)
        await stage.until(1)
        stage.turn.end("interrupted", hooks=stage.output.unsent_hooks())
        pause.resume.set()
        await stage.output.finish()

    assert kinds(stage.frames) == ["sentence", SOUND, "sentence_end", "hook", "hook", "turn_end"]
    assert [f["name"] for f in stage.frames if f["type"] == "hook"] == ["calm", "clock"]


# questions to a human


async def test_a_question_is_said_in_its_place_and_is_no_part_of_the_reply() -> None:
    stage = Stage()
    async with stage.output.running():
        await stage.output.say(sentence("One."))
        stage.output.speak(QUESTION)
        await stage.output.say(sentence("Two."))
        await stage.output.finish()

    assert kinds(stage.frames) == SPOKEN * 3
    said = [frame for frame in stage.frames if frame["type"] == "sentence"]
    assert [(s["index"], s["text"], s["spoken"], s.get("approval")) for s in said] == [
        (0, "One.", None, None),
        (1, "", "May I?", "q1"),
        (2, "Two.", None, None),
    ]
    assert stage.synthesizer.texts == ["One.", "May I?", "Two."]


async def test_a_question_that_is_answered_before_its_place_comes_is_not_said() -> None:
    pause = Pause()
    stage = Stage(FakeSynthesizer({"One.": [CHUNK, pause, CHUNK]}))
    async with stage.output.running():
        await stage.output.say(sentence("One."))
        await pause.reached.wait()
        withdraw = stage.output.speak(QUESTION)
        withdraw()
        pause.resume.set()
        for number in range(2 * MAX_SYNTHESES):
            await stage.output.say(sentence(f"More {number}."))
        await stage.output.finish()

    said = [frame for frame in stage.frames if frame["type"] == "sentence"]
    assert [s["index"] for s in said] == list(range(1 + 2 * MAX_SYNTHESES))
    assert "approval" not in {key for s in said for key in s}
    assert stage.synthesizer.open == 0


async def test_a_question_that_is_answered_while_it_is_said_breaks_off() -> None:
    pause = Pause()
    stage = Stage(FakeSynthesizer({"May I?": [CHUNK, pause, CHUNK, CHUNK, CHUNK]}))
    async with stage.output.running():
        withdraw = stage.output.speak(QUESTION)
        await pause.reached.wait()
        await stage.until(1)
        withdraw()
        await stage.output.say(sentence("Go on."))
        await stage.output.finish()

    assert kinds(stage.frames) == ["sentence", SOUND, "sentence_end", *SPOKEN]
    assert stage.synthesizer.open == 0


async def test_a_question_that_is_answered_before_its_sound_comes_holds_nothing_up() -> None:
    stage = Stage(FakeSynthesizer({"May I?": [Pause()]}))
    async with stage.output.running():
        for _ in range(2 * MAX_SYNTHESES):
            stage.output.speak(QUESTION)()
        withdraw = stage.output.speak(QUESTION)
        await tasks()
        withdraw()
        for number in range(2 * MAX_SYNTHESES):
            await stage.output.say(sentence(f"Go on {number}."))
        await stage.output.finish()

    assert kinds(stage.frames) == SPOKEN * 2 * MAX_SYNTHESES
    assert stage.synthesizer.open == 0
    assert stage.synthesizer.most_open <= MAX_SYNTHESES


async def test_a_question_is_left_unsaid_when_too_much_waits_before_it() -> None:
    pause = Pause()
    stage = Stage(FakeSynthesizer({"One.": [pause]}))
    async with stage.output.running():
        await stage.output.say(sentence("One."))
        await pause.reached.wait()
        for _ in range(MAX_QUEUED):
            await stage.output.say(of(hook()))
        stage.output.speak(QUESTION)()
        pause.resume.set()
        await stage.output.finish()

    assert "May I?" not in stage.synthesizer.texts


def test_a_listener_who_has_waited_5_s_for_the_voice_is_told_once_and_hears_it_when_it_comes() -> None:
    async def play() -> None:
        pauses = [Pause(), Pause()]
        stage = Stage(FakeSynthesizer({f"{number}.": [pause, CHUNK] for number, pause in enumerate(pauses)}))
        saying = asyncio.create_task(stage.say_all(sentence("0."), sentence("1.")))
        await asyncio.sleep(VOICE_LATE_S - 0.1)
        assert stage.frames == []
        await asyncio.sleep(0.2)
        [notice] = stage.frames
        assert (notice["code"], notice["level"]) == ("speech_slow", "info")

        for pause in pauses:
            pause.resume.set()
            await asyncio.sleep(2 * VOICE_LATE_S)
        assert await saying == ["notice", *["sentence", SOUND, "sentence_end"] * 2]

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(play())
