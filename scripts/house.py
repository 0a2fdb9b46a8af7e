"""`python -m scripts.house`: how heavy the rooms are, what is named twice, and how many files a turn passes.

`--list` also prints every short file, docstring that begins as a fragment, and passed file.
tests/test_house.py holds the limits.
"""

import argparse
import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = ("server", "skills_engine", "skill_tools")
SHORT_LINES = 60
FRAGMENT_WORDS = frozenset("As Beside How Of Over So Such Those What Where Which Who Whom Whose Why".split())
"""First words of docstrings that need the line above them to be understood."""
_FRAMES = Path("server/wire")
"""Classes here are named for frames on the wire, whatever else has the name."""
_PUBLIC_NAMES = frozenset((Path("server/hooks/types.py"), Path("server/hooks/policy/types.py")))
"""Modules that only pass on what custom handlers import; both names have been promised to their authors."""


@dataclass(frozen=True)
class Room:
    lines: int
    files: int
    share: float


@dataclass(frozen=True)
class House:
    """Figures that can be counted without running anything."""

    rooms: dict[str, Room]
    """Each room by its name, the heaviest first."""
    lines: int
    files: int
    short_files: list[str]
    """Files of fewer than SHORT_LINES lines, without `__init__.py`."""
    fragments: list[str]
    """Docstrings that begin as a fragment: `path:line: first line`."""
    classes_twice: dict[str, list[str]]
    modules_twice: dict[str, list[str]]
    """Each name with the files that have it."""


def measure() -> House:
    lengths = {path: len((ROOT / path).read_text("utf-8").splitlines()) for path in python_files()}
    total = sum(lengths.values())
    lines, files = Counter[str](), Counter[str]()
    for path, length in lengths.items():
        lines[room_of(path)] += length
        files[room_of(path)] += 1
    return House(
        rooms={room: Room(count, files[room], count / total) for room, count in lines.most_common()},
        lines=total,
        files=len(lengths),
        short_files=sorted(
            str(path) for path, length in lengths.items() if length < SHORT_LINES and path.stem != "__init__"
        ),
        fragments=[fragment for path in lengths for fragment in _fragments(path)],
        classes_twice=_twice((name, path) for path in lengths for name in _class_names(path)),
        modules_twice=_twice(
            (path.stem, path) for path in lengths if not path.stem.startswith("__") and path not in _PUBLIC_NAMES
        ),
    )


@cache
def python_files() -> tuple[Path, ...]:
    """Return the Python files of the packages, relative to the repository."""
    return tuple(path.relative_to(ROOT) for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py")))


def room_of(path: Path) -> str:
    """Return a file's room: the folder below `server`, `server` for the files beside those, or the package."""
    return "/".join(path.parts[:2]) if path.parts[0] == "server" and len(path.parts) > 2 else path.parts[0]


def _fragments(path: Path) -> Iterator[str]:
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            first = node.value.value.strip().partition("\n")[0]
            if first.split(" ")[0].rstrip(",:.") in FRAGMENT_WORDS:
                yield f"{path}:{node.lineno}: {first}"


def _class_names(path: Path) -> Iterator[str]:
    if not path.is_relative_to(_FRAMES):
        yield from (node.name for node in ast.walk(_tree(path)) if isinstance(node, ast.ClassDef))


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text("utf-8"), str(path))


def _twice(names: Iterator[tuple[str, Path]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for name, path in names:
        found[name].append(str(path))
    return {name: paths for name, paths in sorted(found.items()) if len(paths) > 1}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m scripts.house")
    parser.add_argument("--list", action="store_true", help="print every short file, fragment and passed file")
    is_listing = parser.parse_args().list
    house = measure()
    print(f"{'room':20} {'lines':>7} {'files':>6} {'share':>7}")
    for room, weight in house.rooms.items():
        print(f"{room:20} {weight.lines:7} {weight.files:6} {weight.share:7.1%}")
    print(f"{'sum':20} {house.lines:7} {house.files:6}\n")
    _print_list(f"files under {SHORT_LINES} lines", house.short_files, is_listing=is_listing)
    _print_list("docstrings that begin as fragments", house.fragments, is_listing=is_listing)
    for kind, names in (("classes", house.classes_twice), ("modules", house.modules_twice)):
        items = [f"{name}: {', '.join(paths)}" for name, paths in names.items()]
        _print_list(f"names that stand for two or more {kind}", items, is_listing=True)
    from scripts.longest_way import measure as measure_ways  # imports the server

    ways = measure_ways()
    _print_list("files that a typed message passes", ways.message, is_listing=is_listing)
    _print_list("files that a tool call passes which a policy asks about", ways.tool_call, is_listing=is_listing)
    _print_list("files that a Realtime item and its response pass", ways.realtime, is_listing=is_listing)


def _print_list(title: str, items: list[str], *, is_listing: bool) -> None:
    print(f"{title}: {len(items)}")
    if is_listing:
        for item in items:
            print(f"  {item}")


if __name__ == "__main__":
    main()
