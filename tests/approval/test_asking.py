"""server/approval/asking.py: keys of calls, edited arguments, and the texts around a question."""

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.approval.asking import (
    Answer,
    AnsweredBy,
    Question,
    RememberFor,
    may_be_spoken,
    said_text,
    shown_text,
    text_for_model,
)
from server.approval.remembered import Approved, canonical_json, keys_for


def call_key(tool: str, arguments: Any) -> str:
    return Approved(tool=tool, remember_for="arguments", value=arguments).key


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def question(message: str = "", tool: str = "read_file") -> Question:
    return Question(tool=tool, arguments={}, message=message, origin="guard")


# keys


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=4))
def test_the_order_of_keys_does_not_make_another_call(arguments: dict[str, Any]) -> None:
    turned = dict(reversed(arguments.items()))

    assert call_key("t", arguments) == call_key("t", turned)


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, True), (1, 1.0), ({"a": None}, {}), ([1, 2], [2, 1]), ("1", 1), ({"a": "é"}, {"a": "e\u0301"})],
)
def test_calls_that_differ_at_all_have_different_keys(one: Any, other: Any) -> None:
    assert call_key("t", one) != call_key("t", other)


def test_a_tools_name_cannot_reach_into_its_arguments() -> None:
    assert call_key('a","b', []) != call_key("a", ["b"])
    assert call_key("a", {}) != call_key("b", {})


def test_big_numbers_and_broken_text_have_keys_too() -> None:
    assert canonical_json({"n": 2**70}) == '{"n":1180591620717411303424}'
    assert canonical_json("\ud800") == '"\\ud800"'


def approved(tool: str, remember_for: RememberFor = "arguments", value: Any = None) -> Approved:
    return Approved(tool=tool, remember_for=remember_for, value=value)


def test_what_is_remembered_covers_its_own_tool_alone() -> None:
    keys = keys_for("shell", {"command": "git push origin"}, "git push")

    assert approved("shell", "arguments", {"command": "git push origin"}).key in keys
    assert approved("shell", "command", "git push").key in keys
    assert approved("shell", "tool").key in keys
    for other in (
        approved("bash", "tool"),
        approved("bash", "command", "git push"),
        approved("shell", "command", "git"),
        approved("shell", "arguments", {"command": "git push"}),
        approved("command", "arguments", ["shell", "git push"]),
        approved("tool", "arguments", "shell"),
    ):
        assert other.key not in keys
    assert approved("shell", "command", "git push").key not in keys_for("shell", {}, None)


# who may answer


def test_a_voice_answers_for_what_reads_only_unless_it_may_for_all() -> None:
    assert may_be_spoken("READ", by_voice=False)
    assert not may_be_spoken("WRITE", by_voice=False)
    assert not may_be_spoken("EXTERNAL", by_voice=False)
    assert may_be_spoken("EXTERNAL", by_voice=True)


# texts


def test_each_outcome_has_its_own_text_for_the_model() -> None:
    answers = [Answer(approved=True, by="user"), *(Answer(approved=False, by=by) for by in get_args(AnsweredBy))]
    texts = {answer.outcome: text_for_model(answer) for answer in answers}

    assert sorted(texts) == ["approved", "cancelled", "denied", "no_client", "timeout"]
    assert len(set(texts.values())) == len(texts)


def test_the_model_reads_the_reason_of_a_refusal() -> None:
    assert text_for_model(Answer(approved=False, by="user", reason="wrong file")).endswith("Reason: wrong file")
    assert "fine" not in text_for_model(Answer(approved=True, by="user", reason="fine"))


@pytest.mark.parametrize(
    ("language", "said"),
    [
        (None, "May I use read file? Say yes or no."),
        ("en-US", "May I use read file? Say yes or no."),
        ("de", "Darf ich read file benutzen? Bitte sagen Sie Ja oder Nein."),
        ("sw", "May I use read file? Say yes or no."),
    ],
)
def test_a_question_without_words_is_asked_in_the_users_language(language: str | None, said: str) -> None:
    assert said_text(question(), language, by_voice=True) == said


def test_what_cannot_be_answered_by_voice_is_said_to_be_answered_on_the_screen() -> None:
    assert said_text(question(), None, by_voice=False) == "May I use read file? Please answer on the screen."


def test_a_question_is_shown_whole_and_said_short() -> None:
    message = "Delete `notes.txt` for good\narguments: {…}"

    assert shown_text(question(message), "de") == message
    assert shown_text(question(), "de") == "Darf ich read_file benutzen?"
    assert said_text(question(message), "en", by_voice=True) == "Delete notes.txt for good. Say yes or no."
    assert len(said_text(question("a word " * 500), "en", by_voice=True)) < 240
    for asked in ("क्या मैं फ़ाइल हटाऊँ।", "هل أحذف الملف؟", "ጥያቄ፧", "Ջնջե՞լ։", "Maybe…", "可以吗？"):
        assert said_text(question(asked), "en", by_voice=True) == f"{asked} Say yes or no."
    assert said_text(question("https://example.org/x"), "en", by_voice=True).startswith("May I use")
