"""server/llm/stream.py: bytes, torn anywhere → chunks → model events."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.llm.language_model import Finished, ModelEvent, ReasoningDelta, TextDelta, ToolCall, Usage
from server.llm.stream import (
    MAX_ARGUMENTS_CHARS,
    MAX_CALLS,
    CallAssembler,
    CallPart,
    EventReader,
    FunctionPart,
    ReplyReader,
    StreamError,
    join_halves,
    parse_chunk,
)

HALVES = st.text(st.sampled_from("a😀\ud83d\ude00\ud800\udfff"), max_size=12)


def events_of(data: bytes, *, at_once: int = 1 << 20) -> list[bytes]:
    reader = EventReader()
    events = [event for start in range(0, len(data), at_once) for event in reader.feed(data[start : start + at_once])]
    return [*events, *reader.finish()]


def part(index: int | None = None, id: str | None = None, name: str | None = None, args: Any = None) -> CallPart:  # noqa: A002
    return CallPart(index=index, id=id, function=FunctionPart(name=name, arguments=args))


def assemble(*parts: CallPart) -> list[ToolCall]:
    numbers = iter(range(100))
    calls = CallAssembler(new_id=lambda: f"new_{next(numbers)}")
    for each in parts:
        calls.feed([each])
    return calls.finish()


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
@pytest.mark.parametrize("at_once", [1, 2, 3, 7, 1 << 20])
def test_events_survive_any_tearing_and_both_line_ends(newline: bytes, at_once: int) -> None:
    lines = [
        ": comment",
        'data: {"a":"ü€😀"}',
        "",
        "event: x",
        "id: 1",
        'data:{"b":2}',
        "",
        "data: [DONE]",
        "",
        "data: late",
    ]

    events = events_of(newline.join(line.encode() for line in lines) + newline, at_once=at_once)

    assert events == ['{"a":"ü€😀"}'.encode(), b'{"b":2}']


@given(st.lists(st.integers(min_value=1, max_value=12), min_size=1, max_size=30))
def test_where_the_bytes_are_torn_changes_nothing(sizes: list[int]) -> None:
    data = 'data: {"é":1}\r\n\r\ndata: {"b":"…"}\n\n: x\n\ndata: [DONE]\n\n'.encode()
    reader, events, at = EventReader(), [], 0
    for size in sizes:
        events += reader.feed(data[at : at + size])
        at += size
    events += reader.feed(data[at:])

    assert events == ['{"é":1}'.encode(), '{"b":"…"}'.encode()]
    assert reader.is_done


def test_a_last_line_without_its_newline_counts() -> None:
    assert events_of(b'data: {"a":1}') == [b'{"a":1}']


def test_a_byte_order_mark_is_no_part_of_the_first_line() -> None:
    assert events_of(b"\xef\xbb\xbfdata: x\n") == [b"x"]


def test_events_without_a_blank_line_between_them_are_two() -> None:
    assert events_of(b"data: 1\ndata: 2\n") == [b"1", b"2"]


def test_an_endless_line_is_an_error_and_not_a_growing_buffer() -> None:
    reader = EventReader(max_line_bytes=10)
    with pytest.raises(StreamError, match="a line of over 10 bytes"):
        reader.feed(b"data: 0123456789")


def test_a_body_that_is_no_stream_is_one_event_and_bounded() -> None:
    whole = EventReader(is_whole=True, max_line_bytes=10)
    assert whole.feed(b'{"a"') == []
    assert whole.feed(b":1}") == []
    assert whole.finish() == [b'{"a":1}']
    with pytest.raises(StreamError):
        whole.feed(b"0123456789a")


@pytest.mark.parametrize(
    "data",
    [
        b"{not json",
        b'{"choices": 7}',
        b'"\xff\xfe"',
        b'{"choices":[{"delta":{"content":5}}]}',
        rb'{"choices":["\ud83d"]}',
        rb'{"choices":[{"delta":{"content":"\ud83d"',
        b'"\xff\\ud83d"',
        b"[" * 100_000 + rb'"\ud83d',
    ],
    ids=range(8),
)
def test_nonsense_is_named_as_such(data: bytes) -> None:
    with pytest.raises(StreamError, match="an event that is"):
        parse_chunk(data)


def test_fragments_by_index_become_calls_in_the_order_they_began() -> None:
    calls = assemble(
        part(0, "a", "one", ""), part(1, "b", "two", ""), part(0, args='{"x"'), part(1, args="{}"), part(0, args=":1}")
    )

    assert calls == [ToolCall("a", "one", '{"x":1}'), ToolCall("b", "two", "{}")]


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([part(None, "a", "one", "{}"), part(None, "b", "two", "{}")], id="no index"),
        pytest.param([part(0, "a", "one", "{}"), part(0, "b", "two", "{}")], id="one index for all"),
        pytest.param([part(0, "a", "one", {}), part(1, "b", "two", {})], id="arguments as an object"),
        pytest.param([part(0, "a", "one"), part(0, "", "", "{}"), part(1, "b", "two"), part(1, None, "")], id="empty"),
        pytest.param([part(0, "a", "one", "{"), part(0, "a", "one", "}"), part(1, "b", "two")], id="repeated"),
        pytest.param(
            [part(None, "a", "one", "{"), part(None, None, None, "}"), part(None, "b", "two")], id="bare tail"
        ),
    ],
)
def test_the_oddities_of_endpoints_give_the_same_two_calls(parts: list[CallPart]) -> None:
    assert assemble(*parts) == [ToolCall("a", "one", "{}"), ToolCall("b", "two", "{}")]


def test_calls_with_neither_index_nor_id_are_told_apart_by_their_names() -> None:
    assert assemble(part(None, None, "t", '{"a":1}'), part(None, None, "t", '{"a":2}')) == [
        ToolCall("new_0", "t", '{"a":1}'),
        ToolCall("new_1", "t", '{"a":2}'),
    ]


def test_an_id_that_is_not_new_is_replaced() -> None:
    assert [call.id for call in assemble(part(0, "same", "t"), part(1, "same", "t"))] == ["same", "new_0"]


def test_a_call_without_a_name_is_an_error() -> None:
    with pytest.raises(StreamError, match="without a name"):
        assemble(part(0, "a", None, "{}"))


def test_calls_and_arguments_are_bounded() -> None:
    with pytest.raises(StreamError, match="tool calls in one reply"):
        assemble(*(part(n, None, "t") for n in range(MAX_CALLS + 1)))
    with pytest.raises(StreamError, match="tool arguments"):
        assemble(part(0, None, "t", "x" * (MAX_ARGUMENTS_CHARS + 1)))


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
    error = parse_chunk(data).failure

    assert "boom" in json.dumps(error)


@given(st.lists(HALVES, max_size=6))
def test_a_text_is_the_same_however_its_characters_are_torn(texts: list[str]) -> None:
    events = read(*torn("content", *texts), chunk({}, "stop"))
    deltas = [event.text for event in events if isinstance(event, TextDelta)]

    assert "".join(deltas) == join_halves("".join(texts))
    assert all(delta.encode() for delta in deltas), "no half of a character leaves"


def test_no_half_of_a_character_leaves_in_what_is_no_text() -> None:
    half = "\ud83d"
    call = {"index": 0, "id": half, "function": {"name": half, "arguments": {half: half}}}

    calls, end = read(chunk({"tool_calls": [call]}), chunk({}, half))

    assert calls == ToolCall("\ufffd", "\ufffd", '{"\ufffd": "\ufffd"}')
    assert end == Finished("\ufffd")
