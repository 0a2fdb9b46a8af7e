"""Text frames from the server. Fields typed with `UnsetType` are left out of the JSON where they were not given."""

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType


class ServerFrame(Struct, tag_field="type", kw_only=True, frozen=True):
    """Base of all that the server sends as text."""


class HookItem(Struct, kw_only=True, frozen=True):
    name: str
    timing: str
    role: str
    persistent: bool
    tool_filter: list[str] | None = None
    text: str | UnsetType = UNSET
    """At most 2,000 characters, and the fewer the more hooks there are; only for who may see traces."""


class TriggerItem(Struct, kw_only=True, frozen=True):
    name: str
    on: Literal["connect", "idle"]


class FailedTestItem(Struct, kw_only=True, frozen=True):
    name: str
    file: str
    line: int
    details: str


class SkillTestsItem(Struct, kw_only=True, frozen=True):
    """Outcome of the skill's scripted tests when it was last reloaded; at most 20 of the failed ones in detail, for operators."""

    count: int
    failed: int
    not_run: int
    failures: list[FailedTestItem]


class SkillItem(Struct, kw_only=True, frozen=True):
    name: str
    description: str
    enabled: bool
    hooks: list[HookItem]
    hooks_omitted: int | UnsetType = UNSET
    """The number of hooks that are left out, where there are too many; `GET /api/hooks/skills/{skill}` lists them."""
    default: Literal["off"] | UnsetType = UNSET
    """off: the skill is on only for a client whose `skills` name it; left out for the others."""
    tests: SkillTestsItem | UnsetType = UNSET
    triggers: list[TriggerItem] | UnsetType = UNSET
    """The occasions on which a `nudge` may come; left out where there are none."""


class DiagnosticItem(Struct, kw_only=True, frozen=True):
    severity: str
    skill: str | None
    file: str | None
    path: str | None
    message: str


class ModelItem(Struct, kw_only=True, frozen=True):
    name: str
    host: str
    location: Literal["local", "cloud"]
    languages: list[str] = []


class UserItem(Struct, kw_only=True, frozen=True):
    """The person at the client, as the server knows them."""

    name: str
    is_operator: bool
    is_logged_in: bool
    """False: a local request, or a server without login."""


class SpeechPart(Struct, kw_only=True, frozen=True):
    """A part of the speech chain: there (`ready`), on its way (`loading`), or why not."""

    state: Literal["ready", "loading", "missing"]
    name: str | None = None
    reason: str | None = None


class SpeechStatus(Struct, kw_only=True, frozen=True):
    stt: SpeechPart
    tts: SpeechPart
    vad: SpeechPart
    opus: SpeechPart
    """Whether `configure` may ask for the format "opus"."""
    stt_languages: list[str] = []
    tts_languages: list[str] = []
    voices: list[str] = []
    """Names for `configure.speaker`, the default first; an endpoint may have others."""
    output_sample_rate: int | None = None


class LimitItems(Struct, kw_only=True, frozen=True):
    max_message_bytes: int
    max_messages: int
    max_binary_bytes: int
    max_frames_per_s: int
    max_hook_frames_per_turn: int
    max_turn_s: float


class Ready(ServerFrame, tag="ready", frozen=True, kw_only=True):
    """The first frame of every connection."""

    protocol: str
    session_id: str
    server: str
    skills: list[SkillItem]
    model: ModelItem
    speech: SpeechStatus
    limits: LimitItems
    user: UserItem


class Speech(ServerFrame, SpeechStatus, tag="speech", frozen=True, kw_only=True):
    pass


class Model(ServerFrame, ModelItem, tag="model", frozen=True, kw_only=True):
    """The model, with the fields of `ready.model`: its name became known, or another was picked."""


class Skills(ServerFrame, tag="skills", frozen=True, kw_only=True):
    skills: list[SkillItem]
    diagnostics: list[DiagnosticItem]


class SpeechDetected(ServerFrame, tag="speech_detected", frozen=True, kw_only=True):
    utterance: str
    audio_ms: float


class SpeechRejected(ServerFrame, tag="speech_rejected", frozen=True, kw_only=True):
    utterance: str


class SpeechStarted(ServerFrame, tag="speech_started", frozen=True, kw_only=True):
    utterance: str
    audio_ms: float


class SpeechStopped(ServerFrame, tag="speech_stopped", frozen=True, kw_only=True):
    utterance: str
    audio_ms: float


class Transcript(ServerFrame, tag="transcript", frozen=True, kw_only=True):
    utterance: str
    text: str
    final: bool
    turn_id: str | UnsetType = UNSET


TurnTrigger = Literal["chat", "voice", "speak", "nudge"]


class TurnStart(ServerFrame, tag="turn_start", frozen=True, kw_only=True):
    turn_id: str
    trigger: TurnTrigger
    skills: list[str]


class Text(ServerFrame, tag="text", frozen=True, kw_only=True):
    turn_id: str
    delta: str


class AudioFormat(Struct, kw_only=True, frozen=True):
    """Sound of a sentence: "pcm16", mono, or "opus", mono, each binary message a packet of 20 ms."""

    format: Literal["pcm16", "opus"]
    sample_rate: int


class Sentence(ServerFrame, tag="sentence", frozen=True, kw_only=True):
    """The next piece of the reply; `spoken` None = the same as `text`, "" = nothing."""

    turn_id: str
    index: int
    text: str
    spoken: str | None = None
    audio: AudioFormat | None = None
    approval: str | UnsetType = UNSET
    """Id of the `approval_request` that is said aloud; then `text` is empty."""


class SentenceEnd(ServerFrame, tag="sentence_end", frozen=True, kw_only=True):
    turn_id: str
    index: int
    duration_ms: float
    words: list[tuple[int, float]] | UnsetType = UNSET


class Hook(ServerFrame, tag="hook", frozen=True, kw_only=True):
    """A persistent hook fired: the client stores it in its history at this place."""

    turn_id: str
    name: str
    role: str
    content: str
    skill: str
    timing: str
    sig: str


class ToolCall(ServerFrame, tag="tool_call", frozen=True, kw_only=True):
    turn_id: str
    id: str
    name: str
    arguments: Any


class ToolResult(ServerFrame, tag="tool_result", frozen=True, kw_only=True):
    turn_id: str
    id: str
    name: str
    content: str
    is_error: bool
    duration_ms: float
    ending: Literal["answered", "failed", "denied", "skipped", "open"] | UnsetType = UNSET
    """End of a call whose tool did not run to its end; UNSET: it did. open: the client runs it after the turn."""
    arguments: Any | UnsetType = UNSET
    for_user: str | UnsetType = UNSET


class ClientToolCall(ServerFrame, tag="client_tool_call", frozen=True, kw_only=True):
    """The client is to run its tool; `tool_output` answers. It may come before its `tool_call`, which has the same id."""

    turn_id: str
    id: str
    name: str
    arguments: dict[str, Any]


RememberFor = Literal["arguments", "command", "tool"]


class ApprovalRequest(ServerFrame, tag="approval_request", frozen=True, kw_only=True):
    """Without `turn_id`: a turn of another client of the same user asks."""

    turn_id: str | UnsetType = UNSET
    id: str
    call_id: str | UnsetType = UNSET
    """Id of the `tool_call`, which may come later; only with `turn_id`."""
    tool: str
    arguments: Any
    message: str
    timeout_ms: int
    origin: str | UnsetType = UNSET
    permission: Literal["READ", "WRITE", "EXTERNAL"] | UnsetType = UNSET
    by_voice: bool = False
    """A spoken yes or no to this client's microphone answers it."""
    remember_for: list[RememberFor]
    """Scopes for which a yes may be remembered: these arguments, the command, the tool."""
    command_name: str | UnsetType = UNSET
    """The command that `command` stands for, such as "git push"."""


class ApprovalResolved(ServerFrame, tag="approval_resolved", frozen=True, kw_only=True):
    """One for each request. `remembered` has none: then `tool` is set."""

    turn_id: str | UnsetType = UNSET
    id: str
    approved: bool
    by: Literal["user", "voice", "other_client", "remembered", "timeout", "disconnect", "cancelled"]
    tool: str | UnsetType = UNSET


class Media(ServerFrame, tag="media", frozen=True, kw_only=True):
    turn_id: str
    url: str
    content_type: str
    name: str
    size: int


class Notice(ServerFrame, tag="notice", frozen=True, kw_only=True):
    code: str
    level: Literal["info", "warning", "error"]
    message: str
    turn_id: str | UnsetType = UNSET
    ref: str | UnsetType = UNSET
    """`ref` of the client's frame that this answers; so in `error`."""


class Nudge(ServerFrame, tag="nudge", frozen=True, kw_only=True):
    """A trigger of a skill fired: a `chat` with this id within 60 s, before the user's next word, starts its turn."""

    id: str
    skill: str
    name: str


class Reasoning(ServerFrame, tag="reasoning", frozen=True, kw_only=True):
    turn_id: str
    delta: str


class Trace(ServerFrame, tag="trace", frozen=True, kw_only=True):
    turn_id: str
    event: str
    data: Any


class UsageItem(Struct, kw_only=True, frozen=True):
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


class Metrics(Struct, kw_only=True, frozen=True):
    """Milliseconds since `chat` was received or the user stopped speaking; None: not reached."""

    transcript: float | None = None
    model_request: float | None = None
    first_token: float | None = None
    first_sentence: float | None = None
    first_audio: float | None = None
    total: float


TurnEndReason = Literal["completed", "interrupted", "aborted", "error"]


class TurnEnd(ServerFrame, tag="turn_end", frozen=True, kw_only=True):
    turn_id: str
    reason: TurnEndReason
    usage: UsageItem
    metrics: Metrics
    message: str | UnsetType = UNSET
    rollback: bool | UnsetType = UNSET
    state: str | UnsetType = UNSET
    """Signed memory of the skills' hooks, for the client to keep beside this turn; at most 8 KiB."""


ErrorCode = Literal[
    "frame_malformed",
    "frame_type_unknown",
    "frame_invalid",
    "message_too_large",
    "audio_misaligned",
    "turn_id_reused",
    "turn_refused_draining",
    "too_many_turns",
    "rate_limited",
    "hook_signature_invalid",
    "context_overflow",
    "language_unknown",
    "model_missing",
    "provider_unreachable",
    "provider_auth",
    "provider_rate_limited",
    "provider_protocol",
    "provider_timeout",
    "tool_failed",
    "speech_unavailable",
    "policy_denied",
    "nudge_unknown",
    "internal",
]


class Error(ServerFrame, tag="error", frozen=True, kw_only=True):
    """With a `turn_id`, that turn's `turn_end` follows; without, the connection just goes on."""

    code: ErrorCode
    message: str
    path: str | UnsetType = UNSET
    turn_id: str | UnsetType = UNSET
    retry_after_ms: int | UnsetType = UNSET
    ref: str | UnsetType = UNSET


class Pong(ServerFrame, tag="pong", frozen=True, kw_only=True):
    t: Any


Answer = Notice | Pong
"""Frames that answer one of a client; one that is refused is answered by an Error."""
SERVER_FRAMES: tuple[type[ServerFrame], ...] = tuple(ServerFrame.__subclasses__())
