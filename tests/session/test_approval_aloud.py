"""A question in a spoken turn."""

import asyncio
from collections.abc import Callable

from server import config
from server.agent.chunks import LLMChunk
from server.session.chat_handler import Filler
from server.session.sentence_assembler import SpokenSentence
from tests.session.asking import DONE, AskStep, Client, in_virtual_time, question
from tests.session.fakes import Pause, call
from tests.session.speech_fakes import CHUNK, FakeSynthesizer, speech


def test_while_a_human_is_asked_nothing_is_said_to_fill_the_silence() -> None:
    async def work() -> None:
        pause = Pause()
        async with Client([pause, question(), DONE]) as client:
            client.chat()
            await pause.reached.wait()
            turn = client.session._turns.running
            assert turn is not None
            said: list[str | None] = []

            def note(sentence: SpokenSentence) -> Callable[[], None]:
                said.append(sentence.spoken)
                return said.clear

            turn.speak = note
            filler = Filler(config.FillerSettings(after_ms=700, text="One moment."), turn)
            filler.observe(call("1"))
            pause.resume.set()
            await client.asked()
            await asyncio.sleep(1)
            assert said == ["May I? Please answer on the screen."]

    in_virtual_time(work())


async def test_in_a_spoken_turn_the_question_is_said_and_leaves_nothing_in_the_reply() -> None:
    voice = FakeSynthesizer()
    plan: list[AskStep] = [LLMChunk(text="Let me look."), LLMChunk(reply_end=True), question(), DONE]
    async with Client(plan, speech=speech(synthesizer=voice)) as client:
        client.chat()
        request = await client.asked()
        await client.until("sentence_end", 2)
        client.answer(request["id"])
        await client.until("turn_end")

    said = client.of("sentence")
    assert voice.texts == ["Let me look.", "May I? Say yes or no.", "Done."]
    assert [(s["text"], s["spoken"], s.get("approval")) for s in said] == [
        ("Let me look.", None, None),
        ("", "May I? Say yes or no.", request["id"]),
        ("Done.", None, None),
    ]
    shown = "".join(f["delta"] for f in client.of("text"))
    assert shown == "".join(s["text"] for s in said) == "Let me look.Done."


async def test_a_question_that_is_answered_before_it_could_be_said_is_not_said() -> None:
    pause = Pause()
    voice = FakeSynthesizer({"Let me look.": [CHUNK, pause, CHUNK]})
    plan: list[AskStep] = [LLMChunk(text="Let me look."), LLMChunk(reply_end=True), question(permission="WRITE"), DONE]
    async with Client(plan, speech=speech(synthesizer=voice)) as client:
        client.chat()
        request = await client.asked()
        await pause.reached.wait()
        client.answer(request["id"])
        pause.resume.set()
        await client.until("turn_end")

    assert [s["text"] for s in client.of("sentence")] == ["Let me look.", "Done."]
