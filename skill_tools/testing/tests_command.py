"""`test`: runs the tests of skills and reports, once or after each change."""

import argparse
import asyncio
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from watchfiles import watch

from skill_tools.authoring.lint import diagnostic_line, is_skill_folder
from skill_tools.testing.tests_asker import Asker, AskError, ask_test
from skill_tools.testing.tests_files import FoundTests, read_tests
from skill_tools.testing.tests_report import junit_xml, render_results, render_summary
from skill_tools.testing.tests_runner import SkillHooks, SkillTestRunner
from skill_tools.testing.tests_variants import (
    VariantError,
    hook_to_vary,
    read_wordings,
    render_variants,
    run_variants,
)
from skills_engine.hooks_config import read_hooks
from skills_engine.skills_folder import list_skills

PASSED, FAILED, NOT_RUN = 0, 1, 2

EPILOG = (
    "Exit status: 0 all tests passed, 1 a test failed or a skill has an error, "
    "2 a test could not be run: a mistake in its file, a hook or skill that there is not, no answer from the server. "
    "With --variants, which only compares, never 1."
)


Connect = Callable[[str, str | None], AbstractAsyncContextManager[Asker]]
"""Connects to a server by its address and a token. Raises AskError."""


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
    root, by_skill = _read(path)
    if not any(of_skill.tests or of_skill.diagnostics for of_skill in by_skill.values()):
        print(f"error: no tests in {path}: write some in tests/*.yaml of a skill; `new` makes some", file=sys.stderr)
        return NOT_RUN
    hooks = {name: read_hooks(root / name) for name in dict.fromkeys([*list_skills(root)[0], *by_skill])}
    model = nullcontext() if options.server is None else connect(options.server, options.token)
    try:
        async with model as asker:
            return await _TestRun(root, by_skill, hooks, asker).report(options)
    except (AskError, VariantError) as error:
        print(f"error: {error}", file=sys.stderr)
        return NOT_RUN


def _read(path: Path) -> tuple[Path, dict[str, FoundTests]]:
    """Return the folder of the skills, and the tests of the skill or the skills at the path."""
    if is_skill_folder(path):
        folder = path.resolve()
        return folder.parent, {folder.name: read_tests(folder)}
    return path, {name: read_tests(path / name) for name in list_skills(path)[0]}


@dataclass(frozen=True)
class _TestRun:
    """The tests of skills in `root`, the hooks of all skills there, and the model that some of the tests ask."""

    root: Path
    by_skill: Mapping[str, FoundTests]
    hooks: SkillHooks
    asker: Asker | None

    async def report(self, options: argparse.Namespace) -> int:
        started_s = time.perf_counter()
        has_bad_hooks = self._print_diagnostics()
        if options.variants:
            return await self._compare(options)
        runner = SkillTestRunner(self.hooks)
        results = runner.run(test for of_skill in self.by_skill.values() for test in of_skill.tests)
        if self.asker is not None:
            results = [
                one if one.test.spec.ask is None else await ask_test(one.test, runner, self.asker) for one in results
            ]
        if text := render_results(results, self.root):
            print(text, end="\n\n")
        mistakes = sum(len(of_skill.diagnostics) for of_skill in self.by_skill.values())
        left_out = f"; mistakes in the files: {mistakes}" if mistakes else ""
        print(render_summary(results, time.perf_counter() - started_s) + left_out, flush=True)
        if options.junit is not None:
            options.junit.write_bytes(junit_xml(results))
        outcomes = {result.outcome for result in results}
        if "error" in outcomes or mistakes:
            return NOT_RUN
        return FAILED if has_bad_hooks or "failed" in outcomes else PASSED

    async def _compare(self, options: argparse.Namespace) -> int:
        if len(self.by_skill) != 1:
            raise VariantError("--variants compares texts of one skill's hook: give the folder of that skill")
        [(skill, of_skill)] = self.by_skill.items()
        wordings = read_wordings(options.variants, self.root / skill)
        hook = hook_to_vary(options.hook, wordings, self.hooks[skill].hooks)
        results = await run_variants(of_skill.tests, self.hooks, hook, wordings, self.asker)
        print(render_variants(results), flush=True)
        return NOT_RUN if of_skill.diagnostics else PASSED

    def _print_diagnostics(self) -> bool:
        """Print the mistakes of tests and of the hooks that they play; return whether a hook has one."""
        has_error = False
        for name, of_skill in self.by_skill.items():
            of_hooks = (
                [one for one in self.hooks[name].diagnostics if one.severity == "error"] if of_skill.tests else []
            )
            has_error |= bool(of_hooks)
            for one in (*of_hooks, *of_skill.diagnostics):
                print(diagnostic_line(self.root / name, one), file=sys.stderr)
        return has_error
