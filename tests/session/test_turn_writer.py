"""server/session/turn_writer.py"""

import msgspec
import pytest

from server.agent.chunks import LLMChunk
from server.errors import ProviderTimeout, ServerError
from server.session.sentence_assembler import SpokenSentence, TTSResult
from server.session.turn_writer import TurnWriter, code_of
from server.speech.tts import SoundChunk
from server.wire import frames as wire
from tests.session.fakes import Frame, call, hook, kinds, result, trace, used


class Said:
    """A turn with a clock that the test moves, and what it has sent."""

    def __init__(self, *, shows_trace: bool = False) -> None:
        self.now_s = 100.0
        self.sound: list[bytes] = []
        self._sent: list[wire.ServerFrame] = []
        self.turn = TurnWriter(
            "t1",
            self._sent.append,
            send_sound=self.sound.append,
            sign=lambda skill, name, role, content: f"{skill}/{name}/{role}/{content}",
            sign_state=lambda state: f"state of turn {state.turn}",
            received_s=100.0,
            shows_trace=shows_trace,
            clock=lambda: self.now_s,
        )
        self.turn.start("chat", [])
        self._sent.clear()

    @property
    def frames(self) -> list[Frame]:
        return [msgspec.json.decode(msgspec.json.encode(frame)) for frame in self._sent]

    def say_chunk(self, chunk: LLMChunk) -> None:
        self.turn.write(
            TTSResult(hook=chunk.hook, tool_call=chunk.tool_call, tool_result=chunk.tool_result, trace=chunk.trace)
        )


def test_sentences_are_numbered_and_each_has_its_end() -> None:
    said = Said()

    said.turn.write(TTSResult(sentence=SpokenSentence("One.")))
    said.turn.write(TTSResult(sentence=SpokenSentence("\n", "")))

    assert [(f["type"], f["index"]) for f in said.frames] == [
        ("sentence", 0),
        ("sentence_end", 0),
        ("sentence", 1),
        ("sentence_end", 1),
    ]
    assert [f.get("spoken", "–") for f in said.frames] == [None, "–", "", "–"]
    assert [f["audio"] for f in said.frames if f["type"] == "sentence"] == [None, None]
    assert [f["duration_ms"] for f in said.frames if f["type"] == "sentence_end"] == [0, 0]


def test_a_hook_carries_its_signature() -> None:
    said = Said()

    said.say_chunk(hook("brief"))

    assert said.frames == [
        {
            "type": "hook",
            "turn_id": "t1",
            "name": "brief",
            "role": "system",
            "content": "Be brief.",
            "skill": "s",
            "timing": "after_user_input",
            "sig": "s/brief/system/Be brief.",
        }
    ]
    assert said.turn.hook_count == 1


def test_an_open_tool_call_gets_a_result_before_the_end() -> None:
    said = Said()
    said.say_chunk(call("1"))
    said.say_chunk(call("2", "search_text"))
    said.say_chunk(result("1"))

    said.turn.end("interrupted")

    assert kinds(said.frames) == ["tool_call", "tool_call", "tool_result", "tool_result", "turn_end"]
    assert said.frames[3] == {
        "type": "tool_result",
        "turn_id": "t1",
        "id": "2",
        "name": "search_text",
        "content": "interrupted",
        "is_error": True,
        "duration_ms": 0.0,
        "ending": "failed",
    }


def test_what_the_order_has_no_place_for_is_held_back(caplog: pytest.LogCaptureFixture) -> None:
    said = Said()

    said.say_chunk(result("1"))
    said.turn.open_sentence(SpokenSentence("One."), AUDIO)
    said.say_chunk(hook())
    said.turn.close_sentence()

    assert kinds(said.frames) == ["sentence", "sentence_end"]
    assert [record.getMessage() for record in caplog.records] == [
        "turn t1: tool_result was held back in the state open",
        "turn t1: hook was held back in the state sentence",
    ]


def test_a_turn_that_fails_in_a_sentence_ends_that_first() -> None:
    said = Said()
    said.turn.open_sentence(SpokenSentence("One."), AUDIO)

    said.turn.write_error("internal", "broken")
    said.turn.end("error")

    assert kinds(said.frames) == ["sentence", "sentence_end", "error", "turn_end"]


def test_nothing_follows_the_end() -> None:
    said = Said(shows_trace=True)
    said.say_chunk(call("1"))
    said.turn.end("interrupted")
    before = said.frames

    said.say_chunk(result("1"))
    said.say_chunk(hook())
    said.say_chunk(trace())
    said.turn.write(TTSResult(text="late"))
    said.turn.write(TTSResult(sentence=SpokenSentence("Late.")))
    said.turn.write_error("internal", "late")
    said.turn.write_client_call("2", "t", {})

    assert said.frames == before
    assert said.turn.is_over


def test_a_failure_is_an_error_with_the_turn_and_then_its_end() -> None:
    said = Said()

    said.turn.write_error("provider_rate_limited", "wait", retry_after_ms=700)
    said.turn.end("error", message="wait")

    assert kinds(said.frames) == ["error", "turn_end"]
    assert said.frames[0] == {
        "type": "error",
        "code": "provider_rate_limited",
        "message": "wait",
        "turn_id": "t1",
        "retry_after_ms": 700,
    }
    assert (said.frames[1]["reason"], said.frames[1]["message"]) == ("error", "wait")


def test_trace_and_reasoning_stay_inside_unless_asked_for() -> None:
    silent, open_ = Said(), Said(shows_trace=True)

    for said in (silent, open_):
        said.say_chunk(trace())
        said.turn.write(TTSResult(reasoning="hm"))

    assert silent.frames == []
    assert open_.frames == [
        {"type": "trace", "turn_id": "t1", "event": "model_call", "data": {"call": 1}},
        {"type": "reasoning", "turn_id": "t1", "delta": "hm"},
    ]


def test_times_count_from_the_chat_and_only_the_first_of_each() -> None:
    said = Said()

    for seconds, chunk in (
        (0.002, LLMChunk(model_request=True)),
        (0.1, LLMChunk(reasoning="hm")),
        (0.3, LLMChunk(text="A")),
    ):
        said.now_s = 100.0 + seconds
        said.turn.count(chunk)
    said.now_s = 100.4
    said.turn.write(TTSResult(sentence=SpokenSentence("A.")))
    said.now_s = 100.5
    said.turn.count(LLMChunk(model_request=True))
    said.turn.count(LLMChunk(text="B"))
    said.turn.write(TTSResult(sentence=SpokenSentence("B.")))
    said.turn.end("completed")

    assert said.frames[-1]["metrics"] == {
        "transcript": None,
        "model_request": 2.0,
        "first_token": 300.0,
        "first_sentence": 400.0,
        "first_audio": None,
        "total": 500.0,
    }


def test_usage_is_the_sum_of_all_model_calls() -> None:
    said = Said()

    said.turn.count(used(3))
    said.turn.count(used(4))
    said.turn.end("completed")

    assert said.frames[-1]["usage"] == {"input_tokens": 7, "output_tokens": 7, "cached_tokens": 7}
    assert "message" not in said.frames[-1]
    assert "rollback" not in said.frames[-1]


def test_a_code_that_the_protocol_does_not_know_is_internal() -> None:
    assert code_of(ProviderTimeout("late")) == "provider_timeout"
    assert code_of(ServerError("odd")) == "internal"


AUDIO = wire.AudioFormat(format="pcm16", sample_rate=1000)


def words_of(sentence: SpokenSentence, *pieces: tuple[int, list[tuple[int, float]] | None]) -> object:
    """What `sentence_end` tells of the words when so many ms with these words were sent."""
    said = Said()
    said.turn.open_sentence(sentence, AUDIO)
    for ms, words in pieces:
        said.turn.write_sound(SoundChunk(bytes(2 * ms), 1000, words))
    said.turn.close_sentence()
    return said.frames[-1].get("words")


def test_the_words_of_a_sentence_count_from_its_beginning_white_space_and_all() -> None:
    found = words_of(SpokenSentence("\n\nOne two. Three."), (100, [(0, 20), (4, 80)]), (50, []), (60, [(9, 10.5)]))

    assert found == [[2, 20], [6, 80], [11, 160.5]]


def test_of_a_sentence_that_is_cut_only_the_words_that_were_sent_are_told() -> None:
    assert words_of(SpokenSentence("One two three."), (100, [(0, 20), (4, 80), (8, 130)])) == [[0, 20], [4, 80]]


def test_words_are_told_of_the_whole_sentence_or_not_at_all() -> None:
    assert words_of(SpokenSentence("One 二 three."), (100, [(0, 20)]), (100, None), (100, [(6, 20)])) is None
    assert words_of(SpokenSentence("One two."), (100, None)) is None


def test_words_of_another_text_than_the_one_shown_are_not_told() -> None:
    assert words_of(SpokenSentence("**One** two.", "One two."), (100, [(0, 20), (4, 80)])) is None
