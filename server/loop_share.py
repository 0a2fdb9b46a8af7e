"""Shares of the event loop: what each user's messages and turns take of it, and who has to wait."""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeVar

from server.fair_share import Queues, Share, next_in_turn

T = TypeVar("T")

RESERVE_S: Final = 0.1
"""Loop time that a user may take at once, however busy the others are."""
SLICE_S: Final = 0.002
"""Loop time of one user, all connections together, after which others go first."""
HEAVY_PART: Final = 0.5
"""Part of the loop that users who have taken their reserve get between them while there are others."""
PRESENT_S: Final = 10.0
"""Time after its last use of the loop for which an account counts as one of those who are there."""
MAX_ACCOUNTS: Final = 4096
"""Accounts that are remembered; of more, the ones unused for longest are forgotten."""


@dataclass(slots=True)
class _Account:
    taken_s: float = 0.0
    """Loop time taken and not given back yet; at most twice the reserve, so that a wait ends."""
    at_s: float = 0.0
    slice_s: float = 0.0
    """Loop time taken since others have last gone first."""
    waiting: Queues = field(default_factory=OrderedDict)
    """Connections that wait to read on."""
    timer: asyncio.TimerHandle | None = None


class LoopShare:
    """Charges accounts for the loop time of their messages and turns, and lets those wait who take too much.

    After each SLICE_S of an account, the loop goes round once: others' messages go first. RESERVE_S is what it may
    take without a further wait. It gets back all of the time that passes while it is alone on the server, so that
    alone it never waits for longer. While there are others, the accounts that have used up their reserve get back
    HEAVY_PART of the time, in equal parts. The connections of an account take turns, by its keys.
    """

    def __init__(
        self, *, on_step: Callable[[float], None] = lambda _: None, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        """`on_step` is called with the loop time of each step that was charged."""
        self._on_step = on_step
        self._now_s = now_s
        self._accounts: OrderedDict[str, _Account] = OrderedDict()  # the longest unused first
        self._heavy: set[str] = set()  # accounts that have used up their reserve and have connections that wait

    @property
    def waiting(self) -> int:
        """Accounts that have used up their reserve, and whose messages wait."""
        return len(self._heavy)

    def charge(self, share: Share, seconds: float) -> None:
        self._on_step(seconds)
        account = self._updated(share.account)
        account.taken_s = min(account.taken_s + seconds, 2 * RESERVE_S)
        account.slice_s += seconds
        self._accounts.move_to_end(share.account)

    def metered(self, share: Share, work: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        """Return a coroutine that does the work and charges the share for the processor time of its steps."""
        return _Metered(work, partial(self.charge, share))

    async def turn(self, share: Share) -> None:
        """Wait until the share may take loop time."""
        account = self._updated(share.account)
        if account.slice_s < SLICE_S and account.taken_s < RESERVE_S and not account.waiting:
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        account.waiting.setdefault(share.name, deque()).append(turn)
        self._wake_later(share.account, account)
        await turn  # of one that is cancelled, `_wake` finds the future done

    def _updated(self, name: str) -> _Account:
        """Return the account, with what it has got back since it was used last."""
        now_s = self._now_s()
        while self._accounts:
            oldest, account = next(iter(self._accounts.items()))
            is_recent = now_s - account.at_s < PRESENT_S and len(self._accounts) < MAX_ACCOUNTS
            if is_recent or account.waiting:
                break
            del self._accounts[oldest]
        account = self._accounts.setdefault(name, _Account(at_s=now_s))
        account.taken_s = max(0.0, account.taken_s - (now_s - account.at_s) * self._part)
        account.at_s = now_s
        return account

    @property
    def _part(self) -> float:
        """Part of the time that passes that an account gets back."""
        return HEAVY_PART / max(1, len(self._heavy)) if len(self._accounts) > 1 else 1.0

    def _wake_later(self, name: str, account: _Account) -> None:
        if account.timer is not None:
            return
        owed_s = 0.0
        if account.taken_s >= RESERVE_S:
            self._heavy.add(name)
            owed_s = account.taken_s - RESERVE_S + SLICE_S
        account.timer = asyncio.get_running_loop().call_later(owed_s / self._part, self._wake, name, account)

    def _wake(self, name: str, account: _Account) -> None:
        """Let the next connection go on, unless the account has been charged too much meanwhile."""
        account.timer = None
        self._updated(name)
        if account.taken_s < RESERVE_S:
            self._heavy.discard(name)
            account.slice_s = 0.0
            if (turn := next_in_turn(account.waiting)) is not None:
                turn.set_result(None)
        if account.waiting:
            self._wake_later(name, account)


class _Metered(Coroutine[Any, Any, T], Generator[Any, Any, T]):
    """A coroutine whose steps are measured (docs/decisions/0008-a-tasks-steps-are-measured.md)."""

    def __init__(self, work: Coroutine[Any, Any, T], charge: Callable[[float], None]) -> None:
        self._work = work
        self._charge = charge

    def send(self, value: Any) -> Any:
        return self._measured(self._work.send, value)

    def throw(self, *error: Any) -> Any:
        return self._measured(self._work.throw, *error)

    def close(self) -> None:
        self._work.close()

    def __await__(self) -> Generator[Any, Any, T]:
        return self

    def _measured(self, step: Callable[..., Any], *arguments: Any) -> Any:
        began_s = time.thread_time()
        try:
            return step(*arguments)
        finally:
            self._charge(time.thread_time() - began_s)
