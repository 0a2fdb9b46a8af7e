"""The scripted tests of skills that a reload has changed, run while the server serves: bounded, and reported in short."""

from collections.abc import Callable, Iterable

from skill_tools.testing.tests_files import read_tests
from skill_tools.testing.tests_report import narrow_lines
from skill_tools.testing.tests_runner import SkillTestResult, SkillTestRunner
from skills_engine.diagnostics import Diagnostic, FailedTest, SkillTestReport
from skills_engine.hooks_config import HooksFile
from skills_engine.library import SkillsSnapshot

MAX_FAILED_TESTS = 20
"""The most failed tests of one skill that are reported in detail."""
MAX_DETAIL_CHARS = 2000


def run_reload_tests(
    snapshot: SkillsSnapshot, names: Iterable[str], is_over: Callable[[], bool]
) -> dict[str, SkillTestReport]:
    """Run the scripted tests of these skills; skills without tests have no report. Once `is_over`, no further test is run."""
    files = {skill.name: HooksFile(hooks=skill.hooks, triggers=skill.triggers) for skill in snapshot.skills}
    runner = SkillTestRunner(files)
    reports = {}
    for skill in snapshot.select(list(names)):
        if is_over():
            break
        found = read_tests(skill.directory)
        tests = [test for test in found.tests if test.spec.ask is None]
        if tests or found.diagnostics:
            results = runner.run(tests, is_over=is_over)
            reports[skill.name] = _report(results, len(tests), found.diagnostics)
    return reports


def _report(results: list[SkillTestResult], count: int, diagnostics: tuple[Diagnostic, ...]) -> SkillTestReport:
    failed = [result for result in results if result.outcome != "passed"]
    return SkillTestReport(
        count=count,
        failed=len(failed),
        not_run=count - len(results),
        failures=tuple(map(_failed_test, failed[:MAX_FAILED_TESTS])),
        diagnostics=diagnostics,
    )


def _failed_test(result: SkillTestResult) -> FailedTest:
    lines = [line for failure in result.failures for line in narrow_lines(failure)]
    details = "\n".join([*lines, *([result.message] if result.message else [])])
    if len(details) > MAX_DETAIL_CHARS:
        details = details[: MAX_DETAIL_CHARS - 1] + "…"
    return FailedTest(result.test.name, result.test.file, result.test.line, details)
