"""What is taken out of structures: by keys, labels, columns and arguments. Types are kept."""

import json
import sys
from typing import Any

import pytest

from server.toolguard import REDACTED
from server.toolguard.redaction.redact import redact, redact_result

GITHUB = "ghp_NlJBNclzN0yvGBZ4RbZ61O1ZkWhGOzArM568"
R = "8vKq2LrXw9TbN4mZc7Yp3HsJd6FgA1eU"


def test_a_structure_keeps_its_types_and_what_is_not_secret() -> None:
    given: dict[str, Any] = {"user": "anna", "password": R, "port": 5432, "on": True, "no": None, "rows": [1, 2.5]}

    clean, counts = redact(given)

    assert clean == {**given, "password": REDACTED}
    assert clean["rows"] is given["rows"], "a part without secrets is the same object"
    assert redact((f"password={R}", 1))[0] == (f"password={REDACTED}", 1)
    assert given["password"] == R
    assert counts == {"named": 1}


def test_each_text_of_a_structure_is_read_by_itself() -> None:
    given = ["the password is", "Tundra-4417!x", "-----BEGIN ENCRYPTED PRIVATE KEY-----", "MIIE" * 20]

    assert redact(given)[0] == given


def test_the_same_text_goes_wherever_it_stands() -> None:
    clean, counts = redact({"a": f"password={R}", "b": ["fine", f"password={R}"]})

    assert clean == {"a": f"password={REDACTED}", "b": ["fine", f"password={REDACTED}"]}
    assert counts == {"named": 2}


def test_keys_that_are_secrets_go_and_none_is_lost() -> None:
    clean, _ = redact({GITHUB: 1, GITHUB[:-1] + "9": 2})

    assert sorted(clean.values()) == [1, 2]
    assert GITHUB not in json.dumps(clean)


@pytest.mark.parametrize(
    "given",
    [
        ["--token", R],
        ["password", R],
        ["mysql", "-uroot", f"-p{R}"],
        ["curl", "-u", f"anna:{R}", "https://x.example"],
        [{"name": "DB_PASSWORD", "value": R}],
        {"key": "X-Api-Key", "value": R},
        {"kty": "EC", "d": R, "x": "abc"},
        {"kind": "Secret", "data": {"a": R}},
        {"db_password": {"sensitive": True, "value": R}},
        {"PASSWORD": ["one-Cobra-1", R]},
        {"headers": {"Authorization": f"Bearer {R}"}},
        [["user", "password"], ["anna", R], ["bert", R]],
        {"cookies": [{"name": "sid", "value": R}]},
    ],
)
def test_a_structure_that_names_a_secret_some_other_way_gives_it_up(given: Any) -> None:
    assert R not in json.dumps(redact(given)[0])


@pytest.mark.parametrize(
    "given",
    [
        {"labels": {"password": "Password", "passwordRepeat": "Repeat password", "forgot": "Forgot your password?"}},
        {"license": "Apache-2.0", "keywords": ["password", "generator", "token"]},
        {"labels": {"login": "Login", "password": "Passwort", "test": "password"}, "password": "xxxxxx"},
        {"labels": {"password": "password"}, "fields": {"password": "login"}},
        {"auth_methods": ["password", "publickey", "keyboard-interactive"]},
        {"song": {"title": "Password", "artist": "Kitty Wells", "key": "G major"}},
        {"type": "object", "properties": {"password": {"type": "string", "minLength": 8}}},
        {"max_tokens": 4096, "usage": {"total_tokens": 1200, "prompt_tokens": 800}},
        {"code": 1045, "status": 200, "pin": 13, "next_page_token": "Q0FVUUFBPT0xMjM0NTY3ODkw"},
        {"api_key": "${API_KEY}", "password": "<password>", "secret": "vault:secret/data/app#key"},
        ["git", "commit", "-m", "change the password form"],
        [["name", "age"], ["anna", 7]],
        {"a": [1, {"b": "text"}], "t": (1, "x"), "password": None, "token": ""},
    ],
)
def test_a_structure_that_only_speaks_of_secrets_stays_the_same_object(given: Any) -> None:
    clean, counts = redact(given)

    assert clean is given
    assert counts == {}


@pytest.mark.parametrize(
    "value",
    "password123 topsecret123 secret99 MySecretPass1 TheBeatles1964 yourMom99 my-dog-Rex7 Fakeplastic1 $ecret99 hunter(2 [abc1xyz".split(),
)
def test_a_password_that_only_begins_like_a_placeholder_is_taken_out(value: str) -> None:
    assert redact({"password": value})[0] == {"password": REDACTED}


@pytest.mark.parametrize("value", "admin ADMIN 111111 000000 7777777 aaaaaa Secret default test".split())
def test_a_password_that_many_have_is_no_placeholder(value: str) -> None:
    assert json.loads(redact_result(json.dumps({"user": value, "password": value}))[0]) == {
        "user": value,
        "password": REDACTED,
    }
    cut = '[{"user": "x", "password": "%s", "cut'
    assert redact_result(cut % value)[0] == cut % REDACTED


def test_a_number_under_a_secret_name_becomes_a_text() -> None:
    assert redact({"pin": 4471, "password": 12345678, "port": 8080})[0] == {
        "pin": REDACTED,
        "password": REDACTED,
        "port": 8080,
    }


def test_nesting_without_end_is_cut_off_where_nobody_looks_any_more() -> None:
    deep: Any = R
    for _ in range(200):
        deep = [deep]

    clean, counts = redact(deep)

    assert R not in json.dumps(clean)
    assert counts["too_deep"] == 1


def test_a_result_that_is_json_is_read_as_json_and_written_as_it_was_indented() -> None:
    indented = json.dumps({"password": "hunter-2-hunter", "ok": True}, indent=2)

    clean, counts = redact_result(indented)

    assert clean == indented.replace("hunter-2-hunter", REDACTED)
    assert counts == {"named": 1}
    assert redact_result('{"a":  1}')[0] == '{"a":  1}'
    assert json.loads(redact_result('{"pin": 4471}')[0]) == {"pin": REDACTED}


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a": "\ud800"}', '{"a": 1e999}', "{", '["password", ', "\ud800 \udfff", "\0\n\0" * 10]
)
def test_hostile_texts_are_no_errors(text: str) -> None:
    assert redact_result(text) == (text, {})


def test_half_a_json_is_read_as_a_text() -> None:
    assert R not in redact_result('{"user": "anna", "password": "' + R + '", "tags": [')[0]


def test_a_json_longer_than_what_is_parsed_is_read_as_a_text() -> None:
    text = json.dumps([{"n": n, "password": "Tundra-4417!x"} for n in range(8000)])

    assert "Tundra" not in redact_result(text)[0]


def test_a_long_text_where_a_name_may_stand_is_not_kept_when_the_scan_is_over() -> None:
    text = "a long paragraph " * 1000
    references = sys.getrefcount(text)

    redact([text, "and what follows it"])
    redact({text: "under it"})

    assert sys.getrefcount(text) == references
