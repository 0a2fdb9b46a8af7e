"""The shape of the house: floors without knots, rules that are held, modules that are tested.

Imports are read from the source, those inside functions and under TYPE_CHECKING
included: a cycle that is only hidden is a cycle.
"""

import ast
import re
import sys
import tomllib
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from scripts import house, longest_way

ROOT = Path(__file__).parent.parent
PACKAGES = ("server", "skills_engine", "skill_tools", "clients", "hook_tools")

# From the top down; a module imports only what stands below it, or its own part of the house.
# Parts on one line stand side by side and do not know each other. A part inside another has a floor of its own.
FLOORS = [
    {
        "skills_engine.__main__",
        "server.__main__",
        "server.talk",
        "server.hooks.__main__",
        "server.models.__main__",
        "server.storage.__main__",
    },
    {"server.hooks.types", "server.hooks.policy"},  # what handlers of an operator's own import; nothing of ours does
    {"clients", "hook_tools"},
    {"server.app"},
    {"server.status"},
    {"server.realtime", "server.models", "skill_tools"},
    {"server.gateway"},
    {"server.session"},
    {"server.agent"},
    {"server.tools"},
    {"server.hooks", "server.policy"},
    {"server.approval"},
    {"server.tools.tool_calls"},  # the types of tool calls, shared by all above
    {"server.toolguard"},
    {"server.llm"},
    {"server.speech"},
    {
        "server.subprocesses",
        "server.metrics",
        "server.media",
        "server.accounts",
        "server.log",
        "server.openai_client",
    },
    {"server.storage", "server.config_file"},
    {"server.wire"},
    {"server.config"},
    {"server.errors", "server.bounded"},
    {"skills_engine"},
]
CORE = (
    *("gateway", "session", "agent", "tools", "hooks", "policy", "approval", "toolguard", "llm", "speech"),
    *("subprocesses", "media", "accounts", "storage", "wire", "bounded"),
)
UPPER = ("skill_tools", "server.realtime", "server.models")
"""Parts for authors, migrants and operators, which stand on the core."""

# `python -m scripts.house` prints these figures. Lower a limit when the code has become lighter. A limit is not raised
# in the change that reaches it: take something out, or ask for it and say what it would buy.
LIMITS = {
    "lines": 48_490,
    "files": 272,
    "short files": 12,
    "largest room, percent": 13,
    "docstring fragments": 0,
    "class names that stand twice": 0,
    "module names that stand twice": 0,
    "files a typed message passes": 48,
    "files a tool call with policy passes": 74,
}

# Lines that each room may have, and what it is for.
ROOMS = {
    "server": (2_190, "starts the process, wires its parts, reads the configuration"),
    "server/gateway": (2_940, "the doors: the only code that holds sockets and HTTP requests"),
    "server/wire": (1_070, "the language: every frame as a typed struct, and the order of a turn's frames"),
    "server/session": (3_930, "one client: frames in, at most one running turn, frames and sound out"),
    "server/agent": (2_610, "one reply: planning round, agent loop, the five timings"),
    "server/tools": (2_280, "what the model can do: registry, executor, builtin tools, MCP"),
    "server/hooks": (2_980, "layer 2: programs that take part in turns"),
    "server/policy": (1_690, "layer 3: documents, handlers, engine"),
    "server/toolguard": (2_160, "danger and redaction: two engines over tables"),
    "server/approval": (1_130, "questions to a human, and what is remembered of the answers"),
    "server/llm": (2_120, "one model call: any OpenAI-compatible endpoint, or the embedded model"),
    "server/speech": (3_910, "ears and mouth"),
    "server/subprocesses": (910, "child processes: started, tracked with their descendants, ended"),
    "server/storage": (2_190, "what outlives the process"),
    "server/media": (650, "files that a turn shows"),
    "server/accounts": (770, "credentials, identities, and who made a request"),
    "server/bounded": (380, "limits and shares: dictionaries, token buckets, the event loop"),
    "server/realtime": (2_840, "OpenAI's Realtime dialect"),
    "server/models": (1_580, "what finds, fetches and hosts models"),
    "skills_engine": (4_500, "layer 1: hooks, conditions, variables, state, signing, library, watcher"),
    "skill_tools": (6_060, "for authors of skills: lint, scaffold, simulate, tests, sharing, studio"),
}

IMPORTED_AS = {"PyYAML": "yaml", "PyJWT": "jwt", "piper-tts": "piper", "google-re2": "re2"}
OPTIONAL = {"sounddevice"}  # its absence is told, with the cure

RULES = [f"L1-{n:02}" for n in (*range(1, 9), *range(10, 17), *range(20, 35), *range(40, 59))]


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, Path]:
    return {name_of(path): path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))}


@cache
def imported_names(path: Path) -> tuple[str, ...]:
    """Every dotted name that the file imports; `from a import b` gives `a.b`."""
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"), str(path))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return tuple(names)


@cache
def imported_modules(path: Path) -> frozenset[str]:
    """Those of our modules that the file imports: `from a import b` is a.b if that is a module, else a."""
    known = modules()
    found = {name if name in known else name.rpartition(".")[0] for name in imported_names(path)}
    return frozenset(found & known.keys())


def floor_of(module: str) -> tuple[int, str]:
    """The floor's number from the top, and the part of the house on it."""
    floors = [
        (number, part) for number, parts in enumerate(FLOORS) for part in parts if f"{module}.".startswith(f"{part}.")
    ]
    assert floors, f"{module} stands on no floor; give it one in FLOORS"
    return max(floors, key=lambda floor: len(floor[1]))


def test_modules_import_each_other_without_cycles() -> None:
    graph = {module: imported_modules(path) - {module} for module, path in modules().items()}

    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail("cycle: " + " → ".join(reversed(error.args[1])))


@pytest.mark.parametrize("module", sorted(modules()))
def test_a_module_imports_only_what_stands_below_it(module: str) -> None:
    if module == "server":
        assert not imported_modules(modules()[module]), "server/__init__.py imports nothing: every module would pay"
        return
    floor, part = floor_of(module)

    for target in imported_modules(modules()[module]) - {"server"}:  # the version stands there
        target_floor, target_part = floor_of(target)
        assert target_part == part or target_floor > floor, (
            f"{module} imports {target}, which stands above or beside it"
        )


def test_the_core_does_not_know_what_stands_on_it() -> None:
    core = ("skills_engine.", *(f"server.{folder}." for folder in CORE))

    for module, path in modules().items():
        if module.startswith(core) and not module.endswith(".__main__"):
            upper = [name for name in imported_modules(path) if name.startswith(UPPER)]
            assert upper == [], module


@cache
def figures() -> dict[str, float]:
    """What LIMITS limits, measured once."""
    weight, ways = house.measure(), longest_way.measure()
    return {
        "lines": weight.lines,
        "files": weight.files,
        "short files": len(weight.short_files),
        "largest room, percent": 100 * max(room.share for room in weight.rooms.values()),
        "docstring fragments": len(weight.fragments),
        "class names that stand twice": len(weight.classes_twice),
        "module names that stand twice": len(weight.modules_twice),
        "files a typed message passes": len(ways.message),
        "files a tool call with policy passes": len(ways.tool_call),
    }


@pytest.mark.parametrize("figure", LIMITS)
def test_the_house_is_no_heavier_than_its_limits(figure: str) -> None:
    assert figures()[figure] <= LIMITS[figure], f"{figure}; `python -m scripts.house --list` names the files"


def test_no_room_is_heavier_than_its_budget() -> None:
    rooms = {name: room.lines for name, room in house.measure().rooms.items()}

    assert rooms.keys() == ROOMS.keys()
    assert {name: lines for name, lines in rooms.items() if lines > ROOMS[name][0]} == {}


def test_the_skills_engine_works_without_the_server() -> None:
    foreign = {"server", "openai", "aiohttp", "xllamacpp"}

    for module, path in modules().items():
        if module.split(".")[0] == "skills_engine":
            assert not {name.split(".")[0] for name in imported_names(path)} & foreign, module


def test_every_rule_of_the_prompt_hooks_is_held_by_a_test() -> None:
    held: set[str] = set()
    for path in (ROOT / "tests").rglob("*.py"):
        for mark in re.findall(r"\bmark\.rule\(([^)]*)\)", path.read_text("utf-8")):
            held.update(re.findall(r"L\d-\d\d", mark))

    assert sorted(set(RULES) - held) == []
    assert sorted(held - set(RULES)) == [], "there are no such rules"


def test_every_module_is_tested_by_name_or_through_its_neighbour() -> None:
    """A test imports it or is called after it; or such a module, or a command line, of its part uses it."""
    imported = {name for path in (ROOT / "tests").rglob("*.py") for name in imported_modules(path)}
    called_after = {
        name_of(path).removeprefix("tests").replace(".test_", ".").lstrip(".")
        for path in (ROOT / "tests").rglob("test_*.py")
    }
    reached = {
        module
        for module, path in modules().items()
        if module in imported
        or path.name in ("__init__.py", "__main__.py")
        or module in ("server.talk", "clients.audit_check")  # tests run them as commands
        or not called_after.isdisjoint({module, module.removeprefix("server.")})
    }

    waiting = list(reached)
    while waiting:
        user = waiting.pop()
        text = modules()[user].read_text("utf-8")
        for module in modules().keys() - reached:
            is_used = module in imported_modules(modules()[user]) or f'"{module}"' in text  # "…": a worker's module
            if is_used and floor_of(module)[1] == floor_of(user)[1]:
                reached.add(module)
                waiting.append(module)
    assert sorted(modules().keys() - reached) == []


def defined_names() -> set[str]:
    """Every function and method of ours by its dotted name."""
    names: set[str] = set()

    def walk(node: ast.AST, path: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(f"{path}.{child.name}")
                walk(child, f"{path}.{child.name}")

    for module, path in modules().items():
        walk(ast.parse(path.read_text("utf-8")), module)
    return names


def test_every_mutant_that_may_survive_is_of_a_function_that_is_there() -> None:
    survivors = tomllib.loads((ROOT / "tests" / "surviving_mutants.toml").read_text("utf-8"))["survivor"]

    assert sorted({entry["function"] for entry in survivors} - defined_names()) == []


def test_every_dependency_says_why_it_is_there() -> None:
    for line in (ROOT / "requirements.in").read_text("utf-8").splitlines():
        package = line.partition("#")[0].strip()
        if package:
            assert "#" in line, package


def test_every_package_that_the_code_imports_is_a_declared_dependency() -> None:
    named = re.findall(r"(?m)^([\w-]+)", (ROOT / "requirements.in").read_text("utf-8"))
    declared = {IMPORTED_AS.get(package, package.replace("-", "_")).lower() for package in named}
    used = {name.split(".")[0]: module for module, path in modules().items() for name in imported_names(path)}

    foreign = {name for name in used if name not in sys.stdlib_module_names and name not in PACKAGES}
    missing = foreign - declared - OPTIONAL
    assert not missing, [f"{used[name]} imports {name}" for name in missing]


def test_every_package_of_the_locks_is_pinned_with_hashes() -> None:
    for name in ("requirements.txt", "requirements-dev.txt", "requirements-mutants.txt", "requirements-audit.txt"):
        text = (ROOT / name).read_text("utf-8")
        packages = re.findall(r"(?m)^([a-z][^\s=]*)==\S+.*((?:\\\n +--hash=sha256:[0-9a-f]{64} ?)+)", text)

        assert len(packages) == len(re.findall(r"(?m)^[a-zA-Z]", text))
        assert not re.search(r"(?m)^--?[a-z-]*(index|find)", text), "a lock names no index"


def test_every_exemption_from_lint_or_types_has_its_reason_beside_it() -> None:
    """In tests the wrong argument or the frozen field is the reason, and stands there."""
    bare: list[str] = []
    for folder in (*PACKAGES, "benchmarks", "scripts"):
        for path in (ROOT / folder).rglob("*.py"):
            for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
                if re.search(r"#\s*(noqa: [A-Z0-9, ]+|type: ignore\[[^\]]+\])\s*$", line):
                    bare.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert bare == []
