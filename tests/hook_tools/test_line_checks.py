"""hook_tools/line_checks.py: lines that are no replies, in words that help."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hook_tools.line_checks import Finding, check_line, shown
from hook_tools.listener import Listener
from server.subprocesses.lines import Overlong

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "result", "error", "method", "jsonrpc", "message", "code"]), inner)
    ),
    max_leaves=12,
)

REPLY = {"jsonrpc": "2.0", "id": 2, "result": {}}


def found(line: str | bytes) -> Finding | None:
    data = line.encode() if isinstance(line, str) else line
    return check_line(data, open_ids={2}, last_id=2)


@pytest.mark.parametrize(
    "line",
    [json.dumps(REPLY), "", "  ", json.dumps({"jsonrpc": "2.0", "id": 2, "error": {"code": 1, "message": "no"}})],
)
def test_a_reply_and_an_empty_line_are_no_fault(line: str) -> None:
    assert found(line) is None


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("loading model…", "‘loading model…’; anything else belongs on standard error"),
        ("[1]", "one object a line"),
        ("{", "do not indent it"),
        ("{'jsonrpc': '2.0'}", "JSON needs double quotes"),
        ('{"jsonrpc": "2.0", "id": 2, "result": NaNN}', "not valid JSON"),
        ("[" * 100_000, "one object a line"),
        ('{"a":' * 100_000, "nested too deep"),
        ('{"jsonrpc": "2.0", "id": "2", "result": {}}', '"id": "2", a string; return the id unchanged'),
        ('{"jsonrpc": "2.0", "id": 2.0, "result": {}}', '"id": 2.0, a number with a point'),
        ('{"jsonrpc": "2.0", "id": true, "result": {}}', '"id": true, a boolean'),
        ('{"jsonrpc": "2.0", "id": 1, "result": {}}', "had answered already"),
        ('{"jsonrpc": "2.0", "id": 9, "result": {}}', '"id": 9, which no call has'),
        ('{"jsonrpc": "2.0", "result": {}}', "without the id of its call"),
        ('{"action": "continue"}', "the answer belongs in “result”"),
        ('{"jsonrpc": "2.0", "id": 2, "approved": true}', 'without "result"; approved must be inside it'),
        ('{"jsonrpc": "2.0", "id": 2, "error": "boom"}', '"error" must be an object'),
        ('{"jsonrpc": "2.0", "id": 1, "method": "log"}', "a hook only answers"),
    ],
)
def test_what_is_wrong_is_said_in_words(line: str, words: str) -> None:
    result = found(line)

    assert result is not None
    assert result.level == "problem"
    assert words in result.text


def test_a_line_beyond_the_limit_shows_how_it_began() -> None:
    result = check_line(Overlong(b'{"jsonrpc":"2.0","id":2,"result":{"x":"aaaa'), open_ids={2}, last_id=2)

    assert result is not None
    assert "more than 16 MiB" in result.text
    assert '"id":2' in result.text


@pytest.mark.parametrize(
    "line", ['{"jsonrpc": "2.0", "id": null, "result": {}}', '{"jsonrpc": "2.0", "id": 0, "result": {}}']
)
def test_an_answer_to_a_notification_is_only_a_hint(line: str) -> None:
    result = check_line(line.encode(), open_ids=set(), last_id=2)

    assert result is not None
    assert result.level == "hint"
    assert "answered a notification" in result.text


def test_a_reply_that_does_not_say_jsonrpc_is_only_a_hint() -> None:
    result = found('{"id": 2, "result": {}}')

    assert result is not None
    assert result.level == "hint"


def test_control_characters_of_a_hook_do_not_reach_the_terminal() -> None:
    assert shown(b"\x1b[2Jgone \xff\n") == "‘\\x1b[2Jgone \ufffd’"


def test_a_long_line_is_cut() -> None:
    assert len(shown(b"x" * 10_000)) < 130


@given(st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()))
def test_nothing_that_a_hook_prints_upsets_the_listener(line: bytes) -> None:
    listener = Listener()
    listener.hear("out", b'{"jsonrpc":"2.0","id":2,"method":"hook.before_tool","params":{}}\n')
    listener.give_up()
    listener.hear("in", line)
    listener.hear("err", line)

    assert all(each.text for each in listener.take())
