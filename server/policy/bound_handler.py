"""Handlers bound to their stages: each built once from a policy document, with its filter, time limit and boundary."""

import asyncio
import copy
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from inspect import iscoroutinefunction
from typing import Any

import msgspec

from server import config
from server.approval.asking import Answer, AskHuman, PausingAsk, Question
from server.approval.edits import approvable
from server.bounded.fair_share import ShareFull
from server.errors import is_cancelled
from server.policy.call_filter import CallFilter
from server.policy.confirmation_handler import ConfirmationSettings, DangerJudge, DangerousConfirmation
from server.policy.custom_handlers import CustomHandler
from server.policy.document import PolicyDocument
from server.policy.hook_types import METHODS, AnswerInvalid, HookContext, HookResult, HookType, checked
from server.policy.scan_handler import (
    AuditLogHandler,
    AuditSettings,
    AuditSink,
    ScanSettings,
    SecretScanner,
    SecurityScan,
)
from server.toolguard.scans import ScanTooSlow
from server.tools.tool_calls import ToolInvocation

logger = logging.getLogger(__name__)


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

    sink: AuditSink
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
                return AuditLogHandler(msgspec.convert(entry.config, AuditSettings), self.sink, self.scanner)
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
