"""How long an address has to wait after wrong credentials. Pure: time comes in as an argument."""

from collections import OrderedDict
from typing import Final

from server.accounts.addresses import network_of

FREE_TRIES: Final = 5
FIRST_WAIT_S: Final = 1.0
MAX_WAIT_S: Final = 60.0
FORGET_S: Final = 900.0
MAX_ADDRESSES: Final = 10_000


class FailedAttempts:
    """After FREE_TRIES failures each further one doubles the wait, up to MAX_WAIT_S.

    A success in between changes nothing: who has one token could else guess at
    others for ever. Remembers the last MAX_ADDRESSES that failed; the oldest is forgotten for a
    new one.
    """

    def __init__(self) -> None:
        self._failures: OrderedDict[str, tuple[int, float]] = OrderedDict()  # address → how many, the last at

    def __len__(self) -> int:
        return len(self._failures)

    def wait_s(self, address: str, now_s: float) -> float:
        """0: the address may try."""
        count, last_s = self._failures.get(network_of(address), (0, 0.0))
        if count < FREE_TRIES or now_s - last_s >= FORGET_S:
            return 0.0
        doublings = min(count - FREE_TRIES, 16)
        return max(0.0, last_s + min(MAX_WAIT_S, FIRST_WAIT_S * 2.0**doublings) - now_s)

    def note_failure(self, address: str, now_s: float) -> None:
        key = network_of(address)
        count, last_s = self._failures.pop(key, (0, 0.0))
        self._failures[key] = (1 if now_s - last_s >= FORGET_S else count + 1, now_s)
        if len(self._failures) > MAX_ADDRESSES:
            self._failures.popitem(last=False)
