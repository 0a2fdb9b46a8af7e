"""Chunks → model events."""

import json
from typing import Any

import pytest

from server.llm.reply import ReplyReader
from server.llm.sse import parse_chunk
from server.llm.types import Finished, ModelEvent, ReasoningDelta, TextDelta, ToolCall, Usage


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> bytes:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return json.dumps({"choices": choices, **more}).encode()


def read(*chunks: bytes) -> list[ModelEvent]:
    reply = ReplyReader()
    events = [event for data in chunks for event in reply.feed(parse_chunk(data))]
    return [*events, *reply.finish()]


def test_text_comes_first_then_calls_then_the_end_with_usage() -> None:
    call = {"index": 0, "id": "c", "function": {"name": "t", "arguments": "{}"}}
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}

    events = read(chunk({"tool_calls": [call]}), chunk({"content": "Hi"}), chunk({}, "tool_calls"), chunk(usage=usage))

    assert events == [TextDelta("Hi"), ToolCall("c", "t", "{}"), Finished("tool_calls", Usage(5, 2, 4))]


@pytest.mark.parametrize(
    ("delta", "event"),
    [
        ({"reasoning_content": "hm"}, ReasoningDelta("hm")),
        ({"reasoning": "hm"}, ReasoningDelta("hm")),
        ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}, ReasoningDelta("hm")),
        ({"content": [{"type": "text", "text": "Hi"}]}, TextDelta("Hi")),
        ({"refusal": "I cannot"}, TextDelta("I cannot")),
    ],
)
def test_each_endpoints_way_of_saying_it_is_read(delta: dict[str, Any], event: ModelEvent) -> None:
    assert read(chunk(delta), chunk({}, "stop")) == [event, Finished("stop")]


def torn(key: str, *texts: str) -> list[bytes]:
    """Deltas that hold halves of a character, as JSON escapes."""
    return [json.dumps({"choices": [{"delta": {key: text}}]}).encode() for text in texts]


@pytest.mark.parametrize(
    ("texts", "whole"),
    [
        (["Hi \ud83d", "\ude00 there."], ["Hi ", "😀 there."]),
        (["\ud83d", "\ude00\ud83d", "\ude00"], ["😀", "😀"]),
        (["Hi \ud83d", " there."], ["Hi ", "\ufffd there."]),
        (["\ude00 there."], ["\ufffd there."]),
        (["a\ud83db\ude00c"], ["a\ufffdb\ufffdc"]),
        (["Hi \ud83d"], ["Hi ", "\ufffd"]),
    ],
)
def test_half_a_character_waits_for_its_other_half(texts: list[str], whole: list[str]) -> None:
    assert read(*torn("content", *texts), chunk({}, "stop")) == [*map(TextDelta, whole), Finished("stop")]


def test_half_a_character_that_reasoning_ends_with_is_told() -> None:
    assert read(*torn("reasoning", "\ud83d"), chunk({}, "stop"))[0] == ReasoningDelta("\ufffd")


def test_reasoning_and_arguments_are_joined_from_halves_too() -> None:
    call = {"index": 0, "id": "c", "function": {"name": "t", "arguments": '{"a": "\ud83d'}}
    rest = {"index": 0, "function": {"arguments": '\ude00"}'}}

    events = read(*torn("reasoning", "\ud83d", "\ude00"), chunk({"tool_calls": [call]}), chunk({"tool_calls": [rest]}))

    assert events == [ReasoningDelta("😀"), ToolCall("c", "t", '{"a": "😀"}'), Finished("tool_calls")]


def test_empty_deltas_and_nulls_give_nothing() -> None:
    events = read(
        chunk({"role": "assistant", "content": ""}),
        chunk({"content": None, "tool_calls": None}),
        b'{"choices":[{"delta":null}]}',
        b'{"choices":null,"usage":null}',
        chunk({}, "stop", usage={"prompt_tokens": None}),
    )

    assert events == [Finished("stop")]


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"prompt_tokens": 12.0, "completion_tokens": 3}, Usage(12, 3)),
        ({"prompt_tokens": "12", "completion_tokens": -1, "prompt_tokens_details": []}, Usage()),
        ({"prompt_tokens": 10**30, "completion_tokens": 3}, Usage(0, 3)),
        ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}}, Usage(9, 0, 4)),
        ([], Usage()),
        ("", Usage()),
    ],
)
def test_what_cannot_be_understood_of_a_count_fails_no_reply(usage: object, counted: Usage) -> None:
    assert read(chunk({"content": "Hi"}, "stop", usage=usage)) == [TextDelta("Hi"), Finished("stop", counted)]


def test_a_whole_message_is_read_like_a_delta() -> None:
    assert read(b'{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}')[0] == TextDelta("Hi")


def test_without_a_finish_reason_the_calls_tell_it() -> None:
    reply = ReplyReader()
    before = reply.has_begun
    reply.feed(parse_chunk(chunk({"tool_calls": [{"index": 0, "function": {"name": "t"}}]})))

    assert (before, reply.has_begun, reply.is_finished) == (False, True, False)
    assert reply.finish()[-1] == Finished("tool_calls")


@pytest.mark.parametrize(
    "data", [b'{"error":{"message":"boom"}}', b'{"error":"boom"}', b'{"object":"error","message":"boom"}']
)
def test_an_error_in_the_stream_is_seen(data: bytes) -> None:
    error = ReplyReader().error_of(parse_chunk(data))

    assert "boom" in json.dumps(error)
