"""One consistent version of all skills: what a turn pins when it starts (L1-31)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from skills_engine.diagnostics import Diagnostic
from skills_engine.hooks_config import HookInfo
from skills_engine.skills_config import Skill
from skills_engine.skills_context_manager import Catalog, build_catalog

MAX_CACHED_SELECTIONS = 64  # selections come from clients; past this the cache starts anew

_K = TypeVar("_K")
_V = TypeVar("_V")
_Names = tuple[str, ...] | None


@dataclass(frozen=True)
class SkillsSnapshot:
    """Never changes. `skills` stand in the operator's order, else by name; `version` counts reloads."""

    skills: tuple[Skill, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    version: int = 0
    _hooks: dict[_Names, tuple[HookInfo, ...]] = field(default_factory=dict, repr=False, compare=False)
    _catalogs: dict[tuple[_Names, int], Catalog] = field(default_factory=dict, repr=False, compare=False)

    def select(self, names: Sequence[str] | None) -> tuple[Skill, ...]:
        """In the order of `names`, each once; unknown names are ignored; None is all (L1-03)."""
        if names is None:
            return self.skills
        by_name = {skill.name: skill for skill in self.skills}
        return tuple(by_name[name] for name in dict.fromkeys(names) if name in by_name)

    def hooks(self, names: Sequence[str] | None) -> list[HookInfo]:
        """A new list of the hooks of `select(names)`."""
        key = None if names is None else tuple(names)
        cached = _cached(self._hooks, key, lambda: self._collect(key))
        return list(cached)

    def _collect(self, names: _Names) -> tuple[HookInfo, ...]:
        return tuple(hook for skill in self.select(names) for hook in skill.hooks)

    def catalog(self, names: Sequence[str] | None, *, budget_tokens: int) -> Catalog:
        key = None if names is None else tuple(names)
        return _cached(
            self._catalogs, (key, budget_tokens), lambda: build_catalog(self.select(key), budget_tokens=budget_tokens)
        )


def _cached(cache: dict[_K, _V], key: _K, build: Callable[[], _V]) -> _V:
    if key not in cache:
        if len(cache) >= MAX_CACHED_SELECTIONS:
            cache.clear()
        cache[key] = build()
    return cache[key]
