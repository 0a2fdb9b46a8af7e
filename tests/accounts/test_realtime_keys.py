"""server/accounts/credentials.py, and whom Accounts finds in a key"""

import base64
import zlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server import config
from server.accounts.accounts import Accounts
from server.accounts.credentials import (
    MAX_KEY_CHARACTERS,
    RealtimeKeys,
    SessionCookies,
    TokenTable,
)
from server.accounts.principal import Identity, Principal
from server.config import Secret
from server.errors import AuthError, CredentialExpired, FrameError
from tests.support.page_sessions import MemorySessions

TOKEN = "annas-token-0123456789"
SECRETS = (b"a key of the server",)
JWT = config.JwtSettings(algorithms=["HS256"], keys=[Secret("a secret that the provider and we share")])


def accounts(
    *users: config.UserToken,
    secrets: tuple[bytes, ...] = SECRETS,
    at_s: float = 0.0,
    sessions: MemorySessions | None = None,
    jwt: config.JwtSettings | None = None,
) -> Accounts:
    security = config.SecuritySettings(tokens=list(users), jwt=jwt or config.JwtSettings())
    return Accounts(security, secrets, sessions or MemorySessions(), now=lambda: at_s)


def anna(*, operator: bool = False, token: str = TOKEN) -> config.UserToken:
    return config.UserToken(user="anna", token=Secret(token), operator=operator)


async def principal(of: Accounts) -> Principal:
    identity = await of.by_token(TOKEN, "10.0.0.1")
    return Principal("10.0.0.1", False, user_id=identity.user_id, is_logged_in=True, mark=identity.mark)


async def key_of_anna() -> str:
    known = accounts(anna())
    return known.issue_realtime_key(
        await principal(known), b'{"instructions":"Be brief."}', lasts_s=600, name="visitor"
    )[0]


async def test_another_replica_with_the_same_secret_reads_user_and_session() -> None:
    key = await accounts(anna()).by_realtime_key(await key_of_anna())

    assert (key.holder.user_id, key.holder.is_operator, key.holder.may_approve) == ("anna/visitor", False, False)
    assert bytes(key.session) == b'{"instructions":"Be brief."}'


async def test_another_server_refuses_it() -> None:
    with pytest.raises(AuthError, match="not valid here"):
        await accounts(anna(), secrets=(b"another secret",)).by_realtime_key(await key_of_anna())


async def test_a_key_of_a_former_secret_is_good_until_that_secret_is_removed() -> None:
    replaced = accounts(anna(), secrets=(b"a new secret", *SECRETS))

    assert (await replaced.by_realtime_key(await key_of_anna())).has_login


async def test_it_ends_by_its_time() -> None:
    key = await key_of_anna()

    assert (await accounts(anna(), at_s=599.9).by_realtime_key(key)).expires_at_s == 600
    with pytest.raises(CredentialExpired, match="expired"):
        await accounts(anna(), at_s=600).by_realtime_key(key)


async def test_it_ends_with_the_token_that_made_it() -> None:
    with pytest.raises(AuthError, match="has ended"):
        await accounts(anna(token="another-token-0123456789")).by_realtime_key(await key_of_anna())


async def test_its_user_has_the_rights_that_are_configured_now() -> None:
    key = await accounts(anna(operator=True)).by_realtime_key(await key_of_anna())

    assert key.holder.is_operator


async def test_it_ends_with_the_pages_session_that_made_it() -> None:
    sessions = MemorySessions()
    known = accounts(anna(), sessions=sessions)
    await sessions.add("s1", "anna", address="", browser="", lasts_s=60)
    by_page = Principal(
        "10.0.0.1", False, user_id="anna", session="s1", is_logged_in=True, mark=(await principal(known)).mark
    )
    key, _ = known.issue_realtime_key(by_page, b"{}", lasts_s=600)
    assert (await known.by_realtime_key(key)).holder.session == "s1", "the connection is closed when it is revoked"

    await sessions.end("s1")

    with pytest.raises(AuthError, match="has ended"):
        await known.by_realtime_key(key)


async def test_it_lasts_no_longer_than_the_jwt_that_made_it() -> None:
    by_jwt = Principal("10.0.0.1", False, user_id="ben", is_operator=True, is_logged_in=True, expires_at_s=50.5)
    key, made = accounts(jwt=JWT).issue_realtime_key(by_jwt, b"{}", lasts_s=600, name="visitor", may_approve=True)

    found = await accounts(jwt=JWT, at_s=49).by_realtime_key(key)

    assert made.expires_at_s == 50
    assert found.holder == Identity(user_id="ben/visitor", is_operator=True, expires_at_s=50.5)
    with pytest.raises(CredentialExpired):
        await accounts(jwt=JWT, at_s=50).by_realtime_key(key)


async def test_without_jwt_in_the_configuration_a_key_made_with_one_ends() -> None:
    by_jwt = Principal("10.0.0.1", False, user_id="ben", is_logged_in=True, expires_at_s=50.0)
    key, _ = accounts(jwt=JWT).issue_realtime_key(by_jwt, b"{}", lasts_s=600)

    with pytest.raises(AuthError, match="has ended"):
        await accounts(anna()).by_realtime_key(key)


async def test_a_key_made_without_a_login_has_no_rights_of_where_it_was_made() -> None:
    key, _ = accounts().issue_realtime_key(Principal("127.0.0.1", True, is_operator=True), b"{}", lasts_s=600)

    found = await accounts().by_realtime_key(key)

    assert (found.has_login, found.maker.user_id, found.holder.is_operator) == (False, "local", False)


async def test_each_key_without_a_name_gets_one_of_its_own() -> None:
    keys = [accounts().issue_realtime_key(Principal("127.0.0.1", True), b"{}", lasts_s=60)[1] for _ in range(2)]

    assert keys[0].holder.user_id != keys[1].holder.user_id
    assert all(key.holder.user_id.startswith("local/") for key in keys)


async def test_what_the_same_secret_has_signed_for_something_else_is_no_key() -> None:
    cookie, _ = SessionCookies(SECRETS, TokenTable([], SECRETS), lasts_s=100).issue(Identity(user_id="anna"), "s1")
    body, signature = cookie.split(".")[1:]

    with pytest.raises(AuthError, match="not valid here"):
        await accounts(anna()).by_realtime_key(f"ek_{body}.{signature}")


async def test_wrong_keys_do_not_make_their_address_wait() -> None:
    known = accounts(anna())

    for _ in range(20):
        with pytest.raises(AuthError):
            await known.by_realtime_key("ek_forged.forged")

    assert (await known.by_token(TOKEN, "10.0.0.1")).user_id == "anna"


async def test_a_session_that_does_not_fit_is_refused_and_one_that_compresses_well_is_not() -> None:
    known = accounts()
    user = Principal("127.0.0.1", True)
    noise = msgspec.json.encode({"instructions": "".join(map(chr, range(0x4E00, 0x4E00 + 4000)))})

    value, _ = known.issue_realtime_key(user, msgspec.json.encode({"instructions": "Be brief. " * 5000}), lasts_s=60)

    assert len(value) < MAX_KEY_CHARACTERS
    with pytest.raises(FrameError, match=r"session\.update"):
        known.issue_realtime_key(user, noise, lasts_s=60)


@given(
    st.text(max_size=200) | st.binary(max_size=60).map(lambda data: f"ek_{base64.urlsafe_b64encode(data).decode()}.x")
)
def test_nothing_but_a_key_is_one(text: str) -> None:
    with pytest.raises(AuthError):
        RealtimeKeys(SECRETS).read(text)


@given(st.integers(min_value=3, max_value=10_000), st.sampled_from("ABCabc019-_."))
async def test_no_character_of_a_key_can_be_changed(place: int, character: str) -> None:
    key = await key_of_anna()
    place = 3 + place % (len(key) - 4)  # the last one also holds two bits that mean nothing
    changed = key[:place] + character + key[place + 1 :]

    if changed != key:
        with pytest.raises(AuthError):
            await accounts(anna()).by_realtime_key(changed)


async def test_a_key_is_for_reading_by_its_holder_and_holds_no_secret() -> None:
    body = (await key_of_anna()).removeprefix("ek_").partition(".")[0]
    text = zlib.decompress(base64.urlsafe_b64decode(body + "==")).decode()

    assert "anna" in text
    assert TOKEN not in text
