"""Settings of one client: what it may choose, what it has chosen, and the turns that it asks for with them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeVar

from msgspec import UNSET, Struct, structs

from server import config
from server.accounts.principal import Principal
from server.agent.costs import CostMeter
from server.agent.messages import SystemPolicy, text_of
from server.errors import FrameError
from server.tools.tool_calls import TurnFacts
from server.wire import frames as wire
from skills_engine import HookFacts, HookInfo, SkillsSnapshot

Settings = TypeVar("Settings", bound=Struct)


class ClientRights(NamedTuple):
    """Rights of one client that not every client has."""

    may_trace: bool
    """Whether the client may see what the model reads."""
    may_instruct: bool
    """Whether the client may give the model instructions and descriptions of tools."""
    system_messages: SystemPolicy
    """Fate of `system` messages in its history that this server did not sign."""

    @classmethod
    def of(cls, principal: Principal, security: config.SecuritySettings) -> "ClientRights":
        trace, instructions, system = security.trace, security.client_instructions, security.client_system_messages
        is_known = principal.is_local or principal.is_logged_in
        is_own = principal.is_local and principal.is_operator
        return cls(
            may_trace=principal.is_operator if trace == "auto" else trace,
            may_instruct=is_known if instructions == "auto" else instructions == "allow",
            system_messages=("allow" if is_own else "demote") if system == "auto" else system,
        )

    def skills(self, snapshot: SkillsSnapshot) -> SkillsSnapshot:
        """Return the skills that the client may choose from; one that is off by default takes the right to instruct."""
        return snapshot if self.may_instruct else snapshot.without_offered

    def lay_over(self, settings: wire.TurnSettings, choices: wire.TurnChoices) -> wire.TurnSettings:
        """Return the settings with the client's choices; those that it may not make count as none."""
        laid = _lay_over(settings, choices)
        if choices.context is not UNSET:  # of `configure` in place of what was there, of a turn over it
            base = settings if isinstance(choices, wire.TurnFrame) else structs.replace(settings, context={})
            laid = structs.replace(laid, context=base.with_context(choices.context).context)
        if not self.may_instruct:
            laid = structs.replace(laid, instructions=None, tools=())
        return laid if self.may_trace else structs.replace(laid, trace=False)


class ClientSettings(Struct, frozen=True, kw_only=True):
    """Settings of one connection: what `configure` has set, else the defaults."""

    turn: wire.TurnSettings = wire.TurnSettings()
    """Settings of its turns, each of which may choose for itself."""
    turn_detection: wire.DetectionSettings = wire.DetectionSettings(mode="server_vad")
    input: wire.InputFormat = wire.InputFormat()
    output: wire.OutputFormat = wire.OutputFormat()
    respond: Literal["auto", "manual"] = "auto"
    transcribe_only: bool = False
    barge_in: bool = True

    def with_configure(self, frame: wire.Configure, rights: ClientRights) -> "ClientSettings":
        mode = frame.turn_detection
        detection = {"turn_detection": wire.DetectionSettings(mode=mode)} if isinstance(mode, str) else {}
        return _lay_over(self, frame, turn=rights.lay_over(self.turn, frame), **detection)


def _lay_over(settings: Settings, frame: wire.ClientFrame, **more: Any) -> Settings:
    """Return the settings with the fields of these names that the frame has, and with `more`."""
    given = {name: value for name in settings.__struct_fields__ if (value := getattr(frame, name, UNSET)) is not UNSET}
    return structs.replace(settings, **(given | more))


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
    """Time at which the client's `chat` came, or the user stopped speaking."""
    recognized_s: float | None = None
    """Time at which the words of a spoken turn were known; absent in other turns."""
    drawn_for: str = ""
    """Id of the turn whose draw of chances counts: its own, or that of the turn that it goes on from."""
    output: wire.OutputFormat = field(default_factory=wire.OutputFormat)
    extra_hooks: Sequence[HookInfo] = ()
    """Hooks behind those of the skills: the one with the text of the trigger that began the turn."""
    hook_facts: HookFacts = field(default_factory=HookFacts)
    """The facts for conditions of hooks that only the connection knows; ChatHandler.hook_facts adds the others."""
    costs: CostMeter = field(default_factory=CostMeter)
    """Meter that knows the last model call of this client, for the trace."""
    notices: set[str] = field(default_factory=set)
    """Codes of the notices that the connection has been given once and for all."""
    text: str | None = None
    """The reply of a turn that no model answers."""

    @cached_property
    def skills(self) -> list[str]:
        """Names of the skills that are on: the client's selection, else those that are on by default."""
        return [skill.name for skill in self.snapshot.select(self.settings.skills)]

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


def check_formats(frame: wire.Configure, opus: wire.SpeechPart) -> None:
    """Raise FrameError if the frame asks for Opus where there is none."""
    if opus.state == "ready":
        return
    for name, sound in (("input", frame.input), ("output", frame.output)):
        if sound is not UNSET and sound.format == "opus":
            raise FrameError("speech_unavailable", f"no Opus here: {opus.reason}", path=f"$.{name}.format")
