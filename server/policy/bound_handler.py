"""A policy document made ready to work: each stage's handlers, built once, with their filters."""

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from inspect import iscoroutinefunction

import msgspec

from server import config
from server.approval.asking import PausingAsk
from server.errors import PolicyError, is_cancelled
from server.policy.answers import AnswerInvalid, checked
from server.policy.audit_handler import AuditLogHandler, AuditSettings, AuditSink
from server.policy.call_filter import CallFilter, matcher
from server.policy.confirmation_handler import ConfirmationSettings, DangerousConfirmation
from server.policy.custom_handlers import CustomHandler
from server.policy.document import STAGES, HandlerSpec, PolicyDocument, check_document
from server.policy.hook_types import METHODS, HookContext, HookResult, HookType
from server.policy.isolation import isolated
from server.policy.scan_handler import ScanSettings, SecurityScan, scan_text, traceback_of

logger = logging.getLogger(__name__)


class HandlerFailed(Exception):
    """A handler gave no answer. The text names it and why."""


_Method = Callable[[HookContext], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class BoundHandler:
    """One handler in its place."""

    name: str
    handler: object
    method: _Method | None
    """The handler's at this stage."""
    filter: CallFilter
    limit_s: float | None
    """None: it never waits, or for humans, who have a limit of their own."""
    is_own: bool = False
    """The operator's own: it gets copies."""

    @property
    def is_looking(self) -> bool:
        """It leaves its context as it is."""
        return self.limit_s is None

    async def call(self, ctx: HookContext) -> HookResult | None:
        """None: it has nothing to say at this stage. Raises HandlerFailed and CancelledError."""
        if self.method is None:
            return None
        try:
            if self.is_own:
                ctx = isolated(ctx)
            limit_s = self.limit_s
            answer = await (self.method(ctx) if limit_s is None else self._in_time(self.method, ctx, limit_s))
            return checked(answer, ctx.phase)
        except HandlerFailed:
            raise
        except AnswerInvalid as error:
            logger.warning("the policy handler %s %s", self.name, error)
            raise HandlerFailed(f"{self.name} {error}") from error
        except BaseException as error:  # the boundary to a handler's code, a slip of which may be sys.exit()
            if isinstance(error, KeyboardInterrupt | GeneratorExit):
                raise
            if isinstance(error, asyncio.CancelledError) and is_cancelled():
                raise
            told = await _without_secrets("".join(traceback.format_exception(error)).rstrip())
            logger.warning("the policy handler %s failed at %s\n%s", self.name, ctx.phase.value, told)
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


def _method(handler: object, phase: HookType) -> _Method | None:
    """The handler's at this stage; one that is no coroutine runs in a thread."""
    method = getattr(handler, METHODS[phase], None)
    if method is None or iscoroutinefunction(method):
        return method

    async def in_thread(ctx: HookContext) -> object:
        return await asyncio.to_thread(_run, method, ctx)

    return in_thread


def _run(method: Callable[[HookContext], object], ctx: HookContext) -> object:
    try:
        return method(ctx)
    except StopIteration as error:  # no future can carry it: it would never be done
        raise RuntimeError("StopIteration") from error


async def _without_secrets(told: str) -> str:
    try:
        return (await scan_text(told))[0]
    except Exception:  # noqa: BLE001  # whatever it is: what was not scanned is not logged, nor is what failed on it
        return "[withheld: it could not be scanned for secrets]"


class Missing:
    """In the place of a handler that is not there any more: whatever it would have guarded stays guarded."""

    def __init__(self, name: str) -> None:
        self._name = name

    async def pre_execute(self, ctx: HookContext) -> HookResult:  # noqa: ARG002  # the protocol's
        raise LookupError(f"the policy handler {self._name} is not there")

    post_execute = pre_execute


class Stages:
    """What a document says, at work. Handlers of one document are built once and shared by its turns."""

    def __init__(
        self, document: PolicyDocument, *, sink: AuditSink, custom: Mapping[str, CustomHandler], limit_s: float
    ) -> None:
        self._sink = sink
        self._custom = custom
        self._limit_s = limit_s
        self._stands: dict[str, tuple[BoundHandler, ...]] = {
            name: tuple(self._stand(entry, HookType(name)) for entry in stage.handlers) if stage.enabled else ()
            for name, stage in document.stages()
        }
        # what takes secrets out of results does so whatever became of the call
        self.scans = (*self._scans("post_tool_use"), *self._scans("tool_error"))

    @property
    def is_empty(self) -> bool:
        return not any(self._stands.values())

    def at(self, phase: HookType) -> tuple[BoundHandler, ...]:
        return self._stands.get(phase.value, ())

    def _scans(self, stage: str) -> Iterator[BoundHandler]:
        return (stand for stand in self._stands.get(stage, ()) if isinstance(stand.handler, SecurityScan))

    def _stand(self, entry: config.PolicyEntry, phase: HookType) -> BoundHandler:
        handler: object
        limit_s: float | None = self._limit_s
        try:
            wanted = CallFilter(entry.filter)
            match entry.type:
                case "audit_log":
                    handler = AuditLogHandler(msgspec.convert(entry.config, AuditSettings), self._sink)
                    limit_s = None
                case "dangerous_confirmation":
                    handler = DangerousConfirmation(msgspec.convert(entry.config, ConfirmationSettings))
                    limit_s = None
                case "security_scan":
                    handler = SecurityScan(msgspec.convert(entry.config, ScanSettings))
                case name:
                    handler = self._custom[name].build(dict(entry.config))
            method = _method(handler, phase)
        except (Exception, SystemExit) as error:  # noqa: BLE001  # a handler's code, and documents of other versions
            logger.warning(
                "the policy handler %s cannot be set up: what it guards is refused\n%s", entry.type, traceback_of(error)
            )
            missing = Missing(entry.type)
            return BoundHandler(entry.type, missing, _method(missing, phase), CallFilter(None), limit_s)
        return BoundHandler(entry.type, handler, method, wanted, limit_s, is_own=entry.type in self._custom)


def check_stages(document: PolicyDocument, kinds: Mapping[str, HandlerSpec], *, may_lock: bool) -> None:
    """As `check_document`, and that every filter can be used. Raises PolicyError."""
    check_document(document, kinds, may_lock=may_lock)
    for name in STAGES:
        stage = document.stage(name)
        for index, entry in enumerate(stage.handlers if stage else ()):
            if entry.filter is not None:
                _check_filter(entry.filter, f"$.{name}.handlers[{index}].filter")


def _check_filter(wanted: config.PolicyFilter, path: str) -> None:
    for key, patterns in (("tools", wanted.tools or ()), ("arguments", (wanted.arguments or {}).values())):
        for pattern in patterns:
            try:
                matcher(pattern)
            except ValueError as error:
                raise PolicyError(str(error), path=f"{path}.{key}") from None
