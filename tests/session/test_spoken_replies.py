"""server/session/speech_input.py: yes, no and anything else said to a question, over a session with a microphone."""

from typing import Any

import pytest

from server import config
from server.agent.chunks import LLMChunk
from server.errors import SpeechTimeout
from tests.session.asking import AskStep, Client, question
from tests.session.fakes import Frame, Pause, kinds
from tests.session.speech_fakes import FakeRecognizer, FakeSynthesizer, Held, hear, speech
from tests.support.waiting import settle

DONE = LLMChunk(text="Done.")
READING_S = 1.0
BY_VOICE = config.ApprovalSettings(by_voice=True)


class Talk(Client):
    """A client whose agent asks, with a microphone; the agent's turns are not spoken."""

    def __init__(self, *plans: list[AskStep], heard: FakeRecognizer | None = None, **options: Any) -> None:
        self.recognizer = heard or FakeRecognizer("Yes.")
        super().__init__(*plans, speech=speech(self.recognizer, FakeSynthesizer()), **options)

    async def ask(self, **fields: Any) -> Frame:
        self.send("configure", voice=False)
        self.chat(id="t1", **fields)
        return await self.asked()

    async def asked(self, count: int = 1) -> Frame:
        """Returns when the user has taken the question in."""
        request = await super().asked(count)
        self.skipped_s += READING_S
        return request

    async def voice(self, seconds: float = 0.3) -> None:
        await hear(self.session.receive_binary, seconds, is_voice=True)

    async def silence(self, seconds: float = 1.4) -> None:
        await hear(self.session.receive_binary, seconds, is_voice=False)
        await settle()

    async def utter(self) -> None:
        await self.voice()
        await self.silence()

    def kinds(self) -> list[str]:
        return kinds(self.frames)


# a yes or a no


@pytest.mark.parametrize(
    ("language", "said", "approved"),
    [(None, "Yes.", True), ("en", "No, thanks.", False), ("de", "Ja, bitte!", True), ("zh", "不可以。", False)],
)
async def test_a_spoken_yes_or_no_answers_and_the_turn_goes_on(
    language: str | None, said: str, *, approved: bool
) -> None:
    async with Talk([question(), DONE], heard=FakeRecognizer(said)) as talk:
        talk.send("configure", language=language)
        request = await talk.ask()
        await talk.utter()
        end = await talk.until("turn_end")

    assert request["by_voice"] is True
    order = ["turn_start", "approval_request", "speech_detected", "speech_rejected", "approval_resolved", "text"]
    assert talk.kinds()[:6] == order
    assert talk.resolved() == [(approved, "voice")]
    assert end["reason"] == "completed"
    assert [(a.approved, a.by) for a in talk.agent.answers] == [(approved, "voice")]


@pytest.mark.parametrize("settings", [{"respond": "manual"}, {"barge_in": False}, {"transcribe_only": True}])
async def test_a_spoken_yes_answers_whatever_else_words_lead_to(settings: dict[str, Any]) -> None:
    async with Talk([question(), DONE]) as talk:
        await talk.ask()
        talk.send("configure", **settings)
        await talk.utter()
        end = await talk.until("turn_end")

    assert talk.resolved() == [(True, "voice")]
    assert end["reason"] == "completed"
    assert "transcript" not in talk.kinds()


async def test_anything_else_is_a_no_and_the_turn_goes_on_where_speech_may_not_end_it() -> None:
    gate = Pause()
    async with Talk([question(), gate, DONE], heard=FakeRecognizer("What is that?")) as talk:
        await talk.ask()
        talk.send("configure", barge_in=False)
        await talk.utter()
        final = await talk.until("transcript")
        await gate.reached.wait()
        gate.resume.set()
        end = await talk.until("turn_end")

    assert talk.resolved() == [(False, "voice")]
    assert end["reason"] == "completed"
    assert (final["text"], "turn_id" in final) == ("What is that?", False)


@pytest.mark.parametrize(("approval", "by"), [(BY_VOICE, "remembered"), (None, "voice")])
async def test_a_lasting_yes_counts_for_the_conversation_where_voices_may_approve_everything(
    approval: config.ApprovalSettings | None, by: str
) -> None:
    async with Talk([question(), question(), DONE], heard=FakeRecognizer("Yes, always."), approval=approval) as talk:
        await talk.ask()
        await talk.utter()
        if approval is None:
            await talk.asked(2)
            await talk.utter()
        await talk.until("turn_end")

    assert talk.resolved() == [(True, "voice"), (True, by)]


@pytest.mark.parametrize("said", ["Yes.", "No."])
async def test_what_is_said_as_the_question_appears_was_not_said_to_it(said: str) -> None:
    async with Talk([question(), DONE], heard=FakeRecognizer(said)) as talk:
        await talk.ask()
        talk.skipped_s -= READING_S
        await talk.utter()
        assert (talk.kinds()[2:], talk.resolved()) == (["speech_detected", "speech_rejected"], [])

        talk.skipped_s += READING_S
        await talk.utter()
        await talk.until("turn_end")

    assert talk.resolved() == [(said == "Yes.", "voice")]


async def test_what_is_said_before_the_question_is_heard_was_not_said_to_it() -> None:
    plan: list[AskStep] = [LLMChunk(text="Let me look."), LLMChunk(reply_end=True), question(), DONE]
    async with Talk(plan) as talk:
        talk.chat(id="t1")
        await talk.asked()
        await talk.until("sentence_end", 2)
        talk.send("playback", turn_id="t1", index=0, ms=1, state="stopped")
        await talk.utter()
        assert talk.resolved() == [], "the sentence before it is still being played"

        talk.send("playback", turn_id="t1", index=1, ms=1000, state="stopped")
        await talk.utter()
        await talk.until("turn_end")

    assert talk.resolved() == [(True, "voice")]


async def test_a_word_too_short_to_interrupt_a_turn_is_long_enough_to_answer() -> None:
    async with Talk([question(), DONE]) as talk:
        await talk.ask()
        await talk.voice(0.2)
        await talk.silence()
        await talk.until("turn_end")

    assert talk.resolved() == [(True, "voice")]


async def test_a_yes_is_understood_at_the_first_pause_and_not_waited_for_longer() -> None:
    async with Talk([question(), DONE], heard=FakeRecognizer("yes")) as talk:
        await talk.ask()
        await talk.voice()
        await talk.silence(0.45)
        assert talk.resolved() == [(True, "voice")]


async def test_the_other_clients_are_told_and_their_microphones_do_not_count() -> None:
    async with Talk([question(), DONE]) as talk, Talk([DONE], broker=talk.approvals) as other:
        other.session.greet()
        await talk.ask()
        request = await other.asked()
        await other.utter()
        await other.until("transcript")
        assert talk.resolved() == []
        await talk.utter()
        await talk.until("turn_end")
        await other.until("approval_resolved")

    assert request["by_voice"] is False
    assert other.resolved() == [(True, "other_client")]


async def test_words_are_not_shown_while_they_may_be_an_answer() -> None:
    async with Talk([question(), DONE], heard=FakeRecognizer(Held("yes", partial="ye"))) as talk:
        await talk.ask()
        await talk.utter()
        assert "transcript" not in talk.kinds()


# anything else


async def test_anything_else_is_a_no_and_then_speech_as_ever() -> None:
    async with Talk([question(), DONE], [DONE], heard=FakeRecognizer("Tell me a story instead.")) as talk:
        await talk.ask()
        await talk.utter()
        await talk.until("speech_started")
        talk.send("history", utterance="u1", messages=[{"role": "user", "content": "before"}])
        await talk.until("turn_end", 2)

    assert talk.kinds()[2:9] == [
        "speech_detected",
        "approval_resolved",
        "turn_end",
        "speech_started",
        "speech_stopped",
        "transcript",
        "turn_start",
    ]
    assert talk.resolved() == [(False, "voice")]
    assert talk.of("turn_end")[0]["reason"] == "interrupted"
    assert talk.of("transcript")[0]["text"] == "Tell me a story instead."
    facts = talk.agent.facts[1]
    assert facts is not None
    assert facts.user_message == "Tell me a story instead."
    assert talk.frames[2]["audio_ms"] == talk.of("speech_started")[0]["audio_ms"]


@pytest.mark.parametrize("heard", ["", SpeechTimeout("too slow")])
async def test_a_sound_without_words_leaves_the_question_open(heard: str | Exception) -> None:
    async with Talk([question(), DONE], heard=FakeRecognizer(heard)) as talk:
        request = await talk.ask()
        await talk.utter()
        await talk.until("speech_rejected")
        assert talk.resolved() == []
        talk.answer(request["id"])
        await talk.until("turn_end")

    assert talk.resolved() == [(True, "user")]
    assert "transcript" not in talk.kinds()


async def test_a_cough_is_rejected_without_being_recognised() -> None:
    async with Talk([question(), DONE]) as talk:
        await talk.ask()
        await talk.voice(0.08)
        await talk.silence()

    assert talk.kinds()[2:4] == ["speech_detected", "speech_rejected"]
    assert talk.recognizer.asked == []


# whose answer it is


@pytest.mark.parametrize("permission", ["WRITE", "EXTERNAL"])
async def test_a_voice_does_not_answer_for_tools_that_do_more_than_read(permission: Any) -> None:
    async with Talk([question(permission=permission), DONE], [DONE]) as talk:
        request = await talk.ask()
        await talk.voice(0.5)
        await talk.silence()
        await talk.until("transcript")

    assert request["by_voice"] is False
    order = ["speech_detected", "approval_resolved", "turn_end", "speech_started", "speech_stopped", "transcript"]
    assert talk.kinds()[2:8] == order
    assert talk.resolved() == [(False, "cancelled")]


async def test_a_voice_answers_for_all_tools_where_the_operator_says_so() -> None:
    async with Talk([question(permission="EXTERNAL"), DONE], approval=BY_VOICE) as talk:
        request = await talk.ask()
        await talk.utter()
        await talk.until("turn_end")

    assert request["by_voice"] is True
    assert talk.resolved() == [(True, "voice")]


async def test_what_was_begun_before_the_question_does_not_answer_it() -> None:
    pause = Pause()
    async with Talk([pause, question(), DONE], [DONE]) as talk:
        talk.send("configure", voice=False)
        talk.chat(id="t1")
        await pause.reached.wait()
        await talk.voice(0.15)
        await talk.until("speech_detected")
        pause.resume.set()
        await talk.asked()
        await talk.voice(0.4)
        await talk.silence()
        await talk.until("transcript")

    assert talk.resolved() == [(False, "cancelled")]


@pytest.mark.parametrize(("said", "ending"), [("Yes.", "completed"), ("Wait, not that one.", "interrupted")])
async def test_a_click_meanwhile_counts_and_a_yes_said_beside_it_is_dropped(said: str, ending: str) -> None:
    pause = Pause()
    async with Talk([question(), pause, DONE], [DONE], heard=FakeRecognizer(said)) as talk:
        request = await talk.ask()
        await talk.voice()
        talk.answer(request["id"])
        await talk.silence()
        pause.resume.set()
        end = await talk.until("turn_end")

    assert talk.resolved() == [(True, "user")]
    assert end["reason"] == ending
    assert ("speech_rejected" in talk.kinds()) is (ending == "completed")
    assert ("speech_started" in talk.kinds()) is (ending == "interrupted")


async def test_once_it_is_answered_speech_ends_the_turn_at_once_again() -> None:
    pause = Pause()
    async with Talk([question(), pause], [DONE]) as talk:
        request = await talk.ask()
        talk.answer(request["id"])
        await pause.reached.wait()
        await talk.voice(0.2)
        await talk.silence(0.6)
        assert talk.kinds()[-2:] == ["speech_detected", "speech_rejected"], "too short to interrupt"
        await talk.voice(0.5)
        await settle()

    assert talk.kinds()[5:8] == ["speech_detected", "turn_end", "speech_started"]


async def test_an_utterance_answers_one_question_and_not_the_next() -> None:
    async with Talk([[question("first"), question("second")], DONE]) as talk:
        request = await talk.ask()
        await talk.voice()
        talk.answer(request["id"])
        second = await talk.asked(2)
        await talk.silence()
        assert talk.resolved() == [(True, "user")]
        await talk.utter()
        await talk.until("turn_end")

    assert [f["id"] for f in talk.of("approval_resolved")] == [request["id"], second["id"]]
    assert talk.resolved() == [(True, "user"), (True, "voice")]


# cuts


@pytest.mark.parametrize("seconds", [0.15, 0.5])
async def test_a_chat_rejects_what_was_being_said_and_no_transcript_comes(seconds: float) -> None:
    async with Talk([question()], [DONE]) as talk:
        await talk.ask()
        await talk.voice(seconds)
        talk.chat(id="t2")
        await talk.until("turn_end", 2)
        await talk.silence()

    assert [k for k in talk.kinds() if k.startswith(("speech", "transcript"))] == ["speech_detected", "speech_rejected"]
    assert talk.resolved() == [(False, "cancelled")]


async def test_a_chat_rejects_what_is_being_recognised() -> None:
    held = Held("yes")
    async with Talk([question()], [question(), DONE], heard=FakeRecognizer(held)) as talk:
        await talk.ask()
        await talk.utter()
        talk.chat(id="t2")
        held.resume.set()
        await talk.asked(2)
        await settle()

    assert [k for k in talk.kinds() if k.startswith(("speech", "transcript"))] == ["speech_detected", "speech_rejected"]
    assert talk.resolved()[0] == (False, "cancelled"), "the first question's answer did not reach the second"
    assert talk.recognizer.asked[0].is_cancelled


async def test_a_push_to_talk_key_ends_the_turn_as_ever() -> None:
    async with Talk([question()], [DONE]) as talk:
        talk.send("configure", turn_detection="push_to_talk")
        request = await talk.ask()
        talk.send("speech_start")
        await talk.voice()
        talk.send("speech_end")
        await talk.until("transcript")

    assert request["by_voice"] is False
    assert talk.kinds()[2:5] == ["approval_resolved", "turn_end", "speech_started"]


async def test_what_is_said_on_behind_an_answer_that_is_none_is_speech_too() -> None:
    held = Held("Tell me a story")
    async with Talk([question()], [DONE], heard=FakeRecognizer(held, "about a bear.")) as talk:
        await talk.ask()
        await talk.utter()
        await talk.voice()
        held.resume.set()
        await talk.until("speech_started", 2)
        talk.send("history", utterance="u2", messages=[])
        await talk.silence()
        await talk.until("turn_start", 2)

    spoken = [(f["type"], f["utterance"], f.get("text")) for f in talk.frames if "utterance" in f]
    assert spoken == [
        ("speech_detected", "u1", None),
        ("speech_detected", "u2", None),
        ("speech_started", "u1", None),
        ("speech_stopped", "u1", None),
        ("speech_started", "u2", None),
        ("transcript", "u1", ""),
        ("speech_stopped", "u2", None),
        ("transcript", "u2", "Tell me a story about a bear."),
    ]


async def test_two_answers_in_a_row_are_judged_in_their_order() -> None:
    held = Held("Yes.")
    async with Talk([question(), DONE], heard=FakeRecognizer(held, "No!")) as talk:
        await talk.ask()
        await talk.utter()
        await talk.utter()
        held.resume.set()
        await talk.until("speech_rejected", 2)
        await talk.until("turn_end")

    assert talk.resolved() == [(True, "voice")]
    assert [f["utterance"] for f in talk.of("speech_rejected")] == ["u1", "u2"]
    assert talk.of("turn_end")[0]["reason"] == "completed"


async def test_an_answer_still_being_said_when_the_connection_ends_leaves_nothing_behind() -> None:
    held = Held("yes")
    async with Talk([question()], heard=FakeRecognizer(held)) as talk:
        await talk.ask()
        await talk.utter()

    assert talk.recognizer.asked[0].is_cancelled
    assert talk.approvals._open == {}
