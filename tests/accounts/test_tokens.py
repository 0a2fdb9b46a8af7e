"""server/accounts/credentials.py: configured tokens, and names of users"""

import pytest

from server import config
from server.accounts.credentials import TokenTable
from server.accounts.principal import checked_user_id
from server.config import Secret
from server.errors import AuthError, ConfigError

KEY = b"a key of the server"
ANNA, BEN = "annas-token-0123456789", "bens-token-9876543210"


def entry(user: str, token: str, *, operator: bool = False) -> config.UserToken:
    return config.UserToken(user=user, token=Secret(token), operator=operator)


def test_a_token_names_its_user_and_what_the_user_may() -> None:
    table = TokenTable([entry("anna", ANNA), entry("ben", BEN, operator=True)], [KEY])

    anna, ben = table.find(ANNA), table.find(BEN)

    assert anna is not None
    assert ben is not None
    assert (anna.user_id, anna.is_operator, anna.expires_at_s) == ("anna", False, None)
    assert (ben.user_id, ben.is_operator) == ("ben", True)


@pytest.mark.parametrize("token", ["", "x", ANNA[:-1], ANNA + "x", ANNA.upper(), f" {ANNA}", "\udcff", "é" * 40])
def test_anything_else_names_nobody(token: str) -> None:
    assert TokenTable([entry("anna", ANNA)], [KEY]).find(token) is None


def test_a_mark_stands_for_its_token_under_every_key() -> None:
    before = TokenTable([entry("anna", ANNA)], [b"old key"]).find(ANNA)
    rotated = TokenTable([entry("anna", ANNA)], [b"new key", b"old key"])

    assert before is not None
    assert before.mark is not None
    assert rotated.by_mark(before.mark) is not None
    assert TokenTable([entry("anna", BEN)], [b"old key"]).by_mark(before.mark) is None
    assert TokenTable([entry("anna", ANNA)], [b"new key"]).by_mark(before.mark) is None


def test_an_empty_table_is_none() -> None:
    assert not TokenTable([], [KEY])
    assert TokenTable([entry("anna", ANNA)], [KEY])


@pytest.mark.parametrize("name", ["local", "anonymous", "anonymous@1.2.3.4", "anonymous@a\u2028b"])
def test_nobody_is_called_like_those_who_are_not_logged_in(name: str) -> None:
    with pytest.raises(AuthError, match="not logged in"):
        checked_user_id(name)
    with pytest.raises(ConfigError, match=r"security\.tokens\[0\]\.user"):
        TokenTable([entry(name, ANNA)], [KEY])


@pytest.mark.parametrize("name", ["anna/visitor", "/anna", "anna/", "spiffe://example.org/anna"])
def test_no_account_has_a_name_like_that_of_a_key(name: str) -> None:
    with pytest.raises(AuthError, match="Realtime keys"):
        checked_user_id(name)
    with pytest.raises(ConfigError, match=r"security\.tokens\[0\]\.user: .*Realtime keys"):
        TokenTable([entry(name, ANNA)], [KEY])


@pytest.mark.parametrize("name", ["", "a\nb", "a\n", "a\x00", "a\x7f", "a\ud800", "x" * 129, None, 5, ["anna"], True])
def test_a_name_is_text_on_one_line(name: object) -> None:
    with pytest.raises(AuthError, match="names no user"):
        checked_user_id(name)


@pytest.mark.parametrize("name", ["anna", "anna@example.org", "locally", "李 雷", "auth0|5f7c8ec7c33c6c004bbafe82"])
def test_a_name_may_be_whatever_a_provider_calls_its_users(name: str) -> None:
    assert checked_user_id(name) == name
