"""What the five stages take and give: values that one hook hands to the next, and decisions that end the chain.

A hook gets copies of its own; what it gives back is taken over as a whole.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from server.approval.asking import AskHuman
from server.llm.types import Message, ToolCall, ToolSpec, Usage
from server.tool_calls import ToolAnswer, ToolInvocation, TurnFacts


@dataclass(frozen=True, kw_only=True, slots=True)
class Moment:
    """When a hook is asked, and for whom."""

    facts: TurnFacts
    iteration: int = 0
    """The round of the agent loop, from 1; 0 before it."""
    ask: AskHuman | None = None
    """None: nobody can be asked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LlmCall:
    """A model call as it is about to be made; a change serves this call only."""

    model: str
    messages: list[Message]
    tools: list[ToolSpec] = field(default_factory=list)
    """Of the planning call: what the model could have later. A tool added here is the hook's to answer."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the request, such as `temperature`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LlmAnswer:
    """What a model has answered."""

    model: str
    content: str
    """What the user reads of it: reasoning and tags are gone."""
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    finish_reason: str = "stop"
    usage: Usage | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolRan:
    """A tool call that has run."""

    name: str
    arguments: dict[str, Any]
    answer: ToolAnswer
    duration_ms: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Respond:
    """before_tool: this is the result; the tool does not run."""

    answer: ToolAnswer


@dataclass(frozen=True, kw_only=True, slots=True)
class Deny:
    """before_tool: the tool does not run, and the model reads why."""

    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Abort:
    """The turn ends here; with `is_hard` the client takes it out of its history."""

    reason: str = ""
    is_hard: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """approve_tool: whether the call may run."""

    approved: bool
    reason: str = ""
    arguments: dict[str, Any] | None = None
    """Edited by a human; they pass schema, policy and the other approvers again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ignored:
    """The reply was not understood, and changes nothing."""

    why: str


StageValue = LlmCall | LlmAnswer | ToolInvocation | ToolRan
Decision = Respond | Deny | Abort | Verdict
