"""Wordings of one hook side by side: for each test, how often it passes and what the hooks cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from skill_tools.testing.tests_asker import Asker, take_samples
from skill_tools.testing.tests_files import SkillTest
from skill_tools.testing.tests_runner import SkillTestRunner
from skills_engine.files import UnreadableError, read_inside
from skills_engine.hook_entries import HookInfo
from skills_engine.hooks_config import MAX_FILE_BYTES, HooksFile
from skills_engine.library import changed_hooks

MAX_VARIANTS = 20


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
    asker: Asker | None,
) -> list[VariantResult]:
    """Run every test with every wording. Raises AskError, and VariantError for a skill that there is not."""
    results = []
    for wording in wordings:
        texts = {f"{hook.skill}/{hook.name}": wording.text}
        file = files[hook.skill]
        runner = SkillTestRunner({**files, hook.skill: replace(file, hooks=changed_hooks(file.hooks, texts))})
        for result in runner.run(tests):
            test, rate, tokens = result.test, None, result.hook_tokens
            if test.spec.ask is None:
                rate = None if result.outcome == "error" else float(result.outcome == "passed")
            else:
                try:
                    tokens = runner.hook_tokens(test)
                    if asker is not None:
                        rate = (await take_samples(test, runner, asker, texts)).pass_rate
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
