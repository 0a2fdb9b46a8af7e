"""server/session/speech_input.py: from what the microphone hears to the turn that answers, over a session."""

import asyncio

import pytest

from server.errors import SpeechTimeout
from server.speech.turn_taking import TurnTakingConfig
from tests.session.fakes import SOUND, FakeAgent, SessionHarness, kinds, say
from tests.session.speech_fakes import FakeRecognizer, Held, hear
from tests.session.talk import HEARD, Talk
from tests.support.waiting import settle


async def test_words_start_a_turn_with_the_history_that_came_before_them() -> None:
    async with Talk() as talk:
        await talk.voice()
        await talk.until("speech_started")
        talk.history("u1", {"role": "user", "content": "before"}, {"role": "assistant", "content": "yes"})
        await talk.silence()
        end = await talk.until("turn_end")

    spoken = ["text", "sentence", SOUND, SOUND, "sentence_end"]
    assert talk.kinds() == [*HEARD, "turn_start", *spoken, "turn_end"]
    final, start = talk.frames[3], talk.frames[4]
    assert final == {
        "type": "transcript",
        "utterance": "u1",
        "text": "hello there",
        "final": True,
        "turn_id": start["turn_id"],
    }
    assert start["trigger"] == "voice"
    assert [message["content"] for message in talk.agent.asked[0].messages] == ["before", "yes", "hello there"]
    assert end["metrics"]["transcript"] <= end["metrics"]["first_audio"]
    assert talk.frames[0]["audio_ms"] <= talk.frames[2]["audio_ms"]


async def test_a_history_that_comes_after_the_transcript_is_waited_for() -> None:
    async with Talk() as talk:
        await talk.utter()
        await talk.until("transcript")
        await settle()
        assert "turn_start" not in talk.kinds()
        talk.history("u1", {"role": "user", "content": "before"})
        await talk.until("turn_end")

    assert [message["content"] for message in talk.agent.asked[0].messages] == ["before", "hello there"]
    assert "notice" not in talk.kinds()


async def test_without_a_history_the_turn_starts_with_the_words_alone_and_a_notice() -> None:
    async with Talk() as talk:
        await talk.utter()
        await talk.until("turn_end")

    assert [message["content"] for message in talk.agent.asked[0].messages] == ["hello there"]
    assert [f["code"] for f in talk.frames if f["type"] == "notice"] == ["history_missing"]
    assert talk.kinds().index("turn_start") < talk.kinds().index("notice")


async def test_a_history_of_another_utterance_or_a_second_one_is_ignored() -> None:
    async with Talk() as talk:
        await talk.voice()
        talk.history("u7", {"role": "user", "content": "wrong"})
        talk.history("u1", {"role": "user", "content": "right"})
        talk.history("u1", {"role": "user", "content": "late"})
        await talk.silence()
        await talk.until("turn_end")

    assert [message["content"] for message in talk.agent.asked[0].messages] == ["right", "hello there"]


async def test_an_utterance_that_has_ended_is_due_before_any_that_only_pauses() -> None:
    held = Held("hello there")
    async with Talk(FakeRecognizer(held)) as talk:
        await talk.voice()
        await talk.silence(0.3)
        [asked] = talk.recognizer.asked
        paused_due_in_s = asked.due_in_s()
        await talk.silence()
        ended_due_in_s = asked.due_in_s()
        held.resume.set()
        await talk.until("turn_end")

    assert paused_due_in_s > 9
    assert ended_due_in_s <= 0


async def test_a_recognition_that_failed_at_the_pause_is_asked_for_again_at_the_end() -> None:
    async with Talk(FakeRecognizer(SpeechTimeout("busy"), "hello there")) as talk:
        await talk.utter()
        await talk.until("turn_end")

    assert [message["content"] for message in talk.agent.asked[0].messages] == ["hello there"]
    assert "error" not in talk.kinds()


async def test_recognition_begins_at_the_pause_and_is_used_if_that_was_the_end() -> None:
    async with Talk() as talk:
        await talk.voice()
        await talk.silence(0.3)
        assert len(talk.recognizer.asked) == 1
        assert "speech_stopped" not in talk.kinds()
        await talk.silence()
        await talk.until("transcript")

    assert len(talk.recognizer.asked) == 1


async def test_recognition_of_a_pause_is_given_up_when_the_user_goes_on() -> None:
    held = Held("half of it", partial="half")
    recognizer = FakeRecognizer(held, "all of it")
    async with Talk(recognizer) as talk:
        await talk.voice()
        await talk.silence(0.3)
        await talk.voice()
        await talk.silence()
        talk.history("u1")
        await talk.until("turn_end")

    assert recognizer.asked[0].is_cancelled
    assert len(recognizer.asked[0].audio) < len(recognizer.asked[1].audio)
    assert [(f["text"], f["final"]) for f in talk.frames if f["type"] == "transcript"] == [
        ("half", False),
        ("all of it", True),
    ]


async def test_an_utterance_that_sounds_complete_ends_sooner() -> None:
    async with Talk(FakeRecognizer("What time is it?")) as complete, Talk(FakeRecognizer("I think that")) as unfinished:
        for talk in (complete, unfinished):
            await talk.voice()
            await talk.silence(0.5)

    assert "speech_stopped" in complete.kinds()
    assert "speech_stopped" not in unfinished.kinds()


async def test_recognition_is_told_the_language() -> None:
    async with Talk() as talk:
        talk.send("configure", language="de")
        await talk.utter()
        await talk.until("transcript")

    assert talk.recognizer.asked[0].language == "de"


async def test_no_words_no_turn() -> None:
    async with Talk(FakeRecognizer("")) as talk:
        await talk.utter()
        final = await talk.until("transcript")
        await settle()

    assert talk.kinds() == HEARD
    assert (final["text"], final["final"]) == ("", True)
    assert "turn_id" not in final


@pytest.mark.parametrize(
    ("error", "said"),
    [(SpeechTimeout("moonshine took 20 s"), "moonshine took 20 s"), (ValueError("odd"), "the server's log")],
)
async def test_a_recognition_that_fails_is_an_error_and_an_empty_transcript(error: Exception, said: str) -> None:
    async with Talk(FakeRecognizer(error, error, "hello")) as talk:
        await talk.utter()
        await talk.until("transcript")
        await talk.utter()
        talk.history("u2")

    assert talk.kinds()[:5] == [*HEARD[:3], "error", "transcript"]
    assert talk.frames[3]["code"] == "speech_unavailable"
    assert said in talk.frames[3]["message"]
    assert talk.frames[4]["text"] == ""


async def test_a_short_sound_is_rejected() -> None:
    async with Talk() as talk:
        await talk.voice(0.1)
        await talk.silence()

    assert talk.kinds() == ["speech_detected", "speech_rejected"]


async def test_the_ears_go_by_what_the_operator_has_set() -> None:
    async with Talk() as talk:
        talk.services.speech.turn_taking = TurnTakingConfig(min_speech_ms=576)
        await talk.voice(0.4)
        await talk.silence()
        await talk.until("speech_rejected")

    assert talk.kinds() == ["speech_detected", "speech_rejected"]


# a chat or a configure in between


@pytest.mark.parametrize("frame", ["chat", "configure"])
async def test_an_utterance_that_is_not_sure_yet_is_rejected_when_it_is_discarded(frame: str) -> None:
    async with Talk() as talk:
        await talk.voice(0.1)
        discard(talk, frame)
        await settle()

    assert talk.kinds()[:2] == ["speech_detected", "speech_rejected"]


@pytest.mark.parametrize("frame", ["chat", "configure"])
async def test_an_utterance_under_way_ends_with_an_empty_transcript_when_it_is_discarded(frame: str) -> None:
    async with Talk() as talk:
        await talk.voice()
        discard(talk, frame)
        await settle()

    assert talk.kinds()[:3] == ["speech_detected", "speech_started", "transcript"]
    assert (talk.frames[2]["text"], talk.frames[2]["final"]) == ("", True)


def discard(talk: Talk, frame: str) -> None:
    if frame == "chat":
        talk.chat("typed")
    else:
        talk.send("configure", input={"format": "pcm16", "sample_rate": 16_000})


async def test_a_chat_discards_what_is_being_recognised() -> None:
    held = Held("too late")
    async with Talk(FakeRecognizer(held)) as talk:
        await talk.utter()
        await talk.until("speech_stopped")
        talk.chat("typed")
        talk.chat("typed again")
        held.resume.set()
        await talk.until("turn_end", 2)

    assert talk.kinds()[:5] == [*HEARD, "turn_start"]
    assert talk.frames[3]["text"] == ""
    assert talk.recognizer.asked[-1].is_cancelled
    assert [asked.messages[-1]["content"] for asked in talk.agent.asked] == ["typed again"]


async def test_an_utterance_that_is_discarded_as_it_ends_leaves_no_recognition_behind() -> None:
    held = Held("nobody waits for it")
    async with Talk(FakeRecognizer(held)) as talk:
        talk.send("configure", turn_detection="push_to_talk")
        talk.send("speech_start")
        await talk.voice()
        talk.send("speech_end")
        talk.chat("typed", voice=False)
        await talk.until("turn_end")
        await settle()

        assert [asked for asked in talk.recognizer.asked if not asked.is_cancelled] == []
        assert not [task for task in asyncio.all_tasks() if "u1" in task.get_name()]
    assert [f["text"] for f in talk.frames if f["type"] == "transcript"] == [""]


async def test_words_before_a_cancelled_utterance_are_thrown_away_with_it() -> None:
    held = Held("first part")
    async with Talk(FakeRecognizer(held, "something else")) as talk:
        talk.send("configure", turn_detection="push_to_talk")
        talk.send("speech_start")
        await talk.voice()
        talk.send("speech_end")
        await talk.until("speech_stopped")
        talk.send("speech_start")
        await talk.voice()
        held.resume.set()
        await talk.until("transcript")
        talk.send("speech_cancel")
        await talk.until("transcript", 2)
        talk.send("speech_start")
        await talk.voice()
        talk.send("speech_end")
        await talk.until("transcript", 3)

    assert [f["text"] for f in talk.frames if f["type"] == "transcript"] == ["", "", "something else"]


async def test_a_chat_discards_words_that_wait_for_their_history() -> None:
    async with Talk() as talk:
        await talk.utter()
        await talk.until("transcript")
        talk.chat("typed", voice=False)
        await talk.until("turn_end", 2)
        await talk.utter()
        talk.history("u2")
        await talk.until("turn_end", 3)

    assert [asked.messages[-1]["content"] for asked in talk.agent.asked] == ["typed", "hello there"]
    assert [f["trigger"] for f in talk.frames if f["type"] == "turn_start"] == ["voice", "chat", "voice"]


async def test_a_turn_that_a_transcript_named_ends_when_a_chat_comes_before_its_history() -> None:
    async with Talk() as talk:
        await talk.utter()
        named = (await talk.until("transcript"))["turn_id"]
        talk.chat("typed", voice=False)
        await talk.until("turn_end", 2)

    turns = [(f["type"], f["turn_id"]) for f in talk.frames if f["type"] in ("turn_start", "turn_end")]
    assert turns[:2] == [("turn_start", named), ("turn_end", named)]
    assert [f["reason"] for f in talk.frames if f["type"] == "turn_end"] == ["interrupted", "completed"]


# ends


async def test_closing_gives_up_recognition_and_leaves_no_task() -> None:
    held = Held("never")
    async with Talk(FakeRecognizer(held)) as talk:
        await talk.utter()
        await talk.until("speech_stopped")
        await talk.session.aclose()

        assert talk.recognizer.asked[0].is_cancelled
        names = {task.get_name() for task in asyncio.all_tasks()}
        assert not [name for name in names if "u1" in name]


async def test_a_session_without_ears_hears_nothing_and_keeps_nothing() -> None:
    async with SessionHarness(FakeAgent([say("Hi.")])) as harness:
        await hear(harness.session.receive_binary, 0.5, is_voice=True)
        frames = await harness.flushed()

    assert kinds(frames) == ["error"]
