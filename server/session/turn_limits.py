"""Limits of users and turns: what one user may have, how many turns run, how long one may take, which have begun."""

import asyncio
import math
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from operator import attrgetter
from types import MappingProxyType
from typing import Final, NamedTuple

from server.bounded.fair_share import Share
from server.bounded.limits import BoundedDict
from server.errors import TurnError
from server.metrics import Metrics

RETRY_AFTER_MS: Final = 2000
BEGUN_S: Final = 600.0
"""Time for which the id of a turn that has begun is remembered."""
MAX_BEGUN: Final = 1024
"""Turns of one user that are remembered."""
MAX_BEGUN_USERS: Final = 2048
"""Users whose turns are remembered."""
NO_EXCEPTIONS: Final[Mapping[str, int | None]] = MappingProxyType({})


class Places(NamedTuple):
    """A limit, and the places that it leaves."""

    limit: int
    free: int


class UserPlaces:
    """Places that users hold: an account together with all its keys, and each key by itself.

    `per_user` is the limit of each, if there is one; an account may have another one in `exceptions`. Without a share,
    no limit counts.
    """

    def __init__(self, per_user: int | None, exceptions: Mapping[str, int | None] = NO_EXCEPTIONS) -> None:
        self._per_user = per_user
        self._exceptions = exceptions
        self._held = Counter[Share]()  # only what is held

    def full(self, share: Share | None) -> int | None:
        """Return the limit that leaves no place for the share, or None if there is a place."""
        return next((limit for limit, free in self.places(share) if free <= 0), None)

    def places(self, share: Share | None) -> Iterator[Places]:
        """Yield each limit that counts for the share, with the places that are free."""
        for each in _counted(share):
            limit = (not each.name and self._exceptions.get(each.account)) or self._per_user
            if limit is not None:
                yield Places(limit, limit - self._held[each])

    def take(self, share: Share | None) -> None:
        self._held.update(_counted(share))

    def give_back(self, share: Share | None) -> None:
        self._held -= Counter(_counted(share))  # forgets users without a place

    @property
    def accounts(self) -> frozenset[str]:
        """Accounts that hold a place."""
        return frozenset(share.account for share in self._held)


def _counted(share: Share | None) -> set[Share]:
    return set() if share is None else {Share(share.account), share}


class TurnGate:
    """Places for running turns: `enter` for each, `leave` when it has ended. Closed while draining."""

    def __init__(
        self,
        limit: int,
        metrics: Metrics,
        *,
        per_user: int | None = None,
        exceptions: Mapping[str, int | None] = NO_EXCEPTIONS,
    ) -> None:
        """`per_user` and `exceptions`: as for UserPlaces."""
        self.is_draining = False
        self._limit = limit
        self._users = UserPlaces(per_user, exceptions)
        self._running = 0
        self._gauge = metrics.turns_running

    def enter(self, share: Share | None = None, *, is_spoken: bool = False) -> None:
        """Take a place, also one of the user whose turn it is, unless no limit of a user counts.

        Raises TurnError, and then nothing was taken.

        `is_spoken`: the turn belongs to an utterance that was accepted, before draining began or as an answer.
        """
        if self.is_draining and not is_spoken:
            raise TurnError("turn_refused_draining", "the server is stopping; reconnect and send the turn again")
        if self._running >= self._limit:
            raise _full(f"{self._limit} turns are running, the most that this server accepts")
        if (limit := self._users.full(share)) is not None:
            raise _full(f"{limit} turns of yours are running, the most that one user may have")
        self._users.take(share)
        self._running += 1
        self._gauge.set(self._running)

    def places(self, share: Share | None) -> Places:
        """Return the limit that is nearest to being reached, and the places that it leaves."""
        places = [Places(self._limit, self._limit - self._running), *self._users.places(share)]
        return min(places, key=attrgetter("free"))

    def leave(self, share: Share | None = None) -> None:
        """Give the place back; `share` as it was given to `enter`."""
        self._users.give_back(share)
        self._running -= 1
        self._gauge.set(self._running)


class BegunTurns:
    """Ids of the turns that users have begun in the last BEGUN_S, on whichever connection of this process.

    Of one user the last MAX_BEGUN are kept, of all users the MAX_BEGUN_USERS who began a turn last.
    """

    def __init__(self) -> None:
        self._of = BoundedDict[Share, BoundedDict[str, float]](MAX_BEGUN_USERS)

    def add(self, user: Share, turn_id: str, *, now_s: float) -> None:
        begun = self._of[user] = self._of.get(user) or BoundedDict(MAX_BEGUN)
        while begun and next(iter(begun.values())) <= now_s - BEGUN_S:
            begun.popitem(last=False)
        begun[turn_id] = now_s

    def has(self, user: Share, turn_id: str, *, now_s: float) -> bool:
        return user in self._of and self._of[user].get(turn_id, -math.inf) > now_s - BEGUN_S


class Preparation:
    """Tasks that must be done, or have failed, before a turn begins."""

    def __init__(self) -> None:
        self._pending: set[asyncio.Task[None]] = set()

    def add(self, task: asyncio.Task[None]) -> None:
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)

    async def wait(self) -> None:
        if self._pending:
            await asyncio.wait(self._pending)


class TurnTimer:
    """Time limit of one turn, which stands still while the turn waits for others.

    `async with timer.running(limit_s): …`; within it, in any task, `with timer.paused(): …`.
    Pauses may overlap; the timer goes on when the last one ends. Outside
    `running`, and once the limit has struck, nothing here does anything.
    """

    def __init__(self) -> None:
        self._limit: asyncio.Timeout | None = None
        self._pauses = 0
        self._left_s = 0.0  # while paused
        self.has_expired = False
        """Whether the limit was reached, and `running` has raised TimeoutError."""

    @asynccontextmanager
    async def running(self, limit_s: float) -> AsyncIterator[None]:
        """Cancel what runs in it after `limit_s`, pauses not counted, and raise TimeoutError."""
        limit = asyncio.timeout(limit_s)
        try:
            async with limit:
                self._limit = limit
                if self._pauses:
                    self._stop()
                try:
                    yield
                finally:
                    self._limit = None
        finally:
            self.has_expired = limit.expired()

    @contextmanager
    def paused(self) -> Iterator[None]:
        if self._pauses == 0:
            self._stop()
        self._pauses += 1
        try:
            yield
        finally:
            self._pauses -= 1
            if self._pauses == 0:
                self._go_on()

    def give_back(self, seconds: float) -> None:
        """Extend the limit: so much of the time that has passed was not the turn's."""
        limit = self._limit
        if self._pauses:
            self._left_s += seconds
        elif limit is not None and not limit.expired() and (when_s := limit.when()) is not None:
            limit.reschedule(when_s + seconds)

    def _stop(self) -> None:
        limit = self._limit
        if limit is not None and not limit.expired() and (when_s := limit.when()) is not None:
            self._left_s = when_s - asyncio.get_running_loop().time()
            limit.reschedule(None)

    def _go_on(self) -> None:
        limit = self._limit
        if limit is not None and not limit.expired() and limit.when() is None:
            limit.reschedule(asyncio.get_running_loop().time() + self._left_s)


def _full(what: str) -> TurnError:
    return TurnError("too_many_turns", f"{what}; try again in a moment", retry_after_ms=RETRY_AFTER_MS)
