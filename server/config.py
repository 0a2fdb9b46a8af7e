"""One YAML file and the environment over it → typed settings.

Every key is optional; every default stands once, here. An unknown key is an
error that names the key and where it came from. A string may be given as
`{file: PATH}` or `{env: NAME}`; what is read that way appears in no log, error
or page. Relative paths count from the file that names them, those of defaults
and environment variables from the working directory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import yaml
from msgspec import Meta, Struct

from server.errors import ConfigError

PREFIX = "PARLEY_"
_MAX_FILE_BYTES = 1 << 20


class Secret:
    """A string that shows itself to nobody who does not ask for it by `reveal`."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "Secret(…)"


Seconds = Annotated[float, Meta(gt=0, le=86_400)]
Count = Annotated[int, Meta(ge=1, le=1_000_000_000)]
Port = Annotated[int, Meta(ge=0, le=65_535)]


class Section(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of every section: frozen, keyword-only, unknown keys refused."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(…)"  # any string in it may have been read from a file or variable


class Tls(Section, frozen=True, kw_only=True):
    cert: Path | None = None
    key: Path | None = None

    def __post_init__(self) -> None:
        if (self.cert is None) != (self.key is None):
            raise ValueError("cert and key go together")


class Listen(Section, frozen=True, kw_only=True):
    host: str = "127.0.0.1"
    port: Port = 8765
    """0 picks a free port."""
    tls: Tls = Tls()
    drain_s: Annotated[float, Meta(ge=0, le=3600)] = 30
    """How long a running turn may go on after SIGTERM."""


class Data(Section, frozen=True, kw_only=True):
    dir: Path | None = None
    """None: `$XDG_DATA_HOME/parley`, else `~/.local/share/parley`."""


class Log(Section, frozen=True, kw_only=True):
    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["auto", "text", "json"] = "auto"
    """auto: text on a terminal, JSON lines otherwise."""


class Llm(Section, frozen=True, kw_only=True):
    provider: Literal["auto", "openai", "embedded"] = "auto"
    base_url: str | None = None
    api_key: Secret | None = None
    model: str | None = None
    late_system: Literal["auto", "native", "user", "merge"] = "auto"
    context_tokens: Count | None = None
    """None: what the endpoint reports; where it reports nothing, nothing is trimmed until it complains."""
    max_tokens: Count | None = None
    options: dict[str, Any] = {}
    """Further fields of the request, as the endpoint knows them (`temperature`, …)."""
    connect_timeout_s: Seconds = 5
    first_token_timeout_s: Seconds = 30
    idle_timeout_s: Seconds = 20


class Agent(Section, frozen=True, kw_only=True):
    planning: bool = True
    max_rounds: Annotated[int, Meta(ge=1, le=100)] = 8
    system_prompt: str | None = None


class Skills(Section, frozen=True, kw_only=True):
    dir: Path = Path("skills")
    enabled: list[str] | None = None
    """None: every skill in `dir`."""
    reload: Literal["auto", "poll", "off"] = "auto"


class Tools(Section, frozen=True, kw_only=True):
    roots: list[Path] = []
    """Further folders that read_file and search_text may read, beside `skills.dir`."""
    timeout_s: Seconds = 30
    max_result_bytes: Annotated[int, Meta(ge=256, le=16 << 20)] = 65_536
    mcp: dict[str, Any] = {}


class SpeechProvider(Section, frozen=True, kw_only=True):
    provider: Literal["embedded", "openai", "none"] = "embedded"
    base_url: str | None = None
    api_key: Secret | None = None
    model: str | None = None
    voice: str | None = None


class Speech(Section, frozen=True, kw_only=True):
    stt: SpeechProvider = SpeechProvider()
    tts: SpeechProvider = SpeechProvider()
    vad: dict[str, Any] = {}


class Approval(Section, frozen=True, kw_only=True):
    by_voice: bool = False
    timeout_s: Seconds = 300


class Hooks(Section, frozen=True, kw_only=True):
    enabled: bool = True
    defaults: dict[str, Any] = {}
    builtins: dict[str, Any] = {}
    processes: dict[str, Any] = {}
    stream_gate: Literal["off", "sentence", "full"] | None = None
    respond_policy: Literal["injected", "any"] = "injected"
    approval: Approval = Approval()
    pre_tool_use: list[Any] = []
    post_tool_use: list[Any] = []
    tool_error: list[Any] = []
    tool_skip: list[Any] = []


class Security(Section, frozen=True, kw_only=True):
    auth: Literal["auto", "none"] = "auto"
    """auto: local requests only; none: everybody who reaches the port."""
    trust_loopback: bool = True
    """False behind a proxy, which makes every visitor look local."""
    origins: list[str] = []
    hosts: list[str] = []
    """Names under which the server is reached, beside localhost and its own address."""
    client_system_messages: Literal["auto", "allow", "demote", "reject"] = "auto"
    """auto: allow for a local request, demote otherwise."""
    secret_file: Path | None = None
    """None: `<data.dir>/secret`, created once."""
    trace: bool | Literal["auto"] = "auto"
    """auto: local requests."""


class Limits(Section, frozen=True, kw_only=True):
    connections: Count = 2000
    turns: Count = 200
    per_address: Count = 50
    """Connections from one address; local requests are not counted."""
    max_message_bytes: Annotated[int, Meta(ge=1024, le=64 << 20)] = 4_194_304
    max_messages: Count = 2000
    max_binary_bytes: Annotated[int, Meta(ge=2, le=1 << 20)] = 65_536
    max_frames_per_s: Count = 200
    max_hook_frames_per_turn: Annotated[int, Meta(ge=0, le=10_000)] = 64
    max_turn_s: Seconds = 300


class Storage(Section, frozen=True, kw_only=True):
    url: Secret | None = None


class Config(Section, frozen=True, kw_only=True):
    listen: Listen = Listen()
    data: Data = Data()
    log: Log = Log()
    llm: Llm = Llm()
    agent: Agent = Agent()
    skills: Skills = Skills()
    tools: Tools = Tools()
    speech: Speech = Speech()
    hooks: Hooks = Hooks()
    security: Security = Security()
    limits: Limits = Limits()
    proxies: list[str] = []
    storage: Storage = Storage()


_PATHS = (
    ("listen", "tls", "cert"),
    ("listen", "tls", "key"),
    ("data", "dir"),
    ("skills", "dir"),
    ("tools", "roots"),
    ("security", "secret_file"),
)

# The contract names these keys; a version that cannot honour them must not take them in silence:
# an operator who configured a guard would believe that it stands.
_NOT_YET = {
    ("tools", "mcp"): "MCP tools",
    ("hooks", "builtins"): "in-process hooks",
    ("hooks", "processes"): "process hooks",
    ("hooks", "pre_tool_use"): "tool policy",
    ("hooks", "post_tool_use"): "tool policy",
    ("hooks", "tool_error"): "tool policy",
    ("hooks", "tool_skip"): "tool policy",
    ("speech", "vad"): "settings for voice detection",
    ("storage", "url"): "stored configuration",
}


def load_config(path: Path | None, environ: Mapping[str, str]) -> Config:
    """Read `path` (None: `parley.yaml` of the working directory, if it is there) and the environment.

    Raises ConfigError with every layer's first mistake named by key and source.
    """
    tree: dict[str, Any] = {}
    secrets: set[str] = set()
    source = path if path is not None else Path("parley.yaml")
    if path is not None or source.exists():
        layer = _read_yaml(source)
        _resolve_secrets(layer, source.parent, environ, secrets, ())
        _resolve_paths(layer, source.resolve().parent)
        tree = layer
    for variable, keys, value in _environment(environ):
        layer = _nest(keys, value, variable)
        _resolve_secrets(layer, Path(), environ, secrets, ())
        _resolve_paths(layer, Path.cwd())
        _merge(tree, layer)
    config = _convert(tree, secrets)
    for (section, key), what in _NOT_YET.items():
        if getattr(getattr(config, section), key):
            raise ConfigError(f"{section}.{key}: this version has no {what} yet; remove the key")
    return config


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _MAX_FILE_BYTES:
            raise ConfigError(f"{path}: larger than {_MAX_FILE_BYTES} bytes; is this the right file?")
        tree = yaml.safe_load(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; give the configuration with --config FILE") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        problem = getattr(error, "problem", None) or "not readable as UTF-8 text"
        raise ConfigError(f"{where}: not valid YAML: {problem}") from error
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise ConfigError(f"{path}: expected sections such as `listen:` at the top, got {type(tree).__name__}")
    # a section whose keys are all commented out is an empty one
    return {key: {} if value is None and key in Config.__struct_fields__ else value for key, value in tree.items()}


def _environment(environ: Mapping[str, str]) -> Iterator[tuple[str, list[str], Any]]:
    """The variables PARLEY_SECTION__KEY, in a fixed order, their values parsed as YAML."""
    for variable in sorted(environ):
        if not variable.startswith(PREFIX):
            continue
        keys = variable[len(PREFIX) :].lower().split("__")
        try:
            yield variable, keys, yaml.safe_load(environ[variable])
        except yaml.YAMLError as error:
            raise ConfigError(f"{variable}: not valid YAML; quote the value") from error


def _nest(keys: list[str], value: Any, variable: str) -> dict[str, Any]:
    known = {field.name for field in msgspec.structs.fields(Config)}
    if keys[0] not in known:
        raise ConfigError(f"{variable}: unknown section `{keys[0]}`; expected one of {', '.join(sorted(known))}")
    for key in reversed(keys):
        value = {key: value}
    layer: dict[str, Any] = value
    return layer


def _merge(tree: dict[str, Any], layer: dict[str, Any]) -> None:
    for key, value in layer.items():
        if isinstance(value, dict) and isinstance(tree.get(key), dict):
            _merge(tree[key], value)
        else:
            tree[key] = value


def _resolve_secrets(
    node: Any, folder: Path, environ: Mapping[str, str], secrets: set[str], at: tuple[str, ...]
) -> None:
    """Replace `{file: PATH}` and `{env: NAME}` by what they name; remember where."""
    entries = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in list(entries):
        path = (*at, str(key))
        if isinstance(value, dict) and len(value) == 1 and next(iter(value)) in ("file", "env"):
            node[key] = _read_secret(value, folder, environ, ".".join(path))
            secrets.add(".".join(path))
        else:
            _resolve_secrets(value, folder, environ, secrets, path)


def _read_secret(reference: dict[str, Any], folder: Path, environ: Mapping[str, str], key: str) -> str:
    [(kind, name)] = reference.items()
    if not isinstance(name, str):
        raise ConfigError(f"{key}: {{{kind}: …}} wants a name")
    if kind == "env":
        if name not in environ:
            raise ConfigError(f"{key}: the environment variable {name} is not set")
        return environ[name]
    try:
        return (folder / Path(name).expanduser()).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{key}: cannot read the file {name}") from error


def _resolve_paths(layer: dict[str, Any], folder: Path) -> None:
    for *parents, last in _PATHS:
        node: Any = layer
        for key in parents:
            node = node.get(key) if isinstance(node, dict) else None
        if not isinstance(node, dict):
            continue
        value = node.get(last)
        if isinstance(value, str):
            node[last] = str(folder / Path(value).expanduser())
        elif isinstance(value, list):
            node[last] = [str(folder / Path(v).expanduser()) if isinstance(v, str) else v for v in value]


def _convert(tree: dict[str, Any], secrets: set[str]) -> Config:
    try:
        return msgspec.convert(tree, Config, dec_hook=_decode_own_type)
    except msgspec.ValidationError as error:
        raise ConfigError(_explain(str(error), secrets)) from None  # the cause may quote a secret


def _decode_own_type(kind: type, value: object) -> object:
    if not isinstance(value, str):
        raise ValueError(f"Expected `str`, got `{type(value).__name__}`")
    return kind(value)


_AT = re.compile(r"^(?P<problem>.*) - at `(?:key in )?\$\.?(?P<path>.*)`$", re.DOTALL)
_UNKNOWN = re.compile(r"^Object contains unknown field `(?P<key>.*)`$")


def _explain(message: str, secrets: set[str]) -> str:
    at = _AT.search(message)
    path = at["path"] if at else ""
    problem = at["problem"] if at else message
    if unknown := _UNKNOWN.match(problem):
        return f"{f'{path}.' if path else ''}{unknown['key']}: unknown key; docs/configuration.md lists them"
    if path in secrets:
        return f"{path}: the value read from its file or variable does not fit"
    return f"{path}: {problem[:1].lower()}{problem[1:]}"
