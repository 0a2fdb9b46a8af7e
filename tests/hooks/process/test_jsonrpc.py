"""server/hooks/{lines,jsonrpc}.py: lines out, bytes in any cuts, and what a reply is."""

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.hooks.process.jsonrpc import RpcCalls, RpcReply, notification
from server.subprocesses.lines import MAX_LINE_BYTES, Lines, Overlong


def lines_of(lines: Lines, *cuts: bytes) -> Iterator[bytes | Overlong]:
    for cut in cuts:
        lines.feed(cut)
        while (line := lines.next()) is not None:
            yield line if isinstance(line, Overlong) else bytes(line)


def opened(count: int = 3) -> RpcCalls:
    """With the calls 1 … count under way."""
    calls = RpcCalls()
    for _ in range(count):
        calls.open("hook.before_tool", {})
    return calls


# lines out


def test_a_call_is_one_compact_line_and_ids_count_from_1() -> None:
    calls = RpcCalls()

    call_id, line = calls.open("hook.hello", {"name": "é", "version": 1})

    assert call_id == 1
    assert line.decode() == '{"jsonrpc":"2.0","id":1,"method":"hook.hello","params":{"name":"é","version":1}}\n'
    assert calls.open("hook.before_tool", {})[0] == 2


def test_a_notification_has_no_id() -> None:
    line = notification("hook.runtime_event", {"kind": "agent.turn.end"})

    assert line == b'{"jsonrpc":"2.0","method":"hook.runtime_event","params":{"kind":"agent.turn.end"}}\n'


def test_a_line_break_in_a_text_does_not_break_the_line() -> None:
    _, line = RpcCalls().open("x", {"text": "a\nb\r\n"})

    assert line.count(b"\n") == 1


def test_the_separators_at_which_some_readers_end_a_line_go_out_escaped() -> None:
    text = "a\u2028b\u2029c…"
    line = notification("x", {"text": text})

    assert line == '{"jsonrpc":"2.0","method":"x","params":{"text":"a\\u2028b\\u2029c…"}}\n'.encode()
    assert json.loads(line)["params"]["text"] == text


def test_large_numbers_go_out_whole_and_half_a_surrogate_pair_goes_out_escaped() -> None:
    _, line = RpcCalls().open("x", {"n": 2**80, "text": "\ud800"})

    assert json.loads(line)["params"] == {"n": 2**80, "text": "\ud800"}


def test_what_is_no_json_opens_no_call() -> None:
    calls = RpcCalls()
    loop: list[Any] = []
    loop.append(loop)

    for params in ({"x": object()}, {"x": loop}, {"x": "a" * (MAX_LINE_BYTES + 1)}):
        with pytest.raises((TypeError, ValueError)):
            calls.open("x", params)

    assert calls.open("x", {})[0] == 1


def test_a_line_beyond_the_limit_is_not_sent() -> None:
    with pytest.raises(ValueError, match="at most 16777216"):
        notification("x", {"text": "a" * MAX_LINE_BYTES})


# cuts


def test_lines_are_the_same_however_they_are_cut() -> None:
    assert list(lines_of(Lines(), b'{"a"', b":1}\n\n{}\r", b"\n[", b"]\n")) == [b'{"a":1}', b"", b"{}", b"[]"]


def test_a_last_line_without_an_end_counts_at_the_end_of_the_stream() -> None:
    lines = Lines()
    assert list(lines_of(lines, b"{}\n[1", b"]\r")) == [b"{}"]

    assert lines.end() == b"[1]"
    assert lines.end() is None


def test_a_line_beyond_the_limit_is_told_at_once_and_the_next_one_is_whole() -> None:
    lines = Lines(max_bytes=8)

    assert list(lines_of(lines, b"12345678\n", b"1234", b"56789")) == [b"12345678", Overlong(b"123456789")]
    assert lines.held_bytes == 0
    assert list(lines_of(lines, b"still the same\nnext\n123456789\nlast\n")) == [
        b"next",
        Overlong(b"123456789"),
        b"last",
    ]


@given(st.lists(st.binary(max_size=40), max_size=30), st.integers(0, 30))
def test_no_cuts_lose_a_line_or_hold_more_than_the_limit(cuts: list[bytes], limit: int) -> None:
    lines = Lines(max_bytes=limit)
    got = []
    for cut in cuts:
        got += [None if isinstance(line, Overlong) else line for line in lines_of(lines, cut)]
        assert lines.held_bytes <= limit
    last = lines.end()

    whole = b"".join(cuts).split(b"\n")
    assert [None if len(line) > limit else line.removesuffix(b"\r") for line in whole[:-1]] == got[: len(whole) - 1]
    if len(whole[-1]) <= limit:
        assert (last or b"") == whole[-1].removesuffix(b"\r")


# replies


def test_replies_come_in_any_order() -> None:
    calls = opened(2)

    assert calls.read(b'{"jsonrpc":"2.0","id":2,"result":{"b":2}}') == RpcReply(2, {"b": 2}, None)
    assert calls.read(b'{"jsonrpc":"2.0","id":1,"result":{"a":1}}') == RpcReply(1, {"a": 1}, None)


@pytest.mark.parametrize(
    ("line", "reply"),
    [
        ('{"id":1}', RpcReply(1, None, None)),  # neither: all defaults
        ('{"id":1,"result":null}', RpcReply(1, None, None)),
        ('{"id":1,"result":true}', RpcReply(1, True, None)),  # what a result may be, the caller knows
        ('{"id":1,"result":{},"error":null}', RpcReply(1, {}, None)),
        (
            '{"id":1,"result":{},"error":{"code":-32601,"message":"no such method"}}',
            RpcReply(1, None, "no such method"),
        ),
        ('{"id":1,"error":{}}', RpcReply(1, None, "")),
        ('{"ID":1,"Result":{"Action":"x"}}', RpcReply(1, {"Action": "x"}, None)),
        ('{"id":1,"Error":{"Message":"no"}}', RpcReply(1, None, "no")),
        ('{"Result":{"a":1},"id":1,"result":{"b":1}}', RpcReply(1, {"b": 1}, None)),
        ('{"id":1,"result":{"a":1},"result":{"b":1}}', RpcReply(1, {"b": 1}, None)),
        ('{"jsonrpc":"1.9","id":1,"result":{}}', RpcReply(1, {}, None)),
        ('{"id":1,"method":"hook.before_tool","result":{}}', RpcReply(1, {}, None)),
        ('\t {"id":1, "result": {} } ', RpcReply(1, {}, None)),
        (
            '{"id":1,"result":{"n":123456789012345678901234567890}}',
            RpcReply(1, {"n": 123456789012345678901234567890}, None),
        ),
        ('{"id":1,"result":{"t":"\\ud83d\\ude00 \\ud800"}}', RpcReply(1, {"t": "😀 ?"}, None)),
    ],
)
def test_what_is_read_as_a_reply(line: str, reply: RpcReply) -> None:
    calls = opened()

    assert calls.read(line.encode()) == reply
    assert not calls.ignored


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (b"[" + b"{}," * 100_000 + b"{}]", "more than 100000 objects and lists"),
        (b'"' + b"\xff" * (1 << 20) + b'"', "can't decode byte"),
        (b'"\\ud800' + b"x" * (1 << 20) + b'"', "invalid escaped character|surrogate"),
    ],
)
def test_a_long_line_that_would_take_long_to_read_costs_its_call(result: bytes, why: str) -> None:
    calls = opened()

    reply = calls.read(b'{"id":1,"result":' + result + b"}")

    assert reply is not None
    assert reply.error is not None
    assert re.search(why, reply.error)
    assert calls.ignored == {"garbled": 1}


def test_bytes_that_are_no_utf8_become_replacement_characters() -> None:
    assert opened().read(b'{"id":1,"result":{"t":"\xff"}}') == RpcReply(1, {"t": "\N{REPLACEMENT CHARACTER}"}, None)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"", "blank"),
        (b" " * 300, "blank"),
        (b"debug: here", "stray"),
        (b'[{"id":1,"result":{}}]', "stray"),
        (b"null", "stray"),
        (b'{"id":1,"result":{}} trailing', "garbled"),
        (b'{"result":{"id":1}', "garbled"),
        (b'{"id":"1","result":{}}', "odd_id"),
        (b'{"id":1.0,"result":{}}', "odd_id"),
        (b'{"id":"one","result":{}}', "garbled"),
        (b'{"id":1.5,"result":{}}', "garbled"),
        (b'{"id":"9","result":{}}', "garbled"),
        (b'{"id":-1,"result":{}}', "garbled"),
        (b'{"id":true,"result":{}}', "garbled"),
        (b'{"id":1,"result":' + b"[" * 5000, "garbled"),
        (b'{"result":{}}', "no_id"),
        (b'{"id":null,"result":{}}', "no_id"),
        (b'{"id":0,"result":{}}', "no_id"),
        (b'{"id":1,"method":"ping","params":{}}', "request"),
        (b'{"id":9,"result":{}}', "unknown_id"),
        (b'{"id":123456789012345678901234567890,"result":{}}', "unknown_id"),
    ],
)
def test_what_is_none_is_dropped_and_counted(line: bytes, why: str) -> None:
    calls = opened()

    reply = calls.read(line)

    assert reply is None or reply.error is not None
    assert dict(calls.ignored) == {why: 1}
    assert calls.read(b'{"id":2,"result":{}}') == RpcReply(2, {}, None)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"jsonrpc":"2.0","id":2,"result":{\'a\':1}}', "not valid JSON"),
        (b'{"id": 2 ,"result":NaN}', "not valid JSON"),
        (b'{"id":2,"error":"boom"}', "`error` must be an object"),
        (b'{"id":2,"error":{"message":1}}', "`error.message` must be a string"),
        (b'{"id":2,"error":{"message":"x","code":"1"}}', "`error.code` must be an integer"),
        (b'{"jsonrpc":2,"id":2,"result":{}}', "`jsonrpc` must be a string"),
    ],
)
def test_a_garbled_reply_costs_its_own_call_where_it_says_which(line: bytes, problem: str) -> None:
    calls = opened()

    reply = calls.read(line)

    assert reply is not None
    assert (reply.id, problem in (reply.error or "")) == (2, True)
    assert dict(calls.ignored) == {"garbled": 1}


def test_an_overlong_reply_costs_its_own_call_and_an_id_inside_a_result_is_none() -> None:
    calls = opened()

    reply = calls.read(Overlong(b'{"jsonrpc": "2.0", "id": 1, "result": {"text": "aaaa'))
    assert calls.read(Overlong(b'{"result": {"rows": [{"id": 2, "text": "aaaa')) is None

    assert reply is not None
    assert reply.error == "its reply was a line of more than 16 MiB"
    assert dict(calls.ignored) == {"overlong": 2}


def test_second_late_and_foreign_replies_are_told_apart() -> None:
    calls = opened()
    calls.abandon(2)
    calls.abandon(2)
    for line in (b'{"id":1}', b'{"id":1}', b'{"id":2}', b'{"id":2}', b'{"id":4}'):
        calls.read(line)

    assert dict(calls.ignored) == {"duplicate": 2, "late": 1, "unknown_id": 1}


def test_calls_that_were_given_up_are_not_remembered_for_ever() -> None:
    calls = opened(1000)
    for call_id in range(1, 1001):
        calls.abandon(call_id)

    calls.read(b'{"id":1}')
    calls.read(b'{"id":1000}')

    assert dict(calls.ignored) == {"duplicate": 1, "late": 1}


def _cut(data: bytes, at: list[int]) -> list[bytes]:
    places = [0, *sorted(place % (len(data) + 1) for place in at), len(data)]
    return [data[start:end] for start, end in pairwise(places)]


@given(st.data())
def test_valid_replies_between_garbage_in_any_cuts_are_all_found(data: st.DataObject) -> None:
    limit = 200
    noise = st.one_of(
        st.binary(max_size=60).map(lambda line: line.replace(b"\n", b"") + b"\n"),
        st.just(b"x" * (limit + 1) + b"\n"),
        st.sampled_from([b"{\n", b'{"id":\n', b'{"id":"1","result":{}}\n', b'[{"id":1}]\n', b"\n", b'{"result":{}}\n']),
    )
    pieces: list[bytes] = []
    for call_id in data.draw(st.permutations(range(1, 6))):
        pieces += data.draw(st.lists(noise, max_size=3))
        pieces.append(msgspec.json.encode({"jsonrpc": "2.0", "id": call_id, "result": {"n": call_id}}) + b"\n")
    stream = b"".join(pieces)
    calls, lines = opened(5), Lines(max_bytes=limit)

    cuts = _cut(stream, data.draw(st.lists(st.integers(0, 10_000), max_size=20)))
    replies = [calls.read(line) for line in lines_of(lines, *cuts)]

    found = [reply for reply in replies if reply is not None and reply.error is None]
    assert sorted(found) == [RpcReply(n, {"n": n}, None) for n in range(1, 6)]


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "ID", "result", "error", "message", "code", "jsonrpc", "method"]), inner
        )
    ),
    max_leaves=8,
)


@given(st.lists(st.one_of(st.binary(), _json.map(lambda value: json.dumps(value).encode()))))
def test_nothing_that_a_hook_prints_raises(printed: list[bytes]) -> None:
    calls = opened(5)
    replies = [calls.read(line) for line in printed]

    answered = [reply.id for reply in replies if reply is not None]
    assert set(answered) <= {1, 2, 3, 4, 5}
    assert len(set(answered)) == len(answered)
    assert sum(calls.ignored.values()) + len(answered) >= len(printed)
