"""Every way in which a process hook can let a turn down, turn after turn, and what must be left of it: nothing.

What a turn is, the caller says: a call to the hook, or a conversation's turn through a whole server.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import cycle, islice
from typing import Final

import psutil

from server.config import HooksSettings
from server.hooks.process.hook_process import HookLimits
from server.hooks.process.host import HookHost
from server.hooks.process.process_hook import ProcessHook
from server.subprocesses.supervisor import BackoffPolicy
from tests.hooks.stage import leftovers, settings
from tests.support.waiting import until

FAULTS: Final = {
    "none": "answered",
    "garbage": "answered",
    "slow reader": "answered",
    "kill -9": "down",
    "flood": "answered",
    "20 MiB line": "failed",
    "exit": "down",
    "hang": "timed_out",
    "50 grandchildren": "answered",
    "close stdout": "down",
}
"""Fault → how a call in which it happens ends."""

LIMITS: Final = HookLimits(
    eof_s=0.2,
    end_s=0.4,
    backoff=BackoffPolicy(first_wait_s=0.01, longest_wait_s=0.5, max_quick=1_000_000),
)

HooksOf = Callable[[str], HooksSettings]
"""The configuration; with another version, the hook `faulty` has changed."""

OneTurn = Callable[[HookHost, str], Awaitable[None]]


async def soak(host: HookHost, hooks: HooksOf, turns: int, one_turn: OneTurn) -> None:
    """Turns with the faults in turn. A hook that hangs is exchanged by a reload, as its operator would do."""
    await host.settled()
    for number, fault in enumerate(islice(cycle(FAULTS), turns)):
        await one_turn(host, fault)
        if fault == "hang":
            await host.reload(hooks(str(number)))
        await until(lambda: is_up(faulty(host)))


def is_up(hook: ProcessHook) -> bool:
    """It may be gone already, and the hook not yet have noticed."""
    return hook.state == "up" and hook.process is not None and hook.process.is_there


def faulty(host: HookHost) -> ProcessHook:
    return next(hook for hook in host.hooks if hook.name == "faulty")


def hooks_of(stage: str, version: str = "") -> HooksSettings:
    """`faulty` at that stage, beside one that is never up and one that must not notice anything."""
    return HooksSettings(
        processes={
            "faulty": settings("faulty", env={"VERSION": version}, intercept=[stage], timeout_ms=3000),
            "never": settings("scripted", "hook.hello=exit 1"),
            "steady": settings("echo", intercept=["approve_tool"]),
        }
    )


@asynccontextmanager
async def nothing_left() -> AsyncIterator[None]:
    """No process, descriptor or task more than before."""
    tasks, descriptors = asyncio.all_tasks(), _descriptors()
    yield
    await until(lambda: asyncio.all_tasks() <= tasks)
    assert leftovers() == []
    assert _descriptors() <= descriptors


def _descriptors() -> int:
    return psutil.Process().num_fds()
