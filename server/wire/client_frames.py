"""Text frames from the client, and the messages of a conversation in them. An unknown `type` is refused by the decoder, unknown fields are ignored."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, get_args

from msgspec import UNSET, Meta, Struct, UnsetType, field, structs

from server.errors import FrameError

# `$` also matches before a final newline; the look-ahead closes that gap, in Python and in ECMAScript.
_ID = r"^[A-Za-z0-9_-]{1,64}$(?!\n)"
TurnId = Annotated[str, Meta(pattern=_ID, description="1 to 64 of A-Z a-z 0-9 _ -")]
ConversationId = Annotated[str, Meta(min_length=1, max_length=64)]
SkillName = Annotated[str, Meta(max_length=128)]
SkillNames = Annotated[list[SkillName], Meta(max_length=1000)]
HookTexts = Annotated[
    dict[Annotated[str, Meta(max_length=256)], Annotated[str, Meta(min_length=1, max_length=65_536)] | None],
    Meta(max_length=64),
]
SignedState = Annotated[
    str, Meta(description="`turn_end.state` of the last turn in `messages` that had one, unchanged")
]
Instructions = Annotated[
    str, Meta(min_length=1, max_length=16_384, description="follows the operator's system prompt; null: none")
]
MaxTokens = Annotated[
    int,
    Meta(ge=1, le=1_000_000, description="of each model call; null, or more than the operator allows: the operator's"),
]
ToolName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,64}$(?!\n)", description="1 to 64 of A-Z a-z 0-9 _ -")]
LANGUAGE = r"[A-Za-z]{1,8}([-_][A-Za-z0-9]{1,8})*"
SampleRate = Annotated[int, Meta(ge=8000, le=48000)]
Milliseconds = Annotated[float, Meta(ge=0, le=86_400_000)]
Ref = Annotated[str, Meta(max_length=64)]


Role = Literal["system", "user", "assistant", "tool"]


class TextPart(Struct, tag_field="type", tag="text", kw_only=True):
    text: str


class ImageUrl(Struct, kw_only=True):
    url: Annotated[str, Meta(pattern=r"^data:image/(png|jpeg|webp);base64,", max_length=7_000_000)]
    """A `data:` URL of at most 5 MiB of image; other URLs are refused."""


class ImagePart(Struct, tag_field="type", tag="image_url", kw_only=True):
    image_url: ImageUrl


class FunctionCall(Struct, kw_only=True):
    name: Annotated[str, Meta(min_length=1, max_length=256)]
    arguments: str


class MessageToolCall(Struct, kw_only=True):
    id: Annotated[str, Meta(min_length=1, max_length=256)]
    function: FunctionCall
    type: Literal["function"] = "function"


class Message(Struct, kw_only=True, omit_defaults=True):
    """A message of the client's history. Keys that begin with `_` never reach the model."""

    role: Role
    content: str | list[TextPart | ImagePart] | None = None
    tool_calls: list[MessageToolCall] | None = None
    tool_call_id: str | None = None
    name: str | None = None
    hook: Any = field(name="_hook", default=None)
    skill: Any = field(name="_skill", default=None)
    sig: Any = field(name="_sig", default=None)


class ToolItem(Struct, kw_only=True):
    """A tool that the client runs."""

    name: ToolName
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    """A JSON Schema of type object."""


ToolItems = Annotated[list[ToolItem], Meta(max_length=128, description="at most 64 KiB in all")]


class ToolByName(Struct, kw_only=True, frozen=True):
    name: ToolName


ToolChoice = Literal["auto", "none", "required"] | ToolByName
ClientTools = Annotated[
    Literal["wait", "end"],
    Meta(description="what a turn does when the model has called tools of the client: wait for their outputs, or end"),
]


class ClientFrame(Struct, tag_field="type", kw_only=True):
    """Base of all that a client may send as text."""

    ref: Ref | UnsetType = UNSET
    """The client's name for this frame; an `error` or a `notice` that answers it carries it back."""


class InputFormat(Struct, kw_only=True, frozen=True):
    """The microphone's sound: PCM16 mono at `sample_rate`, or Opus packets, which need no rate."""

    format: Literal["pcm16", "opus"] = "pcm16"
    sample_rate: SampleRate = 16_000


class OutputFormat(Struct, kw_only=True, frozen=True):
    format: Literal["pcm16", "opus"] = "pcm16"
    max_ahead_ms: Annotated[int, Meta(ge=0, le=600_000)] = 30_000


class DetectionSettings(Struct, kw_only=True, frozen=True):
    """When an utterance begins and ends; null: as the operator has set it (`speech.vad`)."""

    mode: Literal["server_vad", "push_to_talk"]
    threshold: Annotated[float, Meta(ge=0.2, le=0.95)] | None = None
    """The probability from which a sound counts as a voice."""
    silence_ms: Annotated[int, Meta(ge=192, le=10_000)] | None = None
    """Silence that ends an utterance, whatever was said."""
    prefix_ms: Annotated[int, Meta(ge=0, le=2000)] | None = None
    """Sound that is kept from before the first voice; null: 300."""
    eagerness: Literal["low", "medium", "high"] | None = None
    """Longest silence within an utterance: 8, 4 or 2 s. Without effect where `silence_ms` is given."""


MAX_CONTEXT_KEYS = 32
_ContextText = Annotated[str, Meta(max_length=200)]
ContextValue = _ContextText | bool | int | float | Annotated[list[_ContextText], Meta(max_length=16)]
Context = Annotated[
    dict[Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$(?!\n)")], ContextValue | None],
    Meta(
        max_length=MAX_CONTEXT_KEYS,
        description="what the application around the client knows; of a turn, over that of `configure`",
    ),
]


class TurnChoices(ClientFrame, kw_only=True):
    """Changes to the TurnSettings of all turns that follow, or of the one that the frame starts."""

    voice: bool | UnsetType = UNSET
    skills: SkillNames | UnsetType | None = UNSET
    enable_tools: bool | UnsetType = UNSET
    language: Annotated[str, Meta(pattern=rf"^{LANGUAGE}$(?!\n)", max_length=64)] | UnsetType | None = UNSET
    speaker: Annotated[str, Meta(min_length=1, max_length=64)] | UnsetType | None = UNSET
    """One of `ready.speech.voices`; null, and a name that the voice does not have: its own."""
    speed: Annotated[float, Meta(ge=0.25, le=2)] | UnsetType = UNSET
    instructions: Instructions | UnsetType | None = UNSET
    max_tokens: MaxTokens | UnsetType | None = UNSET
    tools: ToolItems | UnsetType = UNSET
    tool_choice: ToolChoice | UnsetType = UNSET
    client_tools: ClientTools | UnsetType = UNSET
    context: Context | UnsetType = UNSET
    """Facts for conditions of hooks, and with `timezone` the user's clock. A null takes a key out."""


class Configure(TurnChoices, tag="configure", kw_only=True):
    """For the rest of the connection; fields left out keep their value."""

    turn_detection: Literal["server_vad", "push_to_talk"] | DetectionSettings | UnsetType = UNSET
    input: InputFormat | UnsetType = UNSET
    output: OutputFormat | UnsetType = UNSET
    conversation: ConversationId | UnsetType | None = UNSET
    trace: bool | UnsetType = UNSET
    nudges: bool | UnsetType = UNSET
    """true: the server may ask for turns that no words of the user begin."""
    respond: Literal["auto", "manual"] | UnsetType = UNSET
    """manual: words are transcribed, and only the frame `respond` starts a turn."""
    transcribe_only: bool | UnsetType = UNSET
    """true: words are transcribed, and nothing starts a turn."""
    barge_in: bool | UnsetType = UNSET
    """false: speech does not end the running turn."""


class TurnSettings(Struct, kw_only=True, frozen=True):
    """Choices of a client for a turn, with the values that count until it chooses; carried whole from here to the agent."""

    voice: bool = True
    skills: Sequence[str] | None = None
    enable_tools: bool = True
    language: str | None = None
    speaker: str | None = None
    speed: float = 1.0
    instructions: str | None = None
    """The client's addition to the system prompt."""
    max_tokens: int | None = None
    """Limit for each model call, in force where it is below the operator's."""
    tools: Sequence[ToolItem] = ()
    """The client's own."""
    tool_choice: ToolChoice = "auto"
    """The choice for round 1."""
    client_tools: ClientTools = "wait"
    conversation: str | None = None
    """The client's own id of the conversation."""
    trace: bool = False
    context: Mapping[str, ContextValue] = field(default_factory=dict)
    """Facts that the application around the client tells of itself and its user."""

    def with_context(self, context: Context | UnsetType) -> "TurnSettings":
        """Return the settings with these keys laid over the context; those that are null go. Raises FrameError."""
        if not context:
            return self
        laid = {key: value for key, value in {**self.context, **context}.items() if value is not None}
        if len(laid) > MAX_CONTEXT_KEYS:
            text = f"has {len(laid)} keys with those of the connection: at most {MAX_CONTEXT_KEYS} are allowed"
            raise FrameError("frame_invalid", text, path="$.context")
        return structs.replace(self, context=laid)


class TurnFrame(TurnChoices, kw_only=True):
    """Base of the frames that start a turn with a history."""

    messages: list[Message]
    id: TurnId | UnsetType = UNSET
    hook_texts: HookTexts | UnsetType = UNSET
    """Other texts of hooks for this turn, by `skill/hook`; null leaves the hook out. For operators."""
    state: SignedState | None = None


class Chat(TurnFrame, tag="chat", kw_only=True):
    """Starts a turn. `messages` is the whole history; it ends with the new user message, or with the results of the client's
    tools, unless it answers a `nudge`.
    """

    nudge: Annotated[str, Meta(min_length=1, max_length=64)] | None = None
    """`nudge.id`: the text of its trigger takes the place of the user's message."""
    resend: bool = False
    """Whether the client has sent this turn before, so that it is refused if it has begun on another connection."""


class Respond(TurnFrame, tag="respond", kw_only=True):
    """Starts a turn that answers `messages` as they are: the whole history, with what was said in it."""

    utterance: Annotated[str, Meta(min_length=1, max_length=64)] | None = None
    """The utterance that the turn answers: it was transcribed on this connection."""


class Speak(ClientFrame, tag="speak", kw_only=True):
    """Starts a turn that says `text`, without a model; it leaves nothing in the history."""

    text: Annotated[str, Meta(min_length=1, max_length=20_000)]
    id: TurnId | UnsetType = UNSET


class History(ClientFrame, tag="history", kw_only=True):
    utterance: str
    messages: list[Message]
    state: SignedState | None = None
    context: Context | UnsetType = UNSET


class SpeechStart(ClientFrame, tag="speech_start", kw_only=True):
    pass


class SpeechEnd(ClientFrame, tag="speech_end", kw_only=True):
    pass


class SpeechCancel(ClientFrame, tag="speech_cancel", kw_only=True):
    pass


class Interrupt(ClientFrame, tag="interrupt", kw_only=True):
    turn_id: TurnId | None = None


class Playback(ClientFrame, tag="playback", kw_only=True):
    turn_id: TurnId
    index: Annotated[int, Meta(ge=0, le=1_000_000)]
    ms: Milliseconds
    state: Literal["started", "playing", "stopped"]


class Approval(ClientFrame, tag="approval", kw_only=True):
    id: Annotated[str, Meta(min_length=1, max_length=256)]
    approved: bool
    reason: str | None = None
    arguments: dict[str, Any] | None = None
    remember: Literal["no", "conversation", "always"] = "no"
    remember_for: Literal["arguments", "command", "tool"] = "arguments"
    """One of the request's `remember_for`."""


class ToolOutput(ClientFrame, tag="tool_output", kw_only=True):
    """The answer to a `client_tool_call`."""

    id: Annotated[str, Meta(min_length=1, max_length=256)]
    content: Annotated[str, Meta(max_length=1_048_576)]
    is_error: bool = False
    turn_id: TurnId | None = None
    """The call's; without it, the newest open call with this id is answered."""


class Ping(ClientFrame, tag="ping", kw_only=True):
    t: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | float | Annotated[str, Meta(max_length=256)] | None = None


AnyClientFrame = (
    Configure
    | Chat
    | Respond
    | Speak
    | History
    | SpeechStart
    | SpeechEnd
    | SpeechCancel
    | Interrupt
    | Playback
    | Approval
    | ToolOutput
    | Ping
)
CLIENT_FRAMES: tuple[type[ClientFrame], ...] = get_args(AnyClientFrame)
