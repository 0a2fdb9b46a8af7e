"""server/accounts/jwt_tokens.py before a real provider on this machine, which may change its keys, fail or hang."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from server import config
from server.accounts.jwt_tokens import (
    COOLDOWN_S,
    FIRST_COOLDOWN_S,
    MAX_JWKS_BYTES,
    REFRESH_S,
    JwtVerifier,
    PublishedKeys,
)
from server.accounts.principal import Identity
from server.errors import AuthError, KeysUnavailable
from tests.accounts.keys import ELLIPTIC, OTHER, RSA, SECRET, jwk, token

MAX_AGE_S = 3600.0


class Provider:
    """Publishes `keys`; counts how often it was asked. `answer` replaces what it says."""

    def __init__(self) -> None:
        self.keys: list[Any] = [jwk(ELLIPTIC, "k1")]
        self.answer: web.Response | None = None
        self.asked = 0
        self.gate: asyncio.Event | None = None
        self.is_hanging = asyncio.Event()
        self.now_s = 1000.0
        self.url = ""

    async def _serve(self, _request: web.Request) -> web.Response:
        self.asked += 1
        if self.gate is not None:
            self.is_hanging.set()
            await self.gate.wait()
        return self.answer or web.json_response({"keys": self.keys})

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Provider"]:
        app = web.Application()
        app.router.add_get("/keys", self._serve)
        async with TestServer(app) as server:
            self.url = str(server.make_url("/keys"))
            yield self

    def verifier(self) -> JwtVerifier:
        settings = config.JwtSettings(jwks_url=self.url, audience="parley")
        return JwtVerifier(settings, PublishedKeys(self.url, max_age_s=MAX_AGE_S, now=lambda: self.now_s))


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with Provider().running() as running:
        yield running


def made(key: Any = ELLIPTIC, kid: str | None = "k1", algorithm: str = "ES256") -> str:
    return token(key, algorithm, aud="parley", headers={"kid": kid} if kid else None)


async def test_keys_are_asked_for_once(provider: Provider) -> None:
    verifier = provider.verifier()

    found: list[Identity] = await asyncio.gather(*(verifier.identify(made()) for _ in range(20)))

    assert {identity.user_id for identity in found} == {"anna"}
    assert provider.asked == 1


async def test_a_new_key_is_found_when_its_id_is_seen(provider: Provider) -> None:
    verifier = provider.verifier()
    await verifier.identify(made())
    provider.keys = [jwk(ELLIPTIC, "k1"), jwk(RSA, "k2")]
    provider.now_s += COOLDOWN_S

    assert (await verifier.identify(made(RSA, "k2", "RS256"))).user_id == "anna"
    assert (await verifier.identify(made())).user_id == "anna"
    assert provider.asked == 2


async def test_a_key_that_was_withdrawn_is_good_no_longer_after_the_next_asking(provider: Provider) -> None:
    verifier = provider.verifier()
    await verifier.identify(made())
    provider.keys = [jwk(OTHER, "k2")]
    provider.now_s += REFRESH_S

    with pytest.raises(AuthError, match="not valid"):
        await verifier.identify(made())


async def test_made_up_ids_do_not_make_us_ask_without_end(provider: Provider) -> None:
    verifier = provider.verifier()
    await verifier.identify(made())
    for number in range(50):
        with pytest.raises(AuthError, match="not valid"):
            await verifier.identify(made(OTHER, f"made up {number}"))

    assert provider.asked == 1


async def test_while_the_provider_is_down_its_last_keys_are_good_for_a_time(provider: Provider) -> None:
    verifier = provider.verifier()
    await verifier.identify(made())
    provider.answer = web.Response(status=500)
    provider.now_s += MAX_AGE_S - 1

    assert (await verifier.identify(made())).user_id == "anna"

    provider.now_s += 1
    with pytest.raises(KeysUnavailable, match="keys are unavailable") as caught:
        await verifier.identify(made())
    assert caught.value.retry_after_s is not None


async def test_a_provider_that_was_down_at_first_is_asked_again_soon(provider: Provider) -> None:
    verifier = provider.verifier()
    provider.answer = web.Response(status=503)
    with pytest.raises(KeysUnavailable):
        await verifier.identify(made())
    with pytest.raises(KeysUnavailable):
        await verifier.identify(made())
    assert provider.asked == 1

    provider.answer = None
    provider.now_s += FIRST_COOLDOWN_S
    assert (await verifier.identify(made())).user_id == "anna"


async def test_nobody_waits_for_a_provider_that_hangs_whose_key_is_there(provider: Provider) -> None:
    verifier = provider.verifier()
    await verifier.identify(made())
    provider.gate = asyncio.Event()
    provider.now_s += REFRESH_S
    first = asyncio.create_task(verifier.identify(made()))
    await provider.is_hanging.wait()

    assert (await verifier.identify(made())).user_id == "anna"
    assert not first.done()
    provider.gate.set()
    assert (await first).user_id == "anna"


@pytest.mark.parametrize(
    "answer",
    [
        web.Response(text="not JSON"),
        web.Response(text="[]"),
        web.Response(text='{"keys": 5}'),
        web.Response(text='{"keys": []}'),
        web.Response(text='{"keys": [5, {"kty": "RSA"}]}'),
        web.Response(text='{"keys": [' + " " * MAX_JWKS_BYTES + "]}"),
        web.Response(status=302, headers={"Location": "/keys"}),
    ],
    ids=["text", "list", "number", "empty", "broken", "large", "elsewhere"],
)
async def test_an_answer_that_is_no_key_set_changes_nothing(provider: Provider, answer: web.Response) -> None:
    verifier = provider.verifier()
    await verifier.identify(made())
    provider.answer = answer
    provider.now_s += REFRESH_S

    assert (await verifier.identify(made())).user_id == "anna"
    assert provider.asked == 2


async def test_of_keys_only_those_that_sign_and_are_public_count(provider: Provider) -> None:
    shared = {"kty": "oct", "kid": "k2", "k": "YSBzZWNyZXQgdGhhdCB0aGUgcHJvdmlkZXIgYW5kIHdlIHNoYXJl"}
    provider.keys = [jwk(ELLIPTIC, "k1", use="enc"), shared, jwk(RSA, "k3", use="sig")]
    verifier = provider.verifier()

    for given in (made(), made(SECRET, "k2", "HS256")):
        with pytest.raises(AuthError):
            await verifier.identify(given)
    assert (await verifier.identify(made(RSA, "k3", "RS256"))).user_id == "anna"
    keys = PublishedKeys(provider.url, max_age_s=MAX_AGE_S, now=lambda: provider.now_s)
    assert list(await keys.find("HS256", "k2")) == [], "a secret that is published is none"


async def test_a_token_without_a_key_id_needs_a_provider_with_one_key(provider: Provider) -> None:
    assert (await provider.verifier().identify(made(kid=None))).user_id == "anna"

    provider.keys = [jwk(ELLIPTIC, "k1"), jwk(OTHER, "k2")]
    with pytest.raises(AuthError):
        await provider.verifier().identify(made(kid=None))


async def test_nobody_there_is_told_as_such() -> None:
    gone = PublishedKeys("http://127.0.0.1:9/keys", max_age_s=60)

    with pytest.raises(KeysUnavailable):
        await gone.find("ES256", "k1")
