"""Putting hooks in and taking them out, with a short and a long history."""

import time

from benchmarks.figures import Figure, figure
from skills_engine import HookInfo, HookManager, Timing

HOOKS = 10
TIMING: Timing = "before_each_agent"


async def measure(*, is_quick: bool) -> list[Figure]:
    return [_with_history(length, rounds=300 if is_quick else 3000) for length in (0, 100, 10_000)]


def _with_history(length: int, *, rounds: int) -> Figure:
    messages = [{"role": "user", "content": f"message {number}"} for number in range(length)]
    manager = HookManager(messages, [_hook(number) for number in range(HOOKS)])
    samples = []
    for _ in range(rounds):
        started_ns = time.perf_counter_ns()
        manager.inject(TIMING)
        manager.remove(TIMING)
        samples.append((time.perf_counter_ns() - started_ns) / 1000 / HOOKS)
    return figure(f"inject + remove per hook, history of {length:,} messages", "µs", samples, goal_p50=5)


def _hook(number: int) -> HookInfo:
    return HookInfo(
        name=f"hook-{number}",
        file=f"hook-{number}.md",
        timing=TIMING,
        role="system",
        persistent=False,
        content="Answer in one sentence.",
        skill="benchmark",
    )
