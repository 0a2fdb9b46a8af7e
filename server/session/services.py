"""Services that all sessions of the process share."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from server import config
from server.approval.broker import ApprovalBroker
from server.bounded.fair_share import LoopShare
from server.llm.language_model import ModelInfo
from server.metrics import Metrics
from server.session.chat_handler import ChatHandler
from server.session.turn_limits import BegunTurns, TurnGate
from server.session.turn_writer import Sign, SignState
from server.speech.service import SpeechService
from server.wire import frames as wire
from skills_engine import HookState, SkillsSnapshot
from skills_engine.diagnostics import SkillTestReport


class Skills(Protocol):
    """The skills of the server, as a session needs them; SkillsLibrary is the real one."""

    @property
    def current(self) -> SkillsSnapshot:
        """The version in force."""


@dataclass(frozen=True, kw_only=True)
class Services:
    handler: ChatHandler
    skills: Skills
    sign: Sign
    sign_state: SignState
    read_state: Callable[[str], HookState]
    """Verifies and reads a state that a client sent. Raises StateInvalidError."""
    gate: TurnGate
    metrics: Metrics
    limits: config.LimitsSettings
    security: config.SecuritySettings
    model: Callable[[], ModelInfo]
    speech: SpeechService
    broker: ApprovalBroker
    loop_share: LoopShare = field(default_factory=LoopShare)
    begun_turns: BegunTurns = field(default_factory=BegunTurns)
    skill_tests: Callable[[], Mapping[str, SkillTestReport]] = dict
    open_notices: Callable[[], Sequence[wire.Notice]] = tuple
    """Notices from before a client came that still hold."""
    now_s: Callable[[], float] = time.perf_counter
    """The clock of turns and playback."""
