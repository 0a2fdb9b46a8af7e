"""server/approval/shared_questions.py"""

import json

import pytest

from server.approval.asking import Question
from server.approval.shared_questions import Answered, Asked, Ended, from_text, to_text

QUESTION = Question(
    tool="send",
    arguments={"to": "bob", "key": "[REDACTED]"},
    message="",
    origin="guard",
    permission="WRITE",
    timeout_s=5,
    real_arguments={"to": "bob", "key": "the-real-key"},
)


def test_a_question_arrives_as_it_is_shown_and_without_what_would_run() -> None:
    text = to_text(Asked.of(QUESTION, "May I?", "git push"))

    assert "the-real-key" not in text
    asked = from_text(Asked, text)
    shown = asked.question
    assert asked.command == "git push"
    assert (shown.tool, shown.arguments, shown.message) == ("send", QUESTION.arguments, "May I?")
    assert (shown.origin, shown.permission, shown.real_arguments) == ("guard", "WRITE", None)


def test_an_answer_and_an_end_arrive_as_they_were() -> None:
    answer = Answered(
        approved=True, reason="so be it", arguments={"n": 1.0, "t": "\ud800\0"}, remember="always", remember_for="tool"
    )
    end = Ended(approved=False, by="timeout", winner=None)

    assert from_text(Answered, to_text(answer)) == answer
    assert from_text(Ended, to_text(end)) == end
    assert to_text(answer).isascii()
    assert "\0" not in to_text(answer)


@pytest.mark.parametrize(
    "text", ["", "nonsense", "[]", '{"approved": "yes"}', json.dumps({"approved": True, "by": "me"}), "[" * 100_000]
)
def test_what_is_none_is_said(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        from_text(Ended, text)


def test_what_json_cannot_hold_is_said() -> None:
    deep: list[object] = []
    for _ in range(10_000):
        deep = [deep]

    with pytest.raises(RecursionError):
        to_text(Asked.of(Question(tool="t", arguments=deep, message="", origin="o"), "m", None))


def test_what_an_older_replica_sends_is_about_the_arguments() -> None:
    asked = from_text(Asked, '{"tool":"t","arguments":{},"message":"m","origin":"o","permission":"READ"}')
    answer = from_text(Answered, '{"approved":true,"reason":null,"arguments":null,"remember":"always"}')

    assert (asked.command, answer.remember_for) == (None, "arguments")
