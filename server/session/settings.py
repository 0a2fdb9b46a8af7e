"""Settings of one client: what `configure` has set for its connection and its turns, and how far it may choose."""

from collections.abc import Collection
from typing import Any, Final, Literal, NamedTuple, TypeVar

from msgspec import UNSET, Struct, structs

from server import config
from server.accounts.principal import Principal
from server.agent.messages import SystemPolicy
from server.errors import FrameError
from server.wire import frames as wire

_LISTENING: Final = wire.DetectionSettings(mode="server_vad")
_INPUT: Final = wire.InputFormat()
_OUTPUT: Final = wire.OutputFormat()

Settings = TypeVar("Settings", bound=Struct)


class ClientRights(NamedTuple):
    """Rights of one client that not every client has."""

    may_trace: bool
    """It may see what the model reads."""
    may_instruct: bool
    """It may give the model instructions and descriptions of tools."""
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

    def lay_over(self, settings: wire.TurnSettings, choices: wire.TurnChoices) -> wire.TurnSettings:
        """Return the settings with the client's choices; those that it may not make count as none."""
        laid = _lay_over(settings, choices)
        if not self.may_instruct:
            laid = structs.replace(laid, instructions=None, tools=())
        return laid if self.may_trace else structs.replace(laid, trace=False)


class ClientSettings(Struct, frozen=True, kw_only=True):
    """Settings of one connection: what `configure` has set, else the defaults."""

    turn: wire.TurnSettings = wire.TurnSettings()
    """Settings of its turns, each of which may choose for itself."""
    turn_detection: wire.DetectionSettings = _LISTENING
    input: wire.InputFormat = _INPUT
    output: wire.OutputFormat = _OUTPUT
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


def check_tool_names(tools: list[wire.ToolItem], taken: Collection[str]) -> None:
    """Refuse tools of the client that are named like ours. Raises FrameError."""
    for index, tool in enumerate(tools):
        if tool.name in taken:
            text = f"the server has a tool {tool.name}; give yours another name"
            raise FrameError("frame_invalid", text, path=f"$.tools[{index}].name")


def check_formats(frame: wire.Configure, opus: wire.SpeechPart) -> None:
    """Raise FrameError if the frame asks for Opus where there is none."""
    if opus.state == "ready":
        return
    for name, sound in (("input", frame.input), ("output", frame.output)):
        if sound is not UNSET and sound.format == "opus":
            raise FrameError("speech_unavailable", f"no Opus here: {opus.reason}", path=f"$.{name}.format")
