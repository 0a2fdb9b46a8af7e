"""The five stages at which hooks take part in a turn, the values and events they are given, and what a hook is.

A hook gets copies of its own; what it returns is taken over as a whole.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Final, Literal, Protocol

from server import config
from server.approval.asking import AskHuman
from server.llm.language_model import Message, ToolCall, ToolSpec, Usage
from server.tools.tool_calls import ToolAnswer, ToolInvocation, TurnFacts

Stage = Literal["before_llm", "after_llm", "before_tool", "after_tool", "approve_tool"]
STAGES: Final[tuple[Stage, ...]] = ("before_llm", "after_llm", "before_tool", "after_tool", "approve_tool")
Severity = Literal["info", "warn", "error"]

_event_numbers: Final = count(1)  # of this process


@dataclass(frozen=True, kw_only=True, slots=True)
class StageContext:
    """Occasion at which a hook is asked: when, and in whose turn."""

    facts: TurnFacts
    iteration: int = 0
    """The round of the agent loop, from 1; 0 before it."""
    ask: AskHuman | None = None
    """Way to ask the human, or None if no client is connected."""


# --- values: one hook hands them to the next

PLACEHOLDER_OPTIONS: Final[Mapping[str, Any]] = {"max_tokens": 4096, "temperature": 1.0}
"""Numbers that hooks see in place of options that nothing sets, as in the reference host: hooks calculate with them.

Only what a hook makes of them is sent to the model.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class LlmCall:
    """A model call as it is about to be made; a change serves this call only."""

    model: str
    messages: list[Message]
    tools: list[ToolSpec] = field(default_factory=list)
    """Tools of the call; in the planning call those of later rounds. A tool added here is the hook's to answer."""
    options: Mapping[str, Any] = field(default_factory=lambda: PLACEHOLDER_OPTIONS)
    question: str = ""
    """The text of the user's last message, alone: in `messages` hooks may be joined to it."""
    origin_of: Callable[[Message], Mapping[str, Any]] = field(default=lambda _: {}, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class LlmAnswer:
    model: str
    content: str
    """The text for the user: without reasoning and tags."""
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    finish_reason: str = "stop"
    usage: Usage | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolRan:
    name: str
    arguments: dict[str, Any]
    answer: ToolAnswer
    duration_ms: float = 0.0


# --- decisions: they end the chain


@dataclass(frozen=True, kw_only=True, slots=True)
class Respond:
    """A result in the tool's place, at before_tool; the tool does not run."""

    answer: ToolAnswer
    hook: str = ""
    """The name of the hook that gave it, filled in by the pipeline."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Deny:
    """A refusal: the tool does not run, and the model reads why."""

    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Abort:
    """The end of the turn; with `is_hard` the client takes it out of its history."""

    reason: str = ""
    is_hard: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ApproverVerdict:
    """The answer at approve_tool: whether the call may run."""

    approved: bool
    reason: str = ""
    arguments: dict[str, Any] | None = None
    """Arguments as edited by a human, which pass schema, policy and the other approvers again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ignored:
    """A reply that was not understood, and changes nothing."""

    why: str


StageValue = LlmCall | LlmAnswer | ToolInvocation | ToolRan
Decision = Respond | Deny | Abort | ApproverVerdict


def refused(value: StageValue, reason: str) -> StageValue | Decision:
    """Return what refuses the value: a denied call, a withheld result or, for a model call, the end of the turn."""
    if isinstance(value, ToolInvocation):
        return Deny(reason=reason)
    withheld = ToolAnswer(for_llm=f"The result is withheld: {reason or 'a hook refuses it'}", is_error=True)
    return replace(value, answer=withheld) if isinstance(value, ToolRan) else Abort(reason=reason)


# in the order of the reference host, which numbered them
_IN_TURNS: Final = """
    agent.turn.start agent.turn.end
    agent.llm.request agent.llm.delta agent.llm.response agent.llm.retry
    agent.context.compress agent.session.summarize
    agent.tool.exec_start agent.tool.exec_end agent.tool.exec_skipped
    agent.steering.injected agent.follow_up.queued agent.interrupt.received
    agent.subturn.spawn agent.subturn.end agent.subturn.result_delivered agent.subturn.orphan
    agent.error
""".split()
_OUTSIDE_TURNS: Final = """
    channel.lifecycle.initialized channel.lifecycle.started channel.lifecycle.start_failed channel.lifecycle.stopped
    channel.webhook.registered channel.webhook.unregistered channel.rate_limited
    channel.message.outbound_queued channel.message.outbound_sent channel.message.outbound_failed
    bus.publish.failed bus.close.started bus.close.drained bus.close.completed
    gateway.start gateway.ready gateway.shutdown
    gateway.reload.started gateway.reload.completed gateway.reload.failed
    mcp.server.connecting mcp.server.connected mcp.server.failed
    mcp.tool.discovered mcp.tool.call.start mcp.tool.call.end
""".split()

KINDS: Final = frozenset((*_IN_TURNS, *_OUTSIDE_TURNS))
"""Every kind that a configuration may name; docs/process-hooks.md says which are ever sent here."""

ALIAS_OF: Final = {kind: kind.removeprefix("agent.").replace(".", "_") for kind in _IN_TURNS}
"""Kind → its name in configurations and hooks written against `hook.event`, such as `turn_end`."""

NUMBER_OF: Final[Mapping[str, int]] = {kind: number for number, kind in enumerate(_IN_TURNS)}
"""Kind → its number in the reference host up to 0.2.8."""

LEGACY: Final = {alias: kind for kind, alias in ALIAS_OF.items()}


def observed_kinds(names: Iterable[str]) -> frozenset[str]:
    """Return the kinds that `observe` asks for, aliases resolved; all for `*`, `all` or an empty name.

    Read from left to right: what stands behind a `*` is not looked at. Raises ValueError with the name of an unknown one.
    """
    kinds = set[str]()
    for name in names:
        if name in ("", "*", "all"):
            return KINDS
        kind = LEGACY.get(name, name)
        if kind not in KINDS:
            raise ValueError(name)
        kinds.add(kind)
    return frozenset(kinds)


@dataclass(frozen=True, kw_only=True, slots=True)
class HookEvent:
    """Something that has happened in a turn. All observers share it, so nothing in it may be changed."""

    kind: str
    """Name of the kind, dotted, as in `agent.tool.exec_start`."""
    payload: Mapping[str, Any]
    """Facts of the event, under the reference host's field names; durations are whole nanoseconds."""
    at: StageContext
    trace_path: str = "turn"
    severity: Severity = "info"
    number: int = field(default_factory=lambda: next(_event_numbers))
    time_ns: int = field(default_factory=time.time_ns)


FailureKind = Literal["failed", "timed_out", "down"]
"""Reason why a call failed; failed: an error reply, or no JSON object; timed_out: no reply within the limit;
down: the process is not there, or died before it answered."""


class HookCallFailed(Exception):
    """A call that gave no usable reply. The message names the hook and what happened."""

    def __init__(self, kind: FailureKind, message: str, *, raised: BaseException | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.raised = raised
        """Exception of a hook in this process. Its text may quote the call: for the log, with secrets concealed."""


class Hook(Protocol):
    """A hook as the pipeline asks it, in this process or in another."""

    name: str
    is_process: bool
    """Whether the hook is a program of its own, and not a builtin."""
    order: tuple[int, int, bytes]
    """Key of the order of asking: in-process before process; lower priority first; then the name, byte by byte."""
    stages: frozenset[Stage]
    kinds: frozenset[str]
    is_guard: bool
    """Whether a failure of it denies the call (`on_error: closed`)."""
    timeout_ms: int | None
    """Time limit of the hook's calls, or None if that of `hooks.defaults` counts."""

    async def ask(
        self, stage: Stage, value: StageValue, at: StageContext, limit_s: float
    ) -> StageValue | Decision | Ignored | None:
        """Return what the hook makes of the value, or None to leave it. Raises HookCallFailed; cancelling abandons the call."""
        ...

    def send_event(self, event: HookEvent) -> None:
        """Queue an event; never waits."""
        ...

    def warn(self, text: str) -> None:
        """Report what the hook's author should know: logged once per text, counted in its health."""
        ...


def limit_s(stage: Stage, defaults: config.HookDefaults, timeout_ms: int | None = None) -> float:
    default_ms = defaults.approval_timeout_ms if stage == "approve_tool" else defaults.interceptor_timeout_ms
    return (timeout_ms or default_ms) / 1000
