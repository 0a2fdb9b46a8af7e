"""What is said when hooks or tools hold up the first word."""

import asyncio
from collections.abc import Callable
from typing import Any

from server import config
from server.agent.chunks import LLMChunk
from server.session.chat_handler import ChatHandler
from server.session.sentence_assembler import SpokenSentence
from server.session.speech_output import TextOutput
from server.session.turn_run import Filler
from tests.session.fakes import FakeAgent, Pause, SessionHarness, Step, call, result
from tests.session.speech_fakes import speech
from tests.session.test_speech_output import Stage

SOON = config.FillerSettings(after_ms=1, text="One moment.")


class Mouth:
    def __init__(self, settings: config.FillerSettings = SOON, *, has_voice: bool = True) -> None:
        self.said: list[SpokenSentence] = []
        self.taken_back = 0
        self.has_said = asyncio.Event()
        speak = self._say if has_voice else TextOutput(Stage().turn).speak
        self.filler = Filler(settings, speak, lambda: False)

    def _say(self, sentence: SpokenSentence) -> Callable[[], None]:
        self.said.append(sentence)
        self.has_said.set()
        return self._take_back

    def _take_back(self) -> None:
        self.taken_back += 1


async def test_a_tool_that_holds_up_the_first_word_is_filled_and_nothing_is_written() -> None:
    mouth = Mouth()

    mouth.filler.observe(call("c1"))
    await mouth.has_said.wait()

    assert mouth.said == [SpokenSentence("", "One moment.")]


async def test_a_hook_is_filled_as_well_and_only_once_a_turn() -> None:
    mouth = Mouth()

    mouth.filler.observe(LLMChunk(held=True))
    await mouth.has_said.wait()
    mouth.filler.observe(LLMChunk(model_request=True))
    mouth.has_said.clear()
    mouth.filler.observe(LLMChunk(held=True))
    await _a_little()

    assert len(mouth.said) == 1


async def test_the_first_word_takes_back_what_is_not_said_yet() -> None:
    mouth = Mouth()
    mouth.filler.observe(call("c1"))
    await mouth.has_said.wait()

    mouth.filler.observe(LLMChunk(text="Noon."))

    assert mouth.taken_back == 1


async def test_after_the_first_word_and_while_the_model_thinks_nothing_is_filled() -> None:
    spoken, thinking, quiet, mute = Mouth(), Mouth(), Mouth(config.FillerSettings(after_ms=1)), Mouth(has_voice=False)

    spoken.filler.observe(LLMChunk(text="Noon."))
    spoken.filler.observe(call("c1"))
    thinking.filler.observe(LLMChunk(held=True))
    thinking.filler.observe(LLMChunk(model_request=True))
    quiet.filler.observe(call("c1"))
    mute.filler.observe(call("c1"))
    await _a_little()

    assert [mouth.said for mouth in (spoken, thinking, quiet, mute)] == [[], [], [], []]


async def test_the_end_of_the_turn_stops_the_clock() -> None:
    mouth = Mouth()
    mouth.filler.observe(call("c1"))

    mouth.filler.close()
    await _a_little()

    assert mouth.said == []


class Filling(ChatHandler):
    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more, filler=SOON)


async def test_in_a_spoken_turn_the_filler_is_a_sentence_without_text_and_the_reply_stays_whole() -> None:
    tool = Pause()
    steps: list[Step] = [call("c1"), tool, result("c1"), LLMChunk(text="Noon."), LLMChunk(reply_end=True)]
    async with SessionHarness(FakeAgent([steps]), speech=speech(), handler=Filling) as harness:
        harness.chat()
        filler = await harness.until("sentence")
        await harness.until("sentence_end")
        tool.resume.set()
        await harness.until("turn_end")

    assert (filler["text"], filler["spoken"]) == ("", "One moment.")
    assert filler["audio"] is not None
    sentences = [frame["text"] for frame in harness.frames if frame["type"] == "sentence"]
    shown = [frame["delta"] for frame in harness.frames if frame["type"] == "text"]
    assert "".join(sentences) == "".join(shown) == "Noon."


async def _a_little() -> None:
    """Longer than `SOON`: a timer set now comes after those set before."""
    done = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_later(0.01, done.set_result, None)
    await done
