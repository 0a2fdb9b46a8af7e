"""Handlers bound to their stages: each built once from a policy document, with its filter, time limit and boundary.

Those of the operator's own are Python files in `hooks.custom_dir`, loaded once at start. A file `no_prod.py` is the
handler `no_prod`. It has a class `Handler`, built with the `config` of each entry that names it, or plain functions;
either has any of `pre_execute`, `post_execute`, `on_error`, `on_skip` (server.policy.hook_types). The first line of
its docstring describes it.
"""

import asyncio
import copy
import importlib.util
import logging
import re
import stat
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from inspect import iscoroutinefunction
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import msgspec

from server import config
from server.approval.asking import Answer, AskHuman, PausingAsk, Question
from server.approval.edits import approvable
from server.bounded.fair_share import ShareFull
from server.errors import ConfigError, is_cancelled
from server.policy.call_filter import CallFilter
from server.policy.confirmation_handler import ConfirmationSettings, DangerJudge, DangerousConfirmation
from server.policy.document import STAGES, HandlerSpec, PolicyDocument
from server.policy.hook_types import METHODS, AnswerInvalid, HookContext, HookResult, HookType, checked
from server.policy.scan_handler import (
    AuditLogHandler,
    AuditSettings,
    ScanSettings,
    SecretScanner,
    SecurityScan,
    WriteEntry,
)
from server.toolguard.scans import ScanTooSlow
from server.tools.tool_calls import ToolInvocation

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


class HandlerFailed(Exception):
    """A handler gave no answer. The text names it and the cause."""


_Method = Callable[[HookContext], Awaitable[object]]


@dataclass(frozen=True, kw_only=True, slots=True)
class BoundHandler:
    """A handler at its place in a stage."""

    name: str
    handler: object
    method: _Method | None
    """The handler's method for this stage, if it has one."""
    filter: CallFilter
    limit_s: float | None
    """Time limit, or None if the handler never waits, or only for humans, who have a limit of their own."""
    scanner: SecretScanner
    is_custom: bool = False
    """Whether it is the operator's own code, which gets copies of what it sees."""

    async def fits(self, call: ToolInvocation) -> bool:
        return await self.filter.fits(call.name, call.permission, call.arguments)

    async def call(self, ctx: HookContext) -> HookResult | None:
        """Return the handler's answer, None if it has none at this stage. Raises HandlerFailed and CancelledError."""
        if self.method is None:
            return None
        try:
            if self.is_custom:
                ctx = self._copy_of(ctx)
            limit_s = self.limit_s
            answer = await (self.method(ctx) if limit_s is None else self._in_time(self.method, ctx, limit_s))
            return checked(answer, ctx.phase)
        except HandlerFailed:
            raise
        except AnswerInvalid as error:
            logger.warning("the policy handler %s %s", self.name, error)
            raise HandlerFailed(f"{self.name} {error}") from error
        except (ScanTooSlow, ShareFull) as error:
            raise HandlerFailed(f"{self.name}: {error}") from error
        except BaseException as error:  # the boundary to a handler's code, which may call sys.exit()
            if isinstance(error, KeyboardInterrupt | GeneratorExit):
                raise
            if isinstance(error, asyncio.CancelledError) and is_cancelled():
                raise
            shown = await asyncio.to_thread(_traceback_of, error, self.scanner)
            logger.warning("the policy handler %s failed at %s\n%s", self.name, ctx.phase.value, shown)
            raise HandlerFailed(f"{self.name} failed: {type(error).__name__}") from error

    async def _in_time(self, method: _Method, ctx: HookContext, limit_s: float) -> object:
        limit = asyncio.timeout(limit_s)
        if ctx.ask is not None:
            ctx.ask = PausingAsk(ctx.ask, limit)
        try:
            async with limit:
                return await method(ctx)
        except TimeoutError:
            if limit.expired():
                raise HandlerFailed(f"{self.name} took longer than {limit_s:g} s") from None
            raise

    def _copy_of(self, ctx: HookContext) -> HookContext:
        """Return the same call in copies. Raises RecursionError for arguments nested too deep to be copied."""
        ask = None if ctx.ask is None else _RedactingAsk(ctx.ask, ctx.arguments, ctx.shown_arguments, self.scanner)
        arguments, shown = copy.deepcopy(ctx.arguments), copy.deepcopy(ctx.shown_arguments)
        return replace(ctx, arguments=arguments, shown_arguments=shown, ask=ask)


class _RedactingAsk:
    """An AskHuman that takes the secrets out of whatever a custom handler shows. Raises what the scan raises."""

    def __init__(self, ask: AskHuman, arguments: Any, shown: Any, scanner: SecretScanner) -> None:
        self._ask = ask
        self._arguments = arguments
        self._shown = shown
        self._scanner = scanner

    async def ask(self, question: Question) -> Answer:
        message, _ = await self._scanner.scan_text(question.message)
        shown, _ = await self._scanner.conceal(question.arguments)
        real = question.real_arguments
        if real is None:  # a copy, as parts of it come back in an answer with edited arguments
            real = copy.deepcopy(self._arguments if question.arguments == self._shown else question.arguments)
        shown = approvable(shown, real)
        return await self._ask.ask(replace(question, message=message, arguments=shown, real_arguments=real))


@dataclass(frozen=True, kw_only=True, slots=True)
class HandlerParts:
    """Parts that handlers are built with, whatever the document."""

    write_entry: WriteEntry
    scanner: SecretScanner
    judge: DangerJudge
    custom: Mapping[str, CustomHandler]
    limit_s: float
    """Time limit for a handler's answer."""

    def bind(self, entry: config.PolicyHandler, phase: HookType) -> BoundHandler:
        """Build the handler of a document's entry. Where that fails, whatever it would have guarded stays guarded."""
        handler: object
        try:
            wanted, handler = CallFilter(entry.filter, self.judge.threads), self._build(entry)
        except (Exception, SystemExit) as error:  # noqa: BLE001  # a handler's code, and documents of other versions
            shown = _traceback_of(error, self.scanner)
            logger.warning("the policy handler %s cannot be set up: its calls are refused\n%s", entry.type, shown)
            wanted, handler = CallFilter(None), _Missing()
        return BoundHandler(
            name=entry.type,
            handler=handler,
            method=_method(handler, phase),
            filter=wanted,
            limit_s=None if isinstance(handler, AuditLogHandler | DangerousConfirmation) else self.limit_s,
            scanner=self.scanner,
            is_custom=entry.type in self.custom,
        )

    def _build(self, entry: config.PolicyHandler) -> object:
        match entry.type:
            case "audit_log":
                return AuditLogHandler(msgspec.convert(entry.config, AuditSettings), self.write_entry, self.scanner)
            case "dangerous_confirmation":
                return DangerousConfirmation(msgspec.convert(entry.config, ConfirmationSettings), self.judge)
            case "security_scan":
                return SecurityScan(msgspec.convert(entry.config, ScanSettings), self.scanner)
        return self.custom[entry.type].build(dict(entry.config))


class _Missing:
    """Takes the place of a handler that cannot be built."""

    async def pre_execute(self, _ctx: HookContext) -> HookResult:
        raise LookupError("the handler could not be loaded")


class BoundStages:
    """The handlers of a document by stage. Built once, shared by all turns that it is in force for."""

    def __init__(self, document: PolicyDocument, parts: HandlerParts) -> None:
        self._handlers: dict[str, tuple[BoundHandler, ...]] = {
            name: tuple(parts.bind(entry, HookType(name)) for entry in stage.handlers) if stage.enabled else ()
            for name, stage in document.stages()
        }
        self.scanner = parts.scanner
        # results are scanned whatever became of the call
        after = (*self.at(HookType.POST_TOOL_USE), *self.at(HookType.TOOL_ERROR))
        self.scans = tuple(bound for bound in after if isinstance(bound.handler, SecurityScan))

    @property
    def is_empty(self) -> bool:
        return not any(self._handlers.values())

    def at(self, phase: HookType) -> tuple[BoundHandler, ...]:
        return self._handlers.get(phase.value, ())


def _method(handler: object, phase: HookType) -> _Method | None:
    """Return the handler's method for the stage; a plain function is wrapped so that it runs in a thread."""
    method = getattr(handler, METHODS[phase], None)
    if method is None or iscoroutinefunction(method):
        return method

    def run(ctx: HookContext) -> object:
        try:
            return method(ctx)
        except StopIteration as error:  # no future can carry it: it would never be done
            raise RuntimeError("StopIteration") from error

    async def in_thread(ctx: HookContext) -> object:
        return await asyncio.to_thread(run, ctx)

    return in_thread


def _traceback_of(error: BaseException, scanner: SecretScanner) -> str:
    try:
        return scanner.traceback_of(error)
    except ScanTooSlow as slow:
        return f"[withheld: {slow}]"
    except Exception:  # noqa: BLE001  # whatever it is: what was not scanned is not logged, nor is what failed on it
        return "[withheld: it could not be scanned for secrets]"
