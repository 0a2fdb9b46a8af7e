"""server/session/speech_input.py while there is a turn: words that go on, barge-in, push-to-talk."""

from contextlib import suppress

import pytest

from server.errors import TurnError
from server.wire.frames import SpeechPart
from tests.session.fakes import FakeAgent, Pause, kinds, say
from tests.session.speech_fakes import FakeRecognizer, Held, hear
from tests.session.talk import HEARD, Talk
from tests.support.waiting import settle

# the user speaks on


async def test_words_that_were_not_answered_go_before_those_that_follow() -> None:
    held = Held("first part")
    recognizer = FakeRecognizer(held, "second part")
    async with Talk(recognizer) as talk:
        await talk.utter()
        await talk.until("speech_stopped")
        await talk.voice()
        await talk.until("speech_started", 2)
        held.resume.set()
        await talk.until("transcript")
        talk.history("u2")
        await talk.silence()
        await talk.until("turn_end")

    assert [(f["utterance"], f["text"]) for f in talk.frames if f["type"] == "transcript"] == [
        ("u1", ""),
        ("u2", "first part second part"),
    ]
    assert [message["content"] for message in talk.agent.asked[0].messages] == ["first part second part"]


async def test_utterances_are_answered_in_the_order_in_which_they_were_spoken() -> None:
    slow = Held("first")
    async with Talk(FakeRecognizer(slow, "second")) as talk:
        await talk.utter()
        await talk.utter()
        await talk.until("speech_stopped", 2)
        await settle()
        assert "transcript" not in talk.kinds()
        slow.resume.set()
        await talk.until("transcript", 2)

    assert [f["utterance"] for f in talk.frames if f["type"] == "transcript"] == ["u1", "u2"]


async def test_who_speaks_again_while_the_history_is_waited_for_gets_the_floor() -> None:
    async with Talk() as talk:
        await talk.utter()
        await talk.until("transcript")
        await talk.voice()
        await talk.until("speech_started", 2)
        talk.history("u1")
        end = await talk.until("turn_end")

    assert end["reason"] == "interrupted"


@pytest.mark.parametrize("names_it", [True, False])
async def test_an_interrupt_between_transcript_and_history_ends_the_turn_as_it_starts(names_it: bool) -> None:
    async with Talk() as talk:
        await talk.utter()
        announced = (await talk.until("transcript"))["turn_id"]
        talk.send("interrupt", turn_id=announced if names_it else None)
        talk.history("u1")
        end = await talk.until("turn_end")

    assert (end["turn_id"], end["reason"]) == (announced, "interrupted")
    assert talk.agent.asked == []


# barge-in


async def test_a_voice_ends_the_turn_before_speech_started_says_so() -> None:
    pause = Pause()
    agent = FakeAgent([[*say("On and on. "), pause], say("Yes?")])
    async with Talk(agent=agent) as talk:
        talk.chat("talk to me", id="t1", voice=False)  # no sound: the echo gate has tests of its own
        await pause.reached.wait()
        await talk.voice(1.2)
        await talk.until("speech_started")
        talk.history("u1", {"role": "user", "content": "talk to me"})
        await talk.silence()
        await talk.until("turn_end", 2)

    order = talk.kinds()
    assert order.index("speech_detected") < order.index("turn_end") == order.index("speech_started") - 1
    assert talk.frames[order.index("turn_end")]["reason"] == "interrupted"
    assert agent.asked[0].is_closed
    assert not [f for f in talk.frames[order.index("speech_started") :] if f.get("turn_id") == "t1"]


async def test_a_soft_voice_interrupts_a_reply_that_began_before_the_microphone_was_open() -> None:
    story = " ".join(["On and on."] * 20)
    async with Talk(agent=FakeAgent([say(story), say("Yes?")])) as talk:
        talk.chat()
        await talk.until("turn_end")
        talk.skipped_s += 2  # of the 4 s of its sound
        await hear(talk.session.receive_binary, 0.5, is_voice=True, level=0.051)
        frame = await talk.until("speech_started")

    assert frame["audio_ms"] < 100


async def test_a_short_sound_only_pauses_a_running_turn() -> None:
    pause = Pause()
    async with Talk(agent=FakeAgent([[*say("On and on. "), pause, *say("The end.")]])) as talk:
        talk.chat(voice=False)
        await pause.reached.wait()
        await talk.voice(0.2)
        await talk.silence()
        pause.resume.set()
        end = await talk.until("turn_end")

    assert end["reason"] == "completed"
    assert [kind for kind in talk.kinds() if kind.startswith("speech")] == ["speech_detected", "speech_rejected"]


async def test_a_voice_over_sound_that_still_plays_leaves_the_session_idle() -> None:
    async with Talk() as talk:
        talk.chat()
        end = await talk.until("turn_end")
        talk.send("playback", turn_id=end["turn_id"], index=0, ms=10, state="started")
        assert not talk.session.is_idle
        talk.send("interrupt", turn_id=end["turn_id"])
        await talk.flushed()

        assert talk.session.is_idle, "the client has cut it"


async def test_the_first_audible_sample_is_measured_once() -> None:
    async with Talk() as talk:
        talk.chat()
        end = await talk.until("turn_end")
        for turn_id, ms in (("another", 0), (end["turn_id"], 0), (end["turn_id"], 50)):
            talk.send("playback", turn_id=turn_id, index=0, ms=ms, state="playing")
        await talk.flushed()

    assert "parley_first_audible_seconds_count 1.0" in talk.metrics.render().decode()


# a gate that refuses


async def test_words_that_no_turn_may_answer_are_shown_and_refused() -> None:
    async with Talk() as talk:
        await talk.voice()
        talk.history("u1")
        with suppress(TurnError):
            while True:
                talk.gate.enter()
        await talk.silence()
        error = await talk.until("error")

    assert talk.kinds() == [*HEARD, "error"]
    assert error["code"] == "too_many_turns"


async def test_who_speaks_when_the_server_begins_to_drain_is_served() -> None:
    async with Talk() as talk:
        talk.send("configure", voice=False)
        await talk.voice()
        talk.history("u1")
        talk.gate.is_draining = True
        was_idle = talk.session.is_idle
        await talk.silence()
        end = await talk.until("turn_end")
        await talk.flushed()

        assert not was_idle
        assert end["reason"] == "completed"
        assert talk.session.is_idle
    assert "error" not in talk.kinds()


async def test_speech_that_begins_while_draining_is_refused_and_cuts_no_turn() -> None:
    pause = Pause()
    async with Talk(agent=FakeAgent([[*say("On and on. "), pause, *say("Done.")]])) as talk:
        talk.chat(voice=False)
        await pause.reached.wait()
        talk.gate.is_draining = True
        await talk.voice(1.2)
        await talk.silence()
        pause.resume.set()
        end = await talk.until("turn_end")

    assert end["reason"] == "completed"
    spoken = [kind for kind in talk.kinds() if kind.startswith(("speech", "error", "transcript"))]
    assert spoken == ["speech_detected", "speech_rejected", "error"]
    [error] = [frame for frame in talk.frames if frame["type"] == "error"]
    assert error["code"] == "turn_refused_draining"


async def test_a_key_that_goes_down_while_draining_is_refused() -> None:
    async with Talk() as talk:
        talk.send("configure", turn_detection="push_to_talk")
        talk.gate.is_draining = True
        talk.send("speech_start")
        await talk.voice()
        talk.send("speech_end")
        await talk.flushed()

    assert talk.kinds() == ["speech_rejected", "error", "pong"]


# push-to-talk


async def test_a_key_starts_and_ends_an_utterance() -> None:
    pause = Pause()
    async with Talk(agent=FakeAgent([[*say("On and on. "), pause], say("Yes.")])) as talk:
        talk.send("configure", turn_detection="push_to_talk")
        await talk.voice()  # not listened to
        talk.chat()
        await pause.reached.wait()
        talk.send("speech_start")
        await talk.voice()
        talk.send("speech_end")
        talk.history("u1")
        await talk.until("turn_end", 2)

    order = [kind for kind in talk.kinds() if kind.startswith(("speech", "turn", "transcript"))]
    assert order == [
        *("turn_start", "turn_end"),
        *("speech_started", "speech_stopped", "transcript"),
        *("turn_start", "turn_end"),
    ]


async def test_a_key_comes_up_also_after_its_engine_has_gone() -> None:
    async with Talk() as talk:
        talk.send("configure", turn_detection="push_to_talk")
        talk.send("speech_start")
        await talk.voice()
        talk.recognizer.status = SpeechPart(state="missing", reason="gone")
        talk.send("speech_end")
        frames = await talk.flushed()

    assert kinds(frames)[:2] == ["speech_started", "speech_stopped"]


@pytest.mark.parametrize("end", ["speech_cancel", "speech_end"])
async def test_a_key_that_is_cancelled_or_hardly_pressed_gives_an_empty_transcript(end: str) -> None:
    async with Talk() as talk:
        talk.send("configure", turn_detection="push_to_talk")
        talk.send("speech_start")
        if end == "speech_cancel":
            await talk.voice()
        talk.send(end)
        talk.send("speech_end")
        talk.send("speech_cancel")
        frames = await talk.flushed()

    assert kinds(frames) == ["speech_started", "transcript"]
    assert (frames[1]["text"], frames[1]["final"]) == ("", True)
    assert talk.recognizer.asked == []
