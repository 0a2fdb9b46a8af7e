"""Words that start no turn of their own: `respond` "manual", `transcribe_only`, and speech that may not interrupt."""

from typing import Any

import pytest

from server.session.spoken_words import MAX_TRANSCRIBED, RESPONSE_WAIT_S
from tests.session.fakes import FakeAgent, Frame, Pause, kinds, say
from tests.session.speech_fakes import FakeRecognizer, Held
from tests.session.talk import HEARD, Talk
from tests.support.waiting import settle

WORDS = {"role": "user", "content": "hello there"}


def finals(talk: Talk) -> list[tuple[str, str, bool]]:
    """Utterance, words and whether a turn is named, of each final transcript."""
    sent = [frame for frame in talk.frames if frame["type"] == "transcript" and frame["final"]]
    return [(frame["utterance"], frame["text"], "turn_id" in frame) for frame in sent]


def errors(frames: list[Frame]) -> list[tuple[str, str | None]]:
    return [(frame["code"], frame.get("path")) for frame in frames if frame["type"] == "error"]


async def heard(talk: Talk, count: int = 1) -> None:
    await talk.utter()
    await talk.until("transcript", count)


# manual


async def test_words_wait_for_the_client_which_asks_for_the_turn() -> None:
    async with Talk() as talk:
        talk.send("configure", respond="manual")
        await heard(talk)
        await settle()
        assert talk.kinds() == HEARD
        talk.skipped_s += 0.25
        talk.send("respond", utterance="u1", id="t1", messages=[{"role": "assistant", "content": "Yes?"}, WORDS])
        end = await talk.until("turn_end")

    start = next(frame for frame in talk.frames if frame["type"] == "turn_start")
    assert (start["turn_id"], start["trigger"]) == ("t1", "voice")
    assert finals(talk) == [("u1", "hello there", False)]
    [asked] = talk.agent.asked
    assert [message["content"] for message in asked.messages] == ["Yes?", "hello there"]
    assert end["metrics"]["transcript"] > 300, "since the last voice"
    assert end["metrics"]["total"] >= end["metrics"]["transcript"] + 250
    assert "notice" not in talk.kinds()


async def test_a_response_without_an_utterance_is_a_turn_of_text_and_needs_no_new_message() -> None:
    async with Talk() as talk:
        talk.send("respond", messages=[WORDS, {"role": "assistant", "content": "Hi."}])
        await talk.until("turn_end")
        talk.send("respond", messages=[], instructions="Greet.")
        await talk.until("turn_end", 2)

    assert [frame["trigger"] for frame in talk.frames if frame["type"] == "turn_start"] == ["chat", "chat"]
    assert [[m["content"] for m in turn.messages] for turn in talk.agent.asked] == [["hello there", "Hi."], []]
    assert talk.agent.asked[1].options.settings.instructions == "Greet."


@pytest.mark.parametrize(
    ("barge_in", "named", "reason"),
    [(True, {"utterance": "u1"}, "interrupted"), (True, {}, "completed"), (False, {"utterance": "u1"}, "completed")],
)
async def test_who_speaks_again_is_heard_to_the_end_and_gets_the_floor_from_the_answer_to_what_was_said_before(
    barge_in: bool, named: dict[str, str], reason: str
) -> None:
    async with Talk() as talk:
        talk.send("configure", respond="manual", barge_in=barge_in)
        await heard(talk)
        await talk.voice()
        await talk.until("speech_started", 2)
        talk.send("respond", messages=[WORDS], **named)
        end = await talk.until("turn_end")
        await talk.silence()
        await talk.until("transcript", 2)

    assert end["reason"] == reason
    assert [name for name, *_ in finals(talk)] == ["u1", "u2"]


async def test_words_are_not_carried_on_to_an_utterance_that_follows() -> None:
    slow = Held("first")
    async with Talk(FakeRecognizer(slow, "second")) as talk:
        talk.send("configure", respond="manual")
        await talk.utter()
        await talk.voice()
        await talk.until("speech_started", 2)
        slow.resume.set()
        await talk.until("transcript")
        await talk.silence()
        await talk.until("transcript", 2)

    assert finals(talk) == [("u1", "first", False), ("u2", "second", False)]


async def test_an_utterance_that_is_not_known_is_named_and_no_turn_starts() -> None:
    async with Talk(FakeRecognizer("hello there", "")) as talk:
        talk.send("configure", respond="manual")
        for utterance in ("u1", "u7"):
            talk.send("respond", utterance=utterance, messages=[WORDS])
        await heard(talk)
        await heard(talk, 2)  # without words
        talk.send("respond", utterance="u2", messages=[WORDS])
        frames = await talk.flushed()

    assert errors(frames) == [("frame_invalid", "$.utterance")] * 3
    assert "turn_start" not in kinds(frames)


async def test_only_the_latest_utterances_are_remembered() -> None:
    async with Talk() as talk:
        talk.send("configure", respond="manual")
        for count in range(1, MAX_TRANSCRIBED + 2):
            await heard(talk, count)
        talk.send("respond", utterance="u1", messages=[WORDS])
        talk.send("respond", utterance="u2", messages=[WORDS])
        await talk.until("turn_end")

    assert errors(talk.frames) == [("frame_invalid", "$.utterance")]


async def test_speech_ends_the_running_turn_as_ever() -> None:
    async with Talk(agent=FakeAgent([[Pause()]])) as talk:
        talk.send("configure", respond="manual")
        talk.chat()
        await talk.until("turn_start")
        await heard(talk)

    ends = [frame["reason"] for frame in talk.frames if frame["type"] == "turn_end"]
    assert ends == ["interrupted"]
    assert talk.kinds().index("turn_end") < talk.kinds().index("speech_started")


async def test_a_server_that_stops_waits_a_moment_for_the_response_and_starts_it_once() -> None:
    async with Talk() as talk:
        talk.send("configure", respond="manual")
        await heard(talk)
        await settle()
        talk.gate.is_draining = True
        was_idle = talk.session.is_idle
        talk.send("respond", utterance="u1", messages=[WORDS])
        await talk.until("turn_end")
        talk.skipped_s += 1  # its sound is over
        assert talk.session.is_idle
        talk.send("respond", utterance="u1", messages=[WORDS])
        frames = await talk.flushed()

    assert not was_idle
    assert errors(frames) == [("turn_refused_draining", None)]
    assert len(talk.agent.asked) == 1


async def test_a_server_that_stops_waits_no_longer_than_that() -> None:
    async with Talk() as talk:
        talk.send("configure", respond="manual")
        await heard(talk)
        await settle()
        talk.gate.is_draining = True
        talk.skipped_s += RESPONSE_WAIT_S
        assert talk.session.is_idle
        talk.send("respond", utterance="u1", messages=[WORDS])
        frames = await talk.flushed()

    assert errors(frames) == [("turn_refused_draining", None)]


async def test_a_chat_answers_the_words_as_well() -> None:
    async with Talk() as talk:
        talk.send("configure", respond="manual", voice=False)
        await heard(talk)
        await settle()
        talk.chat()
        await talk.until("turn_end")

        assert talk.session.is_idle


# transcripts only


async def test_a_connection_that_only_transcribes_starts_no_turn() -> None:
    async with Talk() as talk:
        talk.send("configure", transcribe_only=True)
        await heard(talk)
        await settle()
        assert talk.session.is_idle
        assert not talk.session.may_be_nudged
        talk.chat()
        talk.send("respond", utterance="u1", messages=[WORDS])
        talk.send("speak", text="Hi.")
        frames = await talk.flushed()
        assert kinds(frames) == [*HEARD, "error", "error", "error"]
        talk.send("configure", transcribe_only=False)
        talk.send("respond", utterance="u1", messages=[WORDS])
        await talk.until("turn_end")

    assert errors(frames) == [("frame_invalid", "$.type")] * 3
    assert finals(talk) == [("u1", "hello there", False)]


# speech that may not interrupt


async def test_a_turn_that_speech_may_not_end_goes_on_and_the_words_wait() -> None:
    gate = Pause()
    agent = FakeAgent([[gate, *say("One moment.")], say("Now to you.")])
    async with Talk(agent=agent) as talk:
        talk.send("configure", barge_in=False)
        talk.chat()
        await gate.reached.wait()
        await heard(talk)
        await settle()
        gate.resume.set()
        end = await talk.until("turn_end")
        talk.send("respond", utterance="u1", messages=[WORDS])
        await talk.until("turn_end", 2)

    assert end["reason"] == "completed"
    assert finals(talk) == [("u1", "hello there", False)]
    assert [frame["trigger"] for frame in talk.frames if frame["type"] == "turn_start"] == ["chat", "voice"]


async def test_a_key_may_not_end_it_either() -> None:
    gate = Pause()
    async with Talk(agent=FakeAgent([[gate, *say("Done.")]])) as talk:
        talk.send("configure", barge_in=False, turn_detection="push_to_talk")
        talk.chat()
        await gate.reached.wait()
        talk.send("speech_start")
        await talk.voice()
        talk.send("speech_end")
        await talk.until("transcript")
        gate.resume.set()
        end = await talk.until("turn_end")

    assert end["reason"] == "completed"


async def test_words_after_the_turn_start_one_even_if_speech_may_not_interrupt() -> None:
    async with Talk() as talk:
        talk.send("configure", barge_in=False)
        await talk.voice()
        talk.history("u1")
        await talk.silence()
        await talk.until("turn_end")

    assert finals(talk) == [("u1", "hello there", True)]


async def test_the_model_reads_ahead_unless_a_turn_goes_on_or_none_will_come() -> None:
    gate = Pause()
    agent = FakeAgent([[gate, *say("One moment.")]])
    async with Talk(agent=agent) as talk:
        talk.send("configure", respond="manual")
        await talk.voice()
        talk.history("u1", WORDS)
        await talk.silence()
        read = len(agent.read)
        talk.send("configure", barge_in=False)
        talk.chat()
        await gate.reached.wait()
        await talk.voice()
        talk.history("u2", WORDS)
        await talk.silence()
        gate.resume.set()
        await talk.until("turn_end")
        talk.send("configure", transcribe_only=True)
        await talk.voice()
        talk.history("u3", WORDS)
        await talk.silence()

    assert read > 0
    assert len(agent.read) == read


# how the server listens


async def test_a_client_ends_its_utterance_without_a_silence() -> None:
    async with Talk() as talk:
        await talk.voice()
        talk.send("speech_end")
        await talk.until("transcript")
        frames = await talk.flushed()

    assert kinds(frames) == HEARD


async def test_a_client_takes_back_what_it_is_saying() -> None:
    async with Talk() as talk:
        await talk.voice()
        talk.send("speech_cancel")
        await talk.until("transcript")
        await talk.silence()
        talk.send("speech_cancel")
        frames = await talk.flushed()

    assert finals(talk) == [("u1", "", False)]
    assert [frame["code"] for frame in frames if frame["type"] == "notice"] == ["no_utterance"]


async def test_a_client_chooses_the_silence_that_ends_its_utterances() -> None:
    async with Talk(FakeRecognizer("I want the")) as patient, Talk(FakeRecognizer("I want the")) as hasty:
        patient.send("configure", turn_detection={"mode": "server_vad", "eagerness": "low"})
        hasty.send("configure", turn_detection={"mode": "server_vad", "silence_ms": 300})
        for talk in (patient, hasty):
            await talk.voice()
            await talk.silence(0.5)
        hasty_kinds = hasty.kinds()
        await patient.silence(6.5)
        patient_kinds = patient.kinds()
        patient.send("configure", turn_detection="server_vad")  # the operator's again
        await patient.silence(0.3)
        await patient.voice()
        await patient.silence(1.4)
        await patient.until("speech_stopped")

    assert "speech_stopped" in hasty_kinds
    assert "speech_stopped" not in patient_kinds


@pytest.mark.parametrize(
    ("wrong", "path"),
    [
        ({}, "$.turn_detection.mode"),
        ({"mode": "semantic_vad"}, "$.turn_detection.mode"),
        ({"mode": "server_vad", "threshold": 0.1}, "$.turn_detection.threshold"),
        ({"mode": "server_vad", "silence_ms": 191}, "$.turn_detection.silence_ms"),
        ({"mode": "server_vad", "silence_ms": 10_001}, "$.turn_detection.silence_ms"),
        ({"mode": "server_vad", "prefix_ms": -1}, "$.turn_detection.prefix_ms"),
        ({"mode": "server_vad", "prefix_ms": 2001}, "$.turn_detection.prefix_ms"),
        ({"mode": "server_vad", "eagerness": "auto"}, "$.turn_detection.eagerness"),
        ("semantic_vad", "$.turn_detection"),
        (5, "$.turn_detection"),
    ],
)
async def test_a_detection_that_is_none_is_refused_and_named(wrong: object, path: str) -> None:
    async with Talk() as talk:
        talk.send("configure", turn_detection=wrong)
        frames = await talk.flushed()

    assert errors(frames) == [("frame_invalid", path)]


# what a turn may choose for itself


async def test_a_turn_has_its_own_voice_and_language() -> None:
    async with Talk() as talk:
        talk.send("configure", speaker="ann", speed=1.0, language="en")
        fields: dict[str, Any] = {"speaker": "ben", "speed": 1.5, "language": "de", "max_tokens": 7}
        talk.chat(**fields)
        await talk.until("turn_end")
        talk.send("respond", messages=[WORDS], **fields)
        await talk.until("turn_end", 2)
        talk.chat()
        await talk.until("turn_end", 3)

    assert talk.synthesizer.spoken_as == [("ben", 1.5), ("ben", 1.5), ("ann", 1.0)]
    assert [language for _, language in talk.synthesizer.asked] == ["de", "de", "en"]
    assert [turn.options.settings.max_tokens for turn in talk.agent.asked] == [7, 7, None]
