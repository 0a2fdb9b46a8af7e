"""The skills in force: read at start, read again when their files change."""

import asyncio
import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from skills_engine.conditions.hook_variables import lasting_words
from skills_engine.diagnostics import Diagnostic, has_errors
from skills_engine.hook_entries import SHARED_GROUP, HookInfo
from skills_engine.hooks_config import HOOKS_JSON
from skills_engine.skills_config import Skill
from skills_engine.skills_context_manager import Catalog, build_catalog
from skills_engine.skills_folder import LoadedSkill, Stamp, find_skills, has_changed, load_skill, stamp_skill
from skills_engine.trigger_entries import TriggerInfo
from skills_engine.watcher import SETTLE_S, Watcher

logger = logging.getLogger(__name__)

_KEPT = "still uses the last working version; fix the file to apply your change"

Reload = Literal["auto", "poll", "off"]
MAX_CACHED_SELECTIONS = 64  # selections come from clients; past this the cache starts anew


@dataclass(frozen=True)
class SkillsSnapshot:
    """One consistent version of all skills, which a turn pins when it starts (L1-31). Never changes.

    `skills` stand in the operator's order, else by name; `version` counts reloads.
    """

    skills: tuple[Skill, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    version: int = 0
    offered: tuple[Skill, ...] = ()
    """Skills that are off by default: they are on only in a selection that names them."""
    working: frozenset[str] = frozenset()
    """Names of the skills whose version here has no errors, and stays in use while their files have some (L1-04)."""
    _catalogs: dict[object, Catalog] = field(default_factory=dict, repr=False, compare=False)
    """Catalogues by the names that were selected and the budget."""

    def select(self, names: Sequence[str] | None) -> tuple[Skill, ...]:
        """Return the skills of these names in their order, each once, or all; unknown names are ignored (L1-03)."""
        if names is None:
            return self.skills
        by_name = {skill.name: skill for skill in self.all_skills}
        return tuple(by_name[name] for name in dict.fromkeys(names) if name in by_name)

    @property
    def all_skills(self) -> tuple[Skill, ...]:
        return (*self.skills, *self.offered)

    @cached_property
    def without_offered(self) -> "SkillsSnapshot":
        """The same version for clients that may only choose among the skills that are on."""
        return replace(self, offered=(), _catalogs={})

    def hooks(self, names: Sequence[str] | None) -> list[HookInfo]:
        return [hook for skill in self.select(names) for hook in skill.hooks]

    def triggers(self, names: Sequence[str] | None) -> list[TriggerInfo]:
        return [trigger for skill in self.select(names) for trigger in skill.triggers]

    def hooks_off(self, names: Sequence[str] | None) -> list[HookInfo]:
        """Return the hooks of the skills that `names` leaves out."""
        on = {skill.name for skill in self.select(names)}
        return [hook for skill in self.skills if skill.name not in on for hook in skill.hooks]

    def with_hook_texts(self, texts: Mapping[str, str | None]) -> "SkillsSnapshot":
        """Return the skills with other texts of hooks, by `skill/hook`; None leaves the hook out.

        Raises ValueError for a hook that there is not, or that is persistent and may not hold the text (L1-51).
        """
        known = {f"{hook.skill}/{hook.name}": hook for skill in self.skills for hook in skill.hooks}
        if unknown := [name for name in texts if name not in known]:
            raise ValueError(f"no skill here has a hook {unknown[0]}; name it as skill/hook")
        captured = {(h.skill, name) for h in known.values() if h.set for name, value in h.set.values if value is None}
        for name, hook in known.items():
            strange = {variable for skill, variable in captured if skill == hook.skill}
            text = texts.get(name)
            if text and hook.vars and hook.persistent and (words := lasting_words(text, hook.owner, strange)):
                raise ValueError(f"{name} is persistent, and keeps no words from elsewhere, such as {words}")
        skills = tuple(replace(skill, hooks=changed_hooks(skill.hooks, texts)) for skill in self.skills)
        return SkillsSnapshot(skills, self.diagnostics, self.version)

    def catalog(self, names: Sequence[str] | None, *, budget_tokens: int) -> Catalog:
        key = (None if names is None else tuple(names), budget_tokens)
        if key not in self._catalogs:
            if len(self._catalogs) >= MAX_CACHED_SELECTIONS:
                self._catalogs.clear()
            self._catalogs[key] = build_catalog(self.select(names), budget_tokens=budget_tokens)
        return self._catalogs[key]


def changed_hooks(hooks: Iterable[HookInfo], texts: Mapping[str, str | None]) -> tuple[HookInfo, ...]:
    """Return the hooks with other texts, by `skill/hook`; without those whose text is None."""
    changed = []
    for hook in hooks:
        text = texts.get(f"{hook.skill}/{hook.name}", hook.content)
        if text is not None:
            changed.append(hook if text is hook.content else replace(hook, content=text))
    return tuple(changed)


class SkillsLibrary:
    """Hands out whole snapshots and swaps them whole; a turn keeps the one it started with.

    `dirs`: further folders of skills; of one name, the first counts. `enabled` None is every skill
    of the folders; `also` names skills beside them, which may be off by default. `reload`: "auto" listens and finds out by itself where listening is in vain,
    "poll" looks, "off" never looks again.
    """

    def __init__(
        self,
        skills_dir: str | os.PathLike[str],
        *,
        dirs: Sequence[Path] = (),
        enabled: Sequence[str] | None = None,
        also: Sequence[str] = (),
        reload: Reload = "auto",
    ) -> None:
        self._roots = (Path(skills_dir), *dirs)
        self._enabled = enabled
        self._also = also
        self._reload = reload
        self._refreshing = asyncio.Lock()  # each folder has a watcher of its own
        self._current = SkillsSnapshot()
        self._folders: dict[str, Path] = {}
        self._stamps: dict[str, Stamp] = {}
        self._loaded: dict[str, LoadedSkill] = {}
        self._found: list[Diagnostic] | None = None  # of the folder itself; None before the first look

    @property
    def current(self) -> SkillsSnapshot:
        """The snapshot in force: empty, and of version 0, until skills have been read."""
        return self._current

    def load(self) -> SkillsSnapshot:
        """Read all skills the first time (L1-04). Reads files: call it before the event loop, or in a thread."""
        return self.refresh() or self._current

    async def watch(self, on_change: Callable[[SkillsSnapshot], None]) -> None:
        """Follow the folders until cancelled; `on_change` gets the snapshot of every reload.

        A reload whose files hold errors is one too: its diagnostics are new, the
        skills concerned keep their last good version. Files are read in a thread.
        Nothing that goes wrong ends the watch.
        """
        if self._reload == "off":
            await asyncio.Event().wait()
        async with asyncio.TaskGroup() as tasks:
            for root in self._roots:
                watcher = Watcher(root, is_polling=self._reload == "poll")
                tasks.create_task(watcher.run(), name="skills watcher")
                tasks.create_task(self._follow(root, watcher, on_change), name=f"skills of {root}")

    async def _follow(self, root: Path, watcher: Watcher, on_change: Callable[[SkillsSnapshot], None]) -> None:
        while True:
            touched = await watcher.wait()
            try:
                async with self._refreshing:
                    await self._reread(root, touched, watcher, on_change)
            except Exception:  # the boundary of a reload
                logger.exception("reading the skills failed; the previous ones stay in use")

    async def _reread(
        self,
        root: Path,
        touched: frozenset[str] | None,
        watcher: Watcher,
        on_change: Callable[[SkillsSnapshot], None],
    ) -> None:
        if touched is None:
            if not await asyncio.to_thread(self._has_changed, root):
                return
            watcher.missed()
            await asyncio.sleep(SETTLE_S)  # it may be half a save
        names = frozenset(name for name in touched or () if self._folders.get(name, root / name) == root / name)
        snapshot = await asyncio.to_thread(self.refresh, names, rest_s=SETTLE_S)
        if len(self._stamps) < len(self._folders):
            await asyncio.sleep(SETTLE_S)
            watcher.look_again()
        if snapshot is not None:
            on_change(snapshot)

    def _has_changed(self, root: Path) -> bool:
        """Return whether a skill of this folder looks different, or another one counts now."""
        folders, found = find_skills(self._roots, self._enabled, self._also)
        if (folders, found) != (self._folders, self._found):
            return True
        own = (name for name, folder in folders.items() if folder.parent == root)
        return any(stamp_skill(folders[name]) != self._stamps.get(name) for name in own)

    def refresh(self, touched: frozenset[str] = frozenset(), *, rest_s: float = 0.0) -> SkillsSnapshot | None:
        """Read the skills that were touched or look different; None if there are none of them.

        One call at a time. A skill whose files have changed within `rest_s`, or do while they are read, may be half
        saved: it keeps its version, and has no stamp, so that it looks different the next time. A new one is read at once.
        """
        folders, found = find_skills(self._roots, self._enabled, self._also)
        stamps = {name: stamp_skill(folder) for name, folder in folders.items()}
        now_s = time.time()
        moved = {name for name in folders if folders[name] != self._folders.get(name)}
        stale = [name for name in stamps if name in touched | moved or stamps[name] != self._stamps.get(name)]
        read: dict[str, LoadedSkill] = {}
        for name in stale:
            is_new, stamp = name not in self._loaded, stamps.pop(name)
            if is_new or not has_changed(stamp, now_s - rest_s, now_s):
                fresh = self._read(folders[name])
                if is_new or stamp_skill(folders[name]) == stamp:
                    read[name], stamps[name] = fresh, stamp
        if not read and (folders, found) == (self._folders, self._found):
            self._stamps = stamps
            return None
        loaded = {name: read.get(name) or self._loaded[name] for name in folders}
        news = found if found != self._found else []
        skills = [item.skill for item in loaded.values() if item.skill is not None]
        divided = divided_groups(hook for skill in skills for hook in skill.hooks)
        _log(
            _told(list(read), self._loaded, loaded),
            [*news, *divided, *(diagnostic for fresh in read.values() for diagnostic in fresh.diagnostics)],
        )
        self._folders, self._stamps, self._found, self._loaded = folders, stamps, found, loaded
        self._current = SkillsSnapshot(
            tuple(skill for skill in skills if skill.on_by_default),
            (*found, *divided, *(diagnostic for item in loaded.values() for diagnostic in item.diagnostics)),
            self._current.version + 1,
            offered=tuple(skill for skill in skills if not skill.on_by_default),
            working=frozenset(name for name, item in loaded.items() if item.last_good is not None),
        )
        return self._current

    def _read(self, folder: Path) -> LoadedSkill:
        """Read a skill; at a reload, one with an error keeps its last good version (L1-04)."""
        name = folder.name
        is_named = self._enabled is not None or name in self._also
        fresh = load_skill(folder, is_named=is_named, roots=self._roots)
        last_good = self._loaded[name].last_good if name in self._loaded else None
        if last_good is None or not has_errors(fresh.diagnostics):
            return fresh
        kept = Diagnostic("info", name, "", "", _KEPT)
        return LoadedSkill(last_good, (*fresh.diagnostics, kept), last_good)


def divided_groups(hooks: Iterable[HookInfo]) -> list[Diagnostic]:
    """Name the skills of which a group also stands in another: until now that was one group, now it is several (L1-57)."""
    skills: dict[str, dict[str, None]] = {}
    for hook in hooks:
        if hook.group is not None and hook.group != hook.full_group:
            skills.setdefault(hook.group, {})[hook.skill] = None
    message = "the group {0} of each skill is one of its own now: write {1}{0} for one of all ({2})"
    return [
        Diagnostic("warning", skill, HOOKS_JSON, "", message.format(group, SHARED_GROUP, ", ".join(names)))
        for group, names in skills.items()
        for skill in (names if len(names) > 1 else ())
    ]


def load_snapshot(skills_dir: str | os.PathLike[str], *, enabled: Sequence[str] | None = None) -> SkillsSnapshot:
    """Read every enabled skill once. Never raises for what the folder holds."""
    return SkillsLibrary(skills_dir, enabled=enabled).load()


def _told(stale: list[str], before: dict[str, LoadedSkill], after: dict[str, LoadedSkill]) -> dict[str, list[str]]:
    there = {name for name, item in after.items() if item.skill is not None}
    gone = {name for name, item in before.items() if item.skill is not None} - there
    kept = {name for name in stale if _KEPT in (found.message for found in after[name].diagnostics)}
    return {
        "read": [name for name in stale if name not in kept | gone],
        "kept as before": [name for name in stale if name in kept],
        "removed": [name for name in before if name in gone],
    }


def _log(names: dict[str, list[str]], diagnostics: list[Diagnostic]) -> None:
    parts = [f"{what}: {', '.join(which)}" for what, which in names.items() if which]
    logger.info("skills %s", "; ".join(parts) or "read: none")
    for diagnostic in diagnostics:
        if diagnostic.severity != "info":
            logger.warning("%s", diagnostic)
