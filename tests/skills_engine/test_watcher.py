"""The watcher's own decisions, by a clock that does not wait and a kernel that says what a test wants."""

import asyncio
import shutil
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

import anyio
import pytest
from watchfiles import Change
from watchfiles.main import FileChange

from skills_engine.watcher import MAX_MISSES, MAX_SETTLE_S, POLL_S, SETTLE_S, Watcher
from tests.support.virtual_loop import VirtualLoop

TICK_S = 1 / 64  # less than SETTLE_S; sums of it are exact


class Kernel:
    """Events without a file system; `watched` are the folders it was asked to report, in order."""

    def __init__(self) -> None:
        self.watched: list[Path] = []
        self._reports: asyncio.Queue[set[FileChange] | Exception] = asyncio.Queue()

    def report(self, *paths: Path) -> None:
        self._reports.put_nowait({(Change.modified, str(path)) for path in paths})

    def give_up(self, error: Exception) -> None:
        self._reports.put_nowait(error)

    async def __call__(self, root: Path, /, *, stop_event: anyio.Event) -> AsyncGenerator[set[FileChange], None]:
        self.watched.append(root)
        stopped = asyncio.create_task(stop_event.wait(), name="stopped")
        try:
            while report := await self._next(stopped):
                yield report
        finally:
            stopped.cancel()

    async def _next(self, stopped: asyncio.Task[None]) -> set[FileChange] | None:
        reported = asyncio.create_task(self._reports.get(), name="reported")
        try:
            await asyncio.wait([stopped, reported], return_when=asyncio.FIRST_COMPLETED)
        finally:
            reported.cancel()
        if not reported.done():
            return None
        if isinstance(report := reported.result(), Exception):
            raise report
        return report


class Watched:
    """A watcher that runs; ends with the test."""

    def __init__(self, folder: Path, *, check_s: float) -> None:
        self.kernel = Kernel()
        self.watcher = Watcher(folder, is_polling=False, check_s=check_s, events=self.kernel)
        self.run = asyncio.create_task(self.watcher.run(), name="run")

    async def wait(self) -> tuple[frozenset[str] | None, float]:
        """What the watcher tells, and after how long."""
        clock = asyncio.get_running_loop().time
        start_s = clock()
        told = await self.watcher.wait()
        return told, round(clock() - start_s, 6)


def watched(
    folder: Path, test: Callable[[Watched], Awaitable[None]], *, check_s: float = 8.0, is_armed: bool = True
) -> None:
    async def main() -> None:
        one = Watched(folder, check_s=check_s)
        if is_armed:
            assert await one.watcher.wait() == frozenset()  # what changed before it listened?
        await test(one)
        one.run.cancel()
        await asyncio.wait([one.run])

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(main())


def skill_file(folder: Path, skill: str) -> Path:
    return folder / skill / "SKILL.md"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "skills").mkdir()
    return tmp_path / "skills"


def test_what_comes_in_several_reports_is_told_at_once(folder: Path) -> None:
    async def test(one: Watched) -> None:
        for skill in ("a", "b"):
            one.kernel.report(skill_file(folder, skill), folder / "README.md")

        assert await one.wait() == (frozenset("ab"), SETTLE_S)
        assert await one.wait() == (None, 8.0)

    watched(folder, test)


def test_a_save_is_told_once_it_has_settled(folder: Path) -> None:
    async def test(one: Watched) -> None:
        async def save() -> None:
            for skill in "abc":
                one.kernel.report(skill_file(folder, skill))
                await asyncio.sleep(TICK_S)

        saving = asyncio.create_task(save(), name="save")
        assert await one.wait() == (frozenset("abc"), round(2 * TICK_S + SETTLE_S, 6))
        await saving

    watched(folder, test)


def test_a_folder_that_never_rests_is_told_of_all_the_same(folder: Path) -> None:
    async def test(one: Watched) -> None:
        async def save_again_and_again() -> None:
            while True:
                one.kernel.report(skill_file(folder, "a"))
                await asyncio.sleep(TICK_S)

        saving = asyncio.create_task(save_again_and_again(), name="save")
        assert await one.wait() == (frozenset("a"), MAX_SETTLE_S)
        saving.cancel()

    watched(folder, test, is_armed=False)  # from zero on: the limit falls on a save exactly


def test_while_nothing_is_heard_it_asks_to_look_every_check_s(folder: Path) -> None:
    async def test(one: Watched) -> None:
        assert await one.wait() == (None, 8.0)
        assert await one.wait() == (None, 8.0)

    watched(folder, test, check_s=8.0)


def test_while_the_folder_is_missing_it_asks_to_look_often(folder: Path) -> None:
    async def test(one: Watched) -> None:
        assert await one.wait() == (None, POLL_S)
        assert one.kernel.watched == []

        for _ in range(2 * MAX_MISSES):  # what does not stand there is not missed
            one.watcher.missed()
        folder.mkdir()
        assert await one.watcher.wait() == frozenset()
        assert one.kernel.watched == [folder]
        assert await one.wait() == (None, 8.0)

    folder.rmdir()
    watched(folder, test, is_armed=False)


@pytest.mark.parametrize("error", [OSError("no watches left"), RuntimeError("no watches left")])
def test_when_listening_fails_it_polls_and_says_why(
    folder: Path, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    async def test(one: Watched) -> None:
        one.kernel.give_up(error)
        await one.run

        assert one.watcher.is_polling
        assert await one.wait() == (None, POLL_S)

    watched(folder, test)
    assert caplog.messages == [f"polling {folder} every 0.25 s: no watches left"]


def test_when_listening_fails_as_the_folder_goes_it_waits_for_another(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def test(one: Watched) -> None:
        shutil.rmtree(folder)
        one.kernel.give_up(OSError("gone"))
        assert await one.wait() == (None, 8.0)
        assert await one.wait() == (None, POLL_S)

        folder.mkdir()
        assert await one.watcher.wait() == frozenset()
        assert not one.watcher.is_polling
        assert one.kernel.watched == [folder, folder]

    watched(folder, test)
    assert caplog.messages == []


def test_another_folder_in_its_place_is_listened_to_from_the_next_report_on(folder: Path) -> None:
    async def test(one: Watched) -> None:
        folder.rename(folder.with_name("before"))
        folder.mkdir()
        one.kernel.report(skill_file(folder, "a"))

        assert await one.watcher.wait() == frozenset("a")
        assert one.kernel.watched == [folder, folder]

    watched(folder, test)


def test_misses_that_are_not_in_a_row_are_put_up_with(folder: Path) -> None:
    async def test(one: Watched) -> None:
        for _ in range(2 * MAX_MISSES):
            one.watcher.missed()
            one.kernel.report(folder / "README.md")
            assert await one.watcher.wait() == frozenset()

        assert not one.watcher.is_polling

    watched(folder, test)


def test_misses_in_a_row_make_it_poll(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test(one: Watched) -> None:
        for _ in range(MAX_MISSES):
            assert not one.watcher.is_polling
            one.watcher.missed()

        assert one.watcher.is_polling
        await one.run
        assert await one.wait() == (None, POLL_S)

    watched(folder, test)
    assert caplog.messages == [f"polling {folder} every 0.25 s: its file system reports no changes"]


def test_one_that_polls_misses_nothing(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    watcher = Watcher(folder, is_polling=True)

    for _ in range(MAX_MISSES):
        watcher.missed()

    assert caplog.messages == []
