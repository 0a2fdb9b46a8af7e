"""What a `when` holds of, what says no, and what is no `when` (L1-42)."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from skills_engine import CallFacts, HookFacts
from skills_engine.conditions.condition import Moment
from skills_engine.conditions.firing import TurnMemory
from skills_engine.conditions.when_entry import read_when
from skills_engine.diagnostics import Report

pytestmark = pytest.mark.rule("L1-42")

SHOP = CallFacts(
    name="shop__refund", status="error", arguments={"id": 3, "order": {"no": "A7"}}, result="No such order."
)
SEARCH = CallFacts(name="search_text", arguments={"query": "refund", "deep": True, "list": [1, "ü"]}, result="nothing")
SUNDAY_0030 = datetime(2026, 11, 22, 0, 30, tzinfo=ZoneInfo("UTC"))


def moment(
    timing: str = "after_user_input",
    *,
    call: CallFacts | None = None,
    calls: tuple[CallFacts, ...] = (),
    round_number: int | None = None,
    **facts: Any,
) -> Moment:
    return TurnMemory(HookFacts(**facts), {}).moment(timing, call, calls, round_number)


def why_not(when: object, at: Moment | None = None) -> str | None:
    report = Report("skill", "hooks/hooks.json")
    condition = read_when(when, "$.hooks[0].when", report)
    assert condition is not None, report.found
    return condition.why_not(moment() if at is None else at)


def mistakes(when: object) -> list[tuple[str, str]]:
    report = Report("skill", "hooks/hooks.json")
    condition = read_when(when, "$.when", report)
    assert (condition is None) is bool(report.errors)
    return [(found.path, found.message) for found in report.found]


@pytest.mark.parametrize(
    ("when", "facts", "path"),
    [
        ({}, {}, None),
        ({"channel": "text"}, {}, None),
        ({"channel": "voice"}, {}, "when.channel"),
        ({"user_text": ["refund"]}, {"user_messages": ("refund", "hi")}, "when.user_text"),
        ({"user_text": ["refund"], "scan_turns": 2}, {"user_messages": ("refund", "hi")}, None),
        ({"user_text": ["refund"], "scan_turns": 2}, {"user_messages": ("refund", "", "hi")}, "when.user_text"),
        ({"user_text": ["/^$/"], "scan_turns": 20}, {"user_messages": ()}, "when.user_text"),
        ({"turn": 2}, {"user_messages": ("a", "b")}, None),
        ({"turn": {"min": 3}}, {"user_messages": ("a", "b")}, "when.turn"),
        ({"turn": {"max": 1}}, {"user_messages": ()}, None),
        ({"turn": {"max": 2}}, {"user_messages": ("a", "b")}, None),
        ({"turn": {"min": 2, "max": 2}}, {"user_messages": ("a", "b")}, None),
        ({"language": ["en", "de"]}, {"language": "de-CH"}, None),
        ({"language": ["*"]}, {"language": None}, "when.language"),
        ({"model": ["gpt-*"]}, {"model": "gpt-9"}, None),
        ({"model": ["local"]}, {"model": "qwen", "is_local": True}, None),
        ({"model": ["local"]}, {"model": "gpt-9"}, "when.model"),
        ({"model": ["cloud"]}, {"model": "gpt-9"}, None),
        ({"model": ["l*"]}, {"model": "qwen", "is_local": True}, "when.model"),
        ({"user": ["ann*"]}, {"user": "anna"}, None),
        ({"user": ["*"]}, {"user": None, "is_operator": True}, "when.user"),
        ({"user": ["operator"]}, {"user": None, "is_operator": True}, "when.user"),
        ({"user": ["operator"]}, {"user": "bob", "is_operator": True}, None),
        ({"user": ["operator"]}, {"user": "operator"}, "when.user"),
        ({"skills": ["a", "b"]}, {"skills": frozenset("abc")}, None),
        ({"skills": ["a", "d"]}, {"skills": frozenset("abc")}, "when.skills"),
        ({"tool": ["*"]}, {}, "when.tool"),
        ({"round": 1}, {}, "when.round"),
        ({"any": [{"user_text": ["a"]}, {"user_text": ["b"]}]}, {"user_messages": ("b",)}, None),
        ({"user_text": ["a"], "any": [{"user_text": ["b"]}]}, {"user_messages": ("a",)}, "when.any[0].user_text"),
    ],
)
def test_a_leaf_holds_or_says_no(when: dict[str, Any], facts: dict[str, Any], path: str | None) -> None:
    assert why_not(when, moment(**facts)) == path


@pytest.mark.parametrize(
    ("when", "path"),
    [
        ({"all": []}, None),
        ({"any": []}, "when.any"),
        ({"not": {}}, "when.not"),
        ({"not": {"any": []}}, None),
        ({"not": {"channel": "text"}}, "when.not.channel"),
        ({"not": {"channel": "voice"}}, None),
        ({"not": {"not": {"channel": "voice"}}}, "when.not.not.channel"),
        ({"not": {"round": 1}}, None),
        ({"not": {"channel": "text", "turn": {"max": 9}}}, None),
        ({"not": {"channel": "text", "model": ["cloud"]}}, "when.not"),
        ({"not": {"all": [{"channel": "text"}, {}]}}, "when.not.all"),
        ({"not": {"any": [{"channel": "voice"}, {"channel": "text"}]}}, "when.not.any[1].channel"),
        ({"all": [{}, {"any": [{"channel": "voice"}]}]}, "when.all[1].any[0].channel"),
        ({"any": [{"channel": "voice"}, {"turn": 3}]}, "when.any"),
        ({"any": [{"channel": "voice"}, {"all": []}]}, None),
        ({"round": 1, "channel": "voice"}, "when.round"),
        ({"channel": "voice", "round": 1}, "when.channel"),
    ],
)
def test_the_path_names_what_alone_decides(when: dict[str, Any], path: str | None) -> None:
    assert why_not(when, moment(user_messages=tuple("abcdefghij"))) == path


@pytest.mark.parametrize(
    ("when", "path"),
    [
        ({"tool": ["shop__*"]}, None),
        ({"tool": ["shop"]}, "when.tool"),
        ({"tool_status": ["error", "refused"]}, None),
        ({"tool_status": ["ok"]}, "when.tool_status"),
        ({"tool_args": {"id": ["3"]}}, None),
        ({"tool_args": {"order.no": ["/^A/"]}}, None),
        ({"tool_args": {"order": ['/"no":"A7"/']}}, None),
        ({"tool_args": {"id": ["3"], "order.date": ["/./"]}}, "when.tool_args"),
        ({"tool_args": {"id.x": ["/./"]}}, "when.tool_args"),
        ({"tool_args": {}}, None),
        ({"tool_result": ["no such order"]}, None),
        ({"tool_result": ["done"]}, "when.tool_result"),
        ({"not": {"tool": ["shop__*"]}}, "when.not.tool"),
        ({"not": {"tool": ["search_text"]}}, None),
        ({"not": {"tool": ["shop__*"], "tool_status": ["ok"]}}, None),
        ({"not": {"tool": ["shop__*"], "tool_status": ["error"]}}, "when.not"),
        ({"round": 2, "tool": ["shop__*"]}, None),
    ],
)
def test_after_a_tool_conditions_ask_about_its_call(when: dict[str, Any], path: str | None) -> None:
    assert why_not(when, moment("after_tool_call", call=SHOP, calls=(SEARCH,), round_number=2)) == path


@pytest.mark.parametrize(
    ("when", "path"),
    [
        ({"tool": ["shop__*"], "tool_status": ["error"]}, None),
        ({"tool": ["shop__*"], "tool_status": ["ok"]}, "when.tool_status"),
        ({"tool_status": ["ok"], "tool": ["shop__*"]}, "when.tool"),
        ({"tool": ["shop__*"], "all": [{"tool_status": ["ok"]}]}, None),
        ({"tool_args": {"deep": ["true"], "list": ['[1,"ü"]']}}, None),
        ({"round": {"min": 2, "max": 2}}, None),
    ],
)
def test_before_a_round_one_call_of_the_batch_must_fit_all_of_an_object(when: dict[str, Any], path: str | None) -> None:
    assert why_not(when, moment("before_each_agent", calls=(SHOP, SEARCH), round_number=2)) == path


def test_other_timings_know_no_call_and_no_round() -> None:
    for timing in ("after_user_input", "before_planning"):
        assert why_not({"tool": ["*"]}, moment(timing, call=SHOP, calls=(SHOP,), round_number=1)) == "when.tool"
        assert why_not({"round": 1}, moment(timing, round_number=1)) == "when.round"
    assert why_not({"tool": ["*"]}, moment("before_first_agent", calls=(SHOP,))) == "when.tool"
    assert why_not({"round": 1}, moment("before_first_agent")) is None
    assert why_not({"round": 1, "channel": "text"}, moment("before_first_agent")) is None
    assert why_not({"tool": ["*"]}, moment("after_tool_call")) == "when.tool"
    assert why_not({"round": 2, "channel": "text"}, moment("after_tool_call", round_number=2)) is None
    assert why_not({"tool": ["*"]}, moment("before_each_agent", round_number=1)) == "when.tool"


@pytest.mark.parametrize(
    ("span", "does_hold"),
    [
        ({}, True),
        ({"from": "00:30"}, True),
        ({"from": "00:31"}, False),
        ({"to": "00:30"}, False),
        ({"to": "00:31"}, True),
        ({"from": "22:00", "to": "06:00"}, True),
        ({"from": "22:00", "to": "00:30"}, False),
        ({"from": "00:30", "to": "00:10"}, True),
        ({"from": "22:00", "to": "06:00", "days": ["sat"]}, True),
        ({"from": "22:00", "to": "06:00", "days": ["sun"]}, False),
        ({"from": "00:00", "to": "06:00", "days": ["sun"]}, True),
        ({"from": "08:00", "to": "08:00", "days": ["sun"]}, True),
        ({"days": ["mon", "sat"]}, False),
        ({"days": ["sat"], "timezone": "America/New_York"}, True),
        ({"from": "01:30", "to": "01:31", "timezone": "Europe/Berlin"}, True),
        ({"from": "00:30", "to": "00:31", "timezone": "Europe/Berlin"}, False),
    ],
)
def test_the_clock_is_in_a_span_or_not(span: dict[str, Any], does_hold: bool) -> None:
    at = moment(started_at=SUNDAY_0030)

    assert why_not({"time": span}, at) == (None if does_hold else "when.time")


def test_the_clock_is_that_of_the_zone_in_which_the_turn_started() -> None:
    tokyo = moment(started_at=SUNDAY_0030.astimezone(ZoneInfo("Asia/Tokyo")))

    assert why_not({"time": {"from": "09:30", "to": "09:31"}}, tokyo) is None


def test_a_span_that_passes_midnight_holds_before_it_on_its_own_day() -> None:
    saturday = moment(started_at=datetime(2026, 11, 21, 23, 59, 59, tzinfo=ZoneInfo("UTC")))

    assert why_not({"time": {"from": "22:00", "to": "06:00", "days": ["sat"]}}, saturday) is None
    assert why_not({"time": {"from": "22:00", "to": "06:00", "days": ["sun"]}}, saturday) == "when.time"


@pytest.mark.parametrize(
    ("when", "path", "words"),
    [
        ("always", "$.when", "expected an object of conditions"),
        ({"tool": []}, "$.when.tool", "expected a list of 1 to 32 non-empty strings; got []"),
        ({"usertext": ["a"]}, "$.when.usertext", "unknown condition (did you mean user_text?)"),
        ({"and": [{}]}, "$.when.and", "unknown condition (did you mean all?)"),
        ({"not": {"chanel": "text"}}, "$.when.not.chanel", "(did you mean channel?)"),
        ({"any": [{}, {"channel": "radio"}]}, "$.when.any[1].channel", "expected voice or text"),
        ({"scan_turns": 2}, "$.when.scan_turns", "beside user_text"),
        ({"user_text": ["a"], "scan_turns": 21}, "$.when.scan_turns", "expected a number from 1 to 20"),
        ({"user_text": ["/(?=a)/"]}, "$.when.user_text", '"/(?=a)/" is no expression'),
        ({"user_text": ["a", "a\ud83db"]}, "$.when.user_text", '"a\\ud83db" holds half of a surrogate pair'),
        ({"channel": "\ud83d"}, "$.when.channel", "expected voice or text"),
        ({"round": {}}, "$.when.round", "or both"),
        ({"round": {"min": 3, "max": 2}}, "$.when.round", "not above max"),
        ({"round": {"min": None}}, "$.when.round.min", "expected a number from 1 on; got null"),
        ({"turn": {"max": 1, "most": 2}}, "$.when.turn.most", "unknown key: expected a number from 1 on, or {"),
        ({"turn": 0}, "$.when.turn", "expected a number"),
        ({"turn": True}, "$.when.turn", "expected a number"),
        ({"time": {"from": "7:00"}}, "$.when.time.from", 'expected a time from "00:00" to "23:59"; got "7:00"'),
        ({"time": {"from": "07:00\n"}}, "$.when.time.from", "expected a time"),
        ({"time": {"from": "07:00", "till": "08:00"}}, "$.when.time.till", "unknown key: expected an object of from"),
        ({"time": {"a`b": 1}}, "$.when.time.a`b", "unknown key"),
        ({"time": {"days": ["mon", "tues"]}}, "$.when.time.days", 'fri, sat, sun; got ["mon", "tues"]'),
        ({"time": ["07:00"]}, "$.when.time", "expected an object of from"),
        ({"time": {"timezone": ""}}, "$.when.time.timezone", 'expected a name such as Europe/Berlin; got ""'),
        ({"time": {"timezone": "Middle/Earth"}}, "$.when.time.timezone", 'is called "Middle/Earth": write it'),
        ({"time": {"timezone": "../../etc/passwd"}}, "$.when.time.timezone", "no time zone"),
        ({"time": {"timezone": "Europe"}}, "$.when.time.timezone", "no time zone"),
        ({"tool_status": ["failed"]}, "$.when.tool_status", "expected a list of ok, error, refused"),
        ({"all": {}}, "$.when.all", "expected a list of objects, got {}"),
        ({"any": [3]}, "$.when.any[0]", "expected an object"),
    ],
)
def test_a_wrong_value_is_named_with_its_place(when: Any, path: str, words: str) -> None:
    [(place, message)] = mistakes(when)

    assert place == path
    assert words in message


def test_every_mistake_is_named() -> None:
    assert len(mistakes({"tool": [], "user": "ann", "all": [{"x": 1}, 2]})) == 4


def test_a_condition_has_at_most_64_leaves() -> None:
    def of(leaves: int) -> dict[str, Any]:
        return {"user_text": ["a"], "scan_turns": 2, "any": [{"turn": 1} for _ in range(leaves - 1)]}

    assert mistakes(of(64)) == []
    assert mistakes(of(65)) == [("$.when", "has 65 conditions: at most 64 are allowed")]


@pytest.mark.parametrize("empty", [{}, {"any": []}, {"all": []}, {"not": {}}])
def test_empty_objects_and_lists_count_among_the_64_conditions(empty: dict[str, Any]) -> None:
    assert mistakes({"any": [empty] * 64}) == []
    assert mistakes({"any": [{"any": [empty] * 60}] * 60}) == [
        ("$.when", "has 3600 conditions: at most 64 are allowed")
    ]


def test_conditions_that_do_not_count_at_a_place_are_named_with_those_that_do() -> None:
    report = Report("", "")

    assert read_when({"tool": ["a"], "scan_turns": 2}, "$", report, known=("user", "time")) is None
    assert [(found.path, found.message) for found in report.found] == [
        ("$.tool", "does not count here; these do: user, time"),
        ("$.scan_turns", "counts beside user_text only"),
    ]


@pytest.mark.parametrize("is_list", [True, False])
def test_objects_are_nested_at_most_8_deep(is_list: bool) -> None:
    def of(depth: int) -> dict[str, Any]:
        if depth == 1:
            return {"turn": 1}
        return {"any": [of(depth - 1)]} if is_list else {"not": of(depth - 1)}

    assert mistakes(of(8)) == []
    assert [message for _, message in mistakes(of(9))] == [
        "is nested too deep: at most 8 objects, one in the other, are allowed"
    ]


def test_conditions_that_are_written_alike_are_equal() -> None:
    report = Report("", "")

    assert read_when({"turn": 1}, "$", report) == read_when({"turn": 1}, "$", report)
    assert read_when({"turn": 1}, "$", report) != read_when({"turn": 2}, "$", report)
