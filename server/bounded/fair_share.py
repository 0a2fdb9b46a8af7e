"""Fair shares of what many users need at once and only some can have: threads, processes, engines, the event loop."""

import asyncio
import time
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

MAX_WAITING: Final = 128
"""Limit of one account's waiting work: more than the calls that ten turns run at once."""
MAX_WAITING_IN_ALL: Final = 4096
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


class Share(NamedTuple):
    """Account that work counts for, and within it the key (`name`, empty for the account itself)."""

    account: str
    name: str = ""


turn_share: Final[ContextVar[Share]] = ContextVar("turn_share", default=Share(""))  # noqa: B039 - a tuple
"""The share that the turn of the current task counts for."""

Queues = OrderedDict[str, deque[asyncio.Future[None]]]
"""Work of an account that waits, by key; the key whose turn is next stands first. None of them is empty."""


def account_of(user_id: str) -> str:
    """Return the account of a user: of a key's holder (`account/name`) the one that made the key."""
    return user_id.partition("/")[0]


class ShareFull(Exception):
    """Too much work waits already; the text says so to the user."""


class FairShare:
    """Places for work. Accounts that wait get them in turns, however much work each has, and the keys of one likewise.

    No account holds more than `per_user` places. Work beyond the limits of what may wait gets ShareFull; within an
    account, the key with the most waiting work loses its latest for one that has less.
    """

    def __init__(self, places: int, *, per_user: int, max_waiting: int = MAX_WAITING, name: str = "share") -> None:
        """Set the limits. `name` begins the names of the threads; none starts before it is used."""
        self._free = places
        self._per_user = per_user
        self._max_waiting = max_waiting
        self._held = Counter[str]()  # only of accounts that hold a place
        self._waiting: OrderedDict[str, Queues] = OrderedDict()  # by account; whose turn is next stands first
        self._threads = ThreadPoolExecutor(places, thread_name_prefix=name)

    @asynccontextmanager
    async def place(self, share: Share) -> AsyncIterator[None]:
        """Wait for a place and hold it meanwhile. Raises ShareFull. Cancelled while it waits, it leaves the queue."""
        await self._enter(share)
        try:
            yield
        finally:
            self._leave(share.account)

    async def in_thread(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do the work in a thread, at a place of the turn's share. Raises ShareFull.

        Cancelled, it leaves the thread to finish by itself, which holds the place until then.
        """
        share = turn_share.get()
        await self._enter(share)
        running = asyncio.get_running_loop().run_in_executor(self._threads, partial(work, *args, **kwargs))
        running.add_done_callback(lambda _: self._leave(share.account))
        return await asyncio.shield(running)

    async def _enter(self, share: Share) -> None:
        if self._may_enter(share.account):  # then none of those who wait could
            self._take(share.account)
            return
        queues = self._waiting.get(share.account, OrderedDict())
        self._make_room(share, queues)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[share.account] = queues
        queue = queues.setdefault(share.name, deque())
        queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled() and turn.exception() is None:  # it was given a place just now
                self._leave(share.account)
            elif turn in queue:
                queue.remove(turn)
                if not queue:
                    del queues[share.name]
                self._forget_if_empty(share.account)
            raise

    def _make_room(self, share: Share, queues: Queues) -> None:
        """Make room for one more that waits. Raises ShareFull where there is none."""
        if sum(map(len, queues.values())) >= self._max_waiting:
            longest = max(queues.values(), key=len, default=deque[asyncio.Future[None]]())
            if len(longest) <= len(queues.get(share.name, ())) + 1:
                raise _full()
            if not (latest := longest.pop()).done():
                latest.set_exception(_full())
        elif sum(len(queue) for each in self._waiting.values() for queue in each.values()) >= MAX_WAITING_IN_ALL:
            raise _full()

    def _may_enter(self, account: str) -> bool:
        return self._free > 0 and self._held[account] < self._per_user

    def _take(self, account: str) -> None:
        self._free -= 1
        self._held[account] += 1

    def _leave(self, account: str) -> None:
        """Give a place back, and on to the next account that waits and may have it."""
        self._free += 1
        self._held[account] -= 1
        if not self._held[account]:
            del self._held[account]
        for waiting, queues in list(self._waiting.items()):
            while self._may_enter(waiting) and (turn := next_in_turn(queues)) is not None:
                self._take(waiting)
                self._waiting.move_to_end(waiting)
                turn.set_result(None)
            self._forget_if_empty(waiting)

    def _forget_if_empty(self, account: str) -> None:
        if not self._waiting.get(account, True):
            del self._waiting[account]


def next_in_turn(queues: Queues) -> asyncio.Future[None] | None:
    """Take the next future that still waits, of the key whose turn it is, or None if none waits."""
    while queues:
        name, queue = next(iter(queues.items()))
        turn = queue.popleft()
        queues.move_to_end(name)
        if not queue:
            del queues[name]
        if not turn.done():
            return turn
    return None


def _full() -> ShareFull:
    return ShareFull("too much work is waiting for this already; try again in a moment")


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
        """Call `on_step` with the loop time of each step that was charged."""
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
        if (used := self._accounts.get(name)) is None:
            used = self._accounts[name] = _Account(at_s=now_s)
        used.taken_s = max(0.0, used.taken_s - (now_s - used.at_s) * self._part)
        used.at_s = now_s
        return used

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
    """A coroutine whose steps are measured (docs/decisions/0010-a-tasks-steps-are-measured.md)."""

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
