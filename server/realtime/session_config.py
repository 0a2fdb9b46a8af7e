"""Configuration of a Realtime session: read, merged, checked and echoed. Pure."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, Literal, cast

import msgspec
from msgspec import Meta, Struct, field

from server.errors import FrameError
from server.realtime.field_names import check_names
from server.speech import g711
from server.wire import codec
from server.wire.frames import LANGUAGE, Context, ToolName
from server.wire.schema_hints import problem_and_path

MAX_TOOLS: Final = 128
MAX_SESSION_BYTES: Final = 256 << 10
"""All of a session as JSON, which is kept, and echoed after each update."""
MAX_SESSION_VALUES: Final = 10_000
"""Values in it, which each update reads and echoes again; as `codec.check_size` counts them."""
EXTRAS: Final = frozenset(("parley.hook", "parley.trace", "parley.approval_request", "parley.notice"))
"""Events of our own that `session.include` asks for; they are not echoed there."""
_NULLABLE: Final = frozenset(
    ("noise_reduction", "transcription", "turn_detection", "tracing", "prompt", "reasoning", "include")
)
"""Fields that null switches off; null for any other field means its default."""
_MERGED: Final = frozenset(("audio", "input", "output"))
"""Objects of which an update may give a part; any other object replaces the one before."""
_FILLED: Final = {"format": {"type": "audio/pcm"}, "turn_detection": {}, "tool": {"type": "function"}}
"""Objects in which null means a field's default, and those of these that the API gives one."""
_VAD_BOUNDS: Final = {
    "threshold": (0.2, 0.95),
    "silence_duration_ms": (192, 10_000),
    "prefix_padding_ms": (0, 2000),
}
_MISSING: Final = re.compile(r"^Object missing required field `(?P<field>[^`]+)`")


def _whole_samples(data: bytes) -> bytes:
    if len(data) % 2:
        raise FrameError("invalid_value", "sound is 16-bit samples: send whole ones", path="audio")
    return data


class PcmFormat(Struct, tag_field="type", tag="audio/pcm", frozen=True):
    """A format with its samples a second, and its conversion to and from PCM16 of that rate, as the others have it.

    `decode` raises FrameError for half a sample.
    """

    rate: Literal[24_000] = 24_000
    decode = staticmethod(_whole_samples)
    encode = staticmethod(bytes)


class PcmuFormat(Struct, tag_field="type", tag="audio/pcmu", frozen=True):
    rate: ClassVar[int] = g711.RATE
    decode = staticmethod(g711.PCMU.decode)
    encode = staticmethod(g711.PCMU.encode)


class PcmaFormat(Struct, tag_field="type", tag="audio/pcma", frozen=True):
    rate: ClassVar[int] = g711.RATE
    decode = staticmethod(g711.PCMA.decode)
    encode = staticmethod(g711.PCMA.encode)


SoundFormat = PcmFormat | PcmuFormat | PcmaFormat


class NoiseReduction(Struct, frozen=True, omit_defaults=True):
    type: Literal["near_field", "far_field"] | None = None
    strength: float | None = None


class InputTranscription(Struct, frozen=True, omit_defaults=True):
    model: str | None = None
    language: Annotated[str, Meta(pattern=rf"^({LANGUAGE})?$(?!\n)", max_length=64)] | None = None
    languages: list[str] | None = None
    prompt: str | None = None
    keywords: list[str] | None = None
    delay: Literal["minimal", "low", "medium", "high", "xhigh"] | None = None


class ServerVad(Struct, tag_field="type", tag="server_vad", frozen=True):
    """Numbers that are null are the operator's."""

    threshold: Annotated[float, Meta(ge=0, le=1)] | None = None
    prefix_padding_ms: Annotated[int, Meta(ge=0, le=10_000)] | None = None
    silence_duration_ms: Annotated[int, Meta(ge=0, le=10_000)] | None = None
    idle_timeout_ms: Annotated[int, Meta(ge=5_000, le=30_000)] | None = None
    """Silence after a reply after which another response begins, or None if none does."""
    create_response: bool = True
    interrupt_response: bool = True

    def __post_init__(self) -> None:
        """Take the nearest numbers that voice detection has, which the client is then shown."""
        for name, (least, most) in _VAD_BOUNDS.items():
            if (value := getattr(self, name)) is not None:
                msgspec.structs.force_setattr(self, name, min(max(value, least), most))


class SemanticVad(Struct, tag_field="type", tag="semantic_vad", frozen=True):
    eagerness: Literal["low", "medium", "high", "auto"] = "auto"
    create_response: bool = True
    interrupt_response: bool = True


class CustomVoice(Struct, frozen=True):
    id: Annotated[str, Meta(min_length=1, max_length=64)]


class InputConfig(Struct, frozen=True):
    format: SoundFormat = PcmFormat()
    noise_reduction: NoiseReduction | None = None
    transcription: InputTranscription | None = None
    turn_detection: ServerVad | SemanticVad | None = ServerVad()


class OutputConfig(Struct, frozen=True):
    format: SoundFormat = PcmFormat()
    voice: Annotated[str, Meta(min_length=1, max_length=64)] | CustomVoice | None = None
    speed: Annotated[float, Meta(ge=0.25, le=2)] = 1.0

    @property
    def speaker(self) -> str | None:
        return self.voice.id if isinstance(self.voice, CustomVoice) else self.voice

    def spoken_by(self, voices: Sequence[str]) -> "OutputConfig":
        """Return the configuration with the voice that will speak: the first of `voices` unless its own is one."""
        is_there = not voices or self.speaker in voices
        return self if is_there else msgspec.structs.replace(self, voice=voices[0][:64])


class AudioConfig(Struct, frozen=True):
    input: InputConfig = InputConfig()
    output: OutputConfig = OutputConfig()


class FunctionTool(Struct, tag_field="type", tag="function", frozen=True):
    name: ToolName
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})


class McpTool(Struct, tag_field="type", tag="mcp", frozen=True, omit_defaults=True):
    """A server of the operator's by its label; its tools are there with or without it."""

    server_label: str
    server_url: str | None = None
    connector_id: str | None = None
    tunnel_id: str | None = None
    server_description: str | None = None
    allowed_tools: Any = None
    require_approval: Any = None


class FunctionChoice(Struct, tag_field="type", tag="function", frozen=True):
    name: str


class McpChoice(Struct, tag_field="type", tag="mcp", frozen=True):
    server_label: str
    name: str | None = None


ToolChoices = Literal["auto", "none", "required"] | FunctionChoice | McpChoice
Modalities = Annotated[list[Literal["audio", "text"]], Meta(min_length=1, max_length=1)]
OutputTokens = Annotated[int, Meta(ge=1, le=1_000_000)] | Literal["inf"]
ClientInstructions = Annotated[str, Meta(max_length=16_384)]


@dataclass(frozen=True, slots=True)
class ServerTools:
    """The server's own tools, as far as what a client asks for depends on them."""

    mcp_servers: Collection[str] = ()
    """Labels of the MCP servers that the operator has configured."""
    names: Callable[[], Collection[str]] = tuple
    """Returns the names that no tool of a client may have."""


NO_TOOLS: Final = ServerTools()


class ParleyConfig(Struct, frozen=True):
    """Fields of a session that only this server has; they are not echoed."""

    context: Context = {}
    """Facts that the application knows. In a key they are its maker's, and its holder cannot overrule them."""


class SessionConfig(Struct, frozen=True, kw_only=True):
    """The whole configuration, as `session.created` and `session.updated` echo it, but for `parley`."""

    type: Literal["realtime", "transcription"] = "realtime"
    model: str | None = None
    instructions: ClientInstructions = ""
    output_modalities: Modalities = field(default_factory=lambda: cast(Any, ["audio"]))
    audio: AudioConfig = AudioConfig()
    tools: list[FunctionTool | McpTool] = []
    tool_choice: ToolChoices = "auto"
    parallel_tool_calls: bool = True
    max_output_tokens: OutputTokens = "inf"
    reasoning: dict[str, Any] | None = None
    truncation: Literal["auto", "disabled"] | dict[str, Any] = "auto"
    tracing: Literal["auto"] | dict[str, Any] | None = None
    include: list[str] | None = None
    prompt: dict[str, Any] | None = None
    parley: ParleyConfig = ParleyConfig()

    @property
    def extras(self) -> frozenset[str]:
        """Names of our own events that the client has asked for."""
        return EXTRAS.intersection(self.include or ())

    def updated(self, changes: Mapping[str, Any], *, server_tools: ServerTools = NO_TOOLS) -> "SessionConfig":
        """Return the configuration with the fields of `session` in a `session.update`; others keep their value.

        Raises FrameError, whose path is the `param` of the error event.
        """
        before = msgspec.to_builtins(self)
        merged = merge(before, changes)
        if msgspec.json.encode(merged) == msgspec.json.encode(before):  # as Python sees it, 1 is True
            return self
        config: SessionConfig = convert(merged, SessionConfig, at="session")
        if not changes.keys().isdisjoint(("tools", "tool_choice")):
            check_tools(config.tools, config.tool_choice, at="session", server_tools=server_tools)
        if config.prompt is not None:
            text = "prompt templates are not here; send their text as `instructions`"
            raise FrameError("unsupported_parameter", text, path="session.prompt")
        unknown = set(config.include or ()) - EXTRAS - {"item.input_audio_transcription.logprobs"}
        if unknown:
            text = f"nothing here is called {min(unknown)[:100]!r}; docs/realtime.md lists what can be included"
            raise FrameError("invalid_value", text, path="session.include")
        whole = msgspec.json.encode(config)
        if len(whole) > MAX_SESSION_BYTES:
            text = f"the session takes more than {MAX_SESSION_BYTES >> 10} KiB; shorten it"
            raise FrameError("session_too_large", text, path="session")
        try:
            codec.check_size(whole, max_values=MAX_SESSION_VALUES)
        except FrameError:
            text = f"the session holds more than {MAX_SESSION_VALUES} values; shorten it"
            raise FrameError("session_too_large", text, path="session") from None
        return config

    def shown(self, session_id: str, expires_at: int | None) -> dict[str, Any]:
        """Return the object `session` of server events and of keys."""
        kind = "realtime.session" if self.type == "realtime" else "realtime.transcription_session"
        return {"id": session_id, "object": kind, "expires_at": expires_at, **self.echo()}

    def echo(self) -> dict[str, Any]:
        whole: dict[str, Any] = msgspec.to_builtins(self)
        del whole["parley"]
        heard = whole["audio"]["input"]
        if heard["turn_detection"] is not None:
            heard["turn_detection"] = {
                name: value for name, value in heard["turn_detection"].items() if value is not None
            }
        whole["include"] = [name for name in self.include or () if name not in EXTRAS] or None
        if self.type == "realtime":
            return whole
        return {"type": self.type, "audio": {"input": heard}, "include": whole["include"]}


def convert(value: Any, to: type[Any], *, at: str) -> Any:
    """Check plain data against a struct. Raises FrameError with the place below `at`."""
    try:
        read = msgspec.convert(value, to)
    except msgspec.ValidationError as error:
        raise invalid(str(error), at=at) from None
    check_names(value, read, at=at)
    return read


def invalid(text: str, *, at: str = "") -> FrameError:
    """Return the error for what a decoder says; its place is the error's path, in the manner of `session.audio`."""
    problem, inner = problem_and_path(text)
    path = ".".join(part for part in (at, inner.removeprefix(".")) if part)
    if missing := _MISSING.match(problem):
        path = ".".join(part for part in (path, missing["field"]) if part)
        return FrameError("missing_required_parameter", f"`{path[:300]}` is missing", path=path[:300])
    return FrameError("invalid_value", f"{problem[:300]}, at `{path[:300]}`", path=path[:300])


def check_tools(
    tools: list[FunctionTool | McpTool], choice: ToolChoices, *, at: str, server_tools: ServerTools
) -> None:
    """Refuse what would promise tools that are not here. Raises FrameError."""
    names: set[str] = set()
    taken = server_tools.names() if tools else ()
    for index, tool in enumerate(tools):
        if isinstance(tool, FunctionTool):
            if tool.name in names:
                raise FrameError("invalid_value", f"two tools are named {tool.name}", path=f"{at}.tools[{index}].name")
            if tool.name in taken:
                text = f"the server has a tool {tool.name}; give yours another name"
                raise FrameError("invalid_value", text, path=f"{at}.tools[{index}].name")
            names.add(tool.name)
            if tool.parameters.get("type", "object") != "object":
                text = "a JSON Schema of type object is expected"
                raise FrameError("invalid_value", text, path=f"{at}.tools[{index}].parameters.type")
            continue
        if tool.server_url or tool.connector_id or tool.tunnel_id:
            text = "the server calls no MCP server of a client's; name one that the operator configured (server_label)"
            raise FrameError("unsupported_parameter", text, path=f"{at}.tools[{index}]")
        if tool.server_label not in server_tools.mcp_servers:
            text = f"no MCP server {tool.server_label[:100]!r} is configured here"
            raise FrameError("invalid_value", text, path=f"{at}.tools[{index}].server_label")
        if tool.allowed_tools is not None:
            text = "a client cannot narrow the tools of an operator's MCP server; leave this out"
            raise FrameError("unsupported_parameter", text, path=f"{at}.tools[{index}].allowed_tools")
        if tool.require_approval not in (None, "never"):
            text = "the operator's policy decides what needs approval; leave this out"
            raise FrameError("unsupported_parameter", text, path=f"{at}.tools[{index}].require_approval")
    if len(tools) > MAX_TOOLS or len(msgspec.json.encode(tools)) > codec.MAX_TOOLS_BYTES:
        text = f"at most {MAX_TOOLS} tools and {codec.MAX_TOOLS_BYTES >> 10} KiB of them are accepted"
        raise FrameError("too_many_tools", text, path=f"{at}.tools")
    if isinstance(choice, McpChoice):
        text = "a tool of an MCP server cannot be demanded; use auto, none, required or a function"
        raise FrameError("unsupported_parameter", text, path=f"{at}.tool_choice")


def merge(whole: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain data with the changes of a client, before it is checked."""
    merged = dict(whole)
    for name, value in changes.items():
        if value is None and name in merged and name not in _NULLABLE:
            del merged[name]  # its default
        elif name in _MERGED and isinstance(value, Mapping) and isinstance(merged.get(name), Mapping):
            merged[name] = merge(merged[name], value)
        else:
            merged[name] = _filled(name, value)
    return merged


def _filled(name: str, value: Any) -> Any:
    if name == "tools" and isinstance(value, list):
        return [_filled("tool", each) for each in value]
    if name not in _FILLED or not isinstance(value, Mapping):
        return value
    return _FILLED[name] | {key: each for key, each in value.items() if each is not None}
