"""The process hooks of this server: all of them started, listed, exchanged, ended."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from msgspec import Struct

from server import config
from server.hooks.health import HookHealth
from server.hooks.process.hook_process import HookLimits
from server.hooks.process.process_hook import ProcessHook
from server.hooks.process.process_settings import enabled_hooks
from server.subprocesses.process_tree import OrphanReaper, ProcessTree
from server.subprocesses.supervisor import log_defect

logger = logging.getLogger(__name__)

_LAST_LOOK_S: Final = 0.1


class Reloaded(Struct, frozen=True, kw_only=True):
    """What a reload did, by the names of the hooks."""

    started: list[str]
    restarted: list[str]
    stopped: list[str]
    unchanged: list[str]


class HookHost:
    """`start`, then `lease` for each turn; `aclose` ends every hook, side by side.

    A hook that cannot be started, or dies, is still listed: a configured
    approver that is down denies. No hook keeps another, or the server, from
    starting.
    """

    def __init__(
        self,
        settings: config.HooksSettings,
        environ: Mapping[str, str],
        *,
        limits: HookLimits | None = None,
        on_change: Callable[[], None] | None = None,
    ) -> None:
        """Raises ConfigError for an enabled hook that is configured wrongly. Nothing starts here."""
        self._environ = environ
        self._limits = limits
        self._on_change = on_change
        self._hooks: Sequence[ProcessHook] = ()
        self._begun = set[ProcessHook]()  # and not ended: besides `_hooks` those that a reload brings or has replaced
        self._wanted = enabled_hooks(settings)
        self._leases = Counter[ProcessHook]()
        self._retired = dict[ProcessHook, asyncio.Task[None] | None]()  # with the task that ends it, once it is free
        self._reloading = asyncio.Lock()
        self._watch: asyncio.Task[None] | None = None
        self._orphans = OrphanReaper()
        self._is_closed = False

    def start(self) -> None:
        """Returns at once; `settled` tells when each hook is up, or down. Needs a running loop."""
        self._hooks = self._begin(self._wanted, {})

    async def settled(self) -> None:
        """Wait until each hook's first start has succeeded or failed: its handshake and canary calls at most."""
        for hook in self._hooks:
            await hook.settled()

    @property
    def is_settled(self) -> bool:
        return all(hook.is_settled for hook in self._hooks)

    def current(self) -> Sequence[ProcessHook]:
        """All that are configured, in the order of asking, those that are down included."""
        return self._hooks

    @contextmanager
    def lease(self) -> Iterator[Sequence[ProcessHook]]:
        """`current` for one turn: those that a reload replaces live until the last lease on them has ended."""
        hooks = self._hooks
        self._leases.update(hooks)
        try:
            yield hooks
        finally:
            self._leases.subtract(hooks)
            for hook in hooks:
                if hook.is_retired:
                    self._end_if_free(hook)

    def health(self) -> list[HookHealth]:
        """Of the current hooks, in the order of asking."""
        return [hook.health() for hook in self._hooks]

    async def reload(self, settings: config.HooksSettings) -> Reloaded:
        """Run what is configured now: only hooks whose entry changed are started or ended.

        The new ones count when they are up, or have failed to be; turns under
        way finish with the old ones. Raises ConfigError, and nothing has changed.
        """
        wanted = enabled_hooks(settings)
        async with self._reloading:
            before = {hook.name: hook for hook in self._hooks}
            kept = {name: hook for name, hook in before.items() if wanted.get(name) == hook.settings}
            hooks = self._begin(wanted, kept)
            is_taken = False
            try:
                await _all(hook.settled() for hook in hooks)
                is_taken = not self._is_closed
            finally:
                if not is_taken:  # cancelled, or closed meanwhile: nobody else knows of the new ones
                    await _all(self._end(hook) for hook in hooks if hook.name not in kept)
            if is_taken:
                self._hooks = hooks
                for name in before.keys() - kept.keys():
                    self._retire(before[name])
        self._tell()
        return Reloaded(
            started=sorted(wanted.keys() - before.keys()),
            restarted=sorted((wanted.keys() & before.keys()) - kept.keys()),
            stopped=sorted(before.keys() - wanted.keys()),
            unchanged=sorted(kept),
        )

    async def aclose(self) -> None:
        """End all, side by side, leased or not; within the time that the end of one may take."""
        self._is_closed = True
        ending = [task for task in self._retired.values() if task is not None]
        leased = [hook for hook, task in self._retired.items() if task is None]
        await _all(self._end(hook) for hook in (*self._hooks, *leased))
        await asyncio.gather(*ending, return_exceptions=True)
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)
            await self._orphans.look(self._trees())
            if self._orphans.has_dead:
                await asyncio.sleep(_LAST_LOOK_S)
                await self._orphans.look(self._trees())

    def _begin(
        self, wanted: Mapping[str, config.ProcessHookSettings], kept: Mapping[str, ProcessHook]
    ) -> list[ProcessHook]:
        """The hooks that are wanted, in their order; those that are not `kept` are started."""
        if wanted and self._watch is None:
            self._watch = asyncio.create_task(self._orphans.watch(self._trees), name="processes of hooks")
            self._watch.add_done_callback(log_defect)
        hooks = []
        for name, settings in wanted.items():
            if (hook := kept.get(name)) is None:
                hook = ProcessHook(name, settings, self._environ, limits=self._limits, on_change=self._on_change)
                hook.start()
                self._begun.add(hook)
            hooks.append(hook)
        return hooks

    def _retire(self, hook: ProcessHook) -> None:
        hook.is_retired = True
        self._retired[hook] = None
        self._end_if_free(hook)

    def _end_if_free(self, hook: ProcessHook) -> None:
        if self._leases[hook] == 0 and self._retired.get(hook, self) is None and not self._is_closed:
            task = asyncio.create_task(self._end_retired(hook), name=f"end of process hook {hook.name}")
            self._retired[hook] = task

    async def _end_retired(self, hook: ProcessHook) -> None:
        await self._end(hook)
        self._retired.pop(hook, None)
        self._leases.pop(hook, None)

    async def _end(self, hook: ProcessHook) -> None:
        await hook.aclose()
        self._begun.discard(hook)

    def _trees(self) -> list[ProcessTree]:
        return [life.tree for hook in self._begun if (life := hook.process) is not None]

    def _tell(self) -> None:
        if self._on_change is not None:
            self._on_change()


async def _all(work: Iterable[Coroutine[None, None, None]]) -> None:
    """Side by side."""
    async with asyncio.TaskGroup() as group:
        for number, coroutine in enumerate(work):
            group.create_task(coroutine, name=f"process hook {number}")
