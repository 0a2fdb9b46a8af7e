"""One YAML file and the environment over it → settings.

An unknown key is an error that names the key and those that there are. A string
may be given as `{file: PATH}` or `{env: NAME}`; what is read that way appears
in no log, error or page. Relative paths count from the file that names them,
those of defaults and environment variables from the working directory.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec.inspect import CustomType

from server.config import Config
from server.errors import ConfigError
from server.wire.schema_hints import has_keys_at, keys_at, problem_and_path, types_at, values_at

PREFIX = "PARLEY_"
_MAX_FILE_BYTES = 1 << 20

_PUBLISHED = {("hooks", stage) for stage in ("pre_tool_use", "post_tool_use", "tool_error", "tool_skip")}
"""Keys whose values users may read over REST, since they are in force for them."""


def load_config(path: Path | None, environ: Mapping[str, str]) -> Config:
    """Read `path`, or else `parley.yaml` of the working directory if it is there, and the environment.

    Raises ConfigError with every layer's first mistake named by key and source.
    """
    tree: dict[str, Any] = {}
    secrets: set[str] = set()
    source = path if path is not None else Path("parley.yaml")
    if path is not None or source.exists():
        tree = _read_yaml(source)
        _resolve(tree, source.resolve().parent, environ, secrets, ())
    for variable, keys, value in _environment(environ):
        layer = _nest(keys, value, variable)
        _resolve(layer, Path.cwd(), environ, secrets, ())
        _merge(tree, layer)
    _restore_off(tree, "")
    try:
        return msgspec.convert(tree, Config, dec_hook=_decode_own_type)
    except msgspec.ValidationError as error:
        raise ConfigError(_explain(str(error), tree, secrets)) from None  # the cause may quote a secret


def data_dir_of(settings: Config, environ: Mapping[str, str]) -> Path:
    """Return the data folder: the configured one, else the one of the system's convention (XDG)."""
    if settings.data.dir is not None:
        return settings.data.dir
    base = environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "parley"


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _MAX_FILE_BYTES:
            raise ConfigError(f"{path}: larger than {_MAX_FILE_BYTES} bytes; is this the right file?")
        tree = yaml.load(path.read_text("utf-8"), _Loader)  # noqa: S506  it is a SafeLoader
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; --config must name a file") from error
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


class _Loader(yaml.SafeLoader):
    """Refuses a key that stands twice: SafeLoader would silently keep the last one and lose a section."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen = set[str]()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                problem = f"`{key.value}` occurs here a second time"
                raise yaml.composer.ComposerError(problem=problem, problem_mark=key.start_mark)
            seen.add(key.value)
        return node


def _environment(environ: Mapping[str, str]) -> Iterator[tuple[str, list[str], Any]]:
    """Return the variables PARLEY_SECTION__KEY, in a fixed order, their values parsed as YAML."""
    for variable in sorted(environ):
        if not variable.startswith(PREFIX):
            continue
        try:
            yield variable, _keys(variable[len(PREFIX) :].split("__")), yaml.safe_load(environ[variable])
        except yaml.YAMLError as error:
            raise ConfigError(f"{variable}: not valid YAML; quote the value") from error


def _keys(parts: list[str]) -> list[str]:
    """Split a name into keys: ours in lower case, those of a program's environment (`env`) as written."""
    keys = [part.lower() for part in parts]
    own = keys.index("env") + 1 if "env" in keys else len(keys)
    return keys[:own] + parts[own:]


def _nest(keys: list[str], value: Any, variable: str) -> dict[str, Any]:
    known = {field.name for field in msgspec.structs.fields(Config)}
    if keys[0] not in known:
        section, _, key = keys[0].partition("_")
        cure = f"expected one of {', '.join(sorted(known))}"
        if section in known and key:
            cure = f"did you mean {PREFIX}{section.upper()}__{key.upper()}?"
        raise ConfigError(f"{variable}: unknown section `{keys[0]}`; {cure}")
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


def _resolve(node: Any, folder: Path, environ: Mapping[str, str], secrets: set[str], at: tuple[str, ...]) -> None:
    """Replace `{file: PATH}` and `{env: NAME}` by what they name and remember where; make paths absolute.

    Where an object is wanted they are its keys: a program's `env`, variables of which one is called `file`.
    """
    entries = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in list(entries):
        path = (*at, str(key))
        is_reference = isinstance(value, dict) and len(value) == 1 and next(iter(value)) in ("file", "env")
        if is_reference and not has_keys_at(Config, path):
            if path[:2] in _PUBLISHED:
                raise ConfigError(
                    f"{'.'.join(path)}: every user may read the policy, so it must not contain a secret; "
                    "let the handler itself read it from the environment"
                )
            value = node[key] = _read_secret(value, folder, environ, ".".join(path))
            secrets.add(".".join(path))
        if isinstance(value, str) and _is_path(path):
            node[key] = str(folder / Path(value).expanduser())
        else:
            _resolve(value, folder, environ, secrets, path)


def _is_path(keys: tuple[str, ...]) -> bool:
    return any(isinstance(node, CustomType) and node.cls is Path for node in types_at(Config, keys))


def _read_secret(reference: dict[str, Any], folder: Path, environ: Mapping[str, str], key: str) -> str:
    [(kind, name)] = reference.items()
    if not isinstance(name, str):
        raise ConfigError(f"{key}: {{{kind}: …}} needs a name")
    if kind == "env":
        if name not in environ:
            raise ConfigError(f"{key}: the environment variable {name} is not set")
        return environ[name]
    try:
        return (folder / Path(name).expanduser()).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{key}: cannot read the file {name}") from error


def _restore_off(tree: dict[str, Any], at: str) -> None:
    """Undo YAML's reading of an unquoted `off` as false, where `off` is one of a setting's values."""
    for key, value in tree.items():
        path = f"{at}.{key}" if at else str(key)
        if isinstance(value, dict):
            _restore_off(value, path)
        elif value is False and "off" in values_at(Config, path):
            tree[key] = "off"


def _decode_own_type(kind: type, value: object) -> object:
    if not isinstance(value, str):
        raise ValueError(f"Expected `str`, got `{type(value).__name__}`")
    return kind(value)


_UNKNOWN = re.compile(r"^Object contains unknown field `(?P<key>.*)`$")


def _explain(message: str, tree: dict[str, Any], secrets: set[str]) -> str:
    problem, path = problem_and_path(message)
    path = path.removeprefix(".")
    keys, values = keys_at(Config, path), values_at(Config, path)
    path = _with_names(path, message, tree)
    if unknown := _UNKNOWN.match(problem):
        return f"{f'{path}.' if path else ''}{unknown['key']}: unknown key; expected one of {', '.join(keys)}"
    if path in secrets:
        return f"{path}: the value read from its file or variable is not valid here"
    choices = f"; one of {', '.join(values)}" if values else ""
    if problem.startswith("Expected `array") and problem.endswith("got `str`"):
        choices = "; a list is written [like, this]"
    return f"{path}: {problem[:1].lower()}{problem[1:]}{choices}"


def _with_names(path: str, message: str, tree: dict[str, Any]) -> str:
    """Return `path` with names of entries for msgspec's `[...]`, or unchanged where they cannot be told."""
    outer, *inner = path.split("[...]")
    keys = outer.split(".")
    for part in inner:
        name = _entry_of(keys, message, tree)
        if name is None:
            return path
        keys += [name, *part.strip(".").split(".")]
    return ".".join(key for key in keys if key)


def _entry_of(keys: list[str], message: str, tree: dict[str, Any]) -> str | None:
    """Return the entry of the mapping at `keys` that causes the message when it stands alone."""
    node: Any = tree
    for key in keys:
        node = node.get(key) if isinstance(node, dict) else None
    for name, value in node.items() if isinstance(node, dict) else ():
        alone = {name: value}
        for key in reversed(keys):
            alone = {key: alone}
        try:
            msgspec.convert(alone, Config, dec_hook=_decode_own_type)
        except msgspec.ValidationError as error:
            if str(error) == message:
                return str(name)
    return None
