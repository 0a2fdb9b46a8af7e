"""The second reading of the rules itself, held against their sentences by hand."""

from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_engine import CallFacts, HookFacts
from tests.model.conditions_model import Moment, State, TurnModel, no_of
from tests.model.entry_rules import Hook, Json, read
from tests.model.pattern_rules import fits_glob, is_found

OF_2000_STEPS = f"/b|{'a' * 1995}/"
SUNDAY_NOON = datetime(2026, 11, 22, 12, tzinfo=ZoneInfo("Europe/Berlin"))
CALL = CallFacts(name="shop__refund", status="error", arguments={"a": {"b": 3}, "c": None}, result="no")
AFTER_A_CALL = Moment("after_tool_call", 1, (CALL,))


def hook(name: str = "h", *, skill: str = "s", content: str = "text", **changed: Any) -> Hook:
    entry: Json = {"name": name, "timing": "after_user_input", "role": "system", "persistent": False, **changed}
    return Hook(skill, entry, content)


def turn(*hooks: Hook, state: State | None = None, **changed: Any) -> TurnModel:
    facts = HookFacts(started_at=SUNDAY_NOON, **{"user_messages": ("hi",), **changed})
    return TurnModel(hooks, facts, state or State())


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("/help", "see /help.", True),
        ("/help/", "see help.", True),
        ("/HELP/", "see help.", False),
        ("/HELP/i", "see help.", True),
        ("ﬁne", "FINE!", True),
        ("fine", "fines", False),
        ("aa", "xaa aa", True),
        ("款b", "退款b", True),
        ("款b", "退款b1", False),
        ("b款", "b款退", True),
        ("re fund", "re \n\u00a0fund", True),
        ("don't", "I don’t", True),
        ("don’t", "DON'T", True),
        ("e-mail", "e‑mail", True),
        ("email", "e\u00admail", True),
        ("cafe", "Café", True),
        ("café", "cafe", False),
        ("ελληνικα", "Ελληνικά", True),
        ("еще", "ещё", True),
        ("мои", "мой", False),
        ("$5", "US$5", True),
        ("c++", "c++11", True),
        ("refund*", "refunds", True),
        ("refund*", "refund", True),
        ("refund*", "refund2", False),
        ("refund*", "prefund", False),
        ("5*", "5 apples", False),
        ("5*", "5*", True),
        ("re*fund", "refund", False),
        ("हिन्दी", "हिन्दीं", False),
        ("end", "x" * 65536 + " end", False),
        (OF_2000_STEPS, "b".rjust(2000), True),
        (OF_2000_STEPS, "b".rjust(2001), False),
        (OF_2000_STEPS, f"é{'b'.rjust(1998)}", True),
        (OF_2000_STEPS, f"é{'b'.rjust(1999)}", False),
        (OF_2000_STEPS.replace("b", "x$"), f"{'x'.rjust(1999)}é", True),
    ],
)
def test_a_pattern_is_an_expression_or_whole_words(pattern: str, text: str, found: bool) -> None:
    assert is_found(pattern, text) is found


@given(st.text("ab[]!-*?", max_size=7), st.text("ab-[]!", max_size=4))
def test_a_glob_fits_as_the_shells_do(glob: str, name: str) -> None:
    assert fits_glob(glob, name) == fnmatchcase(name, glob)


@pytest.mark.parametrize(
    ("when", "said"),
    [
        ({}, None),
        ({"all": []}, None),
        ({"any": []}, "when.any"),
        ({"not": {}}, "when.not"),
        ({"not": {"channel": "text"}}, "when.not.channel"),
        ({"all": [{}, {"channel": "voice"}]}, "when.all[1].channel"),
        ({"turn": 1, "channel": "voice", "round": 9}, "when.channel"),
        ({"not": {"round": {"min": 2}}}, None),
        ({"tool": ["shop__*"], "tool_status": ["ok"]}, "when.tool_status"),
        ({"tool_args": {"a.b": ["3"], "a": ['/^{"b":3}$/'], "c": ["null"]}}, None),
        ({"tool_args": {"a.c": ["3"]}}, "when.tool_args"),
        ({"language": ["*"]}, "when.language"),
        ({"user": ["*"]}, "when.user"),
        ({"model": ["cloud"]}, None),
    ],
)
def test_a_condition_names_the_first_that_says_no(when: Json, said: str | None) -> None:
    assert no_of(when, HookFacts(started_at=SUNDAY_NOON, user_messages=("hi",)), AFTER_A_CALL, "when") == said


@pytest.mark.parametrize(
    ("time", "holds"),
    [
        ({"from": "12:00"}, True),
        ({"to": "12:00"}, False),
        ({"from": "12:01", "to": "12:00", "days": ["sat"]}, False),
        ({"from": "12:01", "to": "12:01", "days": ["sun"]}, True),
        ({"from": "22:00", "to": "12:01", "days": ["sat"]}, True),
        ({"from": "22:00", "to": "12:01", "days": ["sun"]}, False),
        ({"from": "19:00", "to": "20:00", "timezone": "Asia/Shanghai"}, True),
    ],
)
def test_a_span_past_midnight_belongs_to_the_day_it_began_on(time: Json, holds: bool) -> None:
    assert (no_of({"time": time}, HookFacts(started_at=SUNDAY_NOON), AFTER_A_CALL, "when") is None) is holds


def test_sticky_then_cooldown_then_when_again() -> None:
    one, state, fired = hook(sticky=2, cooldown=1, when={"user_text": ["hi"]}), State(), []
    for said in ("hi", "", "", "hi", "", "hi"):
        played = turn(one, state=state, user_messages=(said,))
        fired.append(bool(played.inject("after_user_input")))
        state = played.state() or state

    assert fired == [True, True, True, False, False, True]


def test_of_a_group_and_of_a_budget_the_strongest_stay() -> None:
    weak, strong, first, second = (
        hook("weak", group="g", priority=-1),
        hook("strong", group="g", priority=2),
        hook("first", content="abcdefgh"),
        hook("second", content="abcd"),
    )
    played = turn(weak, strong, first, second, hook_tokens=3)

    assert [one.hook.name for one in played.inject("after_user_input")] == ["first", "strong"]
    assert [(out.hook.name, out.reason) for out in played.out] == [("weak", "group"), ("second", "budget")]


def test_an_injection_searches_ten_times_what_an_expression_may_and_no_hook_after_it_searches() -> None:
    asking = {"user_text": ["no", OF_2000_STEPS], "scan_turns": 9}
    hooks = [
        hook("nine", when=asking),
        hook("the same nine", when={"not": asking}),
        hook("ten", when={"user_text": [OF_2000_STEPS.replace("b", "c")]}),
        hook("a word of the eleventh", when={"user_text": ["said", "/x/"]}),
        hook("eleven", when={"not": {"user_text": ["/x/"]}}),
        hook("nine again", when=asking),
    ]
    played = turn(*hooks, user_messages=tuple(f"said {number:2000}" for number in range(9)))

    assert [one.hook.name for one in played.inject("after_user_input")] == ["the same nine", "a word of the eleventh"]
    assert [(out.hook.name, out.reason) for out in played.out] == [
        ("nine", "when"),
        ("ten", "when"),
        ("eleven", "search_limit"),
        ("nine again", "search_limit"),
    ]


def test_what_reads_like_a_condition_is_no_hook() -> None:
    entry = {"name": "h", "file": "h.md", "timing": "after_user_input", "role": "system", "persistent": False}
    keys = ("matcher", "wen", "whens", "wehn", "than", "when", "note", "keys", "_keys", "x-if")
    entries = [{**entry, "name": key, key: 1} for key in keys]
    nested: list[Any] = [[], {}]
    entries += [{**entry, "name": f"{key} {value}", key: value} for key in ("note", "$note") for value in nested]

    assert [one.name for one in read("s", entries, {"h.md": "text"})] == [
        *("than", "note", "_keys", "x-if", "$note []", "$note {}"),
    ]
