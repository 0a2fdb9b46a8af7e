"""Services that all sessions share, the settings of one client, and the turns that are asked for with them."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Literal

from msgspec import UNSET

from server import config
from server.accounts.principal import Principal
from server.agent.costs import CostMeter
from server.agent.messages import SystemPolicy, text_of
from server.approval.broker import ApprovalBroker
from server.bounded.fair_share import LoopShare
from server.errors import FrameError
from server.llm.language_model import ModelInfo
from server.metrics import Metrics
from server.session.chat_handler import ChatHandler, TurnRequest
from server.session.speech_output import Voice
from server.session.turn_limits import TurnGate
from server.session.turn_writer import Sign, SignState
from server.speech.service import SpeechService
from server.tools.tool_calls import TurnFacts
from server.wire import frames as wire
from skills_engine import HookState, SkillsSnapshot, StateInvalidError
from skills_engine.conditions.turn_facts import Channel
from skills_engine.diagnostics import SkillTestReport

_LISTENING: Final = wire.DetectionSettings(mode="server_vad")
_INPUT: Final = wire.InputFormat()
_OUTPUT: Final = wire.OutputFormat()
_OF_A_TURN = (
    *("voice", "skills", "enable_tools", "language", "speaker", "speed", "max_tokens"),
    *("tool_choice", "client_tools"),
)
_WORDS_TO_THE_MODEL: Final[Mapping[str, Any]] = {"instructions": None, "tools": ()}
"""Settings that count as instructions of the client, and their values where it may give none."""
_CONFIGURED = (*_OF_A_TURN, "conversation", "respond", "transcribe_only", "barge_in", "input", "output")


@dataclass(frozen=True, kw_only=True)
class Services:
    """Services that all sessions of the process share."""

    handler: ChatHandler
    skills: Callable[[], SkillsSnapshot]
    sign: Sign
    sign_state: SignState
    read_state: Callable[[str], HookState]
    """Raises StateInvalidError."""
    gate: TurnGate
    metrics: Metrics
    limits: config.LimitsSettings
    security: config.SecuritySettings
    model: Callable[[], ModelInfo]
    speech: SpeechService
    loop_share: LoopShare = field(default_factory=LoopShare)
    broker: ApprovalBroker = field(default_factory=ApprovalBroker)
    skill_tests: Callable[[], Mapping[str, SkillTestReport]] = dict
    open_notices: Callable[[], Sequence[wire.Notice]] = tuple
    """Notices from before a client came that still hold."""
    now_s: Callable[[], float] = time.perf_counter
    """The clock of turns and playback."""


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """Settings of one connection: what `configure` has set, else the defaults."""

    voice: bool = True
    turn_detection: wire.DetectionSettings = _LISTENING
    input: wire.InputFormat = _INPUT
    output: wire.OutputFormat = _OUTPUT
    skills: list[str] | None = None
    enable_tools: bool = True
    language: str | None = None
    speaker: str | None = None
    speed: float = 1.0
    instructions: str | None = None
    max_tokens: int | None = None
    tools: Sequence[wire.ToolItem] = ()
    tool_choice: wire.ToolChoice = "auto"
    client_tools: wire.ClientTools = "wait"
    conversation: str | None = None
    trace: bool = False
    respond: Literal["auto", "manual"] = "auto"
    transcribe_only: bool = False
    barge_in: bool = True

    def with_configure(self, frame: wire.Configure, *, may_trace: bool, may_instruct: bool) -> "ClientSettings":
        """Fields left out keep their value; a trace that is not allowed stays off, and so do instructions and tools."""
        changed = _given(frame, _CONFIGURED) | _words(frame, may_instruct)
        if isinstance(frame.turn_detection, str):
            changed["turn_detection"] = wire.DetectionSettings(mode=frame.turn_detection)
        elif frame.turn_detection is not UNSET:
            changed["turn_detection"] = frame.turn_detection
        if frame.trace is not UNSET:
            changed["trace"] = frame.trace and may_trace
        return replace(self, **changed)

    def with_turn(self, frame: wire.TurnFrame, *, may_instruct: bool) -> "ClientSettings":
        """The settings of the frame's turn, which may choose for itself."""
        changed = _given(frame, _OF_A_TURN) | _words(frame, may_instruct)
        return replace(self, **changed)


def _given(frame: wire.TurnSettings, names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(frame, name)) is not UNSET}


def _words(frame: wire.TurnSettings, is_allowed: bool) -> dict[str, Any]:
    """Return the frame's instructions and tools if it has some; those that are not allowed count as none."""
    given = _given(frame, tuple(_WORDS_TO_THE_MODEL))
    return given if is_allowed else {name: _WORDS_TO_THE_MODEL[name] for name in given}


def turn_request(
    services: Services,
    principal: Principal,
    settings: ClientSettings,
    *,
    session_id: str,
    turn_id: str,
    trigger: wire.TurnTrigger,
    messages: list[wire.Message],
    received_s: float,
    recognized_s: float | None = None,
    channel: Channel = "text",
    snapshot: SkillsSnapshot | None = None,
    costs: CostMeter | None = None,
) -> TurnRequest:
    """Return the turn that the client asks for; `snapshot` None: with the skills in force."""
    snapshot = services.skills() if snapshot is None else snapshot
    voice = Voice(
        synthesizer=services.speech.synthesizer,
        language=settings.language,
        speaker=settings.speaker,
        speed=settings.speed,
        max_ahead_ms=settings.output.max_ahead_ms,
        format=settings.output.format,
        now_s=services.now_s,
        metered=partial(services.loop_share.metered, principal.share),
    )
    return TurnRequest(
        id=turn_id,
        trigger=trigger,
        channel=channel,
        messages=messages,
        snapshot=snapshot,
        skills=enabled_skills(settings.skills, snapshot),
        enable_tools=settings.enable_tools,
        language=settings.language,
        instructions=settings.instructions,
        max_tokens=settings.max_tokens,
        tools=settings.tools,
        tool_choice=settings.tool_choice,
        client_tools=settings.client_tools,
        trace=settings.trace,
        policy=_system_policy(services.security, principal),
        principal=principal,
        facts=TurnFacts(
            session_id=session_id,
            turn_id=turn_id,
            user_id=principal.user_id,
            conversation=settings.conversation,
            user_message="" if trigger == "nudge" else _last_words(messages),
            language=settings.language,
            address=principal.address,
        ),
        voice=voice if settings.voice else None,
        received_s=received_s,
        recognized_s=recognized_s,
        costs=costs,
    )


def with_state(services: Services, request: TurnRequest, text: str | None) -> tuple[TurnRequest, str]:
    """Return the turn with what its hooks remember, and what is wrong with that; a wrong one counts as none."""
    if text is None:
        return request, ""
    try:
        return replace(request, hook_state=services.read_state(text)), ""
    except StateInvalidError as error:
        return request, f"{error}; hooks have forgotten what they did in this conversation"


def snapshot_of(services: Services, principal: Principal, frame: wire.TurnFrame) -> SkillsSnapshot:
    """Return the skills for the turn, with the texts of hooks that an operator tries. Raises FrameError."""
    snapshot = services.skills()
    if frame.hook_texts is UNSET or not frame.hook_texts:
        return snapshot
    if not principal.is_operator:
        raise FrameError("frame_invalid", "other texts of hooks are for operators", path="$.hook_texts")
    try:
        return snapshot.with_hook_texts(frame.hook_texts)
    except KeyError as error:
        text = f"no skill here has a hook {error.args[0]}; name it as skill/hook"
        raise FrameError("frame_invalid", text, path="$.hook_texts") from None


def check_tool_names(services: Services, frame: wire.TurnSettings, *, may_instruct: bool) -> None:
    """Refuse tools of the client that are named like ours. Raises FrameError."""
    taken = frozenset(services.handler.tool_names) if frame.tools and may_instruct else ()
    for index, tool in enumerate(frame.tools or ()):
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


def may_trace(security: config.SecuritySettings, principal: Principal) -> bool:
    """Return whether the client may see what the model reads."""
    return principal.is_operator if security.trace == "auto" else security.trace


def may_instruct(security: config.SecuritySettings, principal: Principal) -> bool:
    """Return whether the client may give the model instructions and descriptions of tools."""
    allowed = security.client_instructions
    return allowed == "allow" or (allowed == "auto" and (principal.is_local or principal.is_logged_in))


def enabled_skills(selected: list[str] | None, snapshot: SkillsSnapshot) -> list[str]:
    """Narrow the operator's skills to the client's selection; None: all of them."""
    known = [skill.name for skill in snapshot.skills]
    return known if selected is None else [name for name in dict.fromkeys(selected) if name in set(known)]


def _last_words(messages: Sequence[wire.Message]) -> str:
    return next((text_of(message) for message in reversed(messages) if message.role == "user"), "")


def _system_policy(security: config.SecuritySettings, principal: Principal) -> SystemPolicy:
    policy = security.client_system_messages
    if policy == "auto":
        return "allow" if principal.is_local and principal.is_operator else "demote"
    return policy
