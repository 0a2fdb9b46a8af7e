"""Responses and speech through the translator: which events come, and in which order."""

import base64

import pytest

from server.gateway.realtime.session_config import SessionConfig
from server.wire import frames as wire
from tests.gateway.realtime.realtime_world import RealtimeWorld, types

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
        "response.output_audio_transcript.delta",
        "response.output_audio.delta",
        "response.output_audio.delta",
    ]
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


@pytest.mark.parametrize("is_known", [True, False])
def test_a_truncated_reply_keeps_what_was_heard(*, is_known: bool) -> None:
    world = RealtimeWorld()
    world.say("Hello?")
    world.client("response.create")
    words = [(0, 0.0), (4, 20.0), (8, 40.0)] if is_known else None
    world.sentence("One two three.", TONE, TONE, TONE, words=words)
    world.end_turn()
    item_id = world.of("response.output_item.done")[-1]["item"]["id"]

    (cut,) = world.client("conversation.item.truncate", item_id=item_id, content_index=0, audio_end_ms=45)

    assert cut["audio_end_ms"] == 45
    (shown,) = world.client("conversation.item.retrieve", item_id=item_id)
    assert shown["item"]["content"] == [{"type": "output_audio", "transcript": "One two"}]
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
