"""server/accounts/accounts.py: how long an address waits after wrong credentials"""

import pytest

from server.accounts.accounts import FORGET_S, FREE_TRIES, MAX_ADDRESSES, MAX_WAIT_S, FailedAttempts
from server.accounts.principal import network_of


def failed(times: int, address: str = "1.2.3.4") -> FailedAttempts:
    attempts = FailedAttempts()
    for _ in range(times):
        attempts.note_failure(address, 0.0)
    return attempts


def test_a_slip_or_two_costs_nothing() -> None:
    assert failed(FREE_TRIES - 1).wait_s("1.2.3.4", 0.0) == 0


def test_the_wait_doubles_up_to_a_limit() -> None:
    waits = [failed(FREE_TRIES + more).wait_s("1.2.3.4", 0.0) for more in range(8)]

    assert waits == [1, 2, 4, 8, 16, 32, MAX_WAIT_S, MAX_WAIT_S]
    assert failed(5000).wait_s("1.2.3.4", 0.0) == MAX_WAIT_S


def test_who_has_waited_may_try() -> None:
    attempts = failed(FREE_TRIES + 2)

    assert attempts.wait_s("1.2.3.4", 1.5) == 2.5
    assert attempts.wait_s("1.2.3.4", 4.0) == 0


def test_after_a_quarter_of_an_hour_all_is_forgotten() -> None:
    attempts = failed(FREE_TRIES + 7)
    attempts.note_failure("1.2.3.4", FORGET_S)

    assert attempts.wait_s("1.2.3.4", FORGET_S) == 0


def test_others_do_not_wait() -> None:
    assert failed(50).wait_s("1.2.3.5", 0.0) == 0


def test_of_ipv6_the_network_counts() -> None:
    attempts = failed(50, "2001:db8::1")

    assert attempts.wait_s("2001:db8::2", 0.0) > 0
    assert attempts.wait_s("2001:db8:0:1::1", 0.0) == 0
    assert failed(50, "::ffff:1.2.3.4").wait_s("::ffff:1.2.3.5", 0.0) == 0


def test_no_more_addresses_are_remembered_than_the_limit() -> None:
    attempts = failed(50)
    for number in range(MAX_ADDRESSES):
        attempts.note_failure(f"made up {number}", 1.0)

    assert len(attempts) == MAX_ADDRESSES
    assert attempts.wait_s("1.2.3.4", 0.0) == 0, "the oldest goes"


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("1.2.3.4", "1.2.3.4"),
        ("::ffff:1.2.3.4", "1.2.3.4"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8::ffff:1", "2001:db8::/64"),
        ("2001:db8:0:1::1", "2001:db8:0:1::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("x" * 100, "x" * 64),
    ],
)
def test_who_counts_together(address: str, network: str) -> None:
    assert network_of(address) == network
