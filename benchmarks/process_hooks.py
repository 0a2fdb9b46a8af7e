"""Our share of one round trip to a process hook: through our code, minus the same lines by a bare loop.

The bare loop writes a line to the same child and waits for the next one, with
no event loop and no JSON; the two take turns, so that a busy machine spoils both.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from benchmarks.figures import Figure, figure
from server.config import ProcessHookSettings
from server.hooks.process.process_hook import ProcessHook as Hook
from server.subprocesses.pipes import PIPE_BYTES

CHILD = """
import sys
ids = iter(range(1, 1 << 60))
read, write, flush = sys.stdin.buffer.readline, sys.stdout.buffer.write, sys.stdout.buffer.flush
while line := read():
    write(b'{"jsonrpc":"2.0","id":%d,"result":' % next(ids) + line[line.index(b'"params":') + 9:])
    flush()
"""
"""It gives back what it was sent, and parses nothing."""

COMMAND = [sys.executable, "-c", CHILD]
_BATCH = 20  # round trips by one, then as many by the other


async def measure(*, is_quick: bool) -> list[Figure]:
    figures: list[Figure] = []
    for name, size, goal_us in (("1 KB", 1000, 60.0), ("100 KB", 100_000, 600.0)):
        figures += await _compare(name, _params(size), goal_us, batches=10 if is_quick else 100)
    return figures


def _params(size: int) -> dict[str, Any]:
    messages = [{"role": "user", "content": "What will the weather be in Berlin tomorrow? " * 4} for _ in range(500)]
    while len(msgspec.json.encode(messages)) > size:
        messages.pop()
    return {"messages": messages}


async def _compare(name: str, params: dict[str, Any], goal_us: float, *, batches: int) -> list[Figure]:
    hook = Hook("bench", ProcessHookSettings(enabled=True, command=COMMAND, intercept=["before_llm"]), os.environ)
    hook.start()
    await hook.settled.wait()
    ours: list[float] = []
    bare: list[float] = []
    try:
        with _bare_child() as child:
            for number in range(batches + 1):
                samples = [await _through_hook(hook, params) for _ in range(_BATCH)]
                plain = [_by_bare_loop(child, params) for _ in range(_BATCH)]
                if number > 0:  # the first batch warms both up
                    ours += samples
                    bare += plain
    finally:
        await hook.aclose()
    share = [a - b for a, b in zip(sorted(ours), sorted(bare), strict=True)]  # percentile by percentile
    return [
        figure(f"process hook, round trip, {name}", "µs", ours),
        figure(f"process hook, the same by a bare loop, {name}", "µs", bare),
        figure(f"process hook, our share, {name}", "µs", share, goal_p50=goal_us),
    ]


async def _through_hook(hook: Hook, params: dict[str, Any]) -> float:
    started_ns = time.perf_counter_ns()
    await hook.request("hook.before_llm", params, limit_s=10)
    return (time.perf_counter_ns() - started_ns) / 1000


def _by_bare_loop(child: subprocess.Popen[bytes], params: dict[str, Any]) -> float:
    assert child.stdin is not None
    assert child.stdout is not None
    line = b'{"jsonrpc":"2.0","id":1,"method":"hook.before_llm","params":' + msgspec.json.encode(params) + b"}\n"
    started_ns = time.perf_counter_ns()
    child.stdin.write(line)
    child.stdin.flush()
    child.stdout.readline()
    return (time.perf_counter_ns() - started_ns) / 1000


@contextmanager
def _bare_child() -> Iterator[subprocess.Popen[bytes]]:
    size = PIPE_BYTES  # as large as ours, or the comparison would flatter us
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=size, pipesize=size) as child:
        yield child
        assert child.stdin is not None
        child.stdin.close()
