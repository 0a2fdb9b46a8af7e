"""How many public skills load: `python -m benchmarks public_skills DIR`, where DIR holds checked-out repositories.

A skill is a folder with a SKILL.md; it loads if the server would use it as it is, without an error in its files.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from skills_engine.skills_folder import load_skill

GOAL = 0.995
"""The share of all skills that has to load."""
MAX_SHOWN = 200
"""Limit for the refused skills that are printed for one repository."""


@dataclass
class Repository:
    """Counts the skills of one repository: all, those that load, those of which the model is told, the refused with reasons."""

    name: str
    skills: int = 0
    listed: int = 0
    refused: dict[str, str] = field(default_factory=dict)

    @property
    def loaded(self) -> int:
        return self.skills - len(self.refused)


def survey(root: Path) -> Repository:
    found = Repository(root.name)
    for folder in _skill_folders(root):
        loaded = load_skill(folder)
        if loaded.skill is None:  # it may be off by default
            loaded = load_skill(folder, is_named=True)
        errors = [one for one in loaded.diagnostics if one.severity == "error"]
        found.skills += 1
        found.listed += loaded.skill is not None and loaded.skill.listed
        if errors or loaded.skill is None:
            reasons = [f"{one.file} {one.path}".strip() + f": {one.message}" for one in errors or loaded.diagnostics]
            found.refused[folder.relative_to(root).as_posix()] = "; ".join(reasons)
    return found


def _skill_folders(root: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name != ".git")
        if any(name.lower() == "skill.md" for name in files):
            yield Path(parent)


def report(repositories: Sequence[Repository]) -> str:
    """Render one line a repository and the sum, then every refused skill with its reason."""
    everything = Repository("all", sum(one.skills for one in repositories), sum(one.listed for one in repositories))
    lines = [f"{'repository':<40}{'skills':>8}{'load':>8}{'share':>9}{'in the catalogue':>18}"]
    for one in repositories:
        lines.append(_line(one, one.loaded))
        everything.refused |= {f"{one.name}/{path}": reason for path, reason in one.refused.items()}
    lines.append(_line(everything, everything.loaded))
    for one in repositories:
        lines += [f"refused: {one.name}/{path}: {reason}" for path, reason in list(one.refused.items())[:MAX_SHOWN]]
        if len(one.refused) > MAX_SHOWN:
            lines.append(f"refused: {one.name}: {len(one.refused) - MAX_SHOWN} more")
    return "\n".join(lines)


def _line(one: Repository, loaded: int) -> str:
    share = f"{loaded / one.skills:.2%}" if one.skills else "-"
    return f"{one.name:<40}{one.skills:>8}{loaded:>8}{share:>9}{one.listed:>18}"


def main(arguments: Sequence[str]) -> int:
    """Print the report; the status is 0 if the goal is met, 1 if not, 2 for a wrong command."""
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        print("usage: python -m benchmarks public_skills DIR   (a folder of checked-out repositories)", file=sys.stderr)
        return 2
    repositories = [survey(path) for path in sorted(Path(arguments[0]).iterdir()) if path.is_dir()]
    skills = sum(one.skills for one in repositories)
    print(report(repositories))
    return 0 if sum(one.loaded for one in repositories) >= GOAL * skills else 1
