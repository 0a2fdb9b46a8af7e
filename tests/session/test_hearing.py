"""server/session/hearing.py: from what the microphone hears to the turn that answers, over a session."""

import asyncio
import random
from typing import Any

import pytest

from server.errors import SpeechTimeout
from server.speech.turn_taking import TurnTakingConfig
from server.wire.frames import SpeechPart
from tests.session.fakes import SOUND, Desk, FakeAgent, Frame, Pause, kinds, say
from tests.session.speech_fakes import FakeRecognizer, FakeSynthesizer, Held, hear, speech

HEARD = ["speech_detected", "speech_started", "speech_stopped", "transcript"]


class Talk(Desk):
    """A client with a microphone."""

    def __init__(
        self, recognizer: FakeRecognizer | None = None, agent: FakeAgent | None = None, **options: Any
    ) -> None:
        self.recognizer = recognizer or FakeRecognizer()
        self.agent = agent or FakeAgent([say("Hello back.")])
        self.synthesizer = FakeSynthesizer()
        super().__init__(self.agent, speech=speech(self.recognizer, self.synthesizer), **options)

    async def voice(self, seconds: float = 0.5) -> None:
        await hear(self.session.receive_binary, seconds, is_voice=True)

    async def silence(self, seconds: float = 1.4) -> None:
        await hear(self.session.receive_binary, seconds, is_voice=False)

    async def utter(self) -> None:
        await self.voice()
        await self.silence()

    def history(self, utterance: str, *messages: Frame) -> None:
        self.send("history", utterance=utterance, messages=list(messages))

    def kinds(self) -> list[str]:
        return kinds(self.frames)


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


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
        await talk.until("turn_end")
        await talk.utter()
        talk.history("u2")
        await talk.until("turn_end", 2)

    assert [asked.messages[-1]["content"] for asked in talk.agent.asked] == ["typed", "hello there"]
    assert [f["trigger"] for f in talk.frames if f["type"] == "turn_start"] == ["chat", "voice"]


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
        talk.gate.is_draining = True
        await talk.silence()
        error = await talk.until("error")

    assert talk.kinds() == [*HEARD, "error"]
    assert error["code"] == "turn_refused_draining"


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
    async with Desk(FakeAgent([say("Hi.")])) as desk:
        await hear(desk.session.receive_binary, 0.5, is_voice=True)
        frames = await desk.flushed()

    assert kinds(frames) == ["error"]


# whatever comes in whatever order


@pytest.mark.parametrize("seed", range(60))
async def test_random_sessions_keep_the_order_that_the_protocol_promises(seed: int) -> None:
    chance = random.Random(seed)
    held = Held("slow words")
    answers: list[str | Held | Exception] = [
        "some words",
        "",
        held,
        SpeechTimeout("slow"),
        "What time is it?",
        "and then",
    ]
    chance.shuffle(answers)
    agent = FakeAgent([say("One. ", "Two, three. "), [*say("Long. "), Pause()], say("Four.")])
    async with Talk(FakeRecognizer(*answers), agent) as talk:
        for _ in range(chance.randrange(4, 25)):
            await act(talk, chance)
        held.resume.set()
        talk.send("configure", turn_detection="server_vad")  # discards what is open
        for number in range(40):
            talk.history(f"u{number}")
        await settle()
        await talk.flushed()
        await drained()
        await talk.session.aclose()
        await talk.flushed()

    check_turns(talk.frames)
    check_utterances(talk.frames)
    assert talk.gate._running == 0
    assert talk.synthesizer.open == 0


async def act(talk: Talk, chance: random.Random) -> None:
    match chance.randrange(12):
        case 0 | 1:
            await talk.voice(chance.choice([0.1, 0.3, 0.6]))
        case 2 | 3:
            await talk.silence(chance.choice([0.1, 0.3, 1.4]))
        case 4:
            await talk.utter()
        case 5:
            talk.chat()
        case 6:
            talk.send("interrupt")
        case 7:
            talk.history(f"u{chance.randrange(1, 5)}")
        case 8:
            talk.send("configure", turn_detection=chance.choice(["push_to_talk", "server_vad", "server_vad"]))
        case 9:
            talk.send(chance.choice(["speech_start", "speech_end", "speech_cancel"]))
        case 10:
            talk.send("configure", voice=chance.random() < 0.7)
        case 11:
            await settle()


async def drained() -> None:
    """Utterances that are over have been answered, or wait for a history no longer."""
    while tasks := [task for task in asyncio.all_tasks() if task.get_name().startswith("utterance ")]:
        await asyncio.wait(tasks)


def check_turns(frames: list[Frame]) -> None:
    open_turn: str | None = None
    over: set[str] = set()
    for frame in frames:
        turn_id = frame.get("turn_id") if frame["type"] != "transcript" else None
        assert turn_id not in over, frame
        if frame["type"] == "turn_start":
            assert open_turn is None
            open_turn = turn_id
        elif frame["type"] == "turn_end":
            assert turn_id == open_turn
            over.add(frame["turn_id"])
            open_turn = None
        elif turn_id is not None or frame["type"] == SOUND:
            assert open_turn is not None, frame
    assert open_turn is None


def check_utterances(frames: list[Frame]) -> None:
    told: dict[str, list[str]] = {}
    for frame in frames:
        if "utterance" in frame and (frame["type"] != "transcript" or frame["final"]):
            told.setdefault(frame["utterance"], []).append(frame["type"])
    for utterance, types in told.items():
        if types[0] == "speech_detected":
            assert types.pop(0)
            if types == ["speech_rejected"]:
                continue
        assert types[0] == "speech_started", (utterance, types)
        assert types[1:] in (["transcript"], ["speech_stopped", "transcript"]), (utterance, types)
