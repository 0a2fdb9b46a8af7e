"""The settings, typed (docs/configuration.md). Every key is optional; every default stands once, here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct, field
from msgspec.structs import force_setattr


class Secret:
    """A string that is shown by `reveal` alone."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "Secret(…)"


Seconds = Annotated[float, Meta(gt=0, le=86_400)]
Count = Annotated[int, Meta(ge=1, le=1_000_000_000)]
AtMostCount = Annotated[int, Meta(le=1_000_000_000)]
Glob = Annotated[str, Meta(min_length=1, max_length=256)]
"""`*` and `?` as in a shell; upper and lower case count."""


class Section(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of every section: frozen, keyword-only, unknown keys refused."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(…)"  # any string in it may have been read from a file or variable


class TlsSettings(Section, frozen=True, kw_only=True):
    cert: Path | None = None
    key: Path | None = None

    def __post_init__(self) -> None:
        if (self.cert is None) != (self.key is None):
            raise ValueError("cert and key go together")


class ListenSettings(Section, frozen=True, kw_only=True):
    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65_535)] = 8765
    """TCP port; 0 picks a free one."""
    tls: TlsSettings = TlsSettings()
    drain_s: Annotated[float, Meta(ge=0, le=3600)] = 30
    """Time that a running turn has left after SIGTERM."""


class DataSettings(Section, frozen=True, kw_only=True):
    dir: Path | None = None
    """Folder of all data; by default `$XDG_DATA_HOME/parley`, else `~/.local/share/parley`."""


class LogSettings(Section, frozen=True, kw_only=True):
    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["auto", "text", "json"] = "auto"
    """Form of log lines; auto: text on a terminal, JSON lines otherwise."""


class LlmSettings(Section, frozen=True, kw_only=True):
    provider: Literal["auto", "openai", "embedded"] = "auto"
    discover: Literal["auto", "off"] = "auto"
    """Whether model servers are looked for on this machine, to be offered."""
    discover_urls: Annotated[list[str], Meta(max_length=16)] = []
    """Further addresses to look at; only these may be on other machines."""
    base_url: str | None = None
    api_key: Secret | None = None
    model: str | None = None
    late_system: Literal["auto", "native", "user", "merge"] = "auto"
    context_tokens: Count | None = None
    """Size of the context; by default what the endpoint reports, else nothing is trimmed until it complains."""
    max_tokens: Count | None = None
    options: dict[str, Any] = {}
    """Further fields of the request, as the endpoint knows them (`temperature`, …)."""
    connect_timeout_s: Seconds = 5
    first_token_timeout_s: Seconds = 30
    idle_timeout_s: Seconds = 20

    def __post_init__(self) -> None:
        for index, url in enumerate(self.discover_urls):
            if not re.fullmatch(r"https?://[^\s/?#@]+(/[^\s?#]*)?", url):
                raise ValueError(f"discover_urls[{index}]: write it as http://models.example.lan:11434/v1")


class FillerSettings(Section, frozen=True, kw_only=True):
    """A phrase to say, not to write, while a hook or a tool delays the first word."""

    after_ms: Count = 700
    text: str | None = None
    """The phrase; by default there is none."""


class AgentSettings(Section, frozen=True, kw_only=True):
    planning: bool = True
    max_rounds: Annotated[int, Meta(ge=1, le=100)] = 8
    system_prompt: str | None = None
    filler: FillerSettings = FillerSettings()


class SkillsSettings(Section, frozen=True, kw_only=True):
    dir: Path = Path("skills")
    dirs: list[Path] = []
    """Further folders of skills, read after `dir` and never written; of one name, the first counts."""
    enabled: list[str] | None = None
    """Names of the skills that are on; by default every skill in `dir` and `dirs` without `default: off`."""
    also: list[str] = []
    """Skills that are on beside those, even with `default: off`."""
    reload: Literal["auto", "poll", "off"] = "auto"
    edit: bool | Literal["auto"] = "auto"
    """Whether operators may change skills on the page; auto: unless servers share a database, as an edit reaches one."""
    hook_tokens: Annotated[int, Meta(ge=0)] | None = None
    """The most tokens of prompt hooks in one model call, estimated; by default without limit."""

    @property
    def roots(self) -> list[Path]:
        """All folders of skills, the one that counts first at the head."""
        return [self.dir, *self.dirs]


MCP_NAME: Final = re.compile(r"[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*")
"""The form of a server's name. Its tools are called `<name>__<tool>`, which has to stay readable both ways."""


class McpServerSettings(Section, frozen=True, kw_only=True):
    """A server of tools that speaks MCP: a child process (`command`) or an address (`url`)."""

    enabled: bool = True
    command: str | None = None
    args: list[str] = []
    env: dict[str, str] = {}
    """Variables added to the few that a program needs; it does not get the rest of the server's."""
    dir: Path | None = None
    """Working directory of the child; by default the server's."""
    url: str | None = None
    headers: dict[str, str] = {}
    timeout_s: Seconds | None = None
    """Time limit of each call; by default `tools.timeout_s`."""
    tools: list[Glob] | None = None
    """Patterns of the tools to take, by the names the server gives them; by default all."""
    permission: Literal["READ", "WRITE", "EXTERNAL"] = "EXTERNAL"
    permissions: dict[Glob, Literal["READ", "WRITE", "EXTERNAL"]] = {}
    """Exceptions to `permission` by tool; the first that fits counts."""
    trust_hints: bool = False
    """Whether a tool that says it only reads is READ."""
    instructions: bool = False
    """Whether what the server says about the use of its tools stands in the system prompt."""

    @property
    def mistake(self) -> str | None:
        if (self.command is None) == (self.url is None):
            return "either command (a program) or url (an address) is needed"
        if self.url is not None and not self.url.startswith(("http://", "https://")):
            return "url must begin with http:// or https://"
        if self.url is not None and (self.args or self.env or self.dir):
            return "args, env and dir go with command, not with url"
        if self.command is not None and self.headers:
            return "headers go with url, not with command"
        return None


class ToolsSettings(Section, frozen=True, kw_only=True):
    roots: list[Path] = []
    """Further folders that read_file and search_text may read, beside `skills.dir` and `skills.dirs`."""
    timeout_s: Seconds = 30
    parallel: Literal["auto", "always", "never"] = "auto"
    """Whether the calls of one reply run side by side; auto: unless a process hook is asked about tool calls."""
    max_result_bytes: Annotated[int, Meta(ge=256, le=16 << 20)] = 65_536
    mcp: dict[str, McpServerSettings] = {}
    """Servers of further tools, by name."""

    def __post_init__(self) -> None:
        for name, server in self.mcp.items():
            if len(name) > 32 or not MCP_NAME.fullmatch(name):
                raise ValueError(f"mcp.{name}: a name is up to 32 letters, digits, - and single _ between them")
            if server.mistake:
                raise ValueError(f"mcp.{name}: {server.mistake}")


class MediaSettings(Section, frozen=True, kw_only=True):
    """Files that hooks and tools show to the user."""

    dir: Path | None = None
    """Folder of the files, which replicas share; by default `<data.dir>/media`."""
    max_item_bytes: Annotated[int, Meta(ge=1024, le=1 << 30)] = 20 << 20
    max_total_bytes: Annotated[int, Meta(ge=1024, le=1 << 40)] = 1 << 30
    """Limit for all items; beyond it the longest unused go."""
    max_user_bytes: Annotated[int, Meta(ge=1024, le=1 << 40)] = 256 << 20
    """Limit for one user's items; beyond it the user's longest unused go, but for those used in the last minute."""
    max_user_items: Annotated[int, Meta(ge=1, le=4096)] = 1000
    max_age_s: Seconds = 1800
    """Time since its last use after which an item goes."""

    def __post_init__(self) -> None:
        if self.max_item_bytes > self.max_total_bytes:
            raise ValueError("max_item_bytes is larger than max_total_bytes: no such item could be stored")
        if self.max_item_bytes > self.max_user_bytes:
            raise ValueError("max_item_bytes is larger than max_user_bytes: nobody could store such an item")


class SpeechProviderSettings(Section, frozen=True, kw_only=True):
    provider: Literal["embedded", "openai", "none"] = "embedded"
    base_url: str | Annotated[list[str], Meta(min_length=1, max_length=16)] | None = None
    """Address of the engine; of a list, the first is preferred and the others stand in for it."""
    first_byte_s: Annotated[float, Meta(gt=0, le=60)] = 3.0
    """Time to the first byte of an answer after which the next engine of a list is asked."""
    api_key: Secret | None = None
    model: str | None = None
    voice: str | None = None
    processes: Annotated[int, Meta(ge=1, le=16)] = 1
    """Processes of the embedded engine, each with its own copy of the model."""


class VadSettings(Section, frozen=True, kw_only=True):
    """When a voice counts, and when it has ended; server/speech/turn_taking.py goes by it."""

    threshold: Annotated[float, Meta(ge=0.2, le=0.95)] = 0.5
    """The probability from which a sound counts as a voice."""
    min_speech_ms: Annotated[int, Meta(ge=64, le=576)] = 160
    """Voice that makes speech while the assistant is silent."""
    barge_in_ms: Annotated[int, Meta(ge=64, le=576)] = 352
    """Voice that makes speech while the assistant speaks; some of it must come from an open mouth, too."""
    complete_ms: Annotated[int, Meta(ge=192, le=10_000)] = 352
    """Silence that ends an utterance when what was said sounds complete."""
    end_silence_ms: Annotated[int, Meta(ge=192, le=10_000)] = 640
    """Silence that ends an utterance when nothing is known of what was said."""
    unfinished_ms: Annotated[int, Meta(ge=192, le=10_000)] = 1280
    """Silence that ends an utterance when what was said sounds unfinished."""
    max_utterance_ms: Annotated[int, Meta(ge=1000, le=60_000)] = 60_000
    """Longest utterance: a longer one is ended there, and what follows is a new one."""


class SpeechSettings(Section, frozen=True, kw_only=True):
    stt: SpeechProviderSettings = SpeechProviderSettings()
    tts: SpeechProviderSettings = SpeechProviderSettings()
    vad: VadSettings = VadSettings()


class ApprovalSettings(Section, frozen=True, kw_only=True):
    by_voice: bool = False
    timeout_s: Seconds = 300
    replicas: bool | Literal["auto"] = "auto"
    """Whether clients at other replicas are asked, too. auto: where `storage.url` names a database for several."""


class HookDefaults(Section, frozen=True, kw_only=True):
    """Time limits of hooks; 0 or less keeps the default, as in the reference host."""

    observer_timeout_ms: AtMostCount = 500
    """Setting without effect, accepted for compatibility: sending an event never waits for the hook."""
    interceptor_timeout_ms: AtMostCount = 5000
    approval_timeout_ms: AtMostCount = 60_000

    def __post_init__(self) -> None:
        for name, default in zip(self.__struct_fields__, self.__struct_defaults__, strict=True):
            if getattr(self, name) <= 0:
                force_setattr(self, name, default)


class BuiltinHookSettings(Section, frozen=True, kw_only=True):
    enabled: bool = False
    priority: int = 0
    factory: str | None = field(default=None, name="import")
    """Source of a hook of the operator's own: `package.module:factory`; by default the hook is included in Parley."""
    timeout_ms: Count | None = None
    """Time limit of each call; by default that of `hooks.defaults`."""
    config: Any = None
    """Settings that the hook itself reads."""


class ProcessHookSettings(Section, frozen=True, kw_only=True):
    """A hook in a child process (docs/process-hooks.md)."""

    enabled: bool = False
    priority: int = 0
    """Place in the order of asking: lower is asked first."""
    transport: str = "stdio"
    command: list[str] = []
    dir: Path | None = None
    """Working directory of the child; by default the server's."""
    env: dict[str, str] = {}
    observe: list[str] = []
    """Event kinds that the hook is sent; `*` = all."""
    intercept: list[str] = []
    """Stages at which the hook is asked: before_llm, after_llm, before_tool, after_tool, approve_tool."""
    timeout_ms: Count | None = None
    """Time limit of each call; by default that of `hooks.defaults`."""
    on_error: Literal["open", "closed"] = "open"
    """Effect of an interceptor that fails. open: it is skipped; closed: the call is denied. Approvers are always closed."""
    canary: Literal["auto", False] = "auto"
    """Whether a gate gets a test call after each start; auto: an approver only once it has answered a question."""
    inherit_env: bool = False
    event_method: Literal["hook.runtime_event", "hook.event"] = "hook.runtime_event"
    event_kinds: Literal["name", "number"] = "name"
    """Form of `Kind` in hook.event; number: as the reference host up to 0.2.8 sent it."""
    pair_stages: bool = False
    """Whether one stage of a pair (before_x, after_x) turns on both, as the reference host does."""
    record: Path | None = None
    """A file to which all that the hook is sent, prints and complains of is appended, as JSON Lines."""


class PolicyFilter(Section, frozen=True, kw_only=True):
    """Selects the calls that a handler sees: those that match every key given. A list matches if one entry does."""

    tools: Annotated[list[Glob], Meta(min_length=1, max_length=256)] | None = None
    """Patterns for the tool's name."""
    permissions: Annotated[list[Literal["READ", "WRITE", "EXTERNAL"]], Meta(min_length=1, max_length=3)] | None = None
    arguments: Annotated[dict[Glob, Glob], Meta(min_length=1, max_length=64)] | None = None
    """Name of an argument (dots lead inwards) → what its text has to fit."""


class PolicyHandler(Section, frozen=True, kw_only=True):
    type: Annotated[str, Meta(min_length=1, max_length=64)]
    """A built-in handler or a custom one."""
    filter: PolicyFilter | None = None
    """Calls that the handler sees; by default every call."""
    locked: bool = False
    """Whether documents laid over this one can neither remove the handler nor put anything before it."""
    config: dict[str, Any] = {}
    """Settings that the handler itself reads."""


class PolicyStage(Section, frozen=True, kw_only=True):
    enabled: bool = True
    handlers: Annotated[list[PolicyHandler], Meta(max_length=64)] = []


AnyPolicyStage = PolicyStage | Annotated[list[PolicyHandler], Meta(max_length=64)]
"""A stage of the policy, in full or as a plain list of handlers."""


StreamGate = Literal["off", "sentence", "full"]
"""The part of a reply that waits for after_llm before it is sent: nothing, each sentence, all of it."""
RespondPolicy = Literal["injected", "any"]
"""For which tools a hook may answer without policy and approval: those it added itself, or all."""


class HooksSettings(Section, frozen=True, kw_only=True):
    enabled: bool = True
    """Whether process hooks and tool policy are on; skills' prompt hooks do not depend on it."""
    defaults: HookDefaults = HookDefaults()
    builtins: dict[str, BuiltinHookSettings] = {}
    processes: dict[str, ProcessHookSettings] = {}
    stream_gate: StreamGate | None = None
    """Part of a reply that waits for after_llm; by default full where a hook intercepts it, else off."""
    respond_policy: RespondPolicy = "injected"
    approval: ApprovalSettings = ApprovalSettings()
    custom_dir: Path | None = None
    """Python files with policy handlers of the operator's own."""
    danger_table: Path | None = None
    """Rules of the operator's own over those of dangerous_confirmation (docs/policy.md); read at start."""
    secrets_table: Path | None = None
    """Rules of the operator's own over those that redact secrets; read at start."""
    pre_tool_use: AnyPolicyStage = []
    post_tool_use: AnyPolicyStage = []
    tool_error: AnyPolicyStage = []
    tool_skip: AnyPolicyStage = []


MIN_TOKEN_CHARACTERS: Final = 16
MIN_HMAC_BYTES: Final = 32  # RFC 7518, 3.2: as long as the hash


class UserLimits(Section, frozen=True, kw_only=True):
    """Limits of a user together with the holders of the user's Realtime keys; by default as `limits` says."""

    connections: Count | None = None
    turns: Count | None = None
    """Turns that run at once."""


class UserToken(Section, frozen=True, kw_only=True):
    """A token that logs its holder in as `user`. A user may have several."""

    user: Annotated[str, Meta(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f]+\Z")]
    """The name of the user in logs, audit and stored documents."""
    token: Secret
    operator: bool = False
    limits: UserLimits = UserLimits()

    def __post_init__(self) -> None:
        text = self.token.reveal()
        if len(text) < MIN_TOKEN_CHARACTERS or not all("!" <= letter <= "~" for letter in text):
            raise ValueError(
                f"token: at least {MIN_TOKEN_CHARACTERS} characters without spaces; "
                'make one with `python -c "import secrets; print(secrets.token_urlsafe(32))"`'
            )


JwtAlgorithm = Literal[
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "HS256", "HS384", "HS512"
]


class JwtSettings(Section, frozen=True, kw_only=True):
    """Tokens of an identity provider. In use when `jwks_url` or `keys` is set."""

    jwks_url: Annotated[str, Meta(pattern="^https?://")] | None = None
    keys: list[Secret] = []
    """Public keys as PEM, or for HS256 and its like the shared secret."""
    issuer: str | None = None
    audience: str | list[str] | None = None
    algorithms: Annotated[list[JwtAlgorithm], Meta(min_length=1)] = field(default_factory=lambda: ["RS256", "ES256"])
    """Algorithms that are accepted, whatever a token says of itself."""
    user_claim: str = "sub"
    operator_claim: str | None = None
    """The claim that makes an operator; dots lead inwards."""
    operator_value: str | bool = True
    """The value the claim has to be, or to have among its entries."""
    leeway_s: Annotated[float, Meta(ge=0, le=300)] = 30
    max_key_age_s: Seconds = 86_400
    """Time for which the keys of `jwks_url` stay good while it does not answer."""

    @property
    def is_set(self) -> bool:
        return self.jwks_url is not None or bool(self.keys)

    def __post_init__(self) -> None:
        shared = [name for name in self.algorithms if name.startswith("HS")]
        if self.jwks_url is not None and self.keys:
            raise ValueError("jwks_url or keys, not both")
        if self.jwks_url is not None and self.audience is None:
            raise ValueError(
                "jwks_url needs an audience: otherwise a token made for any other service would be accepted"
            )
        if shared and (self.jwks_url is not None or len(shared) < len(self.algorithms)):
            raise ValueError(f"algorithms: {shared[0]} works only with a shared secret in keys and with HS algorithms")
        if shared and any(len(key.reveal().encode()) < MIN_HMAC_BYTES for key in self.keys):
            raise ValueError(f"keys: a shared secret has at least {MIN_HMAC_BYTES} bytes")


class SecuritySettings(Section, frozen=True, kw_only=True):
    auth: Literal["auto", "none", "token", "jwt"] = "auto"
    """Requests that may enter. auto: local requests, logins by `tokens` or `jwt`; token, jwt: those alone, even locally; none: all."""
    tokens: list[UserToken] = []
    jwt: JwtSettings = JwtSettings()
    session_s: Annotated[float, Meta(ge=60, le=2_592_000)] = 43_200
    """Duration of a login on the page."""
    trust_loopback: bool = True
    """Whether local requests need no login; turn it off behind a proxy, which makes every visitor look local."""
    origins: list[str] = []
    hosts: list[str] = []
    """Names under which the server is reached, beside localhost and its own address."""
    client_system_messages: Literal["auto", "allow", "demote", "reject"] = "auto"
    """Treatment of clients' `system` messages; auto: allow for a local request of an operator, demote otherwise."""
    client_instructions: Literal["auto", "allow", "deny"] = "auto"
    """Whether clients may add `instructions` to the system prompt. auto: local requests, and users who are logged in."""
    secret_file: Path | None = None
    """File with the keys that sign; by default `<data.dir>/secret`, created once."""
    trace: bool | Literal["auto"] = "auto"
    """Whether clients may see traces; auto: operators, and local requests that need no login."""

    def __post_init__(self) -> None:
        unused = {
            "none": "lets in everybody, so tokens and jwt would protect nothing"
            if self.tokens or self.jwt.is_set
            else "",
            "token": "does not use jwt" if self.jwt.is_set else "needs tokens" if not self.tokens else "",
            "jwt": "does not use tokens" if self.tokens else "needs jwt" if not self.jwt.is_set else "",
        }
        if problem := unused.get(self.auth):
            raise ValueError(f"auth: {self.auth} {problem}")
        if len({entry.token.reveal() for entry in self.tokens}) < len(self.tokens):
            raise ValueError("tokens: two entries have the same token")
        limits = {(entry.user, entry.limits) for entry in self.tokens}
        if len(limits) > len({entry.user for entry in self.tokens}):
            raise ValueError("tokens: all entries of one user must have the same limits")


class LimitsSettings(Section, frozen=True, kw_only=True):
    connections: Count = 2000
    turns: Count = 200
    per_address: Count = 50
    """Connections from one address, of IPv6 from one network of 64 bits; local requests are not counted."""
    per_user: Count = 20
    """Connections of one user; local requests without login are not counted."""
    turns_per_user: Count = 10
    """Turns of one user that run at once, counted like `per_user`."""
    max_message_bytes: Annotated[int, Meta(ge=1024, le=64 << 20)] = 4_194_304
    max_messages: Count = 2000
    max_binary_bytes: Annotated[int, Meta(ge=2, le=1 << 20)] = 65_536
    max_frames_per_s: Count = 200
    max_hook_frames_per_turn: Annotated[int, Meta(ge=0, le=10_000)] = 64
    max_turn_s: Seconds = 300


class StorageSettings(Section, frozen=True, kw_only=True):
    url: Secret | None = None
    """Address of the database; by default SQLite, `parley.db` in `data.dir`."""
    audit_days: Annotated[int, Meta(ge=1, le=36_500)] = 90
    """Days of the audit log that are kept beside today."""
    wait_s: Annotated[float, Meta(ge=0, le=86_400)] = 60
    """Time for which a start waits for PostgreSQL."""


class Config(Section, frozen=True, kw_only=True):
    listen: ListenSettings = ListenSettings()
    data: DataSettings = DataSettings()
    log: LogSettings = LogSettings()
    llm: LlmSettings = LlmSettings()
    agent: AgentSettings = AgentSettings()
    skills: SkillsSettings = SkillsSettings()
    tools: ToolsSettings = ToolsSettings()
    media: MediaSettings = MediaSettings()
    speech: SpeechSettings = SpeechSettings()
    hooks: HooksSettings = HooksSettings()
    security: SecuritySettings = SecuritySettings()
    limits: LimitsSettings = LimitsSettings()
    proxies: list[str] = []
    storage: StorageSettings = StorageSettings()
