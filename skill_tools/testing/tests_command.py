"""`test`: runs the tests of skills and reports, once or after each change."""

import argparse
import asyncio
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path

from watchfiles import watch

from skill_tools.authoring.lint import is_skill_folder
from skill_tools.testing.tests_asker import Asker, AskError, ask_test
from skill_tools.testing.tests_files import FoundTests, read_tests
from skill_tools.testing.tests_report import junit_xml, render_results, render_summary
from skill_tools.testing.tests_runner import SkillTestResult, SkillTestRunner
from skill_tools.testing.tests_variants import (
    VariantError,
    hook_to_vary,
    read_wordings,
    render_variants,
    run_variants,
)
from skills_engine.diagnostics import Diagnostic
from skills_engine.hooks_config import HooksFile, read_hooks
from skills_engine.skills_folder import list_skills

PASSED, FAILED, NOT_RUN = 0, 1, 2

EPILOG = (
    "Exit status: 0 all tests passed, 1 a test failed or a skill has an error, "
    "2 a test could not be run: a mistake in its file, a hook or skill that there is not, no answer from the server. "
    "With --variants, which only compares, never 1."
)


Connect = Callable[[str, str | None], AbstractAsyncContextManager[Asker]]
"""Connects to a server by its address and a token. Raises AskError."""


class SkillShelf(Mapping[str, HooksFile]):
    """The hooks and triggers of the skills in a folder, each read when it is asked for."""

    def __init__(self, root: Path, tested: Iterable[str]) -> None:
        self._root = root
        self._names = list(dict.fromkeys([*list_skills(root)[0], *tested]))
        self._read: dict[str, HooksFile] = {}

    def __getitem__(self, skill: str) -> HooksFile:
        if skill not in self._names:
            raise KeyError(skill)
        if skill not in self._read:
            self._read[skill] = read_hooks(self._root / skill)
        return self._read[skill]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--server", metavar="URL", help="also run the tests that ask a model, through this running server"
    )
    parser.add_argument("--token", help="log in to the server with this token")
    parser.add_argument(
        "--variants",
        type=lambda text: text.split(","),
        metavar="FILE,FILE",
        help="run all tests with each of these texts in the place of a hook's, and print a table",
    )
    parser.add_argument("--hook", metavar="NAME", help="the hook of --variants, if the files do not tell")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="also write the results as JUnit's XML")
    parser.add_argument("--watch", action="store_true", help="run again after each change, until Ctrl-C")


def run_tests(options: argparse.Namespace, connect: Connect) -> int:
    """Return the exit status. Raises OSError."""
    path: Path = options.path
    status = asyncio.run(_run_once(path, options, connect))
    if options.watch:
        with suppress(KeyboardInterrupt):
            for _ in watch(path):
                print(f"\n--- {time.strftime('%H:%M:%S')}")
                status = asyncio.run(_run_once(path, options, connect))
    return status


async def _run_once(path: Path, options: argparse.Namespace, connect: Connect) -> int:
    root, found = _read(path)
    if not any(of_skill.tests or of_skill.diagnostics for of_skill in found.values()):
        print(f"error: no tests in {path}: write some in tests/*.yaml of a skill; `new` makes some", file=sys.stderr)
        return NOT_RUN
    shelf = SkillShelf(root, found)
    try:
        if options.server is None:
            return await _report(root, found, shelf, options, None)
        async with connect(options.server, options.token) as asker:
            return await _report(root, found, shelf, options, asker)
    except (AskError, VariantError) as error:
        print(f"error: {error}", file=sys.stderr)
        return NOT_RUN


def _read(path: Path) -> tuple[Path, dict[str, FoundTests]]:
    """Return the folder of the skills, and the tests of the skill or the skills at the path."""
    if is_skill_folder(path):
        folder = path.resolve()
        return folder.parent, {folder.name: read_tests(folder)}
    return path, {name: read_tests(path / name) for name in list_skills(path)[0]}


async def _report(
    root: Path,
    found: Mapping[str, FoundTests],
    shelf: SkillShelf,
    options: argparse.Namespace,
    asker: Asker | None,
) -> int:
    started_s = time.perf_counter()
    tests = [test for of_skill in found.values() for test in of_skill.tests]
    has_bad_hooks = _print_diagnostics(root, found, shelf)
    if options.variants:
        return await _compare(root, found, shelf, options, asker)
    runner = SkillTestRunner(shelf)
    results = runner.run(tests)
    if asker is not None:
        results = [
            result if result.test.spec.ask is None else await ask_test(result.test, runner, asker) for result in results
        ]
    if text := render_results(results, root):
        print(text, end="\n\n")
    mistakes = sum(len(of_skill.diagnostics) for of_skill in found.values())
    left_out = f"; mistakes in the files: {mistakes}" if mistakes else ""
    print(render_summary(results, time.perf_counter() - started_s) + left_out, flush=True)
    if options.junit is not None:
        options.junit.write_bytes(junit_xml(results))
    return _status(results, found, has_bad_hooks=has_bad_hooks)


async def _compare(
    root: Path,
    found: Mapping[str, FoundTests],
    shelf: SkillShelf,
    options: argparse.Namespace,
    asker: Asker | None,
) -> int:
    if len(found) != 1:
        raise VariantError("--variants compares texts of one skill's hook: give the folder of that skill")
    [(skill, of_skill)] = found.items()
    wordings = read_wordings(options.variants, root / skill)
    hook = hook_to_vary(options.hook, wordings, shelf[skill].hooks)
    results = await run_variants(of_skill.tests, shelf, hook, wordings, asker)
    print(render_variants(results), flush=True)
    return NOT_RUN if of_skill.diagnostics else PASSED


def _print_diagnostics(root: Path, found: Mapping[str, FoundTests], shelf: SkillShelf) -> bool:
    """Print the mistakes of tests and of the hooks that they play; tell whether a hook has one."""
    has_error = False
    for name, of_skill in found.items():
        of_hooks = [one for one in shelf[name].diagnostics if one.severity == "error"] if of_skill.tests else []
        has_error |= bool(of_hooks)
        for one in (*of_hooks, *of_skill.diagnostics):
            print(f"{_place(root, one)}: {one.severity}: {one.message}", file=sys.stderr)
    return has_error


def _place(root: Path, found: Diagnostic) -> str:
    return f"{root / found.skill / found.file} {found.path}".rstrip()


def _status(results: Sequence[SkillTestResult], found: Mapping[str, FoundTests], *, has_bad_hooks: bool) -> int:
    outcomes = {result.outcome for result in results}
    if "error" in outcomes or any(of_skill.diagnostics for of_skill in found.values()):
        return NOT_RUN
    return FAILED if has_bad_hooks or "failed" in outcomes else PASSED
