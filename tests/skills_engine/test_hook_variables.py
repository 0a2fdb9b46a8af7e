"""Variables in the texts of hooks (L1-48)."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from skills_engine import CallFacts, HookFacts, HookInfo, HookManager, Timing
from skills_engine.conditions.hook_variables import VARIABLES, unknown_variables
from skills_engine.conditions.set_entry import NO_OWNER

pytestmark = pytest.mark.rule("L1-48")

FACTS = HookFacts(
    user_messages=("a", "b"),
    channel="voice",
    language="de-CH",
    model="qwen",
    user="anna",
    started_at=datetime(2026, 11, 22, 14, 5, tzinfo=ZoneInfo("Europe/Berlin")),
)


def text(content: str, timing: Timing = "after_user_input", *, facts: HookFacts = FACTS, **injected: Any) -> str:
    """Return what the model reads of a hook with this text."""
    messages: list[dict[str, Any]] = []
    hook = HookInfo("x", "x.md", timing, "system", True, content, "tutor", vars=True)
    [frame] = HookManager(messages, [hook], facts=facts).inject(timing, **injected)
    assert frame["content"] == messages[0]["content"]  # what is signed
    return str(frame["content"])


def test_each_variable_has_its_value() -> None:
    asked = "|".join(f"{{{{{name}}}}}" for name in VARIABLES)

    assert text(asked, "after_tool_call", call=CallFacts(name="shop", status="refused"), round=2) == (
        "2026-11-22|14:05|Sunday|CET|anna|de-CH|voice|qwen|tutor|shop|refused|2|2"
    )
    assert text(asked, facts=HookFacts(started_at=FACTS.started_at)) == (
        "2026-11-22|14:05|Sunday|CET|||text||tutor||||0"
    )


def test_the_batch_before_a_round_is_no_call() -> None:
    assert text("{{tool}}{{round}}", "before_each_agent", calls=[CallFacts(name="shop")], round=3) == "3"


def test_four_braces_stand_for_two() -> None:
    assert text("{{{{user}} {{user}} {user} {{ {{{{{{user}}") == "{{user}} anna {user} {{ {{anna"


@pytest.mark.parametrize(
    ("user", "filled"),
    [
        ("a\nb\r\nc\u2028d", "a b c d"),
        ("{{model}}", "{model}}"),
        ("{{{{{", "{"),
        ("x" * 300, "x" * 200),
        ("{" * 399 + "x" * 300, "{" + "x" * 199),
    ],
)
def test_a_value_is_one_short_line_that_opens_no_variable(user: str, filled: str) -> None:
    assert text("{{user}}", facts=HookFacts(user=user)) == filled


def test_what_is_no_variable_stays_as_it_is_written() -> None:
    assert text("{{usr}} {{ user }}{{user}}") == "{{usr}} {{ user }}anna"


def test_without_vars_nothing_is_filled_in() -> None:
    messages: list[dict[str, Any]] = []
    hook = HookInfo("x", "x.md", "after_user_input", "system", False, "{{user}} {{{{", "tutor", priority=1)
    HookManager(messages, [hook], facts=FACTS).inject("after_user_input")

    assert messages == [{"role": "system", "content": "{{user}} {{{{"}]


def test_an_unknown_variable_is_found() -> None:
    assert unknown_variables("{{user}} {{ user }} {{usr}} {{}} {{{{usr}} {{a{b}} {usr}", NO_OWNER) == [
        "{{ user }}",
        "{{usr}}",
        "{{}}",
    ]
