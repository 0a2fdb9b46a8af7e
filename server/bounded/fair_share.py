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
"""Limit of one user's waiting work: more than the calls that ten turns run at once."""
MAX_WAITING_IN_ALL: Final = 4096
turn_user: Final[ContextVar[str]] = ContextVar("turn_user", default="")
"""The user whose turn the current task belongs to, by the name that shares are counted under."""


class Share(NamedTuple):
    """Whose share work is taken from: the account's first, then that of the key (`name`, empty for the account itself)."""

    account: str
    name: str = ""


def account_of(user_id: str) -> str:
    """Return the account of a user: of a key's holder (`account/name`) the one that made the key."""
    return user_id.partition("/")[0]


class ShareFull(Exception):
    """Too much work waits already. The text says so to whoever asked for it."""


class FairShare:
    """Places for work. Users who wait get them in turns, however much work each of them has.

    No user holds more than `per_user` places. Work beyond the limits of what may wait gets ShareFull.
    """

    def __init__(self, places: int, *, per_user: int, max_waiting: int = MAX_WAITING, name: str = "share") -> None:
        """`name` begins the names of the threads; none starts before it is used."""
        self._free = places
        self._per_user = per_user
        self._max_waiting = max_waiting
        self._held = Counter[str]()  # only of users who hold a place
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()  # whose turn is next stands first
        self._threads = ThreadPoolExecutor(places, thread_name_prefix=name)

    @asynccontextmanager
    async def place(self, user: str) -> AsyncIterator[None]:
        """Wait for a place and hold it meanwhile. Raises ShareFull. Cancelled while it waits, it leaves the queue."""
        await self._enter(user)
        try:
            yield
        finally:
            self._leave(user)

    async def in_thread(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do the work in a thread, at a place of the turn's user. Raises ShareFull.

        Cancelled, it leaves the thread to finish by itself, which holds the place until then.
        """
        user = turn_user.get()
        await self._enter(user)
        running = asyncio.get_running_loop().run_in_executor(self._threads, partial(work, *args, **kwargs))
        running.add_done_callback(lambda _: self._leave(user))
        return await asyncio.shield(running)

    async def _enter(self, user: str) -> None:
        if self._may_enter(user):  # then nobody waits who could
            self._take(user)
            return
        queue = self._waiting.get(user, deque())
        if len(queue) >= self._max_waiting or sum(map(len, self._waiting.values())) >= MAX_WAITING_IN_ALL:
            raise ShareFull("too much work is waiting for this already; try again in a moment")
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[user] = queue
        queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it was given a place just now
                self._leave(user)
            elif turn in queue:
                queue.remove(turn)
                self._forget_if_empty(user)
            raise

    def _may_enter(self, user: str) -> bool:
        return self._free > 0 and self._held[user] < self._per_user

    def _take(self, user: str) -> None:
        self._free -= 1
        self._held[user] += 1

    def _leave(self, user: str) -> None:
        """Give a place back, and on to the next user who waits and may have it."""
        self._free += 1
        self._held[user] -= 1
        if not self._held[user]:
            del self._held[user]
        for waiting, queue in list(self._waiting.items()):
            while queue and self._may_enter(waiting):
                turn = queue.popleft()
                if not turn.done():
                    self._take(waiting)
                    self._waiting.move_to_end(waiting)
                    turn.set_result(None)
            self._forget_if_empty(waiting)

    def _forget_if_empty(self, user: str) -> None:
        if not self._waiting.get(user, True):
            del self._waiting[user]
