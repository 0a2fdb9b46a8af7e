"""The vocabulary that the agent and the providers of models share: requests, events, tools, `LanguageModel`."""

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from server.wire.frames import ToolChoice

Message = dict[str, Any]
"""One chat message in the OpenAI shape; keys that begin with `_` never leave the server."""

Purpose = Literal["direct", "planning", "round", "last"]
"""The place of a call in its turn: without tools, the planning round, a round of the loop, the last one."""

LateSystem = Literal["native", "user", "merge"]
"""The role in which a `system` message that is not first is sent (docs/hooks.md, "In which role")."""


@dataclass(frozen=True, kw_only=True)
class ToolSpec:
    """A tool as described to the model. `parameters` is a JSON Schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        function = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return {"type": "function", "function": function}


@dataclass(frozen=True, kw_only=True)
class ModelRequest:
    """One call of a model. The messages are legal and in the roles to be sent; a provider changes nothing in them."""

    messages: Sequence[Message] = ()
    """Messages to send, set anew for each try of the call."""
    tools: Sequence[ToolSpec] = ()
    tool_choice: ToolChoice = "auto"
    """Anything but auto and none is a wish: a provider that cannot force a call answers as with auto."""
    purpose: Purpose = "direct"
    tool_names: Sequence[str] = ()
    """Names of the tools that the model could have later, for the planning call, which carries none."""
    question: str = ""
    """The text of the user's last message, alone: in `messages` hooks may be joined to it."""
    denied: Collection[str] = ()
    """The ids of this turn's calls that were refused; what their results say is written for the model alone."""
    model: str | None = None
    """Another model of the same endpoint, where a hook wants one; a provider of one model ignores it."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the request that a hook changed; they win over the configured ones. None takes one out."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """Piece of reasoning from `reasoning_content`; a `<think>` block in the text is the agent's to find."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A complete call. `arguments` is the model's JSON text, not yet parsed, perhaps not valid."""

    id: str
    name: str
    arguments: str

    def as_json(self) -> dict[str, Any]:
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": self.arguments}}


@dataclass(frozen=True, slots=True)
class Usage:
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Finished:
    """The last event of every stream that did not fail."""

    reason: str
    """`stop`, `tool_calls`, `length`, `content_filter` or what the provider says."""
    usage: Usage = field(default_factory=Usage)


ModelEvent = TextDelta | ReasoningDelta | ToolCall | Finished


@dataclass(frozen=True, kw_only=True)
class ModelInfo:
    """The model that answers, its place and the source of its key; shown to people."""

    name: str
    host: str
    location: Literal["local", "cloud"]
    key_source: str | None = None
    """`OPENAI_API_KEY`, `parley.yaml`, `none` …; never the key."""
    languages: Sequence[str] = ()
    """Languages (BCP 47) that the model knows; empty where they are not known."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Fields of its requests where the settings do not say otherwise, such as `temperature`."""
    is_included: bool = False
    """Whether it is the small model that comes with Parley."""


class LanguageModel(Protocol):
    """A provider of model calls.

    Tool calls are yielded whole, in call order, after the text and before
    `Finished`. Leaving the stream early (`aclose`, cancellation) closes the
    provider's connection at once. Failures are `ProviderError`s; one whose
    `is_retryable` is true may be tried again if nothing was yielded yet.
    The provider itself retries nothing.
    """

    @property
    def info(self) -> ModelInfo: ...

    @property
    def late_system(self) -> LateSystem | None:
        """The mode that this provider always needs, if that is known before a call."""

    @property
    def is_compact(self) -> bool:
        """Whether every prompt token is dear: the agent then uses short prompts and sends no descriptions of tools."""

    @property
    def sees_images(self) -> bool | None:
        """Whether the model takes images, or None if none was sent yet."""

    async def context_tokens(self) -> int | None:
        """Return how many tokens fit, as the endpoint reports it, or None if it does not. Cached, never raises."""

    async def problem(self) -> str:
        """Return why the model cannot answer now, or "" if nothing is known to be wrong. Never raises."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]: ...

    def prefill(self, messages: Sequence[Message], *, question: str, tool_names: Sequence[str]) -> None:
        """Let the model read these messages while the user speaks: a turn may begin with them.

        `question`: the user's words as far as they are known, else "". Returns at
        once and promises nothing; where tokens cost money, nothing is done.
        """

    async def start(self) -> None:
        """Make the model ready to answer (load, connect, find its name). Returns when it is."""

    async def aclose(self) -> None: ...
