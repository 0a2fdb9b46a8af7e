"""Putting hooks in and taking them out, with a short and a long history, without and with conditions."""

import time
from typing import Any

from benchmarks.figures import Figure, figure
from skills_engine import HookFacts, HookInfo, HookManager, Timing
from skills_engine.conditions.when_entry import read_when
from skills_engine.diagnostics import Report

HOOKS = 10
DECIDED = 100
TIMING: Timing = "before_each_agent"
QUESTION = "I would like to have my money back for order 4711, please: the refund has not come yet."


async def measure(*, is_quick: bool) -> list[Figure]:
    rounds = 300 if is_quick else 3000
    return [
        *(_with_history(length, rounds=rounds) for length in (0, 100, 10_000)),
        *(_deciding(length, others, rounds=rounds // 3) for length, others in ((1, 0), (10_000, 0), (1, 1000))),
    ]


def _with_history(length: int, *, rounds: int) -> Figure:
    manager = HookManager(_history(length), [_hook(number) for number in range(HOOKS)])
    samples = []
    for _ in range(rounds):
        started_ns = time.perf_counter_ns()
        manager.inject(TIMING)
        manager.remove(TIMING)
        samples.append((time.perf_counter_ns() - started_ns) / 1000 / HOOKS)
    return figure(f"inject + remove per hook, history of {length:,} messages", "µs", samples, goal_p50=5)


def _deciding(length: int, others: int, *, rounds: int) -> Figure:
    """Measure the first injection of turns: half of the hooks fire, for a text or an expression in the user's words."""
    hooks = [_hook(number, when=_when(number)) for number in range(DECIDED)]
    hooks += [_hook(number, timing="after_user_input", when=_when(number)) for number in range(others)]
    facts = HookFacts(user_messages=(*("earlier words",) * (length - 1), QUESTION))
    history = _history(length)
    samples = []
    for _ in range(rounds):
        manager = HookManager(history, hooks, facts=facts)
        started_ns = time.perf_counter_ns()
        manager.inject(TIMING, round=2)
        samples.append((time.perf_counter_ns() - started_ns) / 1000)
        manager.remove(TIMING)
    title = f"deciding on {DECIDED} hooks with two conditions each, {length:,} user messages, {others:,} other hooks"
    return figure(title, "µs", samples, goal_p50=300)


def _when(number: int) -> dict[str, Any]:
    pattern = ("refund", "invoice", f"/order {number}?/i", f"/invoice {number}/")[number % 4]
    return {"round": {"min": 2}, "user_text": [pattern]}


def _history(length: int) -> list[dict[str, Any]]:
    return [{"role": "user", "content": f"message {number}"} for number in range(length)]


def _hook(number: int, *, timing: Timing = TIMING, when: object = None) -> HookInfo:
    return HookInfo(
        name=f"hook-{number}",
        file=f"hook-{number}.md",
        timing=timing,
        role="system",
        persistent=False,
        content="Answer in one sentence.",
        skill="benchmark",
        when=None if when is None else read_when(when, "$.when", Report("benchmark", "")),
    )
