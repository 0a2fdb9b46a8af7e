"""Tests of skills after a reload: in a thread, one run at a time, the latest version."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from skill_tools.testing.reload_tests import MAX_DETAIL_CHARS, SkillTests, run_reload_tests
from skills_engine import SkillsLibrary, SkillsSnapshot, load_snapshot
from tests.skills_engine.folders import entry, make_skill, write_hooks_json

PASSES = "  - {name: n%d, user: hello, expect: {fires: [hint]}}\n"
FAILS = "  - {name: n%d, user: hello, expect: {fires: []}}\n"


class Reloading:
    """A folder of skills that is read again when told to, and the runs that follow."""

    def __init__(self, root: Path) -> None:
        self.library = SkillsLibrary(root, reload="off")
        self.library.load()
        self.ended = asyncio.Event()
        self.tests = SkillTests(self.library.current, self.ended.set, limit_s=60.0)

    def reload(self) -> None:
        self.tests.reloaded(self.library.refresh() or self.library.current)

    async def end(self) -> None:
        await asyncio.wait_for(self.ended.wait(), timeout=10)  # a run that cannot end only logs why
        self.ended.clear()

    def counts(self) -> dict[str, tuple[int, int]]:
        return {name: (report.failed, report.count) for name, report in self.tests.reports.items()}


@asynccontextmanager
async def reloading(root: Path) -> AsyncIterator[Reloading]:
    found = Reloading(root)
    running = asyncio.create_task(found.tests.run())
    try:
        yield found
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def write(root: Path, skill: str, *tests: str) -> None:
    folder = make_skill(root, skill, entry()) / "tests"
    folder.mkdir(exist_ok=True)
    (folder / "a.yaml").write_text("tests:\n" + "".join(test % number for number, test in enumerate(tests)))


async def test_what_fails_at_the_start_is_shown_without_a_reload(tmp_path: Path) -> None:
    write(tmp_path, "a", FAILS, PASSES)
    async with reloading(tmp_path) as found:
        await found.end()

        assert found.counts() == {"a": (1, 2)}


async def test_a_skill_that_is_off_by_default_is_tested_too(tmp_path: Path) -> None:
    write(tmp_path, "asleep", FAILS)
    (tmp_path / "asleep" / "SKILL.md").write_text("---\nname: asleep\ndescription: Off.\ndefault: off\n---\nOff.\n")
    async with reloading(tmp_path) as found:
        await found.end()

        assert found.counts() == {"asleep": (1, 1)}


async def test_what_a_reload_changed_is_tested_and_nothing_else(tmp_path: Path) -> None:
    write(tmp_path, "a", FAILS)
    make_skill(tmp_path, "untested", entry())
    async with reloading(tmp_path) as found:
        await found.end()
        kept = found.tests.reports["a"]
        write(tmp_path, "b", FAILS, PASSES, FAILS)
        found.reload()
        await found.end()

        assert found.counts() == {"a": (1, 1), "b": (2, 3)}
        assert found.tests.reports["a"] is kept
        first = found.tests.reports["b"].failures[0]
        assert (first.name, first.file, first.line) == ("n0", "tests/a.yaml", 2)
        assert "b/hint" in first.details


async def test_a_saved_file_of_tests_is_a_reload_and_takes_the_old_report_away(tmp_path: Path) -> None:
    async with reloading(tmp_path) as found:
        write(tmp_path, "a", FAILS)
        found.reload()
        await found.end()
        write(tmp_path, "a", PASSES, PASSES)
        found.reload()
        assert found.counts() == {}
        await found.end()

        assert found.counts() == {"a": (0, 2)}


async def test_a_later_reload_takes_over_what_was_not_tested_yet(tmp_path: Path) -> None:
    async with reloading(tmp_path) as found:
        write(tmp_path, "a", *[FAILS] * 200)
        found.reload()
        await asyncio.sleep(0)  # the run of `a` begins
        write(tmp_path, "b", PASSES)
        found.reload()
        await found.end()

        assert found.counts() == {"a": (200, 200), "b": (0, 1)}
        assert len(found.tests.reports["a"].failures) == 20


async def test_a_skill_that_is_gone_has_no_report(tmp_path: Path) -> None:
    async with reloading(tmp_path) as found:
        write(tmp_path, "a", PASSES)
        write(tmp_path, "b", PASSES)
        found.reload()
        await found.end()
        (tmp_path / "a").rename(tmp_path / ".a")
        found.reload()

        assert found.counts() == {"b": (0, 1)}


async def test_a_run_whose_time_is_over_leaves_the_rest_out(tmp_path: Path) -> None:
    write(tmp_path, "a", PASSES, PASSES, FAILS)
    write(tmp_path, "b", PASSES)
    answers = iter([False, False, True, True])
    names = ["a", "b", "gone"]

    reports = await asyncio.to_thread(run_reload_tests, load_snapshot(tmp_path), names, lambda: next(answers))

    assert [(one.count, one.failed, one.not_run) for one in reports.values()] == [(3, 0, 2)]


def test_triggers_are_tested_too(tmp_path: Path) -> None:
    write(tmp_path, "a", "  - {name: n%d, trigger: welcome, expect: {fires: [welcome]}}\n")
    trigger = {"name": "welcome", "file": "hint.md", "on": "connect"}
    write_hooks_json(tmp_path / "a", {"triggers": [trigger]})

    [report] = run_reload_tests(load_snapshot(tmp_path), ["a"], lambda: False).values()

    assert (report.count, report.failures) == (1, ())


async def test_mistakes_in_a_file_of_tests_are_diagnostics(tmp_path: Path) -> None:
    async with reloading(tmp_path) as found:
        write(tmp_path, "a", "  - {nam: x%d}\n")
        found.reload()
        await found.end()
        [diagnostic] = found.tests.reports["a"].diagnostics

    assert (diagnostic.skill, diagnostic.file, diagnostic.path) == ("a", "tests/a.yaml", "$.tests[0].nam")


async def test_cancelling_ends_a_run_after_its_present_test(tmp_path: Path) -> None:
    found = Reloading(tmp_path)
    running = asyncio.create_task(found.tests.run())
    write(tmp_path, "a", *[PASSES] * 200)
    found.reload()
    await asyncio.sleep(0)

    running.cancel()
    await asyncio.gather(running, return_exceptions=True)

    assert running.cancelled()
    assert found.counts() == {}


def test_details_are_for_a_narrow_place_and_bounded(tmp_path: Path) -> None:
    unknown = "  - {name: n%d, user: hello, expect: {fires: [hnt]}}\n"
    long = f"  - {{name: n%d, user: hello, expect: {{reads: [{{contains: {'x' * MAX_DETAIL_CHARS}}}]}}}}\n"
    write(tmp_path, "a", FAILS, unknown, long)

    [report] = run_reload_tests(load_snapshot(tmp_path), ["a"], lambda: False).values()

    told = [failure.details for failure in report.failures]
    assert told[0] == "fires:\nexpected:\n  (nothing)\nwas:\n  a/hint"
    assert told[1] == "no hook is called hnt (did you mean hint?)"
    assert (len(told[2]), told[2][-2:]) == (MAX_DETAIL_CHARS, "x…")


def test_a_skill_whose_tests_cannot_be_run_leaves_the_others_theirs(tmp_path: Path) -> None:
    write(tmp_path, "a", PASSES)
    write(tmp_path, "b", PASSES)
    broken, sound = load_snapshot(tmp_path).skills
    unplayable = cast(Any, (object(),))
    snapshot = SkillsSnapshot((replace(broken, hooks=unplayable), sound))
    reports = run_reload_tests(snapshot, ["a", "b"], lambda: False)

    assert [one.message for one in reports["a"].diagnostics] == ["could not be run; the server's log has more"]
    assert (reports["b"].count, reports["b"].failed) == (1, 0)
