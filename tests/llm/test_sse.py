"""Server-sent events and tool-call fragments: pure, torn at any byte."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.llm.sse import (
    MAX_ARGUMENTS_CHARS,
    MAX_CALLS,
    CallAssembler,
    CallPart,
    FunctionPart,
    SseReader,
    StreamError,
    WholeReader,
    parse_chunk,
)
from server.llm.types import ToolCall


def read(data: bytes, *, at_once: int = 1 << 20) -> list[bytes]:
    reader = SseReader()
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

    events = read(newline.join(line.encode() for line in lines) + newline, at_once=at_once)

    assert events == ['{"a":"ü€😀"}'.encode(), b'{"b":2}']


@given(st.lists(st.integers(min_value=1, max_value=12), min_size=1, max_size=30))
def test_where_the_bytes_are_torn_changes_nothing(sizes: list[int]) -> None:
    data = 'data: {"é":1}\r\n\r\ndata: {"b":"…"}\n\n: x\n\ndata: [DONE]\n\n'.encode()
    reader, events, at = SseReader(), [], 0
    for size in sizes:
        events += list(reader.feed(data[at : at + size]))
        at += size
    events += list(reader.feed(data[at:]))

    assert events == ['{"é":1}'.encode(), '{"b":"…"}'.encode()]
    assert reader.is_done


def test_a_last_line_without_its_newline_counts() -> None:
    assert read(b'data: {"a":1}') == [b'{"a":1}']


def test_a_byte_order_mark_is_no_part_of_the_first_line() -> None:
    assert read(b"\xef\xbb\xbfdata: x\n") == [b"x"]


def test_events_without_a_blank_line_between_them_are_two() -> None:
    assert read(b"data: 1\ndata: 2\n") == [b"1", b"2"]


def test_an_endless_line_is_an_error_and_not_a_growing_buffer() -> None:
    reader = SseReader(max_line_bytes=10)
    with pytest.raises(StreamError, match="a line of over 10 bytes"):
        list(reader.feed(b"data: 0123456789"))


def test_a_body_that_is_no_stream_is_one_event_and_bounded() -> None:
    whole = WholeReader(max_body_bytes=10)
    assert list(whole.feed(b'{"a"')) == []
    assert list(whole.feed(b":1}")) == []
    assert list(whole.finish()) == [b'{"a":1}']
    with pytest.raises(StreamError):
        whole.feed(b"0123456789")


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
