"""server/approval/edits.py: what runs when a human has edited arguments that were shown redacted."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.approval.asking import Question
from server.approval.edits import MaskLeftOver, approvable, edited_arguments, unmask
from server.approval.remembered import canonical_json
from server.toolguard import REDACTED

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
M = "[REDACTED]"
REAL = {"url": "https://u:secret@host", "tries": 1, "pin": 1234, "headers": [{"key": "s3"}, {"key": "s4"}]}
SHOWN = {"url": f"https://u:{M}@host", "tries": 1, "pin": M, "headers": [{"key": M}, {"key": M}]}


def asked(shown: Any, real: Any) -> Question:
    return Question(tool="t", arguments=shown, message="", origin="g", real_arguments=real)


def test_what_comes_back_as_it_was_shown_runs_as_it_really_is() -> None:
    assert unmask(SHOWN, SHOWN, REAL) == REAL
    assert unmask({**SHOWN, "tries": 2}, SHOWN, REAL) == {**REAL, "tries": 2}
    assert unmask({"headers": SHOWN["headers"]}, SHOWN, REAL) == {"headers": REAL["headers"]}
    assert unmask([{"key": "mine"}, {"key": M}], SHOWN["headers"], REAL["headers"]) == [{"key": "mine"}, {"key": "s4"}]


def test_what_was_edited_runs_as_it_was_edited() -> None:
    assert unmask({"url": "https://other", "new": True}, SHOWN, REAL) == {"url": "https://other", "new": True}
    assert unmask({"tries": True}, SHOWN, REAL) == {"tries": True}, "1 and true are not the same"
    assert unmask([], SHOWN, REAL) == []


@given(JSON, JSON)
def test_without_secrets_an_edit_stays_what_it_is(edited: Any, shown: Any) -> None:
    assert canonical_json(unmask(edited, shown, shown)) == canonical_json(edited)


@pytest.mark.parametrize(
    ("shown", "real", "edited", "runs"),
    [
        (f"PGPASSWORD={M} psql x", "PGPASSWORD=s3 psql x", f"PGPASSWORD={M} psql y", "PGPASSWORD=s3 psql y"),
        (
            f"PGPASSWORD={M} psql x",
            "PGPASSWORD=s3 psql x",
            f"env A=1 PGPASSWORD={M} psql",
            "env A=1 PGPASSWORD=s3 psql",
        ),
        (f"a={M} b={M} c", "a=s3 b=s4 c", f"a={M} x b={M} d", "a=s3 x b=s4 d"),
        (f"say {M} {M}", f"say {M} s3", f"say {M} {M}!", f"say {M} s3!"),
        (f"say {M}, pw={M}", f"say {M}, pw=s3", f"say {M}, pw={M}!", f"say {M}, pw=s3!"),
        (f"login {M}", "login s3", f"logout {M}", "logout s3"),
    ],
)
def test_a_text_may_be_edited_beside_its_secrets(shown: str, real: str, edited: str, runs: str) -> None:
    assert unmask({"c": edited}, {"c": shown}, {"c": real}) == {"c": runs}


@pytest.mark.parametrize(
    ("edited", "shown", "real"),
    [
        (f"a={M}", f"a={M} b={M}", "a=s3 b=s4"),
        (f"a={M} b={M} c={M}", f"a={M} b={M}", "a=s3 b=s4"),
        (f"b={M} a={M}", f"a={M} b={M}", "a=s3 b=s4"),
        (f"scp {M}{M} x", f"scp {M}{M}", "scp s3s4"),
        (f"x {M} y {M} z", f"x {M} y {M}", "x s y t y u"),  # the first secret: `s`, or `s y t`?
        (f"x {M} y", f"x {M}", "something else"),
        (f"new {M}", "old", "old"),
        ([f"-H {M}", f"-H {M}"], [f"-H {M}"], ["-H s3"]),
        ([{"key": M}], [{"key": M}, {"key": M}], [{"key": "s3"}, {"key": "s4"}]),
        ({"password": M}, {"token": M}, {"token": "s3"}),
        ({M: 1}, {"a": 1}, {"a": 1}),
        (M, {"withheld": "x"}, {"key": "s3"}),
    ],
)
def test_a_redaction_never_runs_in_a_secrets_stead(edited: Any, shown: Any, real: Any) -> None:
    with pytest.raises(MaskLeftOver, match="stands for a secret"):
        edited_arguments(asked({"c": shown, "k": M}, {"c": real, "k": "s"}), {"c": edited, "k": M})


@pytest.mark.parametrize(
    ("edited", "runs"),
    [
        (["curl", "-v", f"-H key: {M}", "url"], ["curl", "-v", "-H key: s3", "url"]),
        (["curl", "url", f"-H key: {M}"], ["curl", "url", "-H key: s3"]),
        (["curl", f"-H name: {M}", "url"], ["curl", "-H name: s3", "url"]),
        (["curl", "url"], ["curl", "url"]),
    ],
)
def test_an_argument_that_holds_a_secret_may_move(edited: list[str], runs: list[str]) -> None:
    assert unmask(edited, ["curl", f"-H key: {M}", "url"], ["curl", "-H key: s3", "url"]) == runs


def test_options_that_change_places_keep_their_secrets() -> None:
    shown, real = ["--user-key", M, "--token", M], ["--user-key", "s3", "--token", "s4"]

    assert unmask(["--token", M, "--user-key", M], shown, real) == ["--token", "s4", "--user-key", "s3"]
    assert unmask(["-q", *shown], shown, real) == ["-q", *real]


def test_a_secret_that_is_a_key_is_put_back_too() -> None:
    shown, real = {"a": 1, M: 2, f"{M} 2": 3}, {"a": 1, "s3": 2, "s4": 3}

    assert unmask({**shown, "a": 5}, shown, real) == {**real, "a": 5}
    assert edited_arguments(asked(shown, real), dict(reversed(shown.items()))) is None


def test_the_word_itself_may_be_written_where_nothing_is_hidden() -> None:
    assert edited_arguments(asked({"text": "x"}, None), {"text": f"x {M}"}) == {"text": f"x {M}"}
    shown, real = {"text": f"see {M}", "key": M}, {"text": f"see {M}", "key": "s3"}
    assert edited_arguments(asked(shown, real), {"text": f"look at {M}", "key": M}) == {
        "text": f"look at {M}",
        "key": "s3",
    }


def test_unchanged_arguments_are_no_edit() -> None:
    question = asked({"key": "***", "n": 1}, {"key": "s", "n": 1})

    assert edited_arguments(question, {"key": "***", "n": 2}) == {"key": "s", "n": 2}
    assert edited_arguments(question, {"n": 1, "key": "***"}) is None
    assert edited_arguments(question, {"n": 1, "key": "s"}) is None
    assert edited_arguments(question, None) is None
    withheld = {"withheld": "could not be scanned for secrets"}
    assert edited_arguments(asked(withheld, {"a": 1}), dict(withheld)) is None


_SECRETS = st.text(alphabet="ab =", min_size=1, max_size=4)


@given(st.lists(st.text(alphabet="ab =", max_size=4), min_size=2, max_size=5), st.data())
def test_what_is_put_back_is_never_another_secret(pieces: list[str], data: st.DataObject) -> None:
    secrets = [data.draw(_SECRETS) for _ in pieces[1:]]
    shown, real = M.join(pieces), "".join(p + s for p, s in zip(pieces, [*secrets, ""], strict=True))
    edited = f"{shown}!"

    try:
        runs = unmask(edited, shown, real)
    except MaskLeftOver:
        return
    assert runs == f"{real}!"


@pytest.mark.parametrize(
    "secret",
    [
        "a$(rm)",
        "a`rm`",
        "a;rm",
        "a|rm",
        "a&rm",
        "a>b",
        "a<b",
        "(a)",
        "a\nrm",
        "a rm",
        "a*",
        "a{b,c}",
        "a%b%",
        "-rf",
        "~/a",
        "'a'",
    ],
)
def test_a_question_shows_in_full_what_is_more_than_data(secret: str) -> None:
    shown, real = f"login {REDACTED} {REDACTED}", f"login {secret} s3cret"
    named = {"password": REDACTED, "list": ["--token", REDACTED]}

    assert approvable(shown, real) in (real, f"login {secret} {REDACTED}")
    assert approvable(named, {"password": secret, "list": ["--token", "s3cret"]}) == {**named, "password": secret}


@pytest.mark.parametrize(
    "secret", ["s3cret", "Tundra-4417!x", "wJalrXUtnFEMI/K7MDENG+bPxRf=", "eyJhbGciOi.J9_-x", "密码9"]
)
def test_a_question_hides_what_is_data(secret: str) -> None:
    assert approvable({REDACTED: [f"a {REDACTED} b"]}, {secret: [f"a {secret} b"]}) == {REDACTED: [f"a {REDACTED} b"]}


@pytest.mark.parametrize(
    ("shown", "real"),
    [
        ({"withheld": "could not be scanned"}, {"command": "rm -r /"}),
        ({"a": REDACTED}, {"a": ["rm", "-r"]}),
        (f"{REDACTED}{REDACTED}", "abc"),
        ([REDACTED], ["a", "b"]),
    ],
)
def test_a_question_shows_in_full_where_it_cannot_be_told_what_is_hidden(shown: Any, real: Any) -> None:
    assert approvable(shown, real) == real


def test_a_question_hides_a_number() -> None:
    assert approvable({"pin": REDACTED, "n": 1}, {"pin": 4471, "n": 1}) == {"pin": REDACTED, "n": 1}
