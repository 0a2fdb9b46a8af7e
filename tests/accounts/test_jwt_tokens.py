"""server/accounts/jwt_tokens.py: whose token it is, and every way in which it may not be."""

import base64
import json
import time
from typing import Any

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server import config
from server.accounts.jwt_tokens import JwtVerifier
from server.accounts.principal import Identity
from server.config import Secret
from server.errors import AuthError, ConfigError, CredentialExpired
from tests.accounts.keys import ELLIPTIC, OTHER, RSA, SECRET, pem, token


def verifier(*keys: str, **settings: Any) -> JwtVerifier:
    made = JwtVerifier.build(config.JwtSettings(keys=[Secret(key) for key in keys or (pem(ELLIPTIC),)], **settings))
    assert made is not None
    return made


async def refused(given: str, made: JwtVerifier | None = None) -> str:
    with pytest.raises(AuthError) as caught:
        await (made or verifier()).identify(given)
    assert given not in str(caught.value)
    return str(caught.value)


async def test_it_names_the_user_until_it_ends() -> None:
    ends_s = time.time() + 60

    assert await verifier(leeway_s=5).identify(token(exp=ends_s)) == Identity(user_id="anna", expires_at_s=ends_s + 5)


async def test_each_of_several_keys_is_tried() -> None:
    made = verifier(pem(OTHER), pem(RSA), pem(ELLIPTIC))

    assert (await made.identify(token(ELLIPTIC))).user_id == "anna"
    assert (await made.identify(token(RSA, "RS256"))).user_id == "anna"


async def test_a_shared_secret_works_where_it_is_configured() -> None:
    made = verifier(SECRET, algorithms=["HS256"])

    assert (await made.identify(token(SECRET, "HS256"))).user_id == "anna"
    assert await refused(token(SECRET + "x", "HS256"), made) == "the token is not valid"


async def test_a_stranger_cannot_sign() -> None:
    assert await refused(token(OTHER)) == "the token is not valid"


async def test_a_public_key_is_no_shared_secret() -> None:
    head, body = (
        base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()
        for part in ({"alg": "HS256", "typ": "JWT"}, {"sub": "anna", "exp": time.time() + 60})
    )
    method = jwt.get_algorithm_by_name("HS256")
    signature = method.sign(f"{head}.{body}".encode(), pem(ELLIPTIC).encode())
    forged = f"{head}.{body}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"

    assert "security.jwt.algorithms" in await refused(forged)


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "", None, 5, ["ES256"]])
async def test_none_is_no_algorithm(algorithm: Any) -> None:
    head, body = (
        base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()
        for part in ({"alg": algorithm}, {"sub": "anna", "exp": time.time() + 60})
    )

    await refused(f"{head}.{body}.")


async def test_an_algorithm_that_is_not_listed_is_not_taken_though_its_key_is_there() -> None:
    assert "security.jwt.algorithms" in await refused(token(RSA, "RS512"), verifier(pem(RSA)))


@pytest.mark.parametrize(
    ("claims", "told"),
    [
        ({"exp": time.time() - 60}, "expired"),
        ({"exp": None}, "lacks a claim"),
        ({"exp": "soon"}, "not valid"),
        ({"exp": float("inf")}, "not valid"),
        ({"exp": 10**400}, "not valid"),
        ({"nbf": time.time() + 86_400}, "not valid yet"),
        ({"iat": time.time() + 86_400}, "not valid yet"),
        ({"sub": None}, "names no user"),
        ({"sub": "a\r\nb"}, "names no user"),
        ({"sub": "local"}, "not logged in"),
        ({"sub": "anonymous@1.2.3.4"}, "not logged in"),
    ],
)
async def test_a_claim_that_does_not_fit_is_told(claims: dict[str, Any], told: str) -> None:
    assert told in await refused(token(**claims))


async def test_what_has_merely_expired_is_no_guess() -> None:
    with pytest.raises(CredentialExpired):
        await verifier().identify(token(exp=time.time() - 60))


async def test_audience_and_issuer_are_held() -> None:
    made = verifier(audience="parley", issuer="https://id.example")
    good: dict[str, Any] = {"aud": ["other", "parley"], "iss": "https://id.example"}

    assert (await made.identify(token(**good))).user_id == "anna"
    assert "another audience" in await refused(token(**{**good, "aud": "other"}), made)
    assert "another issuer" in await refused(token(**{**good, "iss": "https://id.example.evil"}), made)
    assert "lacks a claim" in await refused(token(**{**good, "aud": None}), made)
    assert "lacks a claim" in await refused(token(**{**good, "iss": None}), made)


async def test_clocks_may_differ_by_the_leeway() -> None:
    assert (await verifier(leeway_s=30).identify(token(exp=time.time() - 20))).user_id == "anna"


async def test_the_name_may_be_another_claim() -> None:
    made = verifier(user_claim="email")

    assert (await made.identify(token(email="anna@example.org"))).user_id == "anna@example.org"
    assert "names no user" in await refused(token(), made)


@pytest.mark.parametrize(
    ("claims", "is_operator"),
    [
        ({"realm": {"roles": ["user", "admin"]}}, True),
        ({"realm": {"roles": "admin"}}, True),
        ({"realm.roles": "admin"}, True),
        ({"realm": {"roles": ["administrator"]}}, False),
        ({"realm": {"roles": {"admin": True}}}, False),
        ({"realm": ["admin"]}, False),
        ({"realm": None}, False),
        ({}, False),
    ],
)
async def test_an_operator_is_made_by_the_claim_that_says_so(claims: dict[str, Any], is_operator: bool) -> None:
    made = verifier(operator_claim="realm.roles", operator_value="admin")

    assert (await made.identify(token(**claims))).is_operator is is_operator


async def test_true_is_not_one() -> None:
    made = verifier(operator_claim="admin")

    assert (await made.identify(token(admin=True))).is_operator
    assert not (await made.identify(token(admin=1))).is_operator
    assert not (await made.identify(token(admin="true"))).is_operator


async def test_without_the_claim_configured_no_token_makes_an_operator() -> None:
    assert not (await verifier().identify(token(admin=True, operator=True, is_operator=True))).is_operator


@pytest.mark.parametrize(
    "garbage", ["", ".", "..", "a.b.c", "é.é.é", "e30.e30.", "bnVsbA.e30.", "x" * 9000, "a.b.c.d.e", "\udcff.a.b"]
)
async def test_garbage_is_refused_in_words(garbage: str) -> None:
    assert "the token" in await refused(garbage or "no token at all")


@given(st.binary(max_size=80), st.binary(max_size=40))
async def test_no_token_makes_it_fail(head: bytes, rest: bytes) -> None:
    text = ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in (head, rest, rest))
    with pytest.raises(AuthError):
        await verifier().identify(text)


def test_a_key_that_fits_no_algorithm_is_told_at_start() -> None:
    with pytest.raises(ConfigError, match=r"security\.jwt\.keys\[1\]: not a public key"):
        verifier(pem(ELLIPTIC), "no key at all")
    with pytest.raises(ConfigError, match="ES256"):
        verifier(pem(RSA), algorithms=["ES256"])
    with pytest.raises(ConfigError, match="not a public key"):
        verifier(pem(ELLIPTIC), algorithms=["HS256"])


def test_without_keys_there_is_none() -> None:
    assert JwtVerifier.build(config.JwtSettings()) is None
