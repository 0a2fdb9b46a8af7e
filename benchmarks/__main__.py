"""`make bench`: every figure of one run, as a table and as JSON in bench-results/."""

import argparse
import json
import os
import platform
import resource
import sys
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import uvloop

from benchmarks import (
    first_day,
    hooks,
    idle,
    many_skills,
    opus_sound,
    policy_chain,
    policy_corpora,
    process_hooks,
    public_skills,
    realtime,
    reload,
    skill_cases,
    talking,
    tool_chain,
    turns,
    voice,
    voice_share,
)
from benchmarks.figures import Figure, as_json, table

SCENARIOS: dict[str, Callable[..., Awaitable[list[Figure]]]] = {
    "hooks": hooks.measure,
    "process_hooks": process_hooks.measure,
    "tool_chain": tool_chain.measure,
    "policy_chain": policy_chain.measure,
    "policy_corpora": policy_corpora.measure,
    "reload": reload.measure,
    "skill_cases": skill_cases.measure,
    "many_skills": many_skills.measure,
    "turns": turns.measure,
    "hooked_turns": turns.measure_hooked,
    "idle": idle.measure,
    "voice": voice.measure,
    "talkers": voice.measure_talkers,
    "voice_share": voice_share.measure,
    "talking": talking.measure,
    "opus": opus_sound.measure,
    "realtime": realtime.measure,
    "first_day": first_day.measure,
}


async def run(names: list[str], *, is_quick: bool) -> list[Figure]:
    figures: list[Figure] = []
    for name in names:
        started = time.monotonic()
        print(f"{name} …", end=" ", file=sys.stderr, flush=True)
        figures += await SCENARIOS[name](is_quick=is_quick)
        print(f"{time.monotonic() - started:.0f} s", file=sys.stderr)
    return figures


def save(figures: list[Figure], folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    now = datetime.now(UTC)
    path = folder / f"{now:%Y%m%dT%H%M%SZ}.json"
    machine = {
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
    }
    record = {"at": now.isoformat(timespec="seconds"), "machine": machine, "figures": as_json(figures)}
    path.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", "utf-8")
    return path


def raise_descriptor_limit() -> None:
    """Thousands of sockets, here and in the server, which inherits the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 10_000 if hard == resource.RLIM_INFINITY else min(10_000, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def main() -> None:
    if sys.argv[1:2] == ["public_skills"]:  # which needs a folder, and is no measurement of this machine
        sys.exit(public_skills.main(sys.argv[2:]))
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=f"some of: {', '.join(SCENARIOS)} (all)")
    parser.add_argument("--quick", action="store_true", help="fewer samples")
    parser.add_argument("--out", type=Path, default=Path("bench-results"), help="folder for the JSON")
    options = parser.parse_args()
    if unknown := set(options.scenarios) - SCENARIOS.keys():
        parser.error(f"no such scenario: {', '.join(sorted(unknown))}")
    raise_descriptor_limit()
    print(f"load before the run: {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores", file=sys.stderr)
    figures = uvloop.run(run(options.scenarios or list(SCENARIOS), is_quick=options.quick))
    path = save(figures, options.out)
    print(table(figures))
    print(f"\n{path}")


if __name__ == "__main__":
    main()
