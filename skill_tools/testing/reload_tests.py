"""The scripted tests of skills, run at the start and after a reload while the server serves: bounded, reported in short."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from skill_tools.testing.tests_files import read_tests
from skill_tools.testing.tests_report import narrow_lines
from skill_tools.testing.tests_runner import SkillTestResult, SkillTestRunner
from skills_engine.diagnostics import Diagnostic, FailedTest, SkillTestReport
from skills_engine.hooks_config import HooksFile
from skills_engine.library import SkillsSnapshot

logger = logging.getLogger(__name__)

LIMIT_S: Final = 2.0
"""Time of one run; tests that have not begun by then are left out."""
_PAUSE_S: Final = 0.0005
"""Before each test the thread sleeps for this time, so that the event loop gets the interpreter."""
MAX_FAILED_TESTS = 20
"""The most failed tests of one skill that are reported in detail."""
MAX_DETAIL_CHARS = 2000


def run_reload_tests(
    snapshot: SkillsSnapshot, names: Iterable[str], is_over: Callable[[], bool]
) -> dict[str, SkillTestReport]:
    """Run the scripted tests of these skills; skills without tests have no report. Once `is_over`, no further test is run."""
    files = {skill.name: HooksFile(hooks=skill.hooks, triggers=skill.triggers) for skill in snapshot.all_skills}
    runner = SkillTestRunner(files, on=[skill.name for skill in snapshot.skills])
    reports = {}
    for skill in snapshot.select(list(names)):
        if is_over():
            break
        try:
            read = read_tests(skill.directory)
            tests = [test for test in read.tests if test.spec.ask is None]
            if tests or read.diagnostics:
                results = runner.run(tests, is_over=is_over)
                reports[skill.name] = _report(results, len(tests), read.diagnostics)
        except Exception:  # the boundary of one skill's tests
            logger.exception("the tests of the skill %s could not be run", skill.name)
            fault = Diagnostic("error", skill.name, "tests", "", "could not be run; the server's log has more")
            reports[skill.name] = SkillTestReport(diagnostics=(fault,))
    return reports


def run_skill_tests(name: str, snapshot: SkillsSnapshot) -> SkillTestReport:
    """Run the scripted tests of one skill, for as long as those of a reload."""
    end_s = time.monotonic() + LIMIT_S
    return run_reload_tests(snapshot, [name], lambda: time.monotonic() > end_s).get(name, SkillTestReport())


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


class SkillTests:
    """Runs tests in a thread, at most one run at a time; a later reload ends a run and takes its skills over."""

    def __init__(self, snapshot: SkillsSnapshot, on_end: Callable[[], None], *, limit_s: float = LIMIT_S) -> None:
        """Take the snapshot of the start, which `run` tests first. `on_end` is called when reports are new."""
        self.reports: Mapping[str, SkillTestReport] = {}
        """Latest report of each skill that has not changed since."""
        self._on_end = on_end
        self._limit_s = limit_s
        self._snapshot = snapshot
        self._changed = {skill.name for skill in snapshot.all_skills}  # and not tested since
        self._has_changed = asyncio.Event()
        self._has_changed.set()
        self._superseded = threading.Event()  # ends the run that goes on, after its present test

    def reloaded(self, snapshot: SkillsSnapshot) -> None:
        """Begin with the skills that are new or were read again; returns at once."""
        before = {skill.name: skill for skill in self._snapshot.all_skills}
        now = {skill.name for skill in snapshot.all_skills}
        changed = {skill.name for skill in snapshot.all_skills if before.get(skill.name) is not skill}
        self._snapshot = snapshot
        self._changed = (self._changed | changed) & now
        self.reports = {name: one for name, one in self.reports.items() if name in now - changed}
        self._superseded.set()
        self._has_changed.set()

    async def run(self) -> None:
        """Test what was read at the start and what is reloaded, until cancelled."""
        while True:
            await self._has_changed.wait()
            self._has_changed.clear()
            if self._changed:
                await self._test(frozenset(self._changed))

    async def _test(self, names: frozenset[str]) -> None:
        self._superseded = superseded = threading.Event()
        end_s = time.monotonic() + self._limit_s

        def is_over() -> bool:
            time.sleep(_PAUSE_S)
            return superseded.is_set() or time.monotonic() > end_s

        try:
            reports = await asyncio.to_thread(run_reload_tests, self._snapshot, sorted(names), is_over)
        except asyncio.CancelledError:
            superseded.set()
            raise
        if superseded.is_set():
            return  # `reloaded` has set the event: these skills are tested with the new ones
        self._changed -= names
        self.reports = {**self.reports, **reports}
        for name, report in reports.items():
            if report.failed:
                logger.warning("%d of %d tests of the skill %s fail", report.failed, report.count, name)
        if reports:
            self._on_end()
