"""server/accounts/accounts.py"""

from typing import Any

import pytest

from server import config
from server.accounts.accounts import FREE_TRIES, Accounts
from server.config import Secret
from server.errors import AuthError, CredentialExpired, TooManyAttempts
from tests.accounts.keys import ELLIPTIC, pem, token

TOKEN = "annas-token-0123456789"
ANNA = config.UserToken(user="anna", token=Secret(TOKEN))


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def accounts(clock: Clock | None = None, **security: Any) -> Accounts:
    return Accounts(config.SecuritySettings(**security), [b"a key of the server"], clock=clock or Clock())


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
        with pytest.raises(AuthError, match="unknown"):
            await made.by_token("wrong", "1.2.3.4")

    with pytest.raises(TooManyAttempts, match="try again in 1 s") as caught:
        await made.by_token(TOKEN, "1.2.3.4")
    assert caught.value.retry_after_s == 1
    assert (await made.by_token(TOKEN, "5.6.7.8")).user_id == "anna"

    clock.now_s += 1
    assert (await made.by_token(TOKEN, "1.2.3.4")).user_id == "anna"


async def test_a_token_that_has_expired_counts_as_no_guess() -> None:
    made = accounts(jwt=config.JwtSettings(keys=[Secret(pem(ELLIPTIC))]))
    for _ in range(FREE_TRIES + 3):
        with pytest.raises(CredentialExpired):
            await made.by_token(token(exp=1000), "1.2.3.4")


async def test_a_session_says_who_logged_in() -> None:
    made = accounts(tokens=[ANNA])
    value, _ = made.open_session(await made.by_token(TOKEN, "1.2.3.4"))

    found = made.by_session(value)

    assert found is not None
    assert found.user_id == "anna"
    assert made.by_session(value + "x") is None


async def test_a_session_from_the_provider_ends_when_the_provider_is_configured_no_more() -> None:
    both: dict[str, Any] = {"jwt": config.JwtSettings(keys=[Secret(pem(ELLIPTIC))])}
    value, _ = accounts(**both).open_session(await accounts(**both).by_token(token(), "1.2.3.4"))

    assert accounts(**both).by_session(value) is not None
    assert accounts(tokens=[ANNA]).by_session(value) is None
