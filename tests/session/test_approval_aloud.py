"""A question in a spoken turn."""

import asyncio
from typing import Any

from server import config
from server.agent.chunks import LLMChunk
from tests.session.asking import DONE, AskingHandler, AskStep, Client, in_virtual_time, question
from tests.session.fakes import Pause, call
from tests.session.speech_fakes import CHUNK, FakeSynthesizer, speech


class Filling(AskingHandler):
    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more, filler=config.FillerSettings(after_ms=700, text="One moment."))


def test_while_a_human_is_asked_nothing_is_said_to_fill_the_silence() -> None:
    async def work() -> None:
        voice = FakeSynthesizer()
        async with Client([call("1"), question()], speech=speech(synthesizer=voice), handler=Filling) as client:
            client.chat()
            await client.asked()
            await asyncio.sleep(1)

        assert voice.texts == ["May I? Say yes or no."]

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
