"""server/accounts/principal.py"""

import pytest

from server.accounts.principal import Principal
from server.bounded.fair_share import Share


@pytest.mark.parametrize(
    ("principal", "share"),
    [
        (Principal("127.0.0.1", is_local=True), None),
        (Principal("127.0.0.1", is_local=True, user_id="anna", is_logged_in=True), Share("anna")),
        (Principal("1.2.3.4", is_local=False, user_id="anonymous@1.2.3.4"), Share("anonymous@1.2.3.4")),
        (Principal("2001:db8::7", is_local=False, user_id="anonymous@2001:db8::7"), Share("anonymous@2001:db8::/64")),
        (Principal("127.0.0.1", is_local=False, user_id="local/shop"), Share("local", "shop")),
        (Principal("1.2.3.4", is_local=False, user_id="anna/shop", is_logged_in=True), Share("anna", "shop")),
        (
            Principal("1.2.3.4", is_local=False, user_id="anonymous@2001:db8::7/shop"),
            Share("anonymous@2001:db8::/64", "shop"),
        ),
    ],
)
def test_limits_for_one_user_spare_the_own_machine_alone(principal: Principal, share: Share | None) -> None:
    assert principal.limited_share == share
    assert principal.share == (share or Share("local"))


def test_a_stranger_is_known_by_the_address_alone() -> None:
    assert Principal("1.2.3.4", is_local=False, user_id="anonymous@1.2.3.4").is_anonymous
    assert not Principal("127.0.0.1", is_local=True).is_anonymous
