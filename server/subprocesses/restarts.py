"""When a hook that died is started again. No clock: a life's length goes in, a wait comes out."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Patience:
    first_wait_s: float = 0.25
    longest_wait_s: float = 4.0
    steady_s: float = 10.0
    """A life of this length counts as a success."""
    max_quick: int = 5
    """This many short lives in a row, waits doubled from one to the next, open the breaker."""
    open_s: float = 60.0
    """While it is open nothing is tried; then one try: if that life is short too, it opens again."""


class Restarts:
    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._quick = 0  # short lives in a row

    @property
    def is_open(self) -> bool:
        return self._quick > self._patience.max_quick

    def ended(self, lived_s: float) -> float:
        """How long to wait after a life of that length; 0 for one that never began."""
        patience = self._patience
        if lived_s >= patience.steady_s:
            self._quick = 0
        self._quick += 1
        if self.is_open:
            return patience.open_s
        wait_s: float = patience.first_wait_s * 2 ** (self._quick - 1)
        return min(wait_s, patience.longest_wait_s)
