"""What stands around one turn: its hooks, its policy, the human who can be asked, the store of media."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

from server import config
from server.approval.asking import AskHuman
from server.hooks.channel import HookChannel
from server.hooks.interception.builtins import BuiltinHooks
from server.hooks.interception.events import Events
from server.hooks.interception.members import BuiltinHealth, Member, ProcessMember
from server.hooks.interception.pipeline import HookPipeline
from server.media.store import MediaItem
from server.tool_calls import ToolPolicy, TurnFacts


class MediaStore(Protocol):
    """Keeps what tools and hooks show to the user."""

    async def register(self, reference: str, *, user_id: str, session_id: str, name: str | None = None) -> MediaItem:
        """A `data:` URL, a path inside an allowed folder or a `media://` id. Raises MediaError."""
        ...

    async def open_image(self, ref: str) -> tuple[str, bytes]:
        """Content type and bytes of a picture that models can be given. Raises MediaError for anything else."""
        ...


class HookSource(Protocol):
    """The process hooks as they are now."""

    def lease(self) -> AbstractContextManager[Sequence[HookChannel]]:
        """For one turn: hooks that a reload replaces live until the last lease on them has ended."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnLayers:
    """Pinned by a turn when it begins."""

    facts: TurnFacts
    members: Sequence[Member] = ()
    policy: ToolPolicy | None = None
    ask: AskHuman | None = None
    media: MediaStore | None = None
    stream_gate: config.StreamGate | None = None
    respond_policy: config.RespondPolicy = "injected"

    def begin(self, *, is_traced: bool) -> "TurnHooks":
        return TurnHooks(self, is_traced=is_traced)


class TurnHooks:
    """The layers of one turn at work."""

    def __init__(self, layers: TurnLayers, *, is_traced: bool = False) -> None:
        self.layers = layers
        self.facts = layers.facts
        self.policy = layers.policy
        self.events = Events(layers.members, layers.facts)
        self.pipeline = HookPipeline(
            layers.members,
            layers.facts,
            events=self.events,
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
        """As wire, trace, log and observers may show them."""
        return arguments if self.policy is None else await self.policy.conceal(arguments)


Policies = Callable[[TurnFacts, AskHuman | None], ToolPolicy | None]
"""The tool policy of a turn; None: nothing is configured."""


class HookLayers:
    """Gives each turn its layers; knows who provides them."""

    def __init__(
        self,
        settings: config.HooksSettings,
        *,
        processes: HookSource | None = None,
        policies: Policies | None = None,
        media: MediaStore | None = None,
    ) -> None:
        """Raises ConfigError for a builtin that is not there or does not understand its `config`."""
        self._settings = settings
        self._builtins = BuiltinHooks(settings)
        self._processes = processes
        self._policies = policies
        self._media = media

    async def run(self) -> None:
        """Deliver events to the builtins, until cancelled."""
        await self._builtins.run()

    def builtin_health(self) -> list[BuiltinHealth]:
        """How the builtins fare now."""
        return self._builtins.health()

    def reload(self, settings: config.HooksSettings) -> None:
        """From the next turn on. The builtins stay as they were built."""
        self._settings = settings

    @contextmanager
    def for_turn(self, facts: TurnFacts, ask: AskHuman | None = None) -> Iterator[TurnLayers | None]:
        """None where nothing is configured: then the turn runs as if there were no layers."""
        settings = self._settings
        lease: AbstractContextManager[Any] = nullcontext(()) if self._processes is None else self._processes.lease()
        with lease as channels:
            is_on = settings.enabled
            members: list[Member] = [
                *self._builtins.members,
                *(ProcessMember(channel, settings.defaults) for channel in channels),
            ]
            policy = self._policies(facts, ask) if self._policies is not None and is_on else None
            if not (is_on and members) and policy is None and self._media is None:
                yield None
                return
            yield TurnLayers(
                facts=facts,
                members=members if is_on else (),
                policy=policy,
                ask=ask,
                media=self._media,
                stream_gate=settings.stream_gate,
                respond_policy=settings.respond_policy,
            )
