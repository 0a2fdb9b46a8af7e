"""Handlers of the operator's own: Python files in `hooks.custom_dir`, loaded once at start.

A file `no_prod.py` is the handler `no_prod`. It has a class `Handler`, built with
the `config` of each entry that names it, or plain functions; either has any of
`pre_execute`, `post_execute`, `on_error`, `on_skip` (server.policy.hook_types).
The first line of its docstring describes it.
"""

import importlib.util
import logging
import re
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from server.errors import ConfigError
from server.policy.document import STAGES, HandlerSpec
from server.policy.hook_types import METHODS, HookType
from server.policy.scan_handler import SecretScanner

logger = logging.getLogger(__name__)

MAX_FILES: Final = 64
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,62}\Z")


@dataclass(frozen=True, slots=True)
class CustomHandler:
    """A file of the operator's with a policy handler."""

    spec: HandlerSpec
    module: ModuleType

    def build(self, settings: dict[str, Any]) -> object:
        """Return a new handler for one entry. Raises what its code raises."""
        made = getattr(self.module, "Handler", None)
        return self.module if made is None else made(settings)


def load_custom(folder: Path | None, *, taken: frozenset[str], scanner: SecretScanner) -> dict[str, CustomHandler]:
    """Load the handlers of a folder by name. Raises ConfigError for a folder that is not there or that others may write to.

    A file that cannot be loaded is left out and logged; an entry that names it is then refused as unknown.
    """
    if folder is None:
        return {}
    found: dict[str, CustomHandler] = {}
    for path in _files(folder):
        name = path.stem
        if name in taken:
            logger.error("%s: `%s` is the name of a built-in handler; rename the file", path, name)
            continue
        try:
            module = _load(path)
        except (Exception, SystemExit) as error:  # noqa: BLE001  # not our code, with scripts' sys.exit() among it
            logger.error("the policy handler %s cannot be loaded\n%s", path, scanner.traceback_of(error))  # noqa: TRY400  # without its secrets
            continue
        owner = getattr(module, "Handler", module)
        stages = tuple(name for name in STAGES if callable(getattr(owner, METHODS[HookType(name)], None)))
        if not stages:
            logger.error("%s: has none of %s; see docs/policy.md", path, ", ".join(METHODS.values()))
            continue
        lines = str(getattr(owner, "__doc__", None) or module.__doc__ or name).strip().splitlines() or [name]
        spec = HandlerSpec(name=name, description=lines[0][:200], stages=stages, settings=None)
        found[name] = CustomHandler(spec, module)
    return found


def _files(folder: Path) -> Iterator[Path]:
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".py" and path.is_file())
        writable = [path for path in (folder, *paths) if path.stat().st_mode & stat.S_IWOTH]
    except OSError as error:
        raise ConfigError(f"hooks.custom_dir: {folder}: {error.strerror}") from error
    if writable:
        raise ConfigError(f"hooks.custom_dir: {writable[0]} is writable by everybody; run chmod o-w on it")
    for path in paths[:MAX_FILES]:
        if _NAME.match(path.stem):
            yield path
        elif not path.stem.startswith("_"):
            logger.warning("%s: ignored: a handler's file name may contain only lower-case letters, digits and _", path)


def _load(path: Path) -> ModuleType:
    name = f"parley_policy_handlers.{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look their module up there
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
