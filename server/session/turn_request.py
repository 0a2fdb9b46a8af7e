"""A turn as it was asked for."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from server.accounts.principal import Principal
from server.agent.costs import CostMeter
from server.agent.messages import SystemPolicy, text_of
from server.tools.tool_calls import TurnFacts
from server.wire import frames as wire
from skills_engine import HookInfo, HookState, SkillsSnapshot
from skills_engine.conditions.turn_facts import Channel

_OUTPUT = wire.OutputFormat()


@dataclass(frozen=True, kw_only=True)
class TurnRequest:
    """A turn as it was asked for, with the version of the skills that it keeps to its end."""

    id: str
    session_id: str
    trigger: wire.TurnTrigger
    messages: Sequence[wire.Message]
    settings: wire.TurnSettings
    snapshot: SkillsSnapshot
    principal: Principal
    system_messages: SystemPolicy
    received_s: float
    """When the client's `chat` came, or the user stopped speaking."""
    recognized_s: float | None = None
    """When the words of a spoken turn were known."""
    channel: Channel = "text"
    output: wire.OutputFormat = _OUTPUT
    extra_hooks: Sequence[HookInfo] = ()
    """Hooks behind those of the skills: the one with the text of the trigger that began the turn."""
    hook_state: HookState = field(default_factory=HookState)
    """The state of hooks after the turn before."""
    costs: CostMeter = field(default_factory=CostMeter)
    """Knows the last model call of this client, for the trace."""
    text: str | None = None
    """The reply of a turn that no model answers."""

    @cached_property
    def skills(self) -> list[str]:
        """Names of the skills that are on: the operator's, narrowed to the client's selection."""
        return enabled_skills(self.settings.skills, self.snapshot)

    @cached_property
    def facts(self) -> TurnFacts:
        """The turn as process hooks and policy know it."""
        words = (text_of(message) for message in reversed(self.messages) if message.role == "user")
        return TurnFacts(
            session_id=self.session_id,
            turn_id=self.id,
            user_id=self.principal.user_id,
            conversation=self.settings.conversation,
            user_message="" if self.trigger == "nudge" else next(words, ""),
            language=self.settings.language,
            address=self.principal.address,
        )


def enabled_skills(selected: Sequence[str] | None, snapshot: SkillsSnapshot) -> list[str]:
    """Narrow the operator's skills to the client's selection, if it made one."""
    known = [skill.name for skill in snapshot.skills]
    return known if selected is None else [name for name in dict.fromkeys(selected) if name in set(known)]
