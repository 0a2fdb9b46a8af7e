"""`test`: runs the tests of skills and reports, once or after each change, or with wordings of a hook side by side."""

import argparse
import asyncio
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from watchfiles import watch

from skill_tools.authoring.lint import diagnostic_line, is_skill_folder
from skill_tools.authoring.scaffold import write_trace_test
from skill_tools.testing.tests_asker import AnswerCache, Asker, AskError, ask_test, take_samples
from skill_tools.testing.tests_files import FoundTests, SkillTest, read_tests
from skill_tools.testing.tests_report import junit_xml, render_results, render_summary
from skill_tools.testing.tests_runner import SkillHooks, SkillTestRunner
from skills_engine.files import UnreadableError, read_inside
from skills_engine.hook_entries import HookInfo
from skills_engine.hooks_config import MAX_FILE_BYTES, HooksFile
from skills_engine.library import changed_hooks
from skills_engine.skills_folder import LoadedSkill, list_skills, load_skill

PASSED, FAILED, NOT_RUN = 0, 1, 2

EPILOG = (
    "Exit status: 0 all tests passed, 1 a test failed or a skill has an error, "
    "2 a test could not be run: a mistake in its file, a hook or skill that there is not, no answer from the server. "
    "With --variants, which only compares, never 1."
)


Connect = Callable[[str, str | None], AbstractAsyncContextManager[Asker]]
"""Connects to a server by its address and a token. Raises AskError."""

MAX_VARIANTS = 20


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
    parser.add_argument(
        "--from-trace", type=Path, metavar="FILE", help="first make a test of a turn that the inspector has exported"
    )
    parser.add_argument("--junit", type=Path, metavar="FILE", help="also write the results as JUnit's XML")
    parser.add_argument("--watch", action="store_true", help="run again after each change, until Ctrl-C")


def run_tests(options: argparse.Namespace, connect: Connect) -> int:
    """Return the exit status. Raises OSError."""
    path: Path = options.path
    if options.from_trace is not None:
        print(f"written: {write_trace_test(options.from_trace, path)}")
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
    names = dict.fromkeys([*list_skills(root)[0], *by_skill])
    skills = {name: load_skill(root.resolve() / name) for name in names}
    model = nullcontext() if options.server is None else connect(options.server, options.token)
    try:
        async with model as asker:
            return await _TestRun(root, by_skill, skills, None if asker is None else AnswerCache(asker)).report(options)
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
    """The tests of skills in `root`, all skills there, and the model that some of the tests ask."""

    root: Path
    by_skill: Mapping[str, FoundTests]
    skills: Mapping[str, LoadedSkill]
    model: AnswerCache | None

    @property
    def hooks(self) -> SkillHooks:
        return {name: loaded.hooks_file for name, loaded in self.skills.items()}

    @property
    def on(self) -> list[str]:
        """The skills that are on where nothing else is configured."""
        return [name for name, loaded in self.skills.items() if loaded.skill and loaded.skill.on_by_default]

    async def report(self, options: argparse.Namespace) -> int:
        started_s = time.perf_counter()
        has_bad_hooks = self._print_diagnostics()
        if options.variants:
            return await self._compare(options)
        runner = SkillTestRunner(self.hooks, on=self.on)
        results = runner.run(test for of_skill in self.by_skill.values() for test in of_skill.tests)
        if self.model is not None:
            results = [
                one if one.test.spec.ask is None else await ask_test(one.test, runner, self.model) for one in results
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
        results = await run_variants(of_skill.tests, self.hooks, hook, wordings, self.model, on=self.on)
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


class VariantError(Exception):
    """The wordings cannot be compared; the message says why and what to do."""


@dataclass(frozen=True)
class Wording:
    """A text that a hook may have, and the file it stands in."""

    file: str
    text: str


@dataclass(frozen=True)
class VariantResult:
    """One test with one wording."""

    wording: str
    test: str
    pass_rate: float | None
    """The share of its samples that passed, or None if the test could not be run (or asks a model and there is none)."""
    hook_tokens: int


def read_wordings(files: Sequence[str], folder: Path) -> list[Wording]:
    """Read the texts; a name is a path, or that of a file in the skill's hooks/. Raises VariantError."""
    if not 2 <= len(files) <= MAX_VARIANTS:
        raise VariantError(f"--variants needs 2 to {MAX_VARIANTS} files, separated by commas")
    wordings = []
    for file in files:
        path = Path(file) if Path(file).exists() else folder / "hooks" / file
        try:
            text = read_inside(path.parent, path.name, max_bytes=MAX_FILE_BYTES).decode().strip()
        except (UnreadableError, UnicodeDecodeError) as error:
            raise VariantError(f"{file} {error}: --variants names text files, or files in hooks/") from error
        if not text:
            raise VariantError(f"{file} is empty")
        wordings.append(Wording(file, text))
    return wordings


def hook_to_vary(name: str | None, wordings: Sequence[Wording], hooks: Sequence[HookInfo]) -> HookInfo:
    """Return the hook of this name; without one, the hook whose file is among the wordings, or the only one. Raises VariantError."""
    files = {Path(wording.file).name for wording in wordings}
    candidates = [hook for hook in hooks if (hook.name == name if name else Path(hook.file).name in files)]
    if not candidates and name is None and len(hooks) == 1:
        candidates = list(hooks)
    if len(candidates) != 1:
        names = ", ".join(hook.name for hook in hooks) or "none"
        raise VariantError(f"which hook is meant? name one with --hook; there are: {names}")
    return candidates[0]


async def run_variants(
    tests: Sequence[SkillTest],
    files: Mapping[str, HooksFile],
    hook: HookInfo,
    wordings: Sequence[Wording],
    model: AnswerCache | None,
    *,
    on: Sequence[str] = (),
) -> list[VariantResult]:
    """Run every test with every wording. Raises AskError, and VariantError for a skill that there is not."""
    results = []
    for wording in wordings:
        texts = {f"{hook.skill}/{hook.name}": wording.text}
        file = files[hook.skill]
        runner = SkillTestRunner({**files, hook.skill: replace(file, hooks=changed_hooks(file.hooks, texts))}, on=on)
        for result in runner.run(tests):
            test, rate, tokens = result.test, None, result.hook_tokens
            if test.spec.ask is None:
                rate = None if result.outcome == "error" else float(result.outcome == "passed")
            else:
                try:
                    tokens = runner.hook_tokens(test)
                    if model is not None:
                        rate = (await take_samples(test, runner, model, texts)).pass_rate
                except LookupError as error:
                    raise VariantError(f"{test.name}: {error.args[0]}") from error
            results.append(VariantResult(wording.file, test.name, rate, tokens))
    return results


def render_variants(results: Sequence[VariantResult]) -> str:
    """Return a table: wording, test, share that passed, tokens of the hooks in the dearest call (estimated)."""
    rows = [("wording", "test", "passed", "tokens")]
    for result in results:
        rate = "not run" if result.pass_rate is None else f"{result.pass_rate:.0%}"
        rows.append((result.wording, result.test, rate, str(result.hook_tokens)))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(
        f"{wording:<{widths[0]}}  {test:<{widths[1]}}  {rate:>{widths[2]}}  {tokens:>{widths[3]}}"
        for wording, test, rate, tokens in rows
    )
