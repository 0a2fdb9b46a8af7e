"""Utterances of many users before one recogniser: what one user may take, and what the others notice."""

import tracemalloc

from server.accounts.principal import Principal
from server.speech.service import MAX_UTTERANCES_WAITING
from tests.session.fakes import SessionHarness
from tests.session.speech_fakes import FakeRecognizer, Held
from tests.session.talk import Talk
from tests.support.waiting import settle

SECOND = b"\1\0" * 16_000
STRANGER = Principal("192.0.2.1", is_local=False, user_id="anonymous@192.0.2.1")
ANNA = Principal("192.0.2.2", is_local=False, user_id="anna", is_logged_in=True)


async def press(harness: SessionHarness, *, seconds: int = 1) -> None:
    """An utterance by push-to-talk, sent as fast as it goes."""
    harness.send("configure", turn_detection="push_to_talk")
    harness.send("speech_start")
    for _ in range(seconds):
        harness.session.receive_binary(SECOND)
    harness.send("speech_end")
    await settle()


async def test_utterances_of_one_user_leave_the_recogniser_to_others() -> None:
    recognizer = FakeRecognizer(Held("never"), "good morning")
    async with Talk(recognizer, principal=STRANGER) as first, Talk(recognizer, principal=STRANGER) as second:
        shared = second.services.speech.recognitions = first.services.speech.recognitions
        for _ in range(5):
            await press(first)
            await press(second)
        assert len(recognizer.asked) == 1

        async with Talk(recognizer, principal=ANNA) as anna:
            anna.services.speech.recognitions = shared
            await press(anna)
            heard = await anna.until("transcript")

    assert heard["text"] == "good morning"


async def test_of_one_users_utterances_few_wait_and_the_others_are_refused_and_take_no_memory() -> None:
    async with Talk(FakeRecognizer(Held("never")), principal=STRANGER) as talk:
        await press(talk)
        tracemalloc.start()
        for _ in range(40):
            await press(talk, seconds=30)
        kept_bytes, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        errors = [frame for frame in await talk.flushed() if frame["type"] == "error"]

    assert len(errors) == 40 - MAX_UTTERANCES_WAITING
    assert errors[0]["code"] == "speech_unavailable"
    assert errors[0]["message"].startswith("too much of your speech waits to be recognised")
    assert kept_bytes < 2 * MAX_UTTERANCES_WAITING * 30 * len(SECOND)


async def test_an_utterance_that_waits_is_recognised_in_its_turn_and_one_that_is_dropped_never() -> None:
    held = Held("one")
    recognizer = FakeRecognizer(held, "three")
    async with Talk(recognizer, principal=ANNA) as talk, Talk(recognizer, principal=ANNA) as other:
        other.services.speech.recognitions = talk.services.speech.recognitions
        await press(talk)
        await press(other)
        other.chat("never mind")  # drops what was said
        await settle()
        await press(other)
        assert len(recognizer.asked) == 1

        held.resume.set()
        await talk.until("transcript")
        await other.until("transcript", 2)

    assert [frame["text"] for frame in talk.frames if frame["type"] == "transcript"] == ["one"]
    assert [frame["text"] for frame in other.frames if frame["type"] == "transcript"] == ["", "three"]
    assert len(recognizer.asked) == 2
