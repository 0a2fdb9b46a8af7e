"""server/policy/call_filter.py: which calls a handler is for, however long their arguments are."""

from typing import Any

import pytest

from server import config
from server.policy.call_filter import CallFilter, matcher

PADDING = "x" * 200_000


async def fits(pattern: str, arguments: dict[str, Any], path: str = "command") -> bool:
    return await CallFilter(config.PolicyFilter(arguments={path: pattern})).fits("shell", "WRITE", arguments)


@pytest.mark.parametrize("pattern", ["*prod", "*prod*", "echo*prod", r"re:\bprod\b", r"re:prod$"])
@pytest.mark.parametrize("padding", ["", PADDING])
async def test_padding_leads_past_no_pattern(pattern: str, padding: str) -> None:
    assert await fits(pattern, {"command": f"echo {padding} prod"})
    assert not await fits(pattern, {"command": f"echo {padding} test"})
    if pattern in ("*prod*", r"re:\bprod\b"):
        assert await fits(pattern, {"targets": [{"a": padding, "env": "prod"}]}, "targets")


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"tools": ["sh*"]}, True),
        ({"tools": ["SH*", "other"]}, False),
        ({"permissions": ["EXTERNAL"]}, False),
        ({"permissions": ["WRITE", "EXTERNAL"], "tools": ["shell"]}, True),
        ({"arguments": {"command": "rm *"}}, True),
        ({"arguments": {"command": "ls*"}}, False),
        ({"arguments": {"c*": "*"}}, True),
        ({"arguments": {"targets.*.env": "live"}}, True),
        ({"arguments": {"targets.*.env": "test"}}, False),
        ({"arguments": {"command": "rm *", "missing": "*"}}, False),
    ],
)
async def test_a_call_has_to_fit_every_key_of_a_filter(wanted: dict[str, Any], expected: bool) -> None:
    arguments = {"command": "rm -rf /", "targets": {"a": [{"env": "live"}]}}

    assert await CallFilter(config.PolicyFilter(**wanted)).fits("shell", "WRITE", arguments) is expected


@pytest.mark.parametrize(
    "text", ["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "a" * 200_000 + "b"]
)
def test_a_search_that_takes_too_long_fits_unless_it_lets_a_guard_step_aside(text: str) -> None:
    assert matcher(r"re:^(a|aa)+$")(text)
    assert not matcher(r"re:^(a|aa)+$", in_doubt=False)(text)


async def test_a_call_of_many_slow_texts_fits_when_the_filters_time_is_over() -> None:
    assert await fits("re:^(a|aa)+$", {"command": ["a" * 24 + "c"] * 400})  # 18 ms each


async def test_arguments_nested_too_deep_to_be_looked_at_fit() -> None:
    deep: Any = "prod"
    for _ in range(100_000):
        deep = {"a": deep}

    assert await fits("test", deep, "a")


@pytest.mark.parametrize(("text", "at_once"), [("ls", True), (PADDING, False)])
def test_long_texts_are_looked_through_beside_the_loop(text: str, at_once: bool) -> None:
    try:
        fits("*a*b*c", {"command": text}).send(None)  # there is no event loop to go through
    except StopIteration:
        assert at_once
    except RuntimeError:
        assert not at_once


@pytest.mark.parametrize(
    "pattern", ["re:a{3000000}", "re:(?:(?:a{1000}){1000,}){10}", "re:(?x)a{300 00}", "re:(?x)a{#1\n3000000}"]
)
def test_a_pattern_that_would_fill_the_memory_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="repeats too often; use smaller numbers"):
        matcher(pattern)
