"""`make mutants`: changes the code in thousands of small ways; the tests must notice each.

What survives must stand in tests/surviving_mutants.toml with its reason, else this
fails; so does an entry that nothing matches any more.

A run that was stopped goes on where it was, and tries again what survived before;
what was noticed once is taken for noticed until its function changes (`make clean`
forgets it all). Arguments are names of mutants, with wildcards: these alone are
tried, each of them anew.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).parent.parent
LISTED = ROOT / "tests" / "surviving_mutants.toml"
VERDICTS = ROOT / "mutants"
NOTICED = ("killed", "timeout")
FAILED_TESTS = (1, 3)
"""Exit codes of pytest when the tests have noticed a mutant."""


@dataclass(frozen=True)
class Survivor:
    function: str
    change: str
    """The lines taken out and put in, as a diff shows them, without their indentation."""


def mutmut(*arguments: str) -> str:
    command = [str(Path(sys.executable).with_name("mutmut")), *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def function_of(mutant: str) -> str:
    return re.sub(r"__mutmut_\d+$", "", mutant).replace("ǁ", ".").replace(".x_", ".").replace(".x.", ".")


def change_of(diff: str) -> str:
    lines = [line for line in diff.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    return "\n".join(f"{line[0]} {line[1:].strip()}" for line in lines)


def is_chosen(name: str, patterns: Sequence[str]) -> bool:
    """Return whether a pattern fits the name; without patterns every name is chosen."""
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


def unnoticed(results: str, patterns: Sequence[str]) -> list[str]:
    """Return the chosen mutants of `mutmut results` except those that the tests noticed."""
    lines = [line.strip().rpartition(": ") for line in results.splitlines()]
    return [name for name, _, verdict in lines if verdict not in NOTICED and is_chosen(name, patterns)]


def without_survivors(verdicts: dict[str, int | None]) -> dict[str, int | None]:
    """Return a run's exit codes, with None, which is tried again, for each mutant that no test noticed."""
    return {mutant: code if code in FAILED_TESTS else None for mutant, code in verdicts.items()}


def forget_survivors() -> None:
    """Have survivors tried again: mutmut would keep their verdicts for ever, whatever tests there are by now."""
    for path in VERDICTS.rglob("*.meta"):
        meta = json.loads(path.read_text("utf-8"))
        meta["exit_code_by_key"] = without_survivors(meta["exit_code_by_key"])
        path.write_text(json.dumps(meta), "utf-8")


def listed() -> dict[Survivor, str]:
    entries = tomllib.loads(LISTED.read_text("utf-8")).get("survivor", [])
    return {Survivor(entry["function"], entry["change"].strip()): entry["reason"] for entry in entries}


def main(patterns: Sequence[str]) -> int:
    forget_survivors()
    command = [str(Path(sys.executable).with_name("mutmut")), "run", *patterns]
    if subprocess.run(command, cwd=ROOT, env={**os.environ, "MUTANTS": "1"}, check=False).returncode:
        return 1
    reasons = listed()
    found = [
        Survivor(function_of(name), change_of(mutmut("show", name))) for name in unnoticed(mutmut("results"), patterns)
    ]
    unlisted = [survivor for survivor in found if survivor not in reasons]
    for survivor in unlisted:
        print(f"\n{survivor.function}\n{survivor.change}")
    stale = [survivor for survivor in reasons if survivor not in found and is_chosen(survivor.function, patterns)]
    for survivor in stale:
        print(f"\nlisted, but dead or gone: {survivor.function}\n{survivor.change}")
    print(f"\n{len(found)} survived, {len(unlisted)} of them without a reason in {LISTED.relative_to(ROOT)}")
    return 1 if unlisted or stale else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
