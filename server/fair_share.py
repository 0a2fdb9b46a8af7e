"""Fair shares of what many users need at once and only some can have: threads, processes, engines, the database."""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from contextvars import ContextVar
from functools import partial
from typing import Final, NamedTuple, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

MAX_WAITING: Final = 128
"""Limit of one account's waiting work: more than the calls that ten turns run at once."""
MAX_WAITING_IN_ALL: Final = 4096


class Share(NamedTuple):
    """Whose share work is taken from: the account's first, then that of the key (`name`, empty for the account itself)."""

    account: str
    name: str = ""


turn_share: Final[ContextVar[Share]] = ContextVar("turn_share", default=Share(""))  # noqa: B039 - a tuple
"""The share that the turn of the current task counts for."""

Queues = OrderedDict[str, deque[asyncio.Future[None]]]
"""Work of an account that waits, by key; the key whose turn is next stands first. None of them is empty."""


class ShareFull(Exception):
    """Too much work waits already. The text says so to whoever asked for it."""


class FairShare:
    """Places for work. Accounts that wait get them in turns, however much work each has, and the keys of one likewise.

    No account holds more than `per_user` places. Work beyond the limits of what may wait gets ShareFull; within an
    account, the key with the most waiting work loses its latest for one that has less.
    """

    def __init__(self, places: int, *, per_user: int, max_waiting: int = MAX_WAITING, name: str = "share") -> None:
        """`name` begins the names of the threads; none starts before it is used."""
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
        if self._may_enter(share.account):  # then nobody waits who could
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
            if not turn.cancelled():  # it was given a place just now
                self._leave(share.account)
            elif turn in queue:
                queue.remove(turn)
                if not queue:
                    del queues[share.name]
                self._forget_if_empty(share.account)
            raise

    def _make_room(self, share: Share, queues: Queues) -> None:
        """Raises ShareFull where there is none."""
        if sum(map(len, queues.values())) >= self._max_waiting:
            longest = max(queues.values(), key=len)
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
    """Take the next future that still waits, of the key whose turn it is; None if there is none."""
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
