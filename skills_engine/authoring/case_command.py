"""`test`: runs the tests of skills and reports, once or after each change."""

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from watchfiles import watch

from skills_engine.authoring.case_files import SkillCases, read_cases
from skills_engine.authoring.case_report import junit_xml, render_results, render_summary
from skills_engine.authoring.case_runner import CaseResult, CaseRunner
from skills_engine.authoring.lint import is_skill_folder
from skills_engine.diagnostics import Diagnostic
from skills_engine.hook_entries import HookInfo
from skills_engine.hooks_config import HooksFile, read_hooks
from skills_engine.skills_folder import list_skills

PASSED, FAILED, NOT_RUN = 0, 1, 2

EPILOG = (
    "Exit status: 0 all tests passed, 1 a test failed or a skill has an error, "
    "2 a test could not be run: a mistake in its file, a hook or skill that there is not, no answer from the server."
)


class SkillShelf(Mapping[str, Sequence[HookInfo]]):
    """The hooks of the skills in a folder, each read when it is asked for."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._names = list_skills(root, None)[0]
        self._read: dict[str, HooksFile] = {}

    def file(self, skill: str) -> HooksFile:
        """Raises KeyError."""
        if skill not in self._names:
            raise KeyError(skill)
        return self._read.setdefault(skill, read_hooks(self._root / skill))

    def __getitem__(self, skill: str) -> Sequence[HookInfo]:
        return self.file(skill).hooks

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--junit", type=Path, metavar="FILE", help="also write the results as JUnit's XML")
    parser.add_argument("--watch", action="store_true", help="run again after each change, until Ctrl-C")


def run_tests(options: argparse.Namespace) -> int:
    """Return the exit status. Raises OSError."""
    path: Path = options.path
    is_one = is_skill_folder(path)
    root = path.resolve().parent if is_one else path
    names = [path.resolve().name] if is_one else list_skills(path, None)[0]
    status = _run_once(root, names, options)
    if options.watch:
        try:
            for _ in watch(path, raise_interrupt=False):
                print(f"\n--- {time.strftime('%H:%M:%S')}")
                status = _run_once(root, names if is_one else list_skills(path, None)[0], options)
        except KeyboardInterrupt:
            pass
    return status


def _run_once(root: Path, names: Sequence[str], options: argparse.Namespace) -> int:
    started_s = time.perf_counter()
    found = {name: read_cases(root / name) for name in names}
    shelf = SkillShelf(root)
    cases = [case for of_skill in found.values() for case in of_skill.cases]
    if not cases and not any(of_skill.diagnostics for of_skill in found.values()):
        print(f"error: no tests in {root}: write one in SKILL/tests/*.yaml; `new` makes one along", file=sys.stderr)
        return NOT_RUN
    results = CaseRunner(shelf).run(cases)
    has_bad_hooks = _print_diagnostics(root, found, shelf)
    if text := render_results(results, root):
        print(text, end="\n\n")
    print(render_summary(results, time.perf_counter() - started_s), flush=True)
    if options.junit is not None:
        options.junit.write_text(junit_xml(results), "utf-8")
    return _status(results, found, has_bad_hooks=has_bad_hooks)


def _print_diagnostics(root: Path, found: Mapping[str, SkillCases], shelf: SkillShelf) -> bool:
    """Print the mistakes of tests and of the hooks that they play; tell whether a hook has one."""
    has_error = False
    for name, of_skill in found.items():
        of_hooks = [one for one in shelf.file(name).diagnostics if one.severity == "error"] if of_skill.cases else []
        has_error |= bool(of_hooks)
        for one in (*of_hooks, *of_skill.diagnostics):
            print(f"{_place(root, one)}: {one.severity}: {one.message}", file=sys.stderr)
    return has_error


def _place(root: Path, found: Diagnostic) -> str:
    return f"{root / found.skill / found.file} {found.path}".rstrip()


def _status(results: Sequence[CaseResult], found: Mapping[str, SkillCases], *, has_bad_hooks: bool) -> int:
    outcomes = {result.outcome for result in results}
    if "error" in outcomes or any(of_skill.diagnostics for of_skill in found.values()):
        return NOT_RUN
    return FAILED if has_bad_hooks or "failed" in outcomes else PASSED
