"""Responses and speech through the translator: which events come, and in which order."""

import base64

import msgspec
import pytest

from server.realtime import client_events
from server.realtime.session_config import SessionConfig
from server.realtime.translator import Request
from server.wire import frames as wire
from tests.realtime.realtime_world import READY, RealtimeWorld, types

MUTE = msgspec.structs.replace(
    READY, speech=msgspec.structs.replace(READY.speech, tts=wire.SpeechPart(state="missing", reason="no engine"))
)
TONE = bytes(range(240)) * 4  # 20 ms at 24,000 Hz


def heard(world: RealtimeWorld, **heard: object) -> None:
    world.client("session.update", session={"type": "realtime", "audio": {"input": heard}})


def test_a_written_question_gets_a_spoken_answer_in_the_order_of_realtime() -> None:
    world = RealtimeWorld()
    assert types(world.say("Hello?")) == ["conversation.item.added", "conversation.item.done"]

    assert types(world.client("response.create")) == ["response.created"]
    first = world.sentence("Hi there.", TONE, TONE)
    end = world.end_turn()

    assert types(first) == [
        "response.output_item.added",
        "conversation.item.added",
        "response.content_part.added",
        *["response.output_audio_transcript.delta"] * 3,
        "response.output_audio.delta",
        "response.output_audio.delta",
    ]
    assert [event["delta"] for event in first[3:6]] == ["Hi", " there", "."], "words, as others stream them"
    assert base64.b64decode(first[-1]["delta"]) == TONE
    assert types(end) == [
        "response.output_audio_transcript.done",
        "response.output_audio.done",
        "response.content_part.done",
        "response.output_item.done",
        "conversation.item.done",
        "response.done",
    ]
    done = end[-1]["response"]
    assert done["status"] == "completed"
    assert done["usage"]["total_tokens"] == 10
    assert done["output"][0]["content"] == [{"type": "output_audio", "transcript": "Hi there."}]
    assert world.last(wire.Respond).messages == [wire.Message(role="user", content="Hello?")]
    world.close()


@pytest.mark.parametrize(
    "words",
    [
        ["नमस्ते", " दुनिया"],
        ["ที่นี่", " เชียงใหม่"],
        ["👩‍👩‍👧", " 👍🏽", "👍🏽", "🇩🇪"],
        ["ne\u0301e", " plus"],
        ["今", "天", "好"],
    ],
)
def test_the_deltas_of_a_spoken_reply_part_no_character(words: list[str]) -> None:
    world = RealtimeWorld()
    world.client("response.create")

    said = world.sentence("".join(words), TONE)

    assert [event["delta"] for event in said if event["type"] == "response.output_audio_transcript.delta"] == words


def test_a_session_of_text_streams_text_and_asks_for_no_sound() -> None:
    world = RealtimeWorld()
    world.client("session.update", session={"output_modalities": ["text"]})
    world.say("Hello?")
    world.client("response.create")

    events = world.sentence("Hi.")
    end = world.end_turn()

    assert world.last(wire.Configure).voice is False
    assert types(events)[-1] == "response.output_text.delta"
    assert types(end)[:2] == ["response.output_text.done", "response.content_part.done"]
    assert end[-1]["response"]["output"][0]["content"] == [{"type": "output_text", "text": "Hi."}]
    world.close()


def test_speech_is_committed_transcribed_and_answered_in_the_order_of_realtime() -> None:
    world = RealtimeWorld()
    heard(world, transcription={"model": "whisper-1"})

    events = world.utterance("u1", "What time is it?", from_ms=120, to_ms=1320)

    assert types(events) == [
        "input_audio_buffer.speech_started",
        "input_audio_buffer.speech_stopped",
        "input_audio_buffer.committed",
        "conversation.item.added",
        "conversation.item.done",
        "conversation.item.input_audio_transcription.delta",
        "conversation.item.input_audio_transcription.completed",
        "response.created",
    ]
    assert events[0]["audio_start_ms"] == 120
    assert events[3]["item"]["content"] == [{"type": "input_audio", "transcript": None}]
    assert events[6]["usage"] == {"type": "duration", "seconds": 1.2}
    assert {event.get("item_id", event.get("item", {}).get("id")) for event in events[:-1]} == {events[0]["item_id"]}
    respond = world.last(wire.Respond)
    assert (respond.utterance, respond.messages) == ("u1", [wire.Message(role="user", content="What time is it?")])
    world.end_turn()
    world.close()


def test_speech_ends_a_response_behind_speech_started() -> None:
    world = RealtimeWorld()
    world.say("Hello?")
    world.client("response.create")
    world.sentence("A long story.", TONE)

    assert world.end_turn("interrupted") == []
    events = world.session(wire.SpeechStarted(utterance="u1", audio_ms=900))

    assert types(events)[0] == "input_audio_buffer.speech_started"
    assert types(events)[-1] == "response.done"
    response = events[-1]["response"]
    assert response["status"] == "cancelled"
    assert response["status_details"] == {"type": "cancelled", "reason": "turn_detected"}
    assert response["output"][0]["status"] == "incomplete"
    world.close()


def test_without_turn_detection_the_client_commits_and_the_response_waits_for_the_words() -> None:
    world = RealtimeWorld()
    heard(world, turn_detection=None)
    sound = base64.b64encode(TONE * 10).decode()

    world.client("input_audio_buffer.append", audio=sound)
    world.session(wire.SpeechStarted(utterance="u1", audio_ms=0))
    committed = world.client("input_audio_buffer.commit")
    created = world.client("response.create")

    assert [type(frame) for frame in world.frames[-2:]] == [wire.SpeechStart, wire.SpeechEnd]
    assert types(committed) == [
        "input_audio_buffer.committed",
        "conversation.item.added",
        "conversation.item.done",
    ]
    assert types(created) == ["response.created"]
    assert world.turn is None
    world.session(wire.SpeechStopped(utterance="u1", audio_ms=200))
    world.session(wire.Transcript(utterance="u1", text="Hello.", final=True))
    assert world.last(wire.Respond).messages == [wire.Message(role="user", content="Hello.")]
    assert world.last(wire.Respond).utterance == "u1"
    world.end_turn()
    world.close()


@pytest.mark.parametrize(("words", "heard"), [([(0, 0.0), (4, 5.0), (8, 50.0)], "One"), (None, "One two")])
def test_a_truncated_reply_keeps_what_was_heard(words: list[tuple[int, float]] | None, heard: str) -> None:
    world = RealtimeWorld()
    world.say("Hello?")
    world.client("response.create")
    world.sentence("One two three.", TONE, TONE, TONE, words=words)
    world.end_turn()
    item_id = world.of("response.output_item.done")[-1]["item"]["id"]

    (cut,) = world.client("conversation.item.truncate", item_id=item_id, content_index=0, audio_end_ms=45)

    assert cut["audio_end_ms"] == 45
    (shown,) = world.client("conversation.item.retrieve", item_id=item_id)
    assert shown["item"]["content"] == [{"type": "output_audio", "transcript": heard}]
    (beyond,) = world.client("conversation.item.truncate", item_id=item_id, content_index=0, audio_end_ms=99_000)
    assert beyond["audio_end_ms"] == 45
    world.close()


def test_a_transcription_session_gives_words_and_no_responses() -> None:
    world = RealtimeWorld(defaults=SessionConfig(type="transcription"))

    events = world.utterance("u1", "Write this down.")

    assert world.last(wire.Configure).transcribe_only is True
    assert types(events)[-1] == "conversation.item.input_audio_transcription.completed"
    (refused,) = world.client("response.create", event_id="e1")
    assert (refused["error"]["code"], refused["error"]["event_id"]) == ("invalid_session_type", "e1")
    world.close()


# speech


def test_turn_detection_of_every_kind_configures_the_session() -> None:
    world = RealtimeWorld()
    first = world.last(wire.Configure)
    assert first.turn_detection == wire.DetectionSettings(mode="server_vad")
    assert (first.respond, first.client_tools, first.barge_in) == ("manual", "end", True)
    assert first.input == wire.InputFormat(sample_rate=24_000)

    heard(world, turn_detection={"type": "semantic_vad", "eagerness": "auto", "interrupt_response": False})
    assert world.last(wire.Configure).turn_detection == wire.DetectionSettings(mode="server_vad", eagerness="medium")
    assert world.last(wire.Configure).barge_in is False
    vad = {"type": "server_vad", "threshold": 0, "silence_duration_ms": 10, "prefix_padding_ms": 300}
    heard(world, turn_detection=vad)
    assert world.last(wire.Configure).turn_detection == wire.DetectionSettings(
        mode="server_vad", threshold=0.2, silence_ms=192, prefix_ms=300
    )
    heard(world, turn_detection=None, format={"type": "audio/pcmu"})
    assert world.last(wire.Configure).turn_detection == wire.DetectionSettings(mode="push_to_talk")
    assert world.last(wire.Configure).input == wire.InputFormat(sample_rate=8_000)
    assert world.of("error") == []
    world.close()


def test_the_echo_of_turn_detection_has_its_defaults() -> None:
    world = RealtimeWorld()

    heard(world, turn_detection={"type": "semantic_vad"})

    assert world.events[-1]["session"]["audio"]["input"]["turn_detection"] == {
        "type": "semantic_vad",
        "eagerness": "auto",
        "create_response": True,
        "interrupt_response": True,
    }


def test_speech_without_words_begins_no_response() -> None:
    world = RealtimeWorld()
    heard(world, transcription={})

    events = world.utterance("u1", "")

    assert types(events)[-1] == "conversation.item.input_audio_transcription.completed"
    assert events[-1]["transcript"] == ""
    assert world.turn is None


def test_with_create_response_off_the_client_asks_when_it_likes() -> None:
    world = RealtimeWorld()
    heard(world, turn_detection={"type": "server_vad", "create_response": False})

    events = world.utterance("u1", "Hello?")

    assert types(events)[-1] == "conversation.item.done"
    world.client("response.create")
    assert world.last(wire.Respond).utterance == "u1"
    world.end_turn()
    world.client("response.create")
    assert world.last(wire.Respond).utterance is None, "one turn is measured from its end"


def test_words_that_do_not_interrupt_are_answered_when_the_response_is_over() -> None:
    world = RealtimeWorld()
    heard(world, turn_detection={"type": "server_vad", "interrupt_response": False})
    world.say("A story.")
    world.client("response.create")

    world.utterance("u1", "And another one.")
    assert world.of("response.done") == []
    events = world.end_turn()

    assert types(events)[-2:] == ["response.done", "response.created"]
    assert world.last(wire.Respond).messages[-1].content == "And another one."
    world.end_turn()
    world.close()


def test_speech_ends_a_response_that_still_waits_for_words() -> None:
    world = RealtimeWorld()
    world.session(wire.SpeechStarted(utterance="u1", audio_ms=0), wire.SpeechStopped(utterance="u1", audio_ms=500))
    world.client("response.create")

    events = world.session(wire.SpeechStarted(utterance="u2", audio_ms=900))

    assert types(events) == ["input_audio_buffer.speech_started", "response.done"]
    world.session(wire.Transcript(utterance="u1", text="", final=True))
    assert world.turn is None
    world.close()


def test_a_commit_while_turn_detection_listens_ends_the_utterance_under_way() -> None:
    world = RealtimeWorld()
    (nobody,) = world.client("input_audio_buffer.commit", event_id="e1")
    assert nobody["error"]["code"] == "input_audio_buffer_commit_empty"

    world.session(wire.SpeechStarted(utterance="u1", audio_ms=0))

    assert world.client("input_audio_buffer.commit") == []
    assert isinstance(world.frames[-1], wire.SpeechEnd)
    events = world.session(wire.SpeechStopped(utterance="u1", audio_ms=400))
    assert types(events)[:2] == ["input_audio_buffer.speech_stopped", "input_audio_buffer.committed"]


def test_what_is_cleared_becomes_no_item() -> None:
    world = RealtimeWorld()
    world.session(wire.SpeechStarted(utterance="u1", audio_ms=0))

    assert types(world.client("input_audio_buffer.clear")) == ["input_audio_buffer.cleared"]
    assert isinstance(world.frames[-1], wire.SpeechCancel)
    (stopped,) = world.session(wire.Transcript(utterance="u1", text="", final=True))
    assert stopped["type"] == "input_audio_buffer.speech_stopped", "clients show who is speaking by it"
    assert world.of("conversation.item.added") == []


def test_speech_in_the_midst_of_which_the_input_changes_has_stopped() -> None:
    world = RealtimeWorld()
    world.client("input_audio_buffer.append", audio=base64.b64encode(TONE).decode())
    world.session(wire.SpeechStarted(utterance="u1", audio_ms=5))

    update = client_events.SessionUpdate(session={"audio": {"input": {"format": {"type": "audio/pcmu"}}}})
    (asked,) = world.translator.from_client(update)
    assert isinstance(asked, Request)
    assert isinstance(asked.frame, wire.Configure)
    events = world.session(wire.Transcript(utterance="u1", text="", final=True))
    (updated,) = asked.answered(())

    assert types(events) == ["input_audio_buffer.speech_stopped"]
    assert isinstance(updated, dict)
    assert updated["type"] == "session.updated"
    assert events[0]["audio_end_ms"] == 20
    assert events[0]["item_id"] == world.of("input_audio_buffer.speech_started")[0]["item_id"]


def test_a_commit_waits_until_its_sound_is_judged() -> None:
    world = RealtimeWorld()
    sound = base64.b64encode(TONE).decode()
    nobody = wire.Notice(code="no_utterance", level="info", message="nothing is being said")

    world.client("input_audio_buffer.append", audio=sound)
    assert world.client("input_audio_buffer.commit", event_id="e1") == []
    assert isinstance(world.frames[-1], wire.SpeechEnd)
    (again,) = world.client("input_audio_buffer.commit", event_id="e2")
    assert again["error"]["event_id"] == "e2", "all the sound there is was committed before"
    world.session(wire.SpeechStarted(utterance="u1", audio_ms=0))
    assert "input_audio_buffer.committed" in types(world.session(wire.SpeechStopped(utterance="u1", audio_ms=20)))
    assert world.session(nobody) == []

    world.client("input_audio_buffer.append", audio=sound)
    world.client("input_audio_buffer.commit", event_id="e3")
    (empty,) = world.session(nobody)
    assert (empty["error"]["code"], empty["error"]["event_id"]) == ("input_audio_buffer_commit_empty", "e3")


@pytest.mark.parametrize("change", ["input_audio_buffer.clear", "session.update"])
def test_a_commit_whose_sound_is_dropped_is_refused(change: str) -> None:
    world = RealtimeWorld()
    world.client("input_audio_buffer.append", audio=base64.b64encode(TONE).decode())
    world.client("input_audio_buffer.commit", event_id="e1")

    update = {"session": {"audio": {"input": {"format": {"type": "audio/pcmu"}}}}}
    refused, answer = world.client(change, **(update if change == "session.update" else {}))

    assert (refused["error"]["code"], refused["error"]["event_id"]) == ("input_audio_buffer_commit_empty", "e1")
    assert answer["type"] in ("input_audio_buffer.cleared", "session.updated")


def test_clear_drops_sound_that_turn_detection_has_not_judged_yet() -> None:
    world = RealtimeWorld()
    world.client("input_audio_buffer.append", audio=base64.b64encode(TONE).decode())

    assert types(world.client("input_audio_buffer.clear")) == ["input_audio_buffer.cleared"]
    assert isinstance(world.frames[-1], wire.SpeechCancel)


def test_sound_without_turn_detection_is_cleared_and_too_little_of_it_not_committed() -> None:
    world = RealtimeWorld()
    heard(world, turn_detection=None)
    world.client("input_audio_buffer.append", audio=base64.b64encode(TONE).decode())
    world.session(wire.SpeechStarted(utterance="u1", audio_ms=0))

    (short,) = world.client("input_audio_buffer.commit")
    assert short["error"]["code"] == "input_audio_buffer_commit_empty"
    assert "20.00 ms" in short["error"]["message"]
    assert types(world.client("input_audio_buffer.clear")) == ["input_audio_buffer.cleared"]
    (empty,) = world.client("input_audio_buffer.commit")

    assert "0.00 ms" in empty["error"]["message"]
    assert [type(frame) for frame in world.frames[-2:]] == [wire.SpeechStart, wire.SpeechCancel]


@pytest.mark.parametrize("first", ["One", ""])
def test_what_is_longer_than_an_utterance_may_be_is_committed_in_one(first: str) -> None:
    world = RealtimeWorld()
    heard(world, turn_detection=None, transcription={"model": "whisper-1"})
    sound = base64.b64encode(TONE * 10).decode()
    world.client("input_audio_buffer.append", audio=sound)
    world.session(wire.SpeechStarted(utterance="u1", audio_ms=0))

    assert world.session(wire.SpeechStopped(utterance="u1", audio_ms=60_000)) == []
    assert isinstance(world.frames[-1], wire.SpeechStart), "it goes on"
    world.session(wire.SpeechStarted(utterance="u2", audio_ms=60_000))
    world.client("input_audio_buffer.append", audio=sound)
    assert world.session(wire.Transcript(utterance="u1", text=first, final=True)) == []
    world.client("input_audio_buffer.commit")
    world.client("response.create")
    events = world.session(wire.Transcript(utterance="u2", text="two", final=True))

    assert events[-1]["transcript"] == f"{first} two".strip()
    assert len(world.of("input_audio_buffer.committed")) == 1
    assert world.last(wire.Respond).messages[-1].content == f"{first} two".strip()
    assert world.last(wire.Respond).utterance == "u2"
    world.end_turn()
    world.close()


def test_sound_before_a_change_of_the_input_is_not_committed() -> None:
    world = RealtimeWorld()
    heard(world, turn_detection=None)
    sound = base64.b64encode(TONE * 10).decode()
    world.client("input_audio_buffer.append", audio=sound)
    world.session(wire.SpeechStarted(utterance="u1", audio_ms=0))

    heard(world, format={"type": "audio/pcmu"})
    world.session(wire.Transcript(utterance="u1", text="", final=True))

    (empty,) = world.client("input_audio_buffer.commit")
    assert empty["error"]["code"] == "input_audio_buffer_commit_empty"
    world.client("input_audio_buffer.append", audio=sound)
    assert isinstance(world.frames[-1], wire.SpeechStart)


def test_a_commit_that_nobody_can_hear_is_an_item_without_words() -> None:
    world = RealtimeWorld()
    heard(world, turn_detection=None, transcription={"model": "whisper-1"})
    world.client("input_audio_buffer.append", audio=base64.b64encode(TONE * 10).decode())
    world.client("input_audio_buffer.commit")
    world.client("response.create")

    events = world.session(wire.Error(code="speech_unavailable", message="recognition is missing"))

    assert types(events) == ["conversation.item.input_audio_transcription.failed", "response.done"]
    assert events[0]["error"]["message"] == "recognition is missing"
    assert events[1]["response"]["status"] == "failed"
    world.close()


@pytest.mark.parametrize("is_transcribed", [True, False])
def test_a_recognition_that_fails_is_told_once(*, is_transcribed: bool) -> None:
    world = RealtimeWorld()
    heard(world, transcription={"model": "whisper-1"} if is_transcribed else None)
    world.session(wire.SpeechStarted(utterance="u1", audio_ms=0), wire.SpeechStopped(utterance="u1", audio_ms=500))

    failed = world.session(wire.Error(code="speech_unavailable", message="the engine is down"))
    events = world.session(wire.Transcript(utterance="u1", text="", final=True))

    told = [event["type"] for event in (*failed, *events)]
    assert told == ["conversation.item.input_audio_transcription.failed" if is_transcribed else "error"]
    later = world.utterance("u2", "")
    assert "conversation.item.input_audio_transcription.failed" not in types(later)


def test_a_truncated_reply_counts_as_silent_from_then_on() -> None:
    world = RealtimeWorld()
    world.client("response.create")
    world.sentence("Hello.", TONE)
    item_id = world.of("response.output_item.added")[-1]["item"]["id"]
    world.client("conversation.item.truncate", item_id=item_id, content_index=0, audio_end_ms=5)
    assert not [frame for frame in world.frames if isinstance(frame, wire.Interrupt)], "it is being said"
    turn = world.running
    world.end_turn()

    world.client("conversation.item.truncate", item_id=item_id, content_index=0, audio_end_ms=1)

    assert world.last(wire.Interrupt).turn_id == turn


@pytest.mark.parametrize(("kind", "per_ms"), [("audio/pcm", 48), ("audio/pcmu", 8), ("audio/pcma", 8)])
def test_sound_goes_both_ways_in_every_format(kind: str, per_ms: int) -> None:
    world = RealtimeWorld()
    sound = {"type": kind} | ({"rate": 24_000} if kind == "audio/pcm" else {})
    world.client("session.update", session={"audio": {"input": {"format": sound}, "output": {"format": sound}}})

    world.client("input_audio_buffer.append", audio=base64.b64encode(bytes(per_ms * 200)).decode())
    world.say("Hello?")
    world.client("response.create")
    turn, audio = world.running, wire.AudioFormat(format="pcm16", sample_rate=22_050)
    world.session(wire.Sentence(turn_id=turn, index=0, text="Hi.", audio=audio))
    world.session(*[bytes(2 * 2_205)] * 3, wire.SentenceEnd(turn_id=turn, index=0, duration_ms=300))

    rate = world.last(wire.Configure).input.sample_rate if kind != "audio/pcm" else 24_000
    assert sum(map(len, world.sound)) == rate * 2 * 200 // 1000
    assert all(len(piece) % 2 == 0 for piece in world.sound)
    said = b"".join(base64.b64decode(event["delta"]) for event in world.of("response.output_audio.delta"))
    assert abs(len(said) - 300 * per_ms) <= 4
    world.end_turn()
    world.close()


@pytest.mark.parametrize(
    ("fields", "code"),
    [({"audio": "AAA="}, None), ({"audio": "AAAA"}, "invalid_value"), ({"audio": "!"}, "invalid_value"), ({}, "missing_required_parameter"), ({"audio": 7}, "invalid_value")],
)  # fmt: skip
def test_sound_that_is_none_is_refused(fields: dict[str, object], code: str | None) -> None:
    world = RealtimeWorld()

    errors = world.client("input_audio_buffer.append", event_id="e1", **fields)

    assert [(error["error"]["code"], error["error"]["param"]) for error in errors] == (
        [(code, "audio")] if code else []
    )


def test_the_sound_to_come_is_cut_where_the_client_says_so() -> None:
    world = RealtimeWorld()
    (nothing,) = world.client("output_audio_buffer.clear")
    assert nothing["type"] == "error"
    (created,) = world.client("response.create")

    events = world.client("output_audio_buffer.clear")

    assert types(events) == ["response.done", "output_audio_buffer.cleared"]
    assert events[1]["response_id"] == created["response"]["id"]
    world.close()


# replies without sound


@pytest.mark.parametrize(
    ("ready", "notice", "sound", "modality", "status"),
    [
        (MUTE, None, [], "audio", "failed"),
        (MUTE, None, [], "text", "completed"),
        (READY, "the reply continues as text: no engine", [], "audio", "failed"),
        (READY, "the reply continues as text: no engine", [bytes(960)], "audio", "completed"),
        (READY, None, [], "audio", "completed"),
    ],
)
def test_a_reply_that_should_be_heard_and_has_no_sound_has_failed(
    ready: wire.Ready, notice: str | None, sound: list[bytes], modality: str, status: str
) -> None:
    world = RealtimeWorld(ready=ready)
    world.client("response.create", response={"output_modalities": [modality]})
    world.sentence("It is noon.", *sound)
    if notice is not None:
        world.session(wire.Notice(code="speech_failed", level="warning", message=notice, turn_id=world.running))

    done = world.end_turn()[-1]["response"]

    assert done["status"] == status
    if status == "failed":
        assert done["status_details"]["error"]["code"] == "speech_unavailable"
        assert "no engine; " in done["status_details"]["error"]["message"]


def test_a_call_of_the_clients_tool_counts_for_more_than_a_missing_voice() -> None:
    world = RealtimeWorld(ready=MUTE)
    world.client("response.create")
    world.sentence("One moment.")
    world.session(wire.ClientToolCall(turn_id=world.running, id="call_1", name="lamp", arguments={}))

    assert world.end_turn()[-1]["response"]["status"] == "completed"


def test_a_voice_that_has_come_since_is_heard() -> None:
    world = RealtimeWorld(ready=MUTE)
    world.session(wire.Speech(stt=READY.speech.stt, tts=READY.speech.tts, vad=READY.speech.vad, opus=READY.speech.opus))
    world.client("response.create")
    world.sentence("", bytes(960))

    assert world.end_turn()[-1]["response"]["status"] == "completed"
