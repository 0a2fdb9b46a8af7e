"""Real hooks on a short leash: children/*.py with the time limits of tests."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from server.config import HooksSettings, ProcessHookSettings
from server.hooks.layers import HookLayers
from server.hooks.process import process_hook
from server.hooks.process.hook_process import HookLimits
from server.hooks.process.host import HookHost
from server.subprocesses.supervisor import BackoffPolicy
from tests.hooks.fakes import FACTS
from tests.support.waiting import LIMIT_S

CHILDREN = Path(__file__).parent / "children"
ENVIRON = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
LIMITS = HookLimits(
    hello_s=10,
    gate_test_s=10,
    gate_quiet_s=0.01,
    eof_s=0.3,
    end_s=0.6,
    backoff=BackoffPolicy(first_wait_s=0.01, longest_wait_s=0.02, max_quick=1000),
)


def settings(script: str, *arguments: str, **more: Any) -> ProcessHookSettings:
    command = [sys.executable, str(CHILDREN / f"{script}.py"), *arguments]
    return ProcessHookSettings(**{"enabled": True, "command": command, "intercept": ["before_tool"], **more})


class Stage:
    """One hook, and a way to wait for its states."""

    def __init__(
        self, hook: ProcessHookSettings, *, limits: HookLimits = LIMITS, environ: dict[str, str] | None = None
    ) -> None:
        self._changed = asyncio.Event()
        self.hook = process_hook.ProcessHook("x", hook, environ or ENVIRON, limits=limits, on_change=self._changed.set)

    async def until(self, is_so: Callable[[process_hook.ProcessHook], bool]) -> None:
        async with asyncio.timeout(LIMIT_S):
            while not is_so(self.hook):
                await self._changed.wait()
                self._changed.clear()

    async def armed(self) -> bool | None:
        """Whether it is armed, once it has had its test calls."""
        await self.until(lambda hook: hook.health().armed is not None)
        return self.hook.health().armed

    async def call(self, method: str = "hook.before_tool", *, limit_s: float = 20, **params: Any) -> dict[str, Any]:
        return dict(await self.hook.request(method, params, limit_s=limit_s))


@asynccontextmanager
async def on_stage(
    hook: ProcessHookSettings, *, limits: HookLimits = LIMITS, environ: dict[str, str] | None = None
) -> AsyncIterator[Stage]:
    """The hook, up; or down, where it cannot be otherwise."""
    stage = Stage(hook, limits=limits, environ=environ)
    stage.hook.start()
    try:
        await stage.hook.settled.wait()
        yield stage
    finally:
        await stage.hook.aclose()


@asynccontextmanager
async def hosting(*, limits: HookLimits = LIMITS, **hooks: ProcessHookSettings) -> AsyncIterator[HookHost]:
    """A host of these hooks, settled."""
    host = HookHost(HooksSettings(processes=hooks), ENVIRON, limits=limits)
    host.start()
    try:
        await host.settled()
        yield host
    finally:
        await host.aclose()


@contextmanager
def leased(host: HookHost) -> Iterator[Sequence[process_hook.ProcessHook]]:
    """The hooks of a turn, while it lasts."""
    hooks = host.hooks
    with HookLayers(HooksSettings(), processes=host).for_turn(FACTS):
        yield hooks


_others: set[psutil.Process] = set()


def remember_others() -> None:
    """Before a test: a database or a browser that other tests share is nothing that this one leaves behind."""
    _others.clear()
    _others.update(psutil.Process().children())


def leftovers() -> list[psutil.Process]:
    """Descendants of this process that the test has begun, dead ones included."""
    begun = [child for child in psutil.Process().children() if child not in _others]
    for child in begun:
        with suppress(psutil.NoSuchProcess):
            begun += child.children()
    return begun
