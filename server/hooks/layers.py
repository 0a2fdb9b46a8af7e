"""The layers around one turn: its hooks, its policy, the human who can be asked, the store of media."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from server import config
from server.approval.asking import AskHuman
from server.hooks.builtin_hooks import build_builtins
from server.hooks.health import BuiltinHealth
from server.hooks.pipeline import HookEvents, HookPipeline
from server.hooks.process.host import HookHost
from server.hooks.stages import Hook
from server.media.store import MediaStore
from server.tools.tool_calls import ToolPolicy, TurnFacts

Policies = Callable[[TurnFacts, AskHuman | None], ToolPolicy | None]
"""Function that gives a turn its tool policy, or None if nothing is configured."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnLayers:
    """The layers that a turn pins when it begins."""

    facts: TurnFacts
    hooks: Sequence[Hook] = ()
    defaults: config.HookDefaults = field(default_factory=config.HookDefaults)
    policy: ToolPolicy | None = None
    ask: AskHuman | None = None
    media: MediaStore | None = None
    stream_gate: config.StreamGate | None = None
    respond_policy: config.RespondPolicy = "injected"


NO_LAYERS: Final = TurnLayers(facts=TurnFacts(session_id="", turn_id=""))
"""The layers of a turn that has none: no hook is asked, and nothing is watched."""


class TurnHooks:
    def __init__(self, layers: TurnLayers, *, is_traced: bool = False) -> None:
        self.layers = layers
        self.facts = layers.facts
        self.policy = layers.policy
        self.events = HookEvents(layers.hooks, layers.facts)
        self.pipeline = HookPipeline(
            layers.hooks,
            layers.facts,
            events=self.events,
            defaults=layers.defaults,
            ask=layers.ask,
            is_traced=is_traced,
            conceal=None if layers.policy is None else layers.policy.conceal,
        )

    @property
    def stream_gate(self) -> config.StreamGate:
        if not self.pipeline.has("after_llm"):
            return "off"
        return self.layers.stream_gate or "full"

    async def conceal(self, arguments: Any) -> Any:
        """Return the arguments as wire, trace, log and observers may show them."""
        return arguments if self.policy is None else await self.policy.conceal(arguments)


class HookLayers:
    """Gives each turn its layers; knows who provides them."""

    def __init__(
        self,
        settings: config.HooksSettings,
        *,
        processes: HookHost | None = None,
        policies: Policies | None = None,
        media: MediaStore | None = None,
    ) -> None:
        """Build the builtins. Raises ConfigError for one that is not there or does not understand its `config`."""
        self._settings = settings
        self._builtins = build_builtins(settings)
        self._processes = processes
        self._policies = policies
        self._media = media

    def builtin_health(self) -> list[BuiltinHealth]:
        return [hook.health() for hook in self._builtins]

    def reload(self, settings: config.HooksSettings) -> None:
        """Use these settings from the next turn on. The builtins stay as they were built."""
        self._settings = settings

    @contextmanager
    def for_turn(self, facts: TurnFacts, ask: AskHuman | None = None) -> Iterator[TurnLayers]:
        """Lend a turn its layers.

        Hooks that a reload replaces live until the last turn that has them ends.
        """
        settings = self._settings
        processes = () if self._processes is None else self._processes.hooks
        hooks: Sequence[Hook] = (*self._builtins, *processes) if settings.enabled else ()
        policy = self._policies(facts, ask) if self._policies is not None and settings.enabled else None
        layers = TurnLayers(
            facts=facts,
            hooks=hooks,
            defaults=settings.defaults,
            policy=policy,
            ask=ask,
            media=self._media,
            stream_gate=settings.stream_gate,
            respond_policy=settings.respond_policy,
        )
        for hook in processes:
            hook.leases += 1
        try:
            yield layers
        finally:
            for hook in processes:
                hook.leases -= 1
                if self._processes is not None:
                    self._processes.end_if_free(hook)
