"""The judge of first-day replies accepts useful replies and says why others are not."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.corpora.first_day.judge import Sentence, judge, load

FILES = [Path(__file__).parent / "first_day" / name for name in ("shaping.toml", "kept_back.toml")]
# A Sunday, 19:05 for the user; 18:05 in UTC, 13:05 in New York, 03:05 on Monday in Tokyo
NOW = datetime(2026, 11, 22, 19, 5, 40, tzinfo=timezone(timedelta(hours=1)))

USEFUL: list[tuple[dict[str, Any], str]] = [
    ({"any": ["paris"]}, "The capital of France is **Paris**."),
    ({"any": ["4", "four"]}, "2 + 2 = 4."),
    ({"any": ["1000"]}, "It is 1,000."),
    ({"any": ["forty two"]}, "Forty-two!"),
    ({"any": ["perra|perro"]}, "It’s “perro”."),
    ({"any": ["adios"]}, "Adiós"),
    ({"any": ["scatter*"]}, "Light is scattered by the air."),
    ({"any": ["pig|hog", "cow*", "hen"], "at_least": 2}, "Cows and hogs, or a hen"),
    ({"none": ["degrees"]}, "It is a matter of degree."),
    ({"min_words": 2, "max_words": 3}, "Here you are."),
    ({"items": 3}, "Try pasta, a salad or soup."),
    ({"items": 3}, "1. Pasta\n2. Salad\n3. Soup"),
    ({"shorter": True}, "Plants make sugar from light."),
    ({"again": True}, "Plants turn light, water and air into sugar, which they need to live and to grow."),
    ({"again": True}, "I said that plants turn light into sugar."),
    ({"honest": True}, "I can't check the weather from here."),
    ({"honest": True}, "I’m sorry, I do not have access to a forecast."),
    ({"honest": True}, "None of my tools can tell that."),
    ({"may_decline": True}, "I don't have a favourite."),
    ({}, "Why don't skeletons fight? They have no guts."),
    ({"tool": "read_file|search_text"}, "You are a helpful assistant, it says."),
    ({"skills": True}, "There is time keeper, among others."),
    ({"time": "local"}, "It's 7:05 PM."),
    ({"time": "local"}, "It is 19:07 here."),
    ({"time": "local"}, "2026-11-22T19:04:12+01:00"),
    ({"time": "Asia/Tokyo"}, "In Tokyo it is 3:05 in the morning."),
    ({"time": "Asia/Tokyo"}, "03:05"),
    ({"time": "America/New_York"}, "01:06 p.m. in New York"),
    ({"date": True}, "Today is Sunday, November 22nd, 2026."),
    ({"date": True}, "It's the 22nd of November."),
    ({"date": True}, "2026-11-22"),
    ({"date": True}, "22/11/2026"),
    ({"date": True, "ahead_days": 1}, "Nov. 23"),
    ({"weekday": True}, "It's Sunday."),
    ({"weekday": True, "ahead_days": 1}, "Today is Sunday, so tomorrow is Monday."),
]
USELESS: list[tuple[dict[str, Any], str, str]] = [
    ({}, " … ", "has 0 words"),
    ({}, "hello, WORLD!", "repeats the user"),
    ({}, "Plants turn light, water and air into sugar, which they need to live and to grow.", "repeats the previous"),
    ({}, "I like it. I like it. I like it. ", "three times"),
    ({}, "You are a friendly voice assistant.", "echoes"),
    ({}, "Sure. Answer in one sentence.", "echoes"),
    ({}, '<tool_call>{"name": "current_time"}', "echoes"),
    ({}, "The user asked for the time.", "echoes"),
    ({}, "It is {time} in [your city].", "echoes"),
    ({}, "I'm sorry, but I can't help with that.", "declines"),
    ({}, "I don’t know.", "declines"),
    ({"any": ["paris"]}, "It is Parisian.", "lacks"),
    ({"any": ["4", "four"]}, "It is 42 or 4.5 or 3.4.", "lacks"),
    ({"any": ["pig|hog", "cow*"], "at_least": 2}, "Pigs, a pig and a hog.", "lacks"),
    ({"none": ["i am human"]}, "I am human!", "has one of"),
    ({"min_words": 3}, "Why not?", "has 2 words"),
    ({"max_words": 3}, "Because I say so.", "has 4 words"),
    ({"items": 3}, "Try pasta. It is good.", "lists fewer"),
    ({"shorter": True}, "Plants " + "really " * 20 + "make sugar.", "not shorter"),
    ({"again": True}, "What would you like to hear?", "again"),
    ({"honest": True}, "It is sunny and warm.", "admit"),
    ({"tool": "read_file"}, "Here is the file.", "came without"),
    ({"skills": True}, "There is a skill for cooking.", "names no skill"),
    ({"time": "local"}, "It's 7:05 AM.", "lacks the time"),
    ({"time": "local"}, "It's 07:05.", "lacks the time"),
    ({"time": "local"}, "It's 19:08.", "lacks the time"),
    ({"time": "local"}, "In five minutes it is 7 o'clock.", "lacks the time"),
    ({"time": "Asia/Tokyo"}, "2026-11-22T18:00:00+03:05", "lacks the time"),
    ({"time": "America/New_York"}, "It's 7:05 PM.", "lacks the time"),
    ({"date": True}, "November 22, 2023", "lacks the date"),
    ({"date": True}, "November 2", "lacks the date"),
    ({"date": True, "ahead_days": 1}, "November 22", "lacks the date"),
    ({"weekday": True}, "It's Monday.", "lacks the weekday"),
    ({"weekday": True}, "Friday, Saturday and Sunday are days.", "lacks the weekday"),
]


def reasons(rules: dict[str, Any], reply: str) -> list[str]:
    sentence = msgspec.convert({"say": "Hello world", **rules}, Sentence)
    before = ["Hi.", "Plants turn light, water and air into sugar, which they need to live and to grow."]
    return judge(sentence, reply, before, NOW, ["search_text"], ["time-keeper", "small_talk"])


@pytest.mark.parametrize(("rules", "reply"), USEFUL)
def test_a_useful_reply_has_no_reasons_against_it(rules: dict[str, Any], reply: str) -> None:
    assert reasons(rules, reply) == []


@pytest.mark.parametrize(("rules", "reply", "reason"), USELESS)
def test_a_useless_reply_has_its_one_reason(rules: dict[str, Any], reply: str, reason: str) -> None:
    found = reasons(rules, reply)

    assert len(found) == 1, found
    assert reason in found[0]


def test_a_full_hour_may_be_said_without_minutes() -> None:
    at_three = datetime(2026, 11, 22, 15, 1, tzinfo=UTC)
    rules = Sentence(say="What time is it?", time="local")

    assert judge(rules, "It's 3 p.m.", [], at_three) == judge(rules, "It’s 3 o’clock.", [], at_three) == []
    assert judge(rules, "It's 3 a.m.", [], at_three) == ["lacks the time (local)"]


def test_nothing_can_be_said_again_before_a_first_reply() -> None:
    assert judge(Sentence(say="Pardon?", again=True), "Hello!", [], NOW) == ["does not say it again"]


def test_an_unknown_rule_is_named_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "typo.toml").write_text('joke = [{ say = "Hi", anny = ["hello"] }]')

    with pytest.raises(msgspec.ValidationError, match=r"`anny`.*\$\[\.\.\.\]\[0\]"):
        load(tmp_path / "typo.toml")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("reply", ["Okay.", "I don't know.", "Let me think about that for a moment."])
def test_no_sentence_takes_an_evasive_reply(path: Path, reply: str) -> None:
    sentences = [sentence for conversation in load(path).values() for sentence in conversation]

    assert [sentence.say for sentence in sentences if not sentence.honest and not judge(sentence, reply, [], NOW)] == []


def test_the_two_files_are_alike_and_share_no_sentence() -> None:
    shaping, kept_back = ([s.say.casefold() for c in load(path).values() for s in c] for path in FILES)

    assert len(shaping) == len(kept_back) == 60
    assert len({*shaping, *kept_back}) == 120
