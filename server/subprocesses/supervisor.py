"""Keeps alive what may end at any time: starts it again, after a pause that grows from one failure to the next."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from server.errors import log_failure


@dataclass(frozen=True, kw_only=True, slots=True)
class BackoffPolicy:
    """Lengths of the pauses. The defaults are those of process hooks."""

    first_wait_s: float = 0.25
    longest_wait_s: float = 4.0
    steady_s: float = 10.0
    """Time of serving that counts as a success; with 0, serving at all does."""
    max_quick: int = 5
    """Failures in a row, with pauses doubled from one to the next, beyond which the breaker opens."""
    open_s: float = 60.0
    """Time for which an open breaker lets nothing be tried; then one try, after whose failure it opens again."""


class Backoff:
    """The pause before each restart. No clock: the time served goes in, a pause comes out."""

    def __init__(self, policy: BackoffPolicy) -> None:
        self._policy = policy
        self.failures = 0
        """Failures in a row."""

    @property
    def is_open(self) -> bool:
        return self.failures > self._policy.max_quick

    def wait_s(self, served_s: float) -> float:
        """Return the pause after something that served for so long (0 if it never did)."""
        policy = self._policy
        if served_s > 0 and served_s >= policy.steady_s:
            self.failures = 0
        self.failures += 1
        if self.is_open:
            return policy.open_s
        wait_s: float = policy.first_wait_s * 2 ** (self.failures - 1)
        return min(wait_s, policy.longest_wait_s)

    def reset(self) -> None:
        self.failures = 0


class Supervisor:
    """Runs `run_once` again and again: one child process, or one connection, from its start to its end.

    `run_once` returns for how many seconds it served (0: it never did), or None when
    it must not be run again; it raises nothing but CancelledError. `on_wait` is
    called with the length of each pause, before it.
    """

    def __init__(
        self,
        name: str,
        run_once: Callable[[], Awaitable[float | None]],
        policy: BackoffPolicy,
        *,
        on_wait: Callable[[float], None] | None = None,
    ) -> None:
        self._name = name
        self._run_once = run_once
        self._on_wait = on_wait
        self._retry_at: float | None = None
        self._task: asyncio.Task[None] | None = None
        self.backoff = Backoff(policy)
        self.restarts = 0

    @property
    def retry_in_s(self) -> float | None:
        return None if self._retry_at is None else max(0.0, self._retry_at - asyncio.get_running_loop().time())

    def start(self) -> None:
        """Begin `run` in a task of its own; a second call does nothing. Needs a running loop."""
        if self._task is None:
            self._task = asyncio.create_task(self.run(), name=self._name)  # `aclose` awaits it
            self._task.add_done_callback(log_failure)

    async def aclose(self) -> None:
        """Cancel the task that `start` began, and wait for its end. May be called again."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def run(self) -> None:
        """Run until cancelled, or until `run_once` says that it was the last time."""
        while (served_s := await self._run_once()) is not None:
            wait_s = self.backoff.wait_s(served_s)
            self._retry_at = asyncio.get_running_loop().time() + wait_s
            if self._on_wait is not None:
                self._on_wait(wait_s)
            await asyncio.sleep(wait_s)
            self._retry_at = None
            self.restarts += 1
