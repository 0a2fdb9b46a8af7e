"""Talk that a structure holds in many texts."""

from server.policy.redaction.dialogs import Dialog
from server.policy.redaction.redact import redact
from server.policy.redaction.spans import Span


def test_each_turn_gets_its_part_of_what_was_found_in_the_whole() -> None:
    dialog = Dialog(["code?", "4711", "thanks"])
    found = {"code?\n4711\nthanks": [Span(6, 10, "code")]}

    dialog.share(found)

    assert found["4711"] == [Span(0, 4, "code")]
    assert "code?" not in found
    assert "thanks" not in found


def test_what_reaches_over_an_end_of_line_is_taken_from_both_turns() -> None:
    dialog = Dialog(["key: abc", "def ok"])
    found = {"key: abc\ndef ok": [Span(5, 12, "key")]}

    dialog.share(found)

    assert (found["key: abc"], found["def ok"]) == ([Span(5, 8, "key")], [Span(0, 3, "key")])


def test_what_was_found_in_a_turn_stays() -> None:
    dialog = Dialog(["a secret and 4711", "b"])
    found = {"a secret and 4711": [Span(2, 8, "named")], "a secret and 4711\nb": [Span(13, 17, "code")]}

    dialog.share(found)

    assert found["a secret and 4711"] == [Span(2, 8, "named"), Span(13, 17, "code")]


def test_a_talk_as_long_as_a_file_is_not_read_once_more() -> None:
    assert Dialog(["what is the password?", "x" * 30_000]).text == ""


def test_many_turns_with_many_secrets_take_no_more_than_linear_time() -> None:
    talk = [{"from": "a", "text": f"password: Sommerwind{n}"} for n in range(700)]

    clean, counts = redact(talk)

    assert sum(counts.values()) == 700
    assert "Sommerwind" not in str(clean)
