"""server/accounts/credentials.py: the page's cookie"""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server import config
from server.accounts.credentials import SessionCookies, TokenTable
from server.accounts.principal import Identity
from server.config import Secret
from skills_engine import Signer

TOKEN = "annas-token-0123456789"


def table(*, operator: bool = False, token: str = TOKEN, keys: tuple[bytes, ...] = (b"key",)) -> TokenTable:
    return TokenTable([config.UserToken(user="anna", token=Secret(token), operator=operator)], keys)


def sessions(
    tokens: TokenTable | None = None, *, keys: tuple[bytes, ...] = (b"key",), at_s: float = 0.0
) -> SessionCookies:
    return SessionCookies(keys, tokens or table(), lasts_s=100, now=lambda: at_s)


def anna() -> Identity:
    found = table().find(TOKEN)
    assert found is not None
    return found


FROM_PROVIDER = Identity(user_id="ben", is_operator=True, expires_at_s=50.0)


def test_another_replica_with_the_same_key_reads_it() -> None:
    value, lasts_s = sessions().issue(anna(), "s1")

    found = sessions().read(value)

    assert found is not None
    assert (found.user_id, found.is_operator, found.expires_at_s, lasts_s) == ("anna", False, 100.0, 100)


def test_one_from_before_keys_had_names_opens_nothing_under_such_a_name() -> None:
    value, _ = sessions().issue(Identity(user_id="anna/visitor", expires_at_s=50.0), "s1")

    assert sessions().read(value) is None


def test_it_ends_by_its_time() -> None:
    value, _ = sessions().issue(anna(), "s1")

    assert sessions(at_s=99.9).read(value) is not None
    assert sessions(at_s=100).read(value) is None


def test_it_lasts_no_longer_than_the_jwt_it_was_made_from() -> None:
    value, lasts_s = sessions().issue(FROM_PROVIDER, "s1")

    assert lasts_s == 50
    assert sessions(at_s=49).read(value) == Identity(user_id="ben", is_operator=True, expires_at_s=50.0, session="s1")
    assert sessions(at_s=50).read(value) is None


def test_it_ends_when_its_token_is_taken_away() -> None:
    value, _ = sessions().issue(anna(), "s1")

    assert sessions(table(token="another-token-0123")).read(value) is None


def test_its_rights_are_those_that_are_configured_now() -> None:
    value, _ = sessions(table(operator=False)).issue(anna(), "s1")

    found = sessions(table(operator=True)).read(value)

    assert found is not None
    assert found.is_operator


def test_a_new_key_lets_sessions_of_the_old_one_live_until_it_is_removed() -> None:
    value, _ = sessions().issue(anna(), "s1")
    both = (b"new", b"key")

    assert sessions(table(keys=both), keys=both).read(value) is not None
    assert sessions(table(keys=(b"new",)), keys=(b"new",)).read(value) is None


def test_nothing_of_it_can_be_changed() -> None:
    value, _ = sessions().issue(FROM_PROVIDER, "s1")

    for place in range(len(value)):
        for letter in "AZ.":
            changed = value[:place] + letter + value[place + 1 :]
            assert changed == value or sessions().read(changed) is None, place


def test_a_forged_content_is_nothing() -> None:
    content = base64.urlsafe_b64encode(json.dumps(["anna", True, 99.0, None, "s1"]).encode()).decode().rstrip("=")
    signature = sessions().issue(FROM_PROVIDER, "s1")[0].rpartition(".")[2]

    assert sessions().read(f"v1.{content}.{signature}") is None
    assert sessions().read(f"v1.{content}.") is None


@pytest.mark.parametrize(
    "value", ["", ".", "..", "v1..", "v2.a.b", "v1.a.b.c", "v1.é.é", "v1.\udcff.\udcff", "x" * 9000]
)
def test_what_is_no_session_is_nothing(value: str) -> None:
    assert sessions().read(value) is None


@given(st.text(max_size=60))
def test_no_text_makes_it_fail(text: str) -> None:
    assert sessions().read(text) is None
    assert sessions().read(f"v1.{text}.{text}") is None


def test_the_key_that_signs_hooks_signs_no_session_and_opens_none() -> None:
    """Hooks are signed for whoever talks to the model: what they show must be worth nothing here."""
    signer = Signer([b"a key of the secret file"])
    keys = tuple(signer.derived_keys("session cookies"))
    opened = SessionCookies(keys, table(keys=keys), lasts_s=100, now=lambda: 0.0)
    value, _ = SessionCookies([b"a key of the secret file"], table(), lasts_s=100, now=lambda: 0.0).issue(
        FROM_PROVIDER, "s1"
    )

    assert opened.read(value) is None
    assert opened.read(signer.sign("skill", "hook", "system", value.split(".")[1])) is None
