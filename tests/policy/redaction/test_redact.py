"""What is taken out of texts and structures, and what is left alone."""

import json
from typing import Any

import pytest

from server.approval.asking import REDACTED
from server.policy.redaction.redact import redact, redact_result
from server.policy.redaction.scan import secrets_in

GITHUB = "ghp_" + "NlJBNclzN0yvGBZ4RbZ61O1ZkWhGOzArM568"
RANDOM = "8vKq2LrXw9TbN4mZc7Yp3HsJd6FgA1eU"


@pytest.mark.parametrize(
    "text",
    [
        f"token {GITHUB}.",
        f"password: {RANDOM}",
        f'{{"api_key": "{RANDOM}"}}',
        f"export DB_PASSWORD='{RANDOM}'",
        f"Authorization: Bearer {RANDOM}",
        f"postgres://app:{RANDOM}@db/app",
        f"curl -u admin:{RANDOM} https://nas.local",
        f"mysql -u root -p{RANDOM} shop",
        f"the password is {RANDOM}",
        f"密码:{RANDOM}",
        f"| user | password |\n|---|---|\n| anna | {RANDOM} |",
        f"<password>{RANDOM}</password>",
        f"password%3D{RANDOM}%26user%3Danna",
        f"line\\npassword={RANDOM}\\nnext",
    ],
)
def test_a_secret_leaves_no_trace_in_a_text(text: str) -> None:
    clean, counts = redact(text)

    assert RANDOM not in clean
    assert GITHUB not in clean
    assert REDACTED in clean
    assert sum(counts.values()) >= 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "output_format: json",
        "password: required",
        "token: <token>",
        "api_key=${API_KEY}",
        "def login(user: str, password: str) -> Token: ...",
        "commit 972ace078fa73accf4b8c9ca268c922d6ff15e69",
        "postgres://user:password@host:5432/db",
        "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----",
        f"password: {REDACTED}",
    ],
)
def test_a_text_without_secrets_is_the_same_object(text: str) -> None:
    clean, counts = redact(text)

    assert clean is text
    assert not counts


def test_a_structure_keeps_its_types_and_what_is_not_secret() -> None:
    given: dict[str, Any] = {"user": "anna", "password": RANDOM, "port": 5432, "on": True, "no": None, "rows": [1, 2.5]}

    clean, counts = redact(given)

    assert clean == {**given, "password": REDACTED}
    assert given["password"] == RANDOM
    assert counts == {"named": 1}


def test_a_structure_without_secrets_is_the_same_object() -> None:
    given = {"a": [1, {"b": "text"}]}

    assert redact(given)[0] is given


def test_each_text_of_a_structure_is_read_by_itself() -> None:
    given = ["the password is", "Tundra-4417!x", "-----BEGIN PRIVATE KEY-----", "MIIE" * 20]

    assert redact(given)[0] == given


def test_the_same_text_goes_wherever_it_stands() -> None:
    clean, counts = redact({"a": f"password={RANDOM}", "b": ["fine", f"password={RANDOM}"]})

    assert clean == {"a": f"password={REDACTED}", "b": ["fine", f"password={REDACTED}"]}
    assert counts == {"named": 2}


def test_keys_that_are_secrets_go_and_none_is_lost() -> None:
    clean, _ = redact({GITHUB: 1, GITHUB[:-1] + "9": 2})

    assert sorted(clean.values()) == [1, 2]
    assert GITHUB not in json.dumps(clean)


@pytest.mark.parametrize(
    "given",
    [
        ["--token", RANDOM],
        ["password", RANDOM],
        [{"name": "DB_PASSWORD", "value": RANDOM}],
        {"kty": "EC", "d": RANDOM, "x": "abc"},
        {"kind": "Secret", "data": {"a": RANDOM}},
        {"db_password": {"sensitive": True, "value": RANDOM}},
        {"PASSWORD": ["one-Cobra-1", RANDOM]},
    ],
)
def test_a_structure_that_names_a_secret_some_other_way_gives_it_up(given: Any) -> None:
    assert RANDOM not in json.dumps(redact(given)[0])


def test_a_key_block_goes_as_a_whole_also_when_its_end_was_cut_off() -> None:
    body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCnzKWzPpGAGEMZg25d1E/47KfIQdtKVgc\n" * 4

    whole, _ = redact(f"a\n-----BEGIN PRIVATE KEY-----\n{body}-----END PRIVATE KEY-----\nb")
    cut, _ = redact(f"a\n-----BEGIN PRIVATE KEY-----\n{body[:100]}")

    assert whole == f"a\n{REDACTED}\nb"
    assert "MII" not in cut


def test_of_a_key_in_xml_all_that_is_private_goes() -> None:
    part = "q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA="
    private = f"<P>{part}</P><Q>{part}</Q><DP>{part}</DP><DQ>{part}</DQ><InverseQ>{part}</InverseQ><D>{part}</D>"

    clean, _ = redact(f"<RSAKeyValue><Modulus>AQAB</Modulus>{private}</RSAKeyValue>")

    assert part not in clean
    assert clean.startswith("<RSAKeyValue><Modulus>AQAB</Modulus>")


def test_nesting_without_end_is_cut_off_where_nobody_looks_any_more() -> None:
    deep: Any = RANDOM
    for _ in range(200):
        deep = [deep]

    clean, counts = redact(deep)

    assert RANDOM not in json.dumps(clean)
    assert counts["too_deep"] == 1


def test_a_result_that_is_json_is_read_as_json() -> None:
    clean, counts = redact_result(json.dumps({"password": "hunter-2-hunter", "ok": True}, indent=2))

    assert json.loads(clean) == {"password": REDACTED, "ok": True}
    assert counts == {"named": 1}
    assert redact_result('{"a":  1}')[0] == '{"a":  1}'


def test_redacting_twice_changes_nothing_more() -> None:
    once, _ = redact(f"password={RANDOM} and {GITHUB}")

    assert redact(once)[0] == once


HOSTILE = (
    "a", "=", '"', " ", "\n", "/", "-", "eyJ", "eyJaaaaaaaaaaaa.", "password", "password=", "password: ", 'password" ', "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN RSA PRIVATE KEY-----\nAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n", "://a:", "://a:b", "AKIA", "key ", "token_", "@", "a@b.c", "code ", "your code is ",
    "1234 ", "recovery codes ", "recovery codes: aa1a1 bb2b2 ", "seed phrase: ", "seed abc ", "\\", '\\"', "curl -u a ", "mysql ", "cookie: ", "cookie=a;", "|",
    " password |", "password,a\n", "bearer ", "Authorization: ", "$2b$", "$1$aaaaaaaaaaaaaaaaa", "PASS ", "/reset/", "Aa1", "password: {", 'password":{"value',
    "password: [", "password:\n - a", "net use ", ":AA", "@tcp(", "a:b@tcp(", "密码", "password is ", "echo a | chpasswd ", "ßéł", "İ", "password=$", "password>", "password(",
    "password a ", "password for: ", "as password ", "password? ", "%3A", "&quot;", '"-a", ', "cGFzc3dvcmQ9MTIzNDU2 ", "cGFzc3dvcmQ9MTIzNDU2", "hooks.a/", "login: a / ",
    "getConnection(a, ", "LOGIN a ", "assword: send ", "WIFI:T:", "<P>AAAA", "thin:a/", "unlock a ", "jwt.sign(a,", "BEGIN RSA PRIVATE KEY-----", "secret (", "secret [a] ",
    "key 1", "code 1234 ", "safe 1-", "助记词 山 ", "password b2 key1 token2 ", "insert into a (", "insert into a (password) values ('a', ", "<password a=\"b\" ", "PAT ",
)  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_no_text_takes_more_than_linear_time(piece: str) -> None:
    """Not timed: what grows much faster than the text would run into this test's time limit. What grows by its square
    does so at the length of the test below."""
    secrets_in((piece * (65_536 // len(piece) + 1))[:65_536])


@pytest.mark.timeout(120)
@pytest.mark.parametrize("piece", ["password(", "login", "WIFI:", "admin:", "-pbkdf2-x1"])
def test_the_longest_text_takes_its_length_in_time_too(piece: str) -> None:
    """Where a look ahead to the end of the word, from every place in it, would take a quarter of an hour."""
    secrets_in(piece * ((1 << 20) // len(piece)))
