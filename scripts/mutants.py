"""`make mutants`: changes the code in thousands of small ways; the tests must notice each.

What survives must stand in tests/surviving_mutants.toml with its reason, else this
fails; so does an entry that nothing matches any more. Arguments are passed to
mutmut: names of mutants, with wildcards.
"""

import os
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
LISTED = ROOT / "tests" / "surviving_mutants.toml"
SURVIVED = ("survived", "no tests", "not checked")


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


def survivors() -> list[Survivor]:
    found = []
    for line in mutmut("results").splitlines():
        mutant, _, state = line.strip().rpartition(": ")
        if state in SURVIVED:
            found.append(Survivor(function_of(mutant), change_of(mutmut("show", mutant))))
    return found


def listed() -> dict[Survivor, str]:
    entries = tomllib.loads(LISTED.read_text("utf-8")).get("survivor", [])
    return {Survivor(entry["function"], entry["change"].strip()): entry["reason"] for entry in entries}


def main() -> int:
    tools = Path(sys.executable).parent
    environ = {**os.environ, "MUTANTS": "1", "PATH": f"{tools}:{os.environ['PATH']}"}  # it calls mypy by name
    command = [str(tools / "mutmut"), "run", *sys.argv[1:]]
    if subprocess.run(command, cwd=ROOT, env=environ, check=False).returncode:
        return 1
    reasons = listed()
    found = survivors()
    unlisted = [survivor for survivor in found if survivor not in reasons]
    for survivor in unlisted:
        print(f"\n{survivor.function}\n{survivor.change}")
    stale = [] if sys.argv[1:] else [survivor for survivor in reasons if survivor not in found]
    for survivor in stale:
        print(f"\nlisted, but dead or gone: {survivor.function}\n{survivor.change}")
    print(f"\n{len(found)} survived, {len(unlisted)} of them without a reason in {LISTED.relative_to(ROOT)}")
    return 1 if unlisted or stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
