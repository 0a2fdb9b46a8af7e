"""The process hooks of this server: started, lent to turns, exchanged by a reload, ended."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from server import config
from server.errors import log_failure
from server.hooks.health import HookHealth
from server.hooks.process.hook_process import HookLimits
from server.hooks.process.process_hook import ProcessHook
from server.hooks.process.process_settings import enabled_hooks
from server.subprocesses.process_tree import OrphanReaper, ProcessTree

logger = logging.getLogger(__name__)

_LAST_LOOK_S: Final = 0.1


class Reloaded(Struct, frozen=True, kw_only=True):
    """Names of the hooks that a reload started, restarted, stopped or left alone."""

    started: list[str]
    restarted: list[str]
    stopped: list[str]
    unchanged: list[str]


class HookHost:
    """`start`, then lend `hooks` to turns; `aclose` ends every hook, side by side.

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
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        """Take the settings; nothing starts here. Raises ConfigError for an enabled hook configured wrongly."""
        self._environ = environ
        self._limits = limits
        self._on_change = on_change
        self.hooks: Sequence[ProcessHook] = ()
        """All configured hooks in the order of asking, those that are down included."""
        self._begun = set[ProcessHook]()  # and not ended: besides `hooks` those that a reload brings or has replaced
        self._wanted = enabled_hooks(settings)
        self._ending = dict[ProcessHook, asyncio.Task[None]]()  # those that a reload has replaced, once they are free
        self._reloading = asyncio.Lock()
        self._watch: asyncio.Task[None] | None = None
        self._orphans = OrphanReaper()
        self._is_closed = False

    def start(self) -> None:
        """Start the hooks and return at once; `settled` tells when each is up or down. Needs a running loop."""
        self.hooks = self._begin(self._wanted, {})

    async def settled(self) -> None:
        """Wait until each hook's first start has succeeded or failed: its handshake at most."""
        for hook in self.hooks:
            await hook.settled.wait()

    @property
    def is_settled(self) -> bool:
        return all(hook.settled.is_set() for hook in self.hooks)

    def health(self) -> list[HookHealth]:
        return [hook.health() for hook in self.hooks]

    async def reload(self, settings: config.HooksSettings) -> Reloaded:
        """Run what is configured now: only hooks whose entry changed are started or ended.

        The new ones count when they are up, or have failed to be; turns under
        way finish with the old ones. Raises ConfigError, and nothing has changed.
        """
        wanted = enabled_hooks(settings)
        async with self._reloading:
            before = {hook.name: hook for hook in self.hooks}
            kept = {name: hook for name, hook in before.items() if wanted.get(name) == hook.settings}
            hooks = self._begin(wanted, kept)
            is_taken = False
            try:
                await asyncio.gather(*(hook.settled.wait() for hook in hooks))
                is_taken = not self._is_closed
            finally:
                if not is_taken:  # cancelled, or closed meanwhile: the new ones stand in no list
                    await asyncio.gather(*(self._end(hook) for hook in hooks if hook.name not in kept))
            if is_taken:
                self.hooks = hooks
                for name in before.keys() - kept.keys():
                    before[name].is_retired = True
                    self.end_if_free(before[name])
        self._on_change()
        return Reloaded(
            started=sorted(wanted.keys() - before.keys()),
            restarted=sorted((wanted.keys() & before.keys()) - kept.keys()),
            stopped=sorted(before.keys() - wanted.keys()),
            unchanged=sorted(kept),
        )

    async def aclose(self) -> None:
        """End all, side by side, leased or not; within the time that the end of one may take."""
        self._is_closed = True
        ending = dict(self._ending)
        leased = [hook for hook in self._begun if hook.is_retired and hook not in ending]
        await asyncio.gather(*(self._end(hook) for hook in (*self.hooks, *leased)))
        await asyncio.gather(*ending.values(), return_exceptions=True)
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
        """Return the hooks that are wanted, in their order; those that are not `kept` are started."""
        if wanted and self._watch is None:
            watch = self._orphans.watch(self._trees)
            self._watch = asyncio.create_task(watch, name="processes of hooks")  # `aclose` awaits it
            self._watch.add_done_callback(log_failure)
        hooks = []
        for name, settings in wanted.items():
            if (hook := kept.get(name)) is None:
                hook = ProcessHook(name, settings, self._environ, limits=self._limits, on_change=self._on_change)
                hook.start()
                self._begun.add(hook)
            hooks.append(hook)
        return hooks

    def end_if_free(self, hook: ProcessHook) -> None:
        """End a hook that a reload has replaced, once no turn uses it any more."""
        if hook.is_retired and hook.leases == 0 and not self._is_closed:
            # `aclose` awaits it
            self._ending[hook] = asyncio.create_task(self._end(hook), name=f"end of process hook {hook.name}")

    async def _end(self, hook: ProcessHook) -> None:
        await hook.aclose()
        self._begun.discard(hook)
        self._ending.pop(hook, None)

    def _trees(self) -> list[ProcessTree]:
        return [process.tree for hook in self._begun if (process := hook.process) is not None]
