"""Hot reload with real files: what is saved is in force soon, and nothing ends the watch."""

import asyncio
import logging
import os
import shutil
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from skills_engine import SkillsLibrary, SkillsSnapshot
from skills_engine.library import Reload
from skills_engine.watcher import MAX_MISSES, SETTLE_S, Watcher, touched_skill
from tests.skills_engine.folders import entry, make_skill, write_hooks_json

DEADLINE_S = 60


class Watched:
    """A library that is being watched, and the reloads that have come."""

    def __init__(self, library: SkillsLibrary, root: Path) -> None:
        self.library = library
        self.root = root
        self.reloads: asyncio.Queue[SkillsSnapshot] = asyncio.Queue()
        self.seen: list[SkillsSnapshot] = []

    async def next(self) -> SkillsSnapshot:
        async with asyncio.timeout(DEADLINE_S):
            self.seen.append(await self.reloads.get())
        return self.seen[-1]

    async def first(self, is_wanted: Callable[[SkillsSnapshot], bool]) -> SkillsSnapshot:
        """One save may be several reloads on a busy machine: the first that shows what is wanted."""
        while not is_wanted(snapshot := await self.next()):
            pass
        return snapshot

    async def until(self, **texts: str | None) -> SkillsSnapshot:
        """The first reload after which each skill's one hook says this; None = the skill is gone."""
        return await self.first(lambda snapshot: all(_text(snapshot, name) == texts[name] for name in texts))

    def say(self, name: str, text: str) -> None:
        (self.root / name / "hooks" / "hint.md").write_text(text)


def _text(snapshot: SkillsSnapshot, name: str) -> str | None:
    hooks = snapshot.hooks([name])
    return hooks[0].content if hooks else None


@asynccontextmanager
async def watching(
    root: Path, *, reload: Reload = "auto", failing: bool = False, dirs: Sequence[Path] = ()
) -> AsyncIterator[Watched]:
    library = SkillsLibrary(root, dirs=dirs, reload=reload)
    await asyncio.to_thread(library.load)
    watched = Watched(library, root)

    def on_change(snapshot: SkillsSnapshot) -> None:
        watched.reloads.put_nowait(snapshot)
        if failing:
            raise RuntimeError("not our fault")

    task = asyncio.create_task(library.watch(on_change), name="watch")
    try:
        yield watched
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.wait([task], timeout=DEADLINE_S)
    assert task.cancelled()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    make_skill(tmp_path / "skills", "tutor", entry())
    make_skill(tmp_path / "skills", "other", entry())
    return tmp_path / "skills"


@pytest.mark.parametrize("reload", ["auto", "poll"])
async def test_each_kind_of_save_is_in_force_soon(root: Path, reload: Reload) -> None:
    async with watching(root, reload=reload) as watched:
        watched.say("tutor", "Changed.")
        snapshot = await watched.until(tutor="Changed.", other="Text of hint.")
        assert watched.library.current is snapshot

        make_skill(root, "tutor", entry(role="user"))
        await watched.first(lambda snapshot: [hook.role for hook in snapshot.hooks(["tutor"])] == ["user"])

        (root / "tutor" / "SKILL.md").write_text("---\nname: tutor\ndescription: New.\n---\n")
        await watched.first(lambda snapshot: [one.description for one in snapshot.select(["tutor"])] == ["New."])

        make_skill(root, "third", entry())
        await watched.until(third="Text of hint.")

        (root / "third").rename(root / "fourth")
        await watched.until(third=None, fourth="Text of hint.")

        shutil.rmtree(root / "fourth")
        await watched.until(fourth=None)


@pytest.mark.parametrize(("reload", "listens"), [("auto", True), ("poll", False)])
async def test_polling_does_not_listen(root: Path, reload: Reload, listens: bool) -> None:
    async with watching(root, reload=reload) as watched:
        watched.say("tutor", "Changed.")
        await watched.until(tutor="Changed.")

        assert ("skills watcher" in {task.get_name() for task in asyncio.all_tasks()}) is listens


async def test_a_change_between_the_first_scan_and_the_watch_is_not_lost(root: Path) -> None:
    library = SkillsLibrary(root)
    library.load()
    (root / "tutor" / "hooks" / "hint.md").write_text("In between.")
    reloads: asyncio.Queue[SkillsSnapshot] = asyncio.Queue()
    task = asyncio.create_task(library.watch(reloads.put_nowait), name="watch")

    async with asyncio.timeout(DEADLINE_S):
        assert _text(await reloads.get(), "tutor") == "In between."

    task.cancel()
    await asyncio.wait([task])


@pytest.mark.rule("L1-04")
@pytest.mark.parametrize("reload", ["auto", "poll"])
async def test_a_broken_save_calls_back_and_keeps_what_was_good(root: Path, reload: Reload) -> None:
    async with watching(root, reload=reload) as watched:
        write_hooks_json(root / "tutor", '{"hooks": [')
        snapshot = await watched.next()

        assert _text(snapshot, "tutor") == "Text of hint."
        assert [(one.severity, one.skill, one.file) for one in snapshot.diagnostics] == [
            ("error", "tutor", "hooks/hooks.json"),
            ("info", "tutor", ""),
        ]

        write_hooks_json(root / "tutor", {"hooks": [entry(role="user")]})
        await watched.first(lambda snapshot: snapshot.diagnostics == ())


async def test_the_same_text_saved_again_is_a_reload_too(root: Path) -> None:
    async with watching(root) as watched:
        watched.say("tutor", "One.")
        first = await watched.until(tutor="One.")
        watched.say("tutor", "One.")

        assert (await watched.next()).version > first.version


async def test_what_was_touched_is_read_again_though_it_looks_as_before(root: Path) -> None:
    async with watching(root) as watched:
        watched.say("tutor", "Heard.")
        await watched.until(tutor="Heard.")

        (root / "tutor" / "hooks" / "draft.md").touch()
        (root / "tutor" / "hooks" / "draft.md").unlink()
        await watched.next()


async def test_an_editors_dance_ends_in_the_new_text(root: Path) -> None:
    text = root / "tutor" / "hooks" / "hint.md"
    async with watching(root) as watched:
        for number in range(5):
            (text.parent / "4913").write_text("")
            (text.parent / "4913").unlink()
            text.rename(text.with_name("hint.md~"))
            text.write_text("")
            text.write_text(f"Version {number}.")
            text.with_name("hint.md~").unlink()
            await watched.until(tutor=f"Version {number}.")

            draft = text.with_name(".hint.md.tmp")
            draft.write_text(f"Replaced {number}.")
            draft.replace(text)
            await watched.until(tutor=f"Replaced {number}.")


async def test_a_file_that_grows_while_it_is_read_ends_whole(root: Path) -> None:
    async with watching(root) as watched:
        with (root / "tutor" / "hooks" / "hint.md").open("w") as file:
            for _ in range(20):
                file.write("word ")
                file.flush()
                os.fsync(file.fileno())
                await asyncio.sleep(0)

        await watched.until(tutor=("word " * 20).strip())


def save_pairs(folder: Path, count: int) -> set[str]:
    """Save hooks.json and the text of the hook by turns; return the saves that paused within, as if they were two."""
    two = set()
    for number in range(count):
        began_s = time.monotonic()
        write_hooks_json(folder, {"hooks": [entry(f"n{number}", file="hint.md")]})
        time.sleep(0.005)
        (folder / "hooks" / "hint.md").write_text(f"n{number}")
        if time.monotonic() - began_s > SETTLE_S / 3:
            two.add(f"n{number}")
        time.sleep(0.005)
    return two


@pytest.mark.parametrize("reload", ["auto", "poll"])
async def test_saves_that_follow_each_other_are_never_seen_by_halves(root: Path, reload: Reload) -> None:
    async with watching(root, reload=reload) as watched:
        two = await asyncio.to_thread(save_pairs, root / "tutor", 120)
        await watched.until(tutor="n119")

    seen = [(hook.name, hook.content) for snapshot in watched.seen for hook in snapshot.hooks(["tutor"])]
    assert [(name, text) for name, text in seen if name != text and not two & {name, text}] == []
    assert len(seen) == len(watched.seen)


async def test_hundreds_of_changes_at_once_are_few_reloads(root: Path) -> None:
    async with watching(root) as watched:
        for number in range(200):
            make_skill(root, f"skill-{number}", entry())
        shutil.rmtree(root / "other")
        await watched.until(**{"skill-0": "Text of hint.", "skill-199": "Text of hint.", "other": None})

        assert len(watched.seen) < 20


async def test_other_files_of_a_skill_reload_nothing(root: Path) -> None:
    async with watching(root) as watched:
        before = watched.library.current.select(["other"])[0]
        for name in ("data.json", "assets/page.md", "hooks/.hint.md.swp"):
            (root / "other" / name).parent.mkdir(exist_ok=True)
            (root / "other" / name).write_text("x")
        (root / "README.md").write_text("x")
        watched.say("tutor", "Changed.")

        assert (await watched.until(tutor="Changed.")).select(["other"])[0] is before


@pytest.mark.parametrize("reload", ["auto", "poll"])
async def test_a_folder_that_is_missing_is_waited_for(tmp_path: Path, reload: Reload) -> None:
    async with watching(tmp_path / "skills", reload=reload) as watched:
        make_skill(tmp_path / "skills", "tutor", entry())
        await watched.until(tutor="Text of hint.")

        watched.say("tutor", "Changed.")
        await watched.until(tutor="Changed.")
        assert ("skills watcher" in {task.get_name() for task in asyncio.all_tasks()}) is (reload == "auto")


async def test_a_folder_that_is_removed_and_made_again_is_followed(root: Path) -> None:
    async with watching(root) as watched:
        shutil.rmtree(root)
        await watched.until(tutor=None, other=None)

        make_skill(root, "tutor", entry())
        await watched.until(tutor="Text of hint.")
        watched.say("tutor", "Changed.")
        await watched.until(tutor="Changed.")


async def test_a_folder_that_another_takes_the_place_of_is_followed(root: Path) -> None:
    make_skill(root.with_name("next"), "tutor", entry())
    (root.with_name("next") / "tutor" / "hooks" / "hint.md").write_text("Next.")
    async with watching(root) as watched:
        root.rename(root.with_name("before"))
        root.with_name("next").rename(root)
        await watched.until(tutor="Next.", other=None)

        watched.say("tutor", "Changed.")
        await watched.until(tutor="Changed.")


async def test_a_link_that_is_turned_to_another_folder_is_followed(root: Path, tmp_path: Path) -> None:
    make_skill(tmp_path / "next", "tutor", entry())
    (tmp_path / "next" / "tutor" / "hooks" / "hint.md").write_text("Next.")
    link = tmp_path / "link"
    link.symlink_to(root)
    async with watching(link) as watched:
        (tmp_path / "new").symlink_to(tmp_path / "next")
        (tmp_path / "new").replace(link)
        await watched.until(tutor="Next.")

        watched.say("tutor", "Changed.")
        await watched.until(tutor="Changed.")


@pytest.mark.parametrize("reload", ["auto", "poll"])
async def test_further_folders_are_followed_too(root: Path, tmp_path: Path, reload: Reload) -> None:
    more = tmp_path / "more"
    async with watching(root, reload=reload, dirs=[more]) as watched:
        make_skill(more, "third", entry())
        await watched.until(third="Text of hint.", tutor="Text of hint.")

        (more / "third" / "hooks" / "hint.md").write_text("Changed.")
        await watched.until(third="Changed.")

        (root / "linked").symlink_to(more / "third")
        await watched.until(linked="Changed.")

        (more / "third" / "hooks" / "hint.md").write_text("Seen through the link.")
        await watched.until(linked="Seen through the link.", third="Seen through the link.")


async def test_a_caller_that_fails_does_not_end_the_watch(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with watching(root, failing=True) as watched:
        watched.say("tutor", "One.")
        await watched.until(tutor="One.")
        watched.say("tutor", "Two.")
        await watched.until(tutor="Two.")

    assert "reading the skills failed; the previous ones stay in use" in caplog.messages


async def test_switched_off_nothing_is_read_again(root: Path) -> None:
    async with watching(root, reload="off") as watched:
        watched.say("tutor", "Changed.")
        for _ in range(5):
            await asyncio.sleep(0)

        assert "skills watcher" not in {task.get_name() for task in asyncio.all_tasks()}
        assert watched.library.current.version == 1
    assert watched.library.refresh() is not None


async def test_a_save_that_nothing_reports_is_found(root: Path, tmp_path: Path) -> None:
    """A write through another name of the file: as silent as a shared folder of a virtual machine."""
    os.link(root / "tutor" / "hooks" / "hint.md", tmp_path / "other-name.md")
    async with watching(root) as watched:
        watched.say("tutor", "Heard.")
        await watched.until(tutor="Heard.")

        (tmp_path / "other-name.md").write_text("Found.")
        await watched.until(tutor="Found.")


async def test_where_nothing_is_heard_it_looks_by_itself(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    watcher = Watcher(root, is_polling=False, check_s=0.05)
    run = asyncio.create_task(watcher.run(), name="run")
    async with asyncio.timeout(DEADLINE_S):
        assert await watcher.wait() == frozenset()  # look at once: what changed before it listened?
        for _ in range(MAX_MISSES):
            assert not watcher.is_polling
            assert await watcher.wait() is None
            watcher.missed()
        await run

    assert watcher.is_polling
    assert caplog.messages == [f"polling {root} every 0.25 s: its file system reports no changes"]
    assert caplog.records[0].levelno == logging.WARNING
    watcher.missed()
    assert len(caplog.messages) == 1


async def test_what_is_heard_takes_a_miss_back(root: Path) -> None:
    watcher = Watcher(root, is_polling=False)
    run = asyncio.create_task(watcher.run(), name="run")
    async with asyncio.timeout(DEADLINE_S):
        await watcher.wait()
        for number in range(2 * MAX_MISSES):
            watcher.missed()
            (root / "tutor" / "hooks" / "hint.md").write_text(str(number))
            assert await watcher.wait() == frozenset({"tutor"})

    assert not watcher.is_polling
    run.cancel()
    await asyncio.wait([run])


async def test_a_new_folder_is_listened_to_before_anybody_looks(root: Path) -> None:
    make_skill(root.with_name("next"), "tutor", entry())
    watcher = Watcher(root, is_polling=False, check_s=10 * DEADLINE_S)
    run = asyncio.create_task(watcher.run(), name="run")
    async with asyncio.timeout(DEADLINE_S):
        await watcher.wait()
        root.rename(root.with_name("before"))
        root.with_name("next").rename(root)
        await watcher.wait()

        (root / "tutor" / "hooks" / "hint.md").write_text("Heard.")
        while "tutor" not in (await watcher.wait() or ()):
            pass
    run.cancel()
    await asyncio.wait([run])


@pytest.mark.parametrize(
    ("path", "skill"),
    [
        ("", None),
        ("tutor", None),
        ("README.md", None),
        ("tutor/SKILL.md", "tutor"),
        ("tutor/README.md", "tutor"),
        ("tutor/hooks", None),
        ("tutor/data.json", None),
        ("tutor/hooks/hooks.json", "tutor"),
        ("tutor/hooks/.hint.md.swp", None),
        ("tutor/hooks/more/hint.md", "tutor"),
        ("tutor/tests/hint.yaml", "tutor"),
        ("tutor/assets/page.md", None),
        ("tutor/assets/hooks/page.md", None),
        ("../elsewhere/tutor/SKILL.md", None),
    ],
)
def test_an_event_names_the_skill_whose_files_count(path: str, skill: str | None) -> None:
    assert touched_skill(Path(os.path.normpath(Path("/skills") / path)), Path("/skills")) == skill
