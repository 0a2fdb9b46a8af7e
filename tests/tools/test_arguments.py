"""The arguments of a call, as models write them."""

from typing import Any

import pytest

from server.tools.tool_run import parse_arguments


@pytest.mark.parametrize(
    ("text", "value", "as_json"),
    [
        ('{"a": [1, "x", null]}', {"a": [1, "x", None]}, '{"a": [1, "x", null]}'),
        ("{}", {}, "{}"),
        ("", {}, "{}"),
        (" \n", {}, "{}"),
        ("[1]", [1], "{}"),
        ('"x"', "x", "{}"),
        ("null", None, "{}"),
    ],
)
def test_json_is_read_and_only_an_object_is_sent_back(text: str, value: Any, as_json: str) -> None:
    parsed = parse_arguments(text)

    assert (parsed.value, parsed.problem, parsed.as_json) == (value, None, as_json)


@pytest.mark.parametrize(
    "text", ["{", "{'a': 1}", '{"a": NaN}', '{"a":1}{', "\ud800", '{"a":"\\ud800"}', "[" * 100_000]
)
def test_what_is_no_json_is_kept_as_text_with_the_problem(text: str) -> None:
    parsed = parse_arguments(text)

    assert (parsed.value, parsed.as_json) == (text, "{}")
    assert parsed.problem
