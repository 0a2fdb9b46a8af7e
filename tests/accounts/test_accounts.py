"""server/accounts/accounts.py"""

from contextlib import suppress
from typing import Any

import pytest

from server import config
from server.accounts.accounts import FREE_TRIES, KNOWN_S, MAX_ADDRESSES, Accounts
from server.config import Secret
from server.errors import AuthError, CredentialExpired, TooManyAttempts
from tests.accounts.keys import ELLIPTIC, pem, token
from tests.support.page_sessions import MemorySessions

TOKEN = "annas-token-0123456789"
ANNA = config.UserToken(user="anna", token=Secret(TOKEN))


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def accounts(clock: Clock | None = None, sessions: MemorySessions | None = None, **security: Any) -> Accounts:
    settings, kept = config.SecuritySettings(**security), sessions or MemorySessions()
    return Accounts(settings, [b"a key of the server"], kept, clock=clock or Clock())


async def opened(made: Accounts, given: str) -> tuple[str, str]:
    """Returns a session's cookie and key."""
    identity = await made.by_token(given, "1.2.3.4")
    return (await made.open_session(identity, address="1.2.3.4", browser="Browser/1.0"))[:2]


async def test_both_kinds_of_tokens_work_side_by_side() -> None:
    made = accounts(tokens=[ANNA], jwt=config.JwtSettings(keys=[Secret(pem(ELLIPTIC))]))

    assert (await made.by_token(TOKEN, "1.2.3.4")).user_id == "anna"
    assert (await made.by_token(token(sub="ben"), "1.2.3.4")).user_id == "ben"


async def test_where_nothing_is_configured_nobody_can_log_in() -> None:
    assert accounts().is_empty
    assert not accounts(tokens=[ANNA]).is_empty
    with pytest.raises(AuthError):
        await accounts().by_token(TOKEN, "1.2.3.4")


async def test_who_guesses_waits_longer_and_longer_even_with_the_right_token() -> None:
    clock = Clock()
    made = accounts(clock, tokens=[ANNA])
    for _ in range(FREE_TRIES):
        with pytest.raises(AuthError, match="token is wrong"):
            await made.by_token("wrong", "1.2.3.4")

    with pytest.raises(TooManyAttempts, match="try again in 1 s") as caught:
        await made.by_token(TOKEN, "1.2.3.4")
    assert caught.value.retry_after_s == 1
    assert (await made.by_token(TOKEN, "5.6.7.8")).user_id == "anna"

    clock.now_s += 1
    assert (await made.by_token(TOKEN, "1.2.3.4")).user_id == "anna"


async def test_a_user_known_at_an_address_does_not_wait_for_a_neighbour_who_guesses() -> None:
    clock = Clock()
    made = accounts(clock, tokens=[ANNA], jwt=config.JwtSettings(keys=[Secret(pem(ELLIPTIC))]))
    right = [TOKEN, token(sub="ben")]
    for given in right:
        await made.by_token(given, "1.2.3.4")

    async def guess() -> None:
        for _ in range(FREE_TRIES):
            with suppress(AuthError):
                await made.by_token("wrong", "1.2.3.4")

    for number in range(MAX_ADDRESSES + 1):
        await made.by_token(token(sub="eve", jti=str(number)), "5.6.7.8")
    await guess()
    right.append(token(sub="ben", jti="renewed"))
    assert [(await made.by_token(given, "1.2.3.4")).user_id for given in right] == ["anna", "ben", "ben"]
    with pytest.raises(TooManyAttempts):
        await made.by_token("wrong", "1.2.3.4")
    with pytest.raises(TooManyAttempts):
        await made.by_token(token(sub="new"), "1.2.3.4")

    clock.now_s += KNOWN_S
    await guess()
    with pytest.raises(TooManyAttempts):
        await made.by_token(TOKEN, "1.2.3.4")


async def test_a_token_that_has_expired_counts_as_no_guess() -> None:
    made = accounts(jwt=config.JwtSettings(keys=[Secret(pem(ELLIPTIC))]))
    for _ in range(FREE_TRIES + 3):
        with pytest.raises(CredentialExpired):
            await made.by_token(token(exp=1000), "1.2.3.4")


async def test_a_session_says_who_logged_in_until_it_is_ended() -> None:
    made = accounts(tokens=[ANNA])
    (value, key), another = await opened(made, TOKEN), await opened(made, TOKEN)

    found = await made.by_session(value, key)

    assert found is not None
    assert found.user_id == "anna"
    assert await made.by_session(value + "x", key) is None
    assert not made.has_ended(found.session)

    await made.end_session(value, key)
    assert made.has_ended(found.session)
    assert await made.by_session(value, key) is None
    assert await made.by_session(*another) is not None


async def test_a_cookie_and_its_own_key_are_a_session_together_only() -> None:
    made = accounts(tokens=[ANNA])
    (value, key), (_, foreign) = await opened(made, TOKEN), await opened(made, TOKEN)

    for wrong in (None, "", foreign, key[:-1]):
        assert await made.by_session(value, wrong) is None
        await made.end_session(value, wrong)

    found = await made.by_session(value, None, needs_key=False)
    assert found is not None
    assert found == await made.by_session(value, key), "nobody but its owner could end it"
    assert key not in str(found)


async def test_a_session_from_the_provider_ends_when_the_provider_is_configured_no_more() -> None:
    both: dict[str, Any] = {"jwt": config.JwtSettings(keys=[Secret(pem(ELLIPTIC))])}
    kept = MemorySessions()
    session = await opened(accounts(sessions=kept, **both), token())

    assert await accounts(sessions=kept, **both).by_session(*session) is not None
    assert await accounts(sessions=kept, tokens=[ANNA]).by_session(*session) is None
