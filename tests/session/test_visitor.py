"""server/session/visitor.py"""

import pytest

from server.session.visitor import Visitor


@pytest.mark.parametrize(
    ("visitor", "key"),
    [
        (Visitor("127.0.0.1", is_local=True), None),
        (Visitor("127.0.0.1", is_local=True, user_id="anna", is_logged_in=True), "anna"),
        (Visitor("1.2.3.4", is_local=False, user_id="anonymous@1.2.3.4"), "anonymous@1.2.3.4"),
    ],
)
def test_limits_for_one_user_spare_the_own_machine_alone(visitor: Visitor, key: str | None) -> None:
    assert visitor.limit_key == key


def test_a_stranger_is_known_by_the_address_alone() -> None:
    assert Visitor("1.2.3.4", is_local=False, user_id="anonymous@1.2.3.4").is_anonymous
    assert not Visitor("127.0.0.1", is_local=True).is_anonymous
