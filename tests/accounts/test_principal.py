"""server/accounts/principal.py"""

import pytest

from server.accounts.principal import Principal


@pytest.mark.parametrize(
    ("principal", "key"),
    [
        (Principal("127.0.0.1", is_local=True), None),
        (Principal("127.0.0.1", is_local=True, user_id="anna", is_logged_in=True), "anna"),
        (Principal("1.2.3.4", is_local=False, user_id="anonymous@1.2.3.4"), "anonymous@1.2.3.4"),
        (Principal("2001:db8::7", is_local=False, user_id="anonymous@2001:db8::7"), "anonymous@2001:db8::/64"),
    ],
)
def test_limits_for_one_user_spare_the_own_machine_alone(principal: Principal, key: str | None) -> None:
    assert principal.limit_key == key


def test_a_stranger_is_known_by_the_address_alone() -> None:
    assert Principal("1.2.3.4", is_local=False, user_id="anonymous@1.2.3.4").is_anonymous
    assert not Principal("127.0.0.1", is_local=True).is_anonymous
